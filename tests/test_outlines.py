"""Outlines: a circuit without what is inside its trees, from the expression or from the arrays alike."""

import numpy as np
import pytest

from unlearnspn import SPN, Circuit, Range
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.circuit.expressions import Sum, Unit
from unlearnspn.circuit.layout import lower, outline, outline_of
from unlearnspn.circuit.scoring import PreparedParts


def fitted(n_rows=300, **parameters):
    return SPN(min_rows=20, threshold=1.0, categorical_features=list(CATEGORICAL), **parameters).fit(
        example_table(n_rows)
    )


@pytest.fixture(params=[{}, {"factorization": "naive"}, {"min_rows": 1000}], ids=["trees", "naive", "one leaf"])
def spn(request):
    return SPN(**{"min_rows": 20, "categorical_features": list(CATEGORICAL), **request.param}).fit(example_table(300))


def expression_of(spn):
    model = spn._model
    assert model.digest()  # which names the parts
    return model.derivation.express(model.learner, model.root)


def test_arrays_and_expressions_have_the_same_outline(spn):
    root = expression_of(spn)
    (one, trees, normals), (other, others, other_normals) = outline(root), outline_of(lower(root))
    assert one.same(other)
    assert len(trees) == len(others) == int((one.units == Unit.TREE).sum())
    for a, b in zip(trees, others, strict=True):
        assert a.nodes.tobytes() == b.nodes.tobytes()
        assert a.log_tables.tobytes() == b.log_tables.tobytes()
        assert all(x.tobytes() == y.tobytes() for x, y in zip(a.inputs, b.inputs, strict=True))
    assert len(normals) == len(other_normals) == len(one.normals)
    for c, d in zip(normals, other_normals, strict=True):
        assert c.variables.tolist() == d.variables.tolist()
        assert (c.mean.tobytes(), c.factor.tobytes()) == (d.mean.tobytes(), d.factor.tobytes())


@pytest.mark.parametrize("independent", [False, True])
def test_outlines_that_are_put_together_are_those_written_at_once(independent):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 4, (400, 1))
    related = 5.0 * groups + rng.normal(size=(400, 4)) @ rng.normal(size=(4, 4))
    flags = rng.random((400, 3)) < 0.2 + 0.2 * groups
    table = np.column_stack([related, flags, *([rng.normal(size=400)] if independent else [])])
    spn = SPN(min_rows=60, categorical_features=[4, 5, 6]).fit(table)
    root, kept = expression_of(spn), PreparedParts()
    assert isinstance(root, Sum) is not independent
    assert outline(root).normals
    assert outline(root).trees
    for _ in range(2):
        assembled, whole = kept.outline(root), outline(root)
        assert assembled.layout.same(whole.layout)
        assert [*map(id, assembled.trees)] == [*map(id, whole.trees)]
        assert [*map(id, assembled.normals)] == [*map(id, whole.normals)]


def test_a_circuit_of_arrays_scores_the_same_bits(spn):
    circuit, table = spn.circuit_, example_table(300)
    again = Circuit(circuit.layout, circuit.domains, circuit.origin)
    assert again.score_samples(table).tobytes() == circuit.score_samples(table).tobytes()


def test_trees_that_did_not_change_are_not_prepared_again():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 6, 600)
    table = (rng.random((600, 8)) < rng.random((6, 8))[groups]).astype(str)
    spn, kept = SPN(min_rows=40).fit(table), []
    spn.score_samples(table)
    for record in range(10):
        known = spn._model.derivation.prepared.trees._known
        spn.unlearn(record)
        after = spn.score_samples(table)
        found = spn._model.derivation.prepared.trees._known
        kept.append(sum(key in known for key in found) / len(found))
        assert after.tobytes() == spn._model.relearn().circuit.score_samples(table).tobytes()
    assert np.median(kept) > 0.7


def test_a_reader_keeps_the_circuit_that_it_has():
    spn, table = fitted(), example_table(300)
    circuit = spn.circuit_
    before, later = circuit.score_samples(table), fitted().circuit_
    for record in range(40):
        spn.unlearn(record)
        spn.score_samples(table[:1])
    assert circuit.score_samples(table).tobytes() == before.tobytes()
    assert circuit.layout.same(later.layout)
    assert circuit.probability({"x0": Range(above=0.0)}) == later.probability({"x0": Range(above=0.0)})


def test_arrays_are_written_when_somebody_asks_for_them():
    spn = fitted()
    spn.score_samples(np.asarray(example_table(5)))
    assert "layout" not in vars(spn.circuit_)
    assert len(spn.circuit_.layout) > 10
    assert "layout" in vars(spn.circuit_)

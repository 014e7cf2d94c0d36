"""Outlines: a circuit without what is inside its trees, from the expression or from the arrays alike."""

import numpy as np
import pytest

from unlearnspn import SPN, Circuit, Range
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.layout import lower, outline, outline_of


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
    (one, trees), (other, others) = outline(root), outline_of(lower(root))
    assert one.same(other)
    assert len(trees) == len(others) == int((one.units == Unit.TREE).sum())
    for a, b in zip(trees, others, strict=True):
        assert a.nodes.tobytes() == b.nodes.tobytes()
        assert a.log_tables.tobytes() == b.log_tables.tobytes()
        assert all(x.tobytes() == y.tobytes() for x, y in zip(a.inputs, b.inputs, strict=True))


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
        known = spn._model.derivation.prepared._known
        spn.unlearn(record)
        after = spn.score_samples(table)
        found = spn._model.derivation.prepared._known
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

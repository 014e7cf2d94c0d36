"""The circuit as a structure: expressions, flat arrays, derivation from the network, identity."""

import copy
import math
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from sklearn.datasets import load_wine

from brute_force import BruteForce, assert_same_logs
from random_models import laws, random_models
from unlearnspn import SPN, Circuit, Operation, Range, SPNClassifier
from unlearnspn.circuit.domains import Domain, Domains
from unlearnspn.circuit.expressions import ONE, Input, Product, Sum, Unit, categorical, mixture, numeric, product
from unlearnspn.circuit.layout import lift, lower
from unlearnspn.schema import Kind
from unlearnspn.tables import Family

HALF = [math.log(0.5)] * 2


def normal(variable, mean=0.0):
    return numeric(Unit.GAUSSIAN, variable, mean, 1.0)


# -- expressions -----------------------------------------------------------------------------------------------------


def test_products_are_flat():
    x, y, z = normal(0), normal(1), normal(2)
    nested = product([product([x, ONE]), product([product([y]), z])])
    assert isinstance(nested, Product)
    assert nested.inputs.variables.tolist() == [0, 1, 2]
    assert nested.inner == ()
    mixed = mixture([normal(3), normal(3, 1.0)], HALF)
    several = product([x, mixed, product([y, z])])
    assert several.inner == (mixed,)
    assert [part.variable for part in several.inputs.unpack()] == [0, 1, 2]
    assert product([]) is product([ONE, ONE]) is ONE
    assert product([ONE, y]) is y


def test_mixtures_are_flat_and_leave_out_what_is_impossible():
    a, b, c = normal(0, 1.0), normal(0, 2.0), normal(0, 3.0)
    nested = mixture([mixture([a, b], [math.log(0.25), math.log(0.75)]), c], HALF)
    assert isinstance(nested, Sum)
    assert nested.parts == (a, b, c)
    assert np.exp(nested.log_weights) == pytest.approx([0.125, 0.375, 0.5])
    assert mixture([a, b], [0.0, -math.inf]) is a
    assert mixture([mixture([a, b], HALF), c], [-math.inf, 0.0]) is c
    assert mixture([ONE, ONE], HALF) is ONE


def test_what_occurs_more_than_once_is_not_taken_apart():
    inner = Sum((normal(0, 1.0), normal(0, 2.0)), tuple(HALF), shared=True)
    outer = mixture([inner, normal(0, 3.0)], HALF)
    assert outer.parts[0] is inner


# -- flat arrays -----------------------------------------------------------------------------------------------------


def diamond():
    """Two products that share a mixture."""
    shared = mixture([normal(1, -1.0), normal(1, 1.0)], HALF)
    return mixture([product([normal(0, 0.0), shared]), product([normal(0, 5.0), shared])], HALF)


def test_children_come_before_parents_and_shared_parts_once():
    layout = lower(diamond())
    assert len(layout) == 8  # three of a shared mixture, two inputs, two products, the root
    assert np.bincount(layout.units).tolist() == [2, 2, 0, 4]
    assert layout.units[-1] == Unit.SUM
    for unit in range(len(layout)):
        assert (layout.children_of(unit) < unit).all()
    assert (layout.variables[layout.units > Unit.PRODUCT] >= 0).all()
    assert (layout.variables[layout.units <= Unit.PRODUCT] == -1).all()
    assert layout.inputs_of(0).size == layout.inputs_of(1).size == 2


def test_lifting_and_lowering_gives_the_same_arrays():
    layout = lower(diamond())
    again = lower(lift(layout))
    assert again.same(layout)
    assert not again.same(lower(normal(0)))
    other = layout.with_weights(layout.log_weights * 1.5)
    assert not other.same(layout)
    exchanged = lower(lift(layout, lambda unit, part: Input(part.unit, part.variable, part.parameters * 1.0)))
    assert exchanged.same(layout)


def test_arrays_cannot_be_written():
    layout = lower(diamond())
    for array in layout.arrays().values():
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert layout.parameters_of(0).flags.writeable is False


def test_a_single_input_is_a_circuit():
    layout = lower(normal(0, 3.0))
    assert (len(layout), layout.children.size) == (1, 0)
    circuit = Circuit(layout, Domains((Domain("x", Kind.NUMERIC, Family.NUMBER),)))
    assert circuit.score_samples([[3.0]])[0] == pytest.approx(-0.5 * math.log(2.0 * math.pi), rel=1e-14)
    assert circuit.expectation("x") == 3.0


def braid(depth):
    """Return a circuit in which everything is used twice, so that taking it apart would double it at each level."""
    one, other = product([normal(0), normal(1)]), product([normal(0, 9.0), normal(1)])
    for _ in range(depth):
        weights = math.log(0.9), math.log(0.1)
        one, other = Sum((one, other), weights, shared=True), Sum((other, one), weights, shared=True)
    return lower(mixture([one, other], HALF))


def test_shared_parts_stay_shared():
    layout = braid(10)
    assert len(lift(layout).parts) < 10
    assert lower(lift(lower(lift(layout)))).same(lower(lift(layout)))


def test_deep_circuits_need_no_recursion():
    assert len(lower(lift(braid(10)))) < 50  # else the next would not fit into any memory
    layout = lower(lift(braid(3000)))
    assert len(layout) > 6000
    assert lower(lift(layout)).same(layout)
    domains = Domains(tuple(Domain(name, Kind.NUMERIC, Family.NUMBER) for name in "xy"))
    circuit = Circuit(layout, domains)
    assert np.isfinite(circuit.score_samples([[0.5, 0.5], [9.0, 0.0]])).all()
    assert circuit.probability({"x": Range(above=4.5)}) == pytest.approx(0.5, abs=1e-5)
    assert circuit.expectation("x") == pytest.approx(4.5, rel=1e-9)
    assert circuit.condition({"x": Range(above=4.5)}).expectation("x") == pytest.approx(9.0, rel=1e-4)
    assert circuit.sample(3, random_state=0).shape == (3, 2)


# -- derivation ------------------------------------------------------------------------------------------------------


@laws(20)
@given(model=random_models())
def test_nothing_that_needs_no_unit_is_left(model):
    layout = model.circuit.layout
    uses = np.bincount(layout.children, minlength=len(layout))
    for unit in range(len(layout)):
        kind, children = layout.units[unit], layout.children_of(unit)
        if kind <= Unit.PRODUCT:
            assert children.size > 1
            nested = layout.units[children] == kind
            assert not (nested & (uses[children] == 1)).any()
            assert not nested.any() or kind == Unit.SUM
        elif kind == Unit.TREE:
            assert children.size > 1
            assert set(children.tolist()) <= set(layout.inputs.tolist())
        else:
            assert children.size == 0
    assert (uses[:-1] > 0).all()
    variables = {*layout.variables[layout.inputs].tolist(), *layout.normal_variables.tolist()}
    assert variables == set(range(len(model.names)))


@laws(15)
@given(model=random_models())
def test_the_circuit_is_the_network(model):
    """Weights, scopes and leaves, read from the network by hand."""

    def log_density(node, rows):
        if node.operation is Operation.CREATE_LEAF:
            columns = [f"x{v}" for v in range(len(model.names)) if f"x{v}" in node.scope]
            return leaf_scores[tuple(columns)](node, rows)
        parts = [log_density(child, rows) for child in node.children]
        if node.operation is Operation.SPLIT_DATA:
            weights = np.log([child.n_records / node.n_records for child in node.children])
            return np.logaddexp.reduce(np.array(parts) + weights[:, None], axis=0)
        return np.sum(parts, axis=0)

    leaf_scores = {(name,): categorical_leaf(model, name) for name in model.names if model.circuit.categories(name)}
    known = [name for name in model.names if (name,) in leaf_scores]
    if not known or model.parameters["factorization"] != "naive":
        return
    rows = np.full((8, len(model.names)), None)
    rng = model.rng()
    for name in known:
        rows[:, int(name[1:])] = [
            model.circuit.categories(name)[rng.integers(len(model.circuit.categories(name)))] for _ in rows
        ]
    for name in model.names:
        leaf_scores.setdefault((name,), lambda node, rows: np.zeros(len(rows)))
    assert_same_logs(model.circuit.score_samples(rows), log_density(model.spn.root_, rows))


def categorical_leaf(model, name):
    """Return a function that scores a column by the parameters that a leaf shows."""
    places = {repr(category): place for place, category in enumerate(model.circuit.categories(name))}

    def score(node, rows):
        probabilities = list(node.parameters["probabilities"].values())
        return np.log([probabilities[places[repr(row[int(name[1:])])]] for row in rows])

    return score


def test_what_was_derived_before_is_used_again_and_forgotten_with_its_nodes():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, 400)
    table = np.column_stack([10.0 * group, -7.0 * group]) + rng.standard_normal((400, 2))
    spn = SPN(min_rows=20, threshold=0.2).fit(table)
    derivation = spn._model.derivation

    def names():
        """Return the digests by which expressions are remembered: those of all nodes but leaves."""
        return {node.digests.released for node in spn._model.root.walk()}

    spn.circuit_  # noqa: B018
    before = dict(derivation._known)
    assert set(before) == names()
    steady = next(i for i in range(400) if not spn.unlearn(i, dry_run=True).recoded)
    assert not spn.unlearn(steady).recoded
    spn.circuit_  # noqa: B018
    kept = [name for name, expression in derivation._known.items() if before.get(name) is expression]
    assert len(kept) > 0.5 * len(before)
    assert set(kept) == names() & set(before)
    assert set(derivation._known) == names()
    assert set(before) - names()
    assert not derivation._used


def chain(n_columns=24):
    """Columns that each resemble the one before, so that a tree of them is a chain."""
    rng = np.random.default_rng(0)
    table = np.empty((300, n_columns), object)
    codes = rng.integers(0, 3, 300)
    for v in range(n_columns):
        codes = np.where(rng.random(300) < 0.75, codes, rng.integers(0, 3, 300))
        table[:, v] = np.array(["a", "b", "c"], object)[codes]
    return table


def test_a_tree_stays_small_under_marginals_and_evidence():
    """Parts that several others use are not multiplied when what is between them goes."""
    table = chain()
    circuit = SPN(min_rows=1000, factorization="chow-liu").fit(table).circuit_
    ends = circuit.marginal(["x0", "x23"])
    assert len(ends.layout) <= len(circuit.layout)
    conditional = circuit.condition({"x12": ["a", "b"]})
    assert len(conditional.layout) <= len(circuit.layout)
    step = [circuit.marginal([a, b]) for a, b in pairwise(circuit.columns)]
    cells = [(a, b) for a in "abc" for b in "abc"]
    joint = np.exp(ends.score_samples(np.array(cells, object))).reshape(3, 3)
    assert joint == pytest.approx(
        np.array([BruteForce(circuit).total({"x0": a, "x23": b}) for a, b in cells]).reshape(3, 3), rel=1e-12
    )
    assert sum(part.mutual_information(*part.columns) for part in step) > 23 * 0.2


# -- identity --------------------------------------------------------------------------------------------------------


def small(categories=("a", "b"), name="x", weights=(0.4, 0.5, 0.1), family=Family.TEXT):
    layout = lower(categorical(0, np.log(weights)))
    return Circuit(layout, Domains((Domain(name, Kind.CATEGORICAL, family, categories),)))


def test_circuits_are_equal_if_all_that_they_say_is():
    assert small() == small()
    assert small().digest() == small().digest()
    assert hash(small()) == hash(small())
    for other in (small(("a", "c")), small(("b", "a")), small(name="y"), small(weights=(0.4, 0.4, 0.2))):
        assert other != small()
        assert other.digest() != small().digest()
    assert small() != "circuit"


def test_true_and_one_are_different_categories():
    flags, numbers = (small(categories, family=Family.MIXED) for categories in ((True, "b"), (1, "b")))
    assert flags.digest() != numbers.digest()
    assert flags != numbers


def test_circuits_of_equal_records_are_equal_whatever_else_was_there_before():
    """A column that held words and numbers, and only words now, is a column of words."""
    rows = np.array([["a", 1.0], ["b", 2.0], [7, 3.0], ["b", 4.0]], object)
    spn = SPN(categorical_features=[0]).fit(rows)
    spn.unlearn(2)
    fresh = SPN(categorical_features=[0]).fit(rows[[0, 1, 3]], ids=[0, 1, 3])
    assert spn.digest() == fresh.digest()
    assert spn.circuit_ == fresh.circuit_
    assert spn.circuit_.digest() == fresh.circuit_.digest()


def test_circuits_show_their_size_columns_and_categories():
    circuit = SPN(min_rows=5).fit([[float(i), "ab"[i % 2]] for i in range(20)]).circuit_
    assert repr(circuit).startswith("<Circuit: 2 columns, ")
    assert circuit.columns == ["x0", "x1"]
    assert circuit.categories("x1") == ["a", "b"]
    assert circuit.categories("x0") == []
    assert circuit.circuit_ is circuit


def test_a_pickled_circuit_of_joint_normals_and_no_trees_answers_as_before():
    X, y = load_wine(return_X_y=True)
    circuit = SPNClassifier().fit(X, y).circuit_
    assert len(circuit.layout.normals) > 0
    assert len(circuit.layout.trees) == 0
    pickled = pickle.loads(pickle.dumps(circuit))
    assert pickled.layout.same(circuit.layout)
    table = np.column_stack([X, y])
    assert pickled.score_samples(table).tobytes() == circuit.score_samples(table).tobytes()


def test_circuits_can_be_copied_and_pickled():
    circuit = SPN(min_rows=5).fit([[float(i), "ab"[i % 2]] for i in range(20)]).circuit_
    circuit.score_samples([[1.0, "a"]])
    for other in (pickle.loads(pickle.dumps(circuit)), copy.deepcopy(circuit), copy.copy(circuit)):
        assert other == circuit
        assert not any(array.flags.writeable for array in other.layout.arrays().values())
        assert other.score_samples([[1.0, "a"]]).tolist() == circuit.score_samples([[1.0, "a"]]).tolist()
        assert other.sample(3, random_state=0).tolist() == circuit.sample(3, random_state=0).tolist()


def test_a_circuit_holds_no_record():
    secret = 1234.56789
    rows = [[float(i % 7), "ab"[i % 2]] for i in range(40)] + [[secret, "a"]]
    spn = SPN(min_rows=5).fit(rows)
    pickled = pickle.dumps(spn.circuit_)
    assert b"Records" not in pickled
    assert b"Node" not in pickled
    spn.unlearn(40)
    assert np.float64(secret).tobytes() not in pickle.dumps(spn.circuit_)
    assert len(pickle.dumps(SPN().fit(rows * 50, ids=range(41 * 50)).circuit_)) < 4000


def test_parameters_from_before_a_removal_are_forgotten_at_once():
    X = np.random.default_rng(0).standard_normal((400, 3))
    spn = SPN(min_rows=50).fit(X)
    spn.circuit_  # noqa: B018
    model = spn._model
    row = next(row for row in range(400) if not spn.unlearn(row, dry_run=True).recoded)
    spn.unlearn(row)
    alive = {node.digests.released for node in model.root.walk()}
    assert set(model.derivation._known) <= alive

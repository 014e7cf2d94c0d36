"""Validation: whatever the library makes passes, and each way to be no circuit is named, with the unit."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sequences import sequences
from unlearnspn import Range
from unlearnspn.circuit.distributions import NUMERIC, cut_off
from unlearnspn.circuit.expressions import ONE, Input, Unit, categorical, mixture, numeric, product
from unlearnspn.circuit.layout import Layout, lower
from unlearnspn.circuit.tree_nodes import TreeNode, pack
from unlearnspn.circuit.validation import InvalidCircuitError, validate
from unlearnspn.errors import ImpossibleEvidenceError
from unlearnspn.schema import Kind

HALF = [np.log(0.5)] * 2
INF = np.inf


def sizes_of(circuit):
    return [None if column.kind is Kind.NUMERIC else len(column.categories) for column in circuit.domains.columns]


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(sequences(), st.floats(-5, 5), st.integers(0, 100))
def test_every_circuit_of_the_library_passes(sequence, bound, row):
    circuit = sequence.estimator().fit(sequence.pool).circuit_
    validate(circuit.layout, sizes_of(circuit))
    names = circuit.columns
    for kept in (names[:1], names[::-1]):
        part = circuit.marginal(kept)
        validate(part.layout, sizes_of(part))
    values = dict(zip(names, sequence.pool[row % len(sequence.pool)], strict=True))
    known = {name: value for name, value in values.items() if value is not None}
    ranges = {name: Range(at_least=bound) for name, size in zip(names, sizes_of(circuit), strict=True) if size is None}
    for given_ in (known, ranges, {}):
        try:
            part = circuit.condition(given_)
        except ImpossibleEvidenceError:
            continue
        validate(part.layout, sizes_of(part))


def one_of_each():
    """Return a circuit with every kind of unit, over seven numeric variables and two of two categories."""
    gaussian = numeric(Unit.GAUSSIAN, 0, 1.0, 2.0)
    cut = cut_off(NUMERIC[Unit.GAUSSIAN], gaussian.parameters[None], np.array([0.0]), np.array([INF]))[0]
    histogram = Input(Unit.HISTOGRAM, 4, np.array([-INF, INF, 0.0, 0.0, 0.5, np.log(1.5), np.log(0.5)]))
    inputs = [
        mixture([gaussian, Input(Unit.GAUSSIAN, 0, cut)], HALF),
        numeric(Unit.EXPONENTIAL, 1, 3.0),
        numeric(Unit.LOG_NORMAL, 2, 0.0, 1.0),
        numeric(Unit.POISSON, 3, 4.0),
        histogram,
        Input(Unit.POINT, 5, np.array([7.0, 7.0, 0.0])),
        categorical(6, np.log([0.25, 0.5, 0.25])),
        a_tree(7),
    ]
    return lower(product(inputs)), [None] * 6 + [2, 2, None]


def a_tree(variable):
    """Return a tree of one variable of two categories, a number that depends on it, and a hidden node between them."""
    certain = [categorical(variable, line) for line in np.log([[0.6, 0.2, 0.2], [0.1, 0.5, 0.4]])]
    third, line = np.log([[0.2, 0.8], [0.3, 0.7]]), np.log([[0.4, 0.6]])
    numbers = [numeric(Unit.LOG_NORMAL, variable + 1, mean, 1.0) for mean in (0.0, 1.0)]
    return pack([TreeNode(-1, line, tuple(certain)), TreeNode(0, third, ()), TreeNode(1, None, tuple(numbers))])


TREE_FAULTS = [
    ("tree_starts", 0, 1, "the nodes are not divided among the trees"),
    ("tree_starts", 1, 2, "the nodes are not divided among the trees"),
    ("tree_starts", 1, 4, "the nodes are not divided among the trees"),
    ("tree_nodes", (1, 0), 1, "a node does not come after its parent"),
    ("tree_nodes", (1, 0), -1, "a node does not come after its parent"),
    ("tree_nodes", (0, 0), 0, "a node does not come after its parent"),
    ("tree_nodes", (2, 0), 2**31 - 1, "a node does not come after its parent"),
    ("tree_nodes", (1, 1), -1, "a node has less than no states or inputs"),
    ("tree_nodes", (1, 2), -2, "a node has less than no states or inputs"),
    ("tree_nodes", (1, 1), 0, "a node without states has children"),
    ("tree_nodes", (0, 1), 3, "a node does not have an input for each state"),
    ("tree_nodes", (2, 2), 0, "a node does not have an input for each state"),
    ("tree_nodes", (1, 2), 2, "its inputs are not divided among its nodes"),
    ("tree_nodes", (1, 1), 2**31 - 1, "a node does not have an input for each state"),
]


@pytest.mark.parametrize(("name", "place", "value", "fault"), TREE_FAULTS)
def test_a_tree_that_is_none_is_named(name, place, value, fault):
    with pytest.raises(InvalidCircuitError, match=fault):
        validate(*changed(name, place, value))


def test_tables_of_a_tree_have_their_size():
    nodes = np.array([[-1, 2, 2], [0, 2**31 - 1, 0]], np.int32)
    for layout, fault in (
        (replace(lower(a_tree(0)), tree_nodes=nodes, tree_starts=np.array([0, 2])), "its inputs are not divided"),
        (lower(replace(a_tree(0), log_tables=np.zeros(5))), "its tables do not have the size"),
    ):
        with pytest.raises(InvalidCircuitError, match=fault):
            validate(layout, [2, None])
    hidden = np.array([[-1, 2, 2], *([0, 2**31 - 1, 0] for _ in range(4)), [0, 0, 2]], np.int32)
    layout = replace(lower(a_tree(0)), tree_nodes=hidden, tree_starts=np.array([0, 6]))
    with pytest.raises(InvalidCircuitError, match="a table is too large"):
        validate(layout, [2, None])


def test_nodes_of_a_tree_are_over_variables_of_their_own():
    tree = a_tree(0)
    for variables, sizes in (([0, 1, 2, 2], [2, 2, None]), ([0, 0, 1, 2], [2, None, None])):
        inputs = tree.inputs._replace(variables=np.array(variables, np.int32))
        with pytest.raises(InvalidCircuitError, match="a node is over several variables"):
            validate(lower(replace(tree, inputs=inputs)), sizes)
    inputs = tree.inputs._replace(variables=np.zeros(4, np.int32), units=np.full(4, Unit.GAUSSIAN, np.uint8))
    inputs = inputs._replace(parameter_counts=np.full(4, 5), parameters=np.tile(NORMAL, 4))
    with pytest.raises(InvalidCircuitError, match="or over that of another"):
        validate(lower(replace(tree, inputs=inputs)), [None])


def changed(name, index, value):
    layout, sizes = one_of_each()
    array = getattr(layout, name).copy()
    array[index] = value
    return replace(layout, **{name: array}), sizes


def first(unit):
    layout, _ = one_of_each()
    return int(np.flatnonzero(layout.units == unit)[-1])


def parameter(unit, place, value):
    layout, _ = one_of_each()
    return changed("parameters", layout.parameter_starts[first(unit)] + place, value)


def test_one_of_each_passes():
    validate(*one_of_each())


@pytest.mark.parametrize("value", [np.nan, INF, -INF])
def test_no_number_of_a_circuit_may_be_anything(value):
    layout, sizes = one_of_each()
    for name in ("log_weights", "parameters"):
        array = getattr(layout, name)
        allowed = {(INF, INF), (-INF, -INF)}
        for place in range(array.size):
            if (array[place], value) in allowed:
                continue
            broken = array.copy()
            broken[place] = value
            with pytest.raises(InvalidCircuitError):
                validate(replace(layout, **{name: broken}), sizes)


@pytest.mark.parametrize(
    ("unit", "place", "value", "fault"),
    [
        (Unit.GAUSSIAN, 0, 5.0, "its mass is not that between its bounds"),
        (Unit.GAUSSIAN, 1, -1.0, "its bounds are not in order"),
        (Unit.GAUSSIAN, 2, -INF, "there is nothing between its bounds"),
        (Unit.GAUSSIAN, 2, -0.01, "its mass is not that between its bounds"),
        (Unit.GAUSSIAN, 3, INF, "its mean is not finite"),
        (Unit.GAUSSIAN, 4, 0.0, "its standard deviation is not positive"),
        (Unit.EXPONENTIAL, 3, -1.0, "its mean is not positive"),
        (Unit.EXPONENTIAL, 2, -1.0, "its mass is not that between its bounds"),
        (Unit.LOG_NORMAL, 4, -1.0, "its standard deviation is not positive"),
        (Unit.POISSON, 3, 0.0, "its rate is not positive"),
        (Unit.HISTOGRAM, 4, 0.0, "its bins have no width"),
        (Unit.HISTOGRAM, 4, 1e308, "its bins do not end"),
        (Unit.HISTOGRAM, 4, 0.6, r"its probabilities do not sum to 1 \(not normalised\)"),
        (Unit.HISTOGRAM, 5, 0.5, r"its probabilities do not sum to 1 \(not normalised\)"),
        (Unit.POINT, 0, 6.0, "its bounds are not one number"),
        (Unit.POINT, 2, -1.0, "its bounds are not one number"),
        (Unit.TREE, 0, 0.5, "a probability in a table is no logarithm"),
        (Unit.TREE, 4, -1.0, r"the probabilities in its tables do not sum to 1 \(not normalised\)"),
        (Unit.CATEGORICAL, 0, 0.5, "a parameter is no logarithm of a probability"),
        (Unit.CATEGORICAL, 0, -1.0, r"its probabilities do not sum to 1 \(not normalised\)"),
    ],
)
def test_parameters_that_make_no_distribution_are_named(unit, place, value, fault):
    with pytest.raises(InvalidCircuitError, match=rf"unit {first(unit)} \({unit.name}\): {fault}"):
        validate(*parameter(unit, place, value))


def x(variable, unit=Unit.GAUSSIAN):
    return numeric(unit, variable, 0.0, 1.0)


def raw(units, variables, children, weights, parameters):
    """Return arrays as they are given, lists of lists for children, weights and parameters."""
    starts = [np.cumsum([0, *map(len, lists)], dtype=np.int64) for lists in (children, parameters)]
    return Layout(
        np.array(units, np.uint8),
        np.array(variables, np.int32),
        starts[0],
        np.array(list(chain(*children)), np.int32),
        np.array(list(chain(*weights)), np.float64),
        starts[1],
        np.array(list(chain(*parameters)), np.float64),
    )


NORMAL = [-INF, INF, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("layout", "sizes", "fault"),
    [
        (
            lower(product([x(0), x(0)])),
            [None],
            r"unit 2 \(PRODUCT\): its factors share .* \(not decomposable\)",
        ),
        (lower(mixture([x(0), x(1)], HALF)), [None] * 2, r"unit 2 \(SUM\): its parts have different .* \(not smooth\)"),
        (lower(mixture([x(0), x(0)], [-1.0, -1.0])), [None], r"unit 2 \(SUM\): its weights do not sum to 1"),
        (lower(mixture([x(0), x(0)], [1.0, -1.0])), [None], r"unit 2 \(SUM\): a weight is no logarithm"),
        (lower(x(0)), [None, None], r"the circuit leaves out variable \[1\]"),
        (lower(x(1)), [None, None], r"the circuit leaves out variable \[0\]"),
        (lower(ONE), [None], r"the circuit leaves out variable \[0\]"),
        (lower(x(1)), [None], r"unit 0 \(GAUSSIAN\): its variable does not exist"),
        (lower(x(-1)), [None], r"unit 0 \(GAUSSIAN\): its variable does not exist"),
        (lower(x(0)), [2], r"unit 0 \(GAUSSIAN\): it is not of its variable's kind"),
        (lower(categorical(0, [0.0])), [None], r"unit 0 \(CATEGORICAL\): it is not of its variable's kind"),
        (lower(categorical(0, [0.0])), [1], r"unit 0 \(CATEGORICAL\): it does not have the parameters"),
        (lower(categorical(0, [0.0, -INF, -INF])), [1], r"unit 0 \(CATEGORICAL\): it does not have the parameters"),
        (lower(numeric(Unit.GAUSSIAN, 0, 0.0)), [None], r"unit 0 \(GAUSSIAN\): it does not have the parameters"),
        (lower(numeric(Unit.POISSON, 0, 1.0, 1.0)), [None], r"unit 0 \(POISSON\): it does not have the parameters"),
        (lower(numeric(Unit.HISTOGRAM, 0, 0.0, 1.0)), [None], r"unit 0 \(HISTOGRAM\): it does not have the param"),
        (raw([], [], [], [], []), [], "there are 0 units"),
        (raw([11], [0], [[]], [[]], [NORMAL]), [None], "unit 0 is of an unknown kind"),
        (raw([3, 0], [0, -1], [[], [1]], [[], [0.0]], [NORMAL, []]), [None], r"unit 1 \(SUM\): a child does not come"),
        (raw([3, 0], [0, -1], [[], [-1]], [[], [0.0]], [NORMAL, []]), [None], r"unit 1 \(SUM\): a child does not come"),
        (raw([0, 3], [-1, 0], [[], []], [[], []], [[], NORMAL]), [None], r"unit 0 \(SUM\): it is no part"),
        (raw([0], [-1], [[]], [[]], [[]]), [], r"unit 0 \(SUM\): a sum has no parts"),
        (raw([3, 3], [0, 0], [[], [0]], [[], [0.0]], [NORMAL, NORMAL]), [None], r"unit 1 .*: an input has children"),
        (
            raw([3, 1], [0, -1], [[], [0]], [[], [0.0]], [NORMAL, [1.0]]),
            [None],
            r"unit 1 .*only inputs, trees and joint normals have parameters",
        ),
        (
            raw([3, 1], [0, -1], [[], [0]], [[], [-1.0]], [NORMAL, []]),
            [None],
            r"unit 1 .*a product or a tree has weights",
        ),
        (raw([3, 1], [0, 0], [[], [0]], [[], [0.0]], [NORMAL, []]), [None], r"unit 1 .*only inputs have a variable"),
        (raw([3], [0, 0], [[]], [[]], [NORMAL]), [None], "not one variable for each unit"),
        (raw([3, 1], [0, -1], [[], [0]], [[], []], [NORMAL, []]), [None], "not one weight for each child"),
        (raw([3], [0], [[], []], [[]], [NORMAL]), [None], "the children are not divided among the units"),
        (raw([3], [0], [[]], [[]], [NORMAL, []]), [None], "the parameters are not divided among the units"),
    ],
)
def test_what_is_no_circuit_is_named(layout, sizes, fault):
    with pytest.raises(InvalidCircuitError, match=fault):
        validate(layout, sizes)


@pytest.mark.parametrize("starts", [[1, 5, 5], [0, 6, 5], [0, -1, 5], [0, 5, 4], [0, 5, 2**62]])
def test_starts_must_divide_the_parameters(starts):
    layout = replace(lower(product([x(0), x(1)])), parameter_starts=np.array([*starts, 10], np.int64))
    with pytest.raises(InvalidCircuitError, match="the parameters are not divided"):
        validate(layout, [None] * 2)


@pytest.mark.parametrize("n_variables", [63, 64, 65, 130])
def test_scopes_of_many_variables(n_variables):
    sizes = [None] * n_variables
    inputs = [x(v) for v in range(n_variables)]
    validate(lower(product(inputs)), sizes)
    last = lower(product([*inputs, x(n_variables - 1)]))
    with pytest.raises(InvalidCircuitError, match="not decomposable"):
        validate(last, sizes)
    with pytest.raises(InvalidCircuitError, match="not smooth"):
        validate(lower(mixture([product(inputs), product(inputs[:-1])], HALF)), sizes)
    with pytest.raises(InvalidCircuitError, match=rf"leaves out variable \[{n_variables - 1}\]"):
        validate(lower(product(inputs[:-1])), sizes)


def test_a_circuit_of_no_columns_passes():
    validate(lower(ONE), [])

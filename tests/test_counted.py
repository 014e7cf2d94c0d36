"""Leaves that follow from counts: those of many nodes are those of each, and what a leaf says of itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaf_data import learned, slice_of
from unlearnspn import Bernoulli, Categorical, Gaussian
from unlearnspn.circuit.expressions import Unit
from unlearnspn.leaves.counted import counted_inputs
from unlearnspn.leaves.from_counts import smoothing_of

N_ROWS = 30


def mixed_slice():
    """Return a slice of categories, a number, truth values, a column without any value, and another of categories."""
    rng = np.random.default_rng(0)
    columns = [rng.choice(list("abcd"), N_ROWS), rng.normal(size=N_ROWS), rng.random(N_ROWS) < 0.3]
    columns += [[None] * N_ROWS, rng.choice(["x", "y"], N_ROWS)]
    gaps = [[None if rng.random() < 0.1 else value for value in each] for each in columns]
    return slice_of(*gaps, categorical=[True, False, True, True, True])


DATA = mixed_slice()
LEAVES = [Categorical(), Gaussian(), Bernoulli(), Categorical(), Categorical(alpha=1e-300)]
SIZES = DATA.encoding.sizes
SMOOTHING = smoothing_of(LEAVES, DATA)


def counts_of(rows, scope):
    """Return how many rows have each code, variable after variable."""
    codes = DATA.records.codes
    return np.concatenate([np.bincount(codes[rows, v], minlength=SIZES[v]) for v in scope]).astype(np.int64)


def expressed(rows, v):
    """Return what a leaf says of itself."""
    data = type(DATA)(DATA.records, DATA.encoding, np.array([v]), 5)
    leaf = LEAVES[v].express(learned(LEAVES[v], data, rows), data)
    return leaf.unit, leaf.variable, leaf.parameters.tobytes()


def described(inputs):
    return [(part.unit, part.variable, part.parameters.tobytes()) for part in inputs.unpack()]


@st.composite
def nodes(draw):
    """Draw the rows of a node, its scope, and which variables are leaves."""
    rows = draw(st.sets(st.integers(0, N_ROWS - 1)).map(sorted))
    scope = draw(st.lists(st.integers(0, 4), min_size=1, unique=True).map(sorted))
    leaves = draw(st.sets(st.sampled_from(scope)).map(sorted))
    return np.array(rows, np.int64), np.array(scope, np.int64), np.array(leaves, np.int64)


@settings(max_examples=50, deadline=None)
@given(st.lists(nodes(), max_size=5))
def test_inputs_are_what_leaves_say_of_themselves(several):
    counts = [counts_of(rows, scope) for rows, scope, _ in several]
    scopes, leaves = [scope for _, scope, _ in several], [own for *_, own in several]
    found = counted_inputs(counts, scopes, leaves, SIZES, SMOOTHING)
    assert [described(each) for each in found] == [
        [expressed(rows, v) for v in own.tolist() if v != 1] for rows, _, own in several
    ]


def test_parameters_of_a_node_do_not_stay_when_it_goes():
    scope, rows = np.array([0, 2]), np.arange(N_ROWS)
    found = counted_inputs([counts_of(rows, scope)] * 2, [scope] * 2, [scope] * 2, SIZES, SMOOTHING)
    assert all(inputs.parameters.base is None for inputs in found)


@pytest.mark.parametrize("leaves", [[], [1]])
def test_a_node_without_such_leaves_has_no_inputs(leaves):
    scope = np.array([0, 1])
    (inputs,) = counted_inputs(
        [counts_of(np.arange(3), scope)], [scope], [np.array(leaves, np.int64)], SIZES, SMOOTHING
    )
    assert (inputs.number, inputs.parameters.size) == (0, 0)


def test_types_are_those_of_a_circuit():
    scope = np.array([0])
    (inputs,) = counted_inputs([counts_of(np.arange(3), scope)], [scope], [scope], SIZES, SMOOTHING)
    assert [part.dtype for part in inputs] == [np.uint8, np.int32, np.int64, np.float64]
    assert inputs.units.tolist() == [Unit.CATEGORICAL]

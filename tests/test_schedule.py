"""Schedules: no value is overwritten that is still needed."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unlearnspn import SPN
from unlearnspn.circuit.density import Evaluator, combine
from unlearnspn.circuit.expressions import Sum, Unit, mixture, numeric, product
from unlearnspn.circuit.inputs import add_input
from unlearnspn.circuit.layout import lower
from unlearnspn.circuit.schedule import Schedule
from unlearnspn.circuit.tree_lookups import TreeLookups


def gaussian(variable, mean):
    return numeric(Unit.GAUSSIAN, variable, float(mean), 1.0)


def log_densities(layout, numbers):
    """Evaluate a circuit of numbers by its schedule."""
    densities, places = np.empty(numbers.shape[1]), np.zeros((1, numbers.shape[1]), np.int32)
    trees = TreeLookups([], 0)
    Evaluator(layout, layout.variables, Schedule.of(layout)).log_density(trees, numbers, places, 0, densities)
    return densities


def unit_by_unit(layout, numbers):
    """Evaluate a circuit of numbers one unit after another, keeping all values."""
    values, places = np.zeros((len(layout), numbers.shape[1])), np.zeros(numbers.shape[1], np.int32)
    for unit in np.flatnonzero(layout.units > Unit.PRODUCT):
        own = layout.parameters[layout.parameter_starts[unit] : layout.parameter_starts[unit + 1]]
        add_input(int(layout.units[unit]), own, numbers[layout.variables[unit]], places, values[unit])
    combine(layout, values)
    return values[-1]


def chain(n_variables, n_outcomes, weights):
    """Return a chain of variables, each of which depends on the outcome of the one before."""
    given = None
    for v in reversed(range(n_variables)):
        alone = [gaussian(v, 3.0 * k) for k in range(n_outcomes)]
        parts = tuple(alone if given is None else [product(pair) for pair in zip(alone, given, strict=True)])
        given = [Sum(parts, tuple(next(weights) for _ in parts)) for _ in range(n_outcomes)]
    return mixture(given, [math.log(1.0 / n_outcomes)] * n_outcomes)


def some_weights(seed):
    rng = np.random.default_rng(seed)
    while True:
        yield float(np.log(rng.random()))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(2, 5), st.integers(0, 10**6), st.integers(1, 700))
def test_values_are_those_of_one_unit_after_another(n_variables, n_outcomes, seed, n_rows):
    layout = lower(chain(n_variables, n_outcomes, some_weights(seed)))
    numbers = np.random.default_rng(seed).normal(5.0, 6.0, (n_variables, n_rows))
    numbers[:, ::7] = np.nan
    np.testing.assert_allclose(log_densities(layout, numbers), unit_by_unit(layout, numbers), rtol=1e-12, atol=1e-12)


def test_few_values_are_kept():
    layout = lower(chain(200, 3, some_weights(0)))
    assert len(layout) > 1500
    assert Schedule.of(layout).n_lines < 20


def test_a_part_without_weight_does_not_hide_the_others():
    parts = (gaussian(0, 0.0), gaussian(0, 100.0))
    sums = [Sum(parts, (-math.inf, 0.0)), Sum(parts, (math.log(0.5), math.log(0.5))), Sum(parts, (0.0, -math.inf))]
    layout = lower(mixture([product([each, gaussian(1, 1.0 + k)]) for k, each in enumerate(sums)], [-1.0, -1.0, -1.0]))
    numbers = np.array([[0.0, 100.0, 50.0, np.nan], [1e3, -1e3, 2.0, np.nan]])
    np.testing.assert_allclose(log_densities(layout, numbers), unit_by_unit(layout, numbers), rtol=1e-12)


def test_a_single_input_is_a_circuit():
    layout = lower(gaussian(0, 2.0))
    assert log_densities(layout, np.array([[2.0]])) == pytest.approx([-0.5 * math.log(2 * math.pi)])


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 1500), st.integers(1, 4), st.integers(0, 10**6))
def test_blocks_do_not_matter(n_rows, n_parts, seed):
    rng = np.random.default_rng(seed)
    parts = [product([gaussian(v, rng.normal()) for v in range(2)]) for _ in range(n_parts)]
    layout = lower(mixture(parts, np.log(rng.dirichlet(np.ones(n_parts))).tolist()))
    numbers = rng.normal(0.0, 3.0, (2, n_rows))
    together, cut = log_densities(layout, numbers), int(rng.integers(0, n_rows + 1))
    parts = [log_densities(layout, np.ascontiguousarray(each)) for each in (numbers[:, :cut], numbers[:, cut:])]
    assert np.concatenate(parts).tobytes() == together.tobytes()


def test_only_rows_from_the_first_on_are_evaluated():
    layout = lower(chain(3, 4, some_weights(0)))
    numbers = np.random.default_rng(0).normal(5.0, 6.0, (3, 700))
    densities, places = np.empty(500), np.zeros((1, 700), np.int32)
    trees = TreeLookups([], 0)
    Evaluator(layout, layout.variables, Schedule.of(layout)).log_density(trees, numbers, places, 123, densities)
    assert densities.tobytes() == log_densities(layout, numbers)[123:623].tobytes()


def test_rows_do_not_depend_on_each_other():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 4)) @ rng.standard_normal((4, 4))
    spn = SPN(min_rows=100).fit(X)
    together = spn.score_samples(X)
    assert together.tolist() == [spn.score_samples(row[None])[0] for row in X]

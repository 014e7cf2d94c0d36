"""Exact sums, checked against rational arithmetic: whatever goes in comes out again without a trace."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from unlearnspn.exact_sum import N_PARTS, Moments, Window, count_parts
from unlearnspn.hashing import integer_bytes

EXTREMES = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 0.1]
doubles = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(EXTREMES))
cells = st.one_of(doubles, st.just(math.nan))
exactly = settings(max_examples=200, deadline=None)


def moments(values):
    return Moments.of(np.array(values, np.float64).reshape(-1, 1), np.arange(len(values)))


def observed(values):
    return [Fraction(value) for value in values if not math.isnan(value)]


def variance(values):
    n = len(values)
    return sum(v * v for v in values) / n - (sum(values) / n) ** 2


@exactly
@given(st.lists(st.tuples(cells, cells), max_size=30), st.data())
def test_moments_are_the_rational_sums_of_the_chosen_rows(table, data):
    chosen = data.draw(st.lists(st.integers(0, len(table) - 1), unique=True)) if table else []
    column = data.draw(st.integers(0, 1))
    array = np.array(table, np.float64).reshape(-1, 2)
    values = observed([table[row][column] for row in chosen])
    result = Moments.of(array, np.array(chosen, np.int64), column)
    assert result.n == len(values)
    assert Fraction(result.first, 2**1074) == sum(values)
    assert Fraction(result.second, 2**2148) == sum(v * v for v in values)


@exactly
@given(st.lists(cells, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_minus_undoes_plus_in_any_order(values, random):
    total = moments(values)
    coming, leaving = random.sample(values, len(values)), random.sample(values, len(values))
    built = moments([])
    for value in coming:
        built = built.plus(moments([value]))
    assert built == total
    for done, value in enumerate(leaving, start=1):
        built = built.minus(moments([value]))
        assert built == moments(leaving[done:])
    assert built == Moments(0, 0, 0)


def test_floats_do_not_undo_what_exact_sums_do():
    values = [0.1, 1e16, 0.3]
    naive = sum(values) - 1e16
    assert naive != 0.1 + 0.3
    kept = moments(values).minus(moments([1e16]))
    assert kept == moments([0.3, 0.1])
    assert kept.mean() == 0.2


def test_many_rows_of_wide_range():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(5000) * 10.0 ** rng.integers(-300, 300, 5000)
    fractions = observed(values.tolist())
    result = moments(values)
    assert Fraction(result.first, 2**1074) == sum(fractions)
    assert Fraction(result.second, 2**2148) == sum(v * v for v in fractions)
    assert result.mean() == math.fsum((values / 2**13).tolist()) / 5000 * 2**13


@exactly
@given(st.lists(doubles, min_size=1, max_size=20))
def test_mean_is_correctly_rounded(values):
    exact = sum(observed(values)) / len(values)
    assert moments(values).mean() == float(exact)  # Python rounds a fraction correctly


@exactly
@given(st.lists(doubles, min_size=1, max_size=20))
def test_std_lies_between_its_neighbours(values):
    std, exact = moments(values).std(), variance(observed(values))
    if exact == 0:
        assert std == 0.0
        return
    below, above = math.nextafter(std, 0.0), math.nextafter(std, math.inf)
    assert Fraction(below) ** 2 < exact
    assert above == math.inf or exact < Fraction(above) ** 2


@exactly
@given(st.lists(st.lists(doubles, max_size=5), min_size=1, max_size=4))
def test_lines_of_words_have_the_mean_and_std_of_their_moments(lines):
    every = np.array([value for values in lines for value in values]).reshape(-1, 1)
    parts = np.zeros(N_PARTS, np.int64)
    count_parts(every.view(np.int64), np.arange(len(every)), 0, parts, 1)
    window = Window.of(parts)
    each = [moments(values) for values in lines]
    words = np.stack([one.to_words(window) for one in each])
    assert window.means_and_stds(words) == [(one.mean(), one.std()) for one in each if one.n]


@pytest.mark.parametrize("scale", [5e-324 * 2**10, 1.0, 2.0**1000])
def test_std_of_whole_numbers_is_exact(scale):
    values = [scale * v for v in (2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0)]
    assert moments(values).std() == 2 * scale


@exactly
@given(st.lists(doubles, min_size=2, max_size=20))
def test_log2_variance_is_exact(values):
    exact = variance(observed(values))
    assume(exact > 0)
    exponent = moments(values).log2_variance()
    assert Fraction(2) ** exponent <= exact < Fraction(2) ** (exponent + 1)


@exactly
@given(st.integers(-500, 500), st.integers(-60, 60), st.integers(0, 3))
def test_log2_variance_at_powers_of_two(exponent, offset, missing):
    # Two values at distance 2·2**e have the variance 4**e, exactly at the edge.
    values = [math.ldexp(offset - 1.0, exponent), math.ldexp(offset + 1.0, exponent), *[math.nan] * missing]
    assert moments(values).log2_variance() == 2 * exponent


@exactly
@given(st.lists(st.one_of(st.just(0.1), cells), min_size=1, max_size=6), st.integers(1, 3))
def test_spread_is_zero_only_for_equal_values(values, repeats):
    different = set(observed(values))
    assert (moments(values * repeats).spread() == 0) == (len(different) < 2)


def test_spread_sees_the_last_bit():
    almost = [1e300] * 50 + [math.nextafter(1e300, 0.0)]
    assert np.var(almost[:2]) == 0.0
    assert moments(almost).spread() > 0
    assert moments(almost[:50]).spread() == 0


@exactly
@given(st.lists(cells, max_size=8), st.lists(cells, max_size=8))
def test_bytes_tell_moments_apart(one, other):
    first, second = moments(one), moments(other)
    assert (first.to_bytes() == second.to_bytes()) == (first == second)
    assert first.to_bytes() == [integer_bytes(number) for number in first]

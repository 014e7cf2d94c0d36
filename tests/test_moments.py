"""Exact moments, checked against rational arithmetic: whatever goes in comes out again without a trace."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from unlearnspn.hashing import integer_bytes
from unlearnspn.statistics.column_sums import add_values, count_parts
from unlearnspn.statistics.moments import N_PARTS, Moments, Window, sum_values

EXTREMES = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 0.1]
doubles = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(EXTREMES))
cells = st.one_of(doubles, st.just(math.nan))
exactly = settings(max_examples=80, deadline=None)


def moments(values):
    return Moments.of(np.array(values, np.float64).reshape(-1, 1), np.arange(len(values)))


def bits_of(values):
    return np.array(values, np.float64).reshape(-1, 1).view(np.int64)


def window_of(values):
    parts = np.zeros(N_PARTS, np.int64)
    count_parts(bits_of(values), np.arange(len(values)), 0, parts, 1)
    return Window.of(parts)


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
def test_minus_undoes_merge_in_any_order(values, random):
    total = moments(values)
    coming, leaving = random.sample(values, len(values)), random.sample(values, len(values))
    built = moments([])
    for value in coming:
        built = built.merge(moments([value]))
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
    window = window_of([value for values in lines for value in values])
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
    assert first.to_bytes() == [integer_bytes(number) for number in (first.n, first.first, first.second)]


@exactly
@given(st.lists(cells, max_size=12), st.lists(cells, max_size=12))
def test_moments_of_two_sets_are_merged_and_taken_apart(one, other):
    both = moments(one + other)
    assert moments(one).merge(moments(other)) == both == moments(other).merge(moments(one))
    assert both.minus(moments(other)) == moments(one)


@given(cells)
def test_one_value_is_summed_as_many_are(value):
    assert moments([value]) == moments([value, math.nan])
    assert moments([value, value]).minus(moments([value])) == moments([value])


def test_rows_may_be_anywhere_in_a_table():
    table = np.arange(12.0).reshape(4, 3)
    expected = Moments.of(table[[3, 1], 2].reshape(-1, 1), np.arange(2))
    assert sum_values(table.view(np.int64), np.array([3, 1]), 2) == expected
    assert sum_values(table[:, ::2].view(np.int64), np.array([0, 3, 0, 1])[1::2], 1) == expected


@given(st.lists(cells, max_size=5), st.lists(cells, max_size=5))
def test_moments_are_compared_by_value_and_can_be_pickled(one, other):
    first, second = moments(one), moments(other)
    assert (first == second) == (repr(first) == repr(second))
    assert pickle.loads(pickle.dumps(first)) == first
    assert hash(first) == hash(moments(one[::-1]))
    assert first != "moments"


@exactly
@given(st.lists(cells, max_size=20), st.randoms(use_true_random=False))
def test_words_are_those_of_the_moments_and_values_leave_without_a_trace(values, random):
    window, rows = window_of(values), np.array(random.sample(range(len(values)), len(values)), np.int64)
    words, before = np.full(window.n_words + 3, 5), np.full(window.n_words + 3, 5)
    words[2:-1] = before[2:-1] = 0
    add_values(words, 2, bits_of(values), rows, 0, window, 1)
    assert (words[2:-1] == moments(values).to_words(window)).all()
    assert Moments.from_words(words[2:-1], window) == moments(values)
    add_values(words, 2, bits_of(values), rows[::-1], 0, window, -1)
    assert (words == before).all()


@given(st.lists(cells, max_size=20))
def test_parts_are_counted_out_as_they_were_counted_in(values):
    parts = np.zeros(N_PARTS, np.int64)
    count_parts(bits_of(values), np.arange(len(values)), 0, parts, 1)
    assert parts.sum() == sum(1 for value in values if not math.isnan(value) and value != 0)
    count_parts(bits_of(values), np.arange(len(values))[::-1], 0, parts, -1)
    assert not parts.any()

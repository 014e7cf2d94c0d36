"""Means and deviations of compiled code, against those of integers of arbitrary size."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unlearnspn.exact_rounding import divide, divide_root, mean_and_std
from unlearnspn.statistics.column_sums import add_values, count_parts
from unlearnspn.statistics.moments import N_PARTS, Moments, Window

EXTREMES = [0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 0.1, 1.0]
doubles = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(EXTREMES))
#: Numbers like those of tables: with few digits, or next to each other.
ordinary = st.one_of(
    st.integers(-1000, 1000).map(float),
    st.integers(-(10**6), 10**6).map(lambda number: number / 1000),
    st.integers(-3, 3).map(lambda steps: 1e6 + steps * math.ulp(1e6)),
)
often = settings(max_examples=200, deadline=None)


def found_and_exact(values):
    """Return mean and deviation of some values, as compiled code and as `Moments` has them."""
    table, rows, parts = (
        np.array(values, np.float64).reshape(-1, 1),
        np.arange(len(values)),
        np.zeros(N_PARTS, np.int64),
    )
    bits = table.view(np.int64)
    count_parts(bits, rows, 0, parts, 1)
    window = Window.of(parts)
    words = np.zeros(3 + window.n_words, np.int64)
    add_values(words, 3, bits, rows, 0, window, 1)
    exact = Moments.of(table, rows)
    return mean_and_std(words, 3, tuple(window)), (exact.mean(), exact.std())


def is_subnormal(value):
    """Tell whether a number is so small that it has fewer bits, or had before it was rounded."""
    return abs(value) <= 2.0**-1022


@often
@given(st.lists(doubles, min_size=1, max_size=20))
def test_what_is_not_subnormal_is_known_and_exact(values):
    for found, exact in zip(*found_and_exact(values), strict=True):
        assert found == exact or (math.isnan(found) and is_subnormal(exact))


@often
@given(st.lists(ordinary, min_size=1, max_size=20))
def test_of_ordinary_numbers_both_are_known(values):
    found, exact = found_and_exact(values)
    assert found == exact


@often
@given(doubles, doubles, st.integers(1, 5))
def test_half_of_a_difference_may_lie_in_the_middle_of_two_doubles(one, other, repeats):
    found, exact = found_and_exact([one, other] * repeats)
    assert found[1] == exact[1] or (math.isnan(found[1]) and is_subnormal(exact[1]))


@pytest.mark.parametrize("scale", [1e-290, 1.0, 1e290])
@pytest.mark.parametrize("n", [1, 2, 3, 1000])
def test_many_numbers_of_any_size(n, scale):
    rng = np.random.default_rng(n)
    for _ in range(100):
        values = rng.normal(rng.normal(), 10.0 ** rng.integers(-9, 9), n) * scale
        found, exact = found_and_exact(values)
        assert found == exact


def test_means_in_the_middle_of_two_doubles_go_to_the_even_one():
    last = math.ulp(1.0)
    for odd in (1, 3, 5, 7):
        found, exact = found_and_exact([1.0, 1.0 + odd * last])
        assert found[0] == exact[0] == float.fromhex(f"0x1.{(odd + 1) // 4 * 2:013x}p0")
        assert found_and_exact([-1.0, -1.0 - odd * last])[0][0] == -exact[0]


@pytest.mark.parametrize("exponent", [-1000, -60, 0, 60, 900])
@pytest.mark.parametrize("distance", [-3, -1, 0, 1, 3])
def test_deviations_in_the_middle_of_two_doubles_go_to_the_even_one(distance, exponent):
    # Half of the difference has 54 bits, of which the last is one; beside them there is a number that is nearly so.
    for odd in (2**54 - 1, 2**53 + 1, 2**53 + 3, 2**54 - 3):
        low, high = math.ldexp(-(odd // 2), exponent), math.ldexp(odd - odd // 2, exponent)
        near = math.ldexp(float(distance), exponent - 20)
        for values in ([low, high], [low, high, low, high], [low, high + near], [low, high, near, low + near]):
            found, exact = found_and_exact(values)
            assert found == exact


#: Twice the middle of two doubles, or almost.
middles = st.one_of(
    st.integers(2**52, 2**53 - 1).map(lambda half: 2 * half + 1), st.just(2**54 - 1), st.just(2**53 + 1)
)
divisors = st.one_of(st.integers(1, 2**31 - 1), st.integers(1, 100))


def limbs_of(number):
    return np.array([number >> at & 0xFFFFFFFF for at in range(0, number.bit_length() + 40, 32)])


@often
@given(middles, divisors, st.integers(0, 200), st.integers(-3, 3))
def test_quotients_next_to_the_middle_of_two_doubles(middle, n, n_zeros, off):
    number = (middle * n << n_zeros) + off
    assert divide(limbs_of(number), n, -30) == number / (n << 30)


@often
@given(middles, divisors, st.integers(0, 150), st.integers(-3, 3))
def test_roots_next_to_the_middle_of_two_doubles(middle, n, n_zeros, off):
    square = (middle * n << n_zeros) ** 2 + off
    # A root of so many more bits is below the middle, in it, or above it as the root itself is.
    root = math.isqrt(square << 400)
    is_exact = root * root == square << 400
    expected = (root * 2 + (not is_exact)) / (n << 231)
    assert divide_root(limbs_of(square), n, -30) == expected


def test_subnormal_numbers_are_left_open():
    found, exact = found_and_exact([5e-324, 15e-324])
    assert exact == (1e-323, 5e-324)
    assert np.isnan(found).all()


def test_a_value_alone_and_equal_values():
    for value in (0.1, -1e300, 2.0**-1000, 0.0):
        for n in (1, 7):
            assert found_and_exact([value] * n)[0] == (value, 0.0)

"""Exponentials and logarithms are accurate, and each is the same whatever stands beside it."""

import math

import numpy as np
import pytest

from unlearnspn.circuit.density import combine
from unlearnspn.circuit.exponentials import exponentials, logarithms
from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.layout import Layout

RNG = np.random.default_rng(0)
#: Around whole powers of two, and anywhere.
HALVES = np.arange(0.0, 1021.0, 0.5) * math.log(2.0)
EXPONENTS = -np.concatenate(
    [
        HALVES,
        np.nextafter(HALVES, 999.0),
        np.nextafter(HALVES, -1.0)[1:],
        RNG.exponential(5.0, 9999),
        10.0 ** -np.arange(20),
    ]
)
POWERS = 2.0 ** np.arange(-1022.0, 1023.0)
NUMBERS = np.concatenate(
    [POWERS, np.nextafter(POWERS, 9e307), np.nextafter(POWERS, 0.0)[1:], RNG.lognormal(0.0, 9.0, 9999)]
)
NEAR_ONE = 1.0 + np.concatenate([2.0 ** -np.arange(1.0, 53.0), -(2.0 ** -np.arange(1.0, 54.0))])
NEAR_ROOT = math.sqrt(2.0) * (1.0 + np.arange(-9, 10) * 2.0**-52)


def exp(values):
    return exponentials(np.array(values, float))


def log(values):
    return logarithms(np.array(values, float))


def test_exponentials_are_accurate_everywhere():
    expected = np.array([math.exp(x) for x in EXPONENTS])
    assert np.abs(exp(EXPONENTS) / expected - 1.0).max() <= 5e-16
    assert exp([0.0]) == 1.0


def test_nothing_comes_out_that_has_fewer_bits():
    assert (exp([-math.inf, math.nan, -1e308, -709.0, -708.0]) == 0.0).all()
    assert exp([-707.99]) == pytest.approx(math.exp(-707.99), rel=5e-16)


@pytest.mark.parametrize("values", [NUMBERS, NEAR_ONE, NEAR_ROOT])
def test_logarithms_are_accurate_everywhere(values):
    expected = np.array([math.log(x) for x in values])
    assert (np.abs(log(values) - expected) <= 4e-16 * np.abs(expected)).all()
    assert log([1.0]) == 0.0


@pytest.mark.parametrize(("function", "values"), [(exp, EXPONENTS), (log, NUMBERS)])
def test_each_comes_out_the_same_whatever_stands_beside_it(function, values):
    alone = np.concatenate([function([value]) for value in values[::97]])
    for start in range(8):
        assert np.array_equal(function(values[start:])[(97 - start) % 97 :: 97][-99:], alone[-99:])


def exp_by_numpy(values):
    x = np.where(values > -708.0, values, -708.0)
    powers = x * 1.4426950408889634 + 1.5 * 2.0**52
    exponents = powers - 1.5 * 2.0**52
    h = (x - exponents * 6.93147180369123816490e-01) - exponents * 1.90821492927058770002e-10
    terms = [1.0 / math.factorial(n) for n in range(13)]
    fours = [(terms[n] + h * terms[n + 1]) + h * h * (terms[n + 2] + h * terms[n + 3]) for n in (0, 4, 8)]
    fourth = h * h * (h * h)
    series = fours[0] + fourth * (fours[1] + fourth * (fours[2] + fourth * terms[12]))
    bits = (powers.view(np.int64) + 1023) << 52
    return np.where(x > -708.0, series, 0.0) * bits.view(np.float64)


def log_by_numpy(values):
    mantissas, exponents = np.frexp(values)
    is_small = mantissas <= math.sqrt(0.5)
    mantissas, exponents = np.where(is_small, 2.0 * mantissas, mantissas), exponents - is_small
    f = (mantissas - 1.0) / (mantissas + 1.0)
    square, series = f * f, np.zeros_like(f)
    for odd in range(21, 0, -2):
        series = series * square + 1.0 / odd
    return 2.0 * f * series + exponents * (6.93147180369123816490e-01 + 1.90821492927058770002e-10)


@pytest.mark.parametrize(
    ("function", "by_numpy", "values"),
    [
        (exp, exp_by_numpy, np.append(EXPONENTS, [-math.inf, math.nan, -1e308, -709.0, -708.0])),
        (log, log_by_numpy, np.concatenate([NUMBERS, NEAR_ONE, NEAR_ROOT])),
    ],
)
def test_numpy_gives_the_same_bits(function, by_numpy, values):
    assert by_numpy(values).tobytes() == function(values).tobytes()


def mixed(parts, weights):
    """Return the values of a sum over inputs that have these values, [part, row]."""
    n_parts, n_rows = parts.shape
    values = np.vstack([parts, np.zeros(n_rows)])
    units = np.array([Unit.GAUSSIAN] * n_parts + [Unit.SUM], np.uint8)
    starts, none = np.array([0] * (n_parts + 1) + [n_parts]), np.zeros(n_parts + 2, np.int64)
    children, variables = np.arange(n_parts, dtype=np.int32), np.zeros(n_parts + 1, np.int32)
    combine(Layout(units, variables, starts, children, weights, none, np.zeros(0)), values)
    return values[-1]


@pytest.mark.parametrize(
    "weights", [np.log([0.5, 0.2, 0.3]), np.array([-690.0, 0.0, -3.0]), np.array([-1e4, -1e3, 0.0])]
)
@pytest.mark.parametrize("distance", [0.0, 1e-9, 1.0, 30.0, 40.0, 700.0, 800.0, 1e300])
def test_mixtures_are_accurate_however_far_their_parts_are_apart(distance, weights):
    parts = np.array([-700.0, 0.0, 3e5])[None, :] + np.array([[0.0], [-distance], [-distance / 3]])
    expected = np.logaddexp.reduce(parts + weights[:, None], axis=0)
    assert mixed(parts, weights) == pytest.approx(expected, rel=4e-16, abs=1e-15)


def test_mixtures_of_what_is_impossible():
    impossible = np.full((2, 3), -math.inf)
    assert (mixed(impossible, np.log([0.5, 0.5])) == -math.inf).all()
    impossible[1] = -3.0
    assert (mixed(impossible, np.array([0.0, -1.0])) == -4.0).all()
    assert (mixed(impossible, np.array([0.0, -math.inf])) == -math.inf).all()

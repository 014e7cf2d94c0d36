# cython: cdivision=True
"""Probabilities of counts under a Poisson distribution: single ones, tails and ranges, as logarithms.

Tails are relative to the probability of the count where they start. That ratio is an integral of a smooth function that
falls from 1 (the incomplete gamma function, its variable on a log scale), which costs the same for every rate. Counts
are whole numbers, kept as floats.
"""

from __future__ import annotations

import math

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, exp, expm1, fabs, floor, log, log1p, sqrt
from cython.cimports.unlearnspn.const_types import const_float64

from unlearnspn.circuit.distributions.base import LARGEST, Floats
from unlearnspn.circuit.distributions.quadrature import unit_interval_rule

#: Above, not every whole number is a float.
LAST_CONSECUTIVE = 2.0**53
_LAST_CONSECUTIVE = cython.declare(cython.double, LAST_CONSECUTIVE)
_LARGEST = cython.declare(cython.double, LARGEST)
#: The logarithms of the factorials of small counts.
_LOG_FACTORIALS = cython.declare(
    cython.double[::1], np.array([math.log(math.factorial(count)) for count in range(256)])
)
_LOG_TWO_PI = cython.declare(cython.double, math.log(2.0 * math.pi))
_POINTS = cython.declare(const_float64[::1], unit_interval_rule(48)[0])
_WEIGHTS = cython.declare(const_float64[::1], unit_interval_rule(48)[1])
#: What a tail leaves out is smaller by a factor of exp(-_NEGLIGIBLE).
_NEGLIGIBLE = cython.declare(cython.double, 45.0)
#: Ranges of fewer counts are added up one by one.
_FEW = cython.declare(cython.double, 64.0)


def log_ranges(rates: const_float64[:], first: const_float64[:], last: const_float64[:]) -> Floats:
    """Return log P(first ≤ X ≤ last) for each rate."""
    i: cython.Py_ssize_t
    result = np.empty(rates.shape[0])
    logs: cython.double[::1] = result
    with cython.nogil:
        for i in range(rates.shape[0]):
            logs[i] = _log_range(first[i], last[i], rates[i])
    return result


def log_shares(
    rates: const_float64[:],
    own_first: const_float64[:],
    own_last: const_float64[:],
    first: const_float64[:],
    last: const_float64[:],
) -> Floats:
    """Return the log of P(first ≤ X ≤ last) / P(own_first ≤ X ≤ own_last) for each rate."""
    i: cython.Py_ssize_t
    result = np.empty(rates.shape[0])
    logs: cython.double[::1] = result
    with cython.nogil:
        for i in range(rates.shape[0]):
            logs[i] = _log_share(own_first[i], own_last[i], first[i], last[i], rates[i])
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def log_probability(count: cython.double, rate: cython.double, log_rate: cython.double) -> cython.double:
    """Return the log-probability of one count."""
    if count == 0.0:
        return -rate
    if count < 256.0:
        return count * log_rate - rate - _LOG_FACTORIALS[cython.cast(cython.Py_ssize_t, count)]
    return _smooth_log_probability(count, rate)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _smooth_log_probability(count: cython.double, rate: cython.double) -> cython.double:
    """Return the same for a large number that need not be whole, by Stirling's series: its terms do not cancel."""
    inverse_square = 1.0 / (count * count)
    series = (1.0 / 12.0 - (1.0 / 360.0 - inverse_square / 1260.0) * inverse_square) / count
    return -_deviance(count, rate) - series - 0.5 * (log(count) + _LOG_TWO_PI)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _deviance(count: cython.double, rate: cython.double) -> cython.double:
    """Return count·log(count / rate) + rate - count, which is small if the two are close."""
    odd: cython.int
    difference = count - rate
    if fabs(difference) > 0.1 * count or fabs(difference) > 0.1 * rate:
        return count * log(count / rate) - difference
    # log(count / rate) = 2·artanh(v), whose series starts with 2v; (count + rate)·v is the difference.
    v = 0.5 * difference / (0.5 * count + 0.5 * rate)
    square, power, series = v * v, v, 0.0
    for odd in range(3, 21, 2):
        power *= square
        series += power / odd
    return difference * v + count * (2.0 * series)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _beyond_linear(v: cython.double) -> cython.double:
    """Return exp(v) - 1 - v."""
    n: cython.int
    if fabs(v) > 0.3:
        return expm1(v) - v
    term, series = 0.5 * v * v, 0.0
    for n in range(3, 15):
        series += term
        term *= v / n
    return series


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_upper_ratio(count: cython.double, rate: cython.double) -> cython.double:
    """Return the log of P(X ≥ count) / P(X = count), for a count of at least 1 that is above the rate or close."""
    i: cython.Py_ssize_t
    excess = count - rate
    half = (excess - 0.5 * _NEGLIGIBLE) / count
    square = 2.0 * _NEGLIGIBLE / count
    end = square / (half + sqrt(half * half + square))
    total = 0.0
    for i in range(_POINTS.shape[0]):
        v = end * _POINTS[i]
        total += _WEIGHTS[i] * exp(-(excess * v + rate * _beyond_linear(-v)))
    return log(total) + log(count) + log(end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_lower_ratio(count: cython.double, rate: cython.double) -> cython.double:
    """Return the log of P(X ≤ count) / P(X = count), for a count below the rate or close."""
    i: cython.Py_ssize_t
    if count == 0.0:
        return 0.0
    excess = rate - count - 1.0
    half = excess / rate
    square = 2.0 * _NEGLIGIBLE / rate
    end = square / (half + sqrt(half * half + square))
    end = min(end, log1p((_NEGLIGIBLE + (count + 1.0) * end) / rate))
    total = 0.0
    for i in range(_POINTS.shape[0]):
        v = end * _POINTS[i]
        total += _WEIGHTS[i] * exp(-(excess * v + rate * _beyond_linear(v)))
    return log(total) + log(rate) + log(end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_without(log_share: cython.double) -> cython.double:
    """Return log(1 - share)."""
    if log_share < -1.0:
        return log1p(-exp(log_share))
    return log(-expm1(log_share)) if log_share < 0.0 else -INFINITY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def most_probable(first: cython.double, last: cython.double, rate: cython.double) -> cython.double:
    """Return the most probable count in a range; of two, the larger."""
    return min(max(floor(rate), first), last)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def log_relative(count: cython.double, peak: cython.double, rate: cython.double) -> cython.double:
    """Return the log of P(X = count) / P(X = peak), which has many more digits than a difference of logarithms."""
    if count == peak:
        return 0.0
    if peak == 0.0:
        return log_probability(count, rate, log(rate)) + rate
    tilt = log1p((rate - peak) / peak) if rate > 0.5 * peak else log(rate) - log(peak)
    log_peak = log(peak)
    fall = log_probability(count, peak, log_peak) - log_probability(peak, peak, log_peak)
    return (count - peak) * tilt + fall


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def log_above(count: cython.double, peak: cython.double, rate: cython.double) -> cython.double:
    """Return the log of P(X > count) / P(X = peak), for a count above the rate or close to it."""
    if count + 1.0 > _LARGEST:
        return -INFINITY
    return log_relative(count + 1.0, peak, rate) + _log_upper_ratio(count + 1.0, rate)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def log_up_to(count: cython.double, peak: cython.double, rate: cython.double) -> cython.double:
    """Return the log of P(X ≤ count) / P(X = peak), for a count below the rate or close to it."""
    if count < 0.0:
        return -INFINITY
    return log_relative(count, peak, rate) + _log_lower_ratio(count, rate)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_range(first: cython.double, last: cython.double, rate: cython.double) -> cython.double:
    """Return log P(first ≤ X ≤ last), for whole numbers of which `last` may be infinite."""
    if first > last or first > _LARGEST:
        return -INFINITY
    log_peak = log_probability(most_probable(first, last, rate), rate, log(rate))
    if log_peak == -INFINITY:
        return -INFINITY
    return min(log_peak + log_range_ratio(first, last, rate), 0.0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def log_range_ratio(first: cython.double, last: cython.double, rate: cython.double) -> cython.double:
    """Return the log of P(first ≤ X ≤ last) / P(X = peak), where `peak` is the most probable count of the range."""
    peak = most_probable(first, last, rate)
    if last - first < _FEW and last < _LAST_CONSECUTIVE:
        return _log_few(first, last, peak, rate)
    if first > rate:
        all_, rest = _log_upper_ratio(first, rate), log_above(last, peak, rate)
    elif last < rate:
        all_, rest = _log_lower_ratio(last, rate), log_up_to(first - 1.0, peak, rate)
    else:
        all_ = -log_probability(peak, rate, log(rate))
        rest = log_sum(log_up_to(first - 1.0, peak, rate), log_above(last, peak, rate))
    if rest > all_ - 1e-6:
        # So short, for such a rate, that the probabilities are alike.
        return log_relative(floor(0.5 * first + 0.5 * last), peak, rate) + log(last - first + 1.0)
    return all_ + _log_without(rest - all_)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def log_sum(a: cython.double, b: cython.double) -> cython.double:
    """Return log(exp(a) + exp(b))."""
    larger = max(a, b)
    return larger + log1p(exp(min(a, b) - larger)) if larger > -INFINITY else larger


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_few(first: cython.double, last: cython.double, peak: cython.double, rate: cython.double) -> cython.double:
    """Add up from the most probable count, outwards."""
    total, term, count = 1.0, 1.0, peak
    while count < last:
        count += 1.0
        term *= rate / count
        total += term
    term, count = 1.0, peak
    while count > first:
        term *= count / rate
        count -= 1.0
        total += term
    return log(total)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_share(
    own_first: cython.double, own_last: cython.double, first: cython.double, last: cython.double, rate: cython.double
) -> cython.double:
    """Return the log of the share of a range that is in another, which lies within it."""
    if first > last:
        return -INFINITY
    peak, own_peak = most_probable(first, last, rate), most_probable(own_first, own_last, rate)
    relative = log_relative(peak, own_peak, rate)
    own_ratio = log_range_ratio(own_first, own_last, rate)
    return relative + log_range_ratio(first, last, rate) - own_ratio

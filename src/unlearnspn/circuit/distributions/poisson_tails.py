"""Probabilities of counts under a Poisson distribution: single ones, tails and ranges, as logarithms.

Tails are relative to the probability of the count where they start. That ratio is an integral of a smooth function that
falls from 1 (the incomplete gamma function, its variable on a log scale), which costs the same for every rate. Counts
are whole numbers, kept as floats.
"""

from __future__ import annotations

import math

import numpy as np

from unlearnspn.circuit.distributions.base import LARGEST
from unlearnspn.circuit.distributions.quadrature import unit_interval_rule
from unlearnspn.compiling import kernel

#: The logarithms of the factorials of small counts.
_LOG_FACTORIALS = np.array([math.log(math.factorial(count)) for count in range(256)])
_LOG_TWO_PI = math.log(2.0 * math.pi)
_POINTS, _WEIGHTS = unit_interval_rule(48)
#: What a tail leaves out is smaller by a factor of exp(-_NEGLIGIBLE).
_NEGLIGIBLE = 45.0
#: Above, not every whole number is a float.
LAST_CONSECUTIVE = 2.0**53
#: Ranges of fewer counts are added up one by one.
_FEW = 64.0


@kernel
def log_probability(count: float, rate: float, log_rate: float) -> float:
    """Return the log-probability of one count."""
    if count == 0.0:
        return -rate
    if count < _LOG_FACTORIALS.size:
        return count * log_rate - rate - float(_LOG_FACTORIALS[int(count)])
    return smooth_log_probability(count, rate)


@kernel
def smooth_log_probability(count: float, rate: float) -> float:
    """Return the same for a large number that need not be whole, by Stirling's series: its terms do not cancel."""
    inverse_square = 1.0 / (count * count)
    series = (1.0 / 12.0 - (1.0 / 360.0 - inverse_square / 1260.0) * inverse_square) / count
    return -_deviance(count, rate) - series - 0.5 * (math.log(count) + _LOG_TWO_PI)


@kernel
def _deviance(count: float, rate: float) -> float:
    """Return count·log(count / rate) + rate - count, which is small if the two are close."""
    difference = count - rate
    if abs(difference) > 0.1 * count or abs(difference) > 0.1 * rate:
        return count * math.log(count / rate) - difference
    # log(count / rate) = 2·artanh(v), whose series starts with 2v; (count + rate)·v is the difference.
    v = 0.5 * difference / (0.5 * count + 0.5 * rate)
    square, power, series = v * v, v, 0.0
    for odd in range(3, 21, 2):
        power *= square
        series += power / odd
    return difference * v + count * (2.0 * series)


@kernel
def _beyond_linear(v: float) -> float:
    """Return exp(v) - 1 - v."""
    if abs(v) > 0.3:
        return math.expm1(v) - v
    term, series = 0.5 * v * v, 0.0
    for n in range(3, 15):
        series += term
        term *= v / n
    return series


@kernel
def _log_upper_ratio(count: float, rate: float) -> float:
    """Return the log of P(X ≥ count) / P(X = count), for a count of at least 1 that is above the rate or close."""
    excess = count - rate
    half = (excess - 0.5 * _NEGLIGIBLE) / count
    square = 2.0 * _NEGLIGIBLE / count
    end = square / (half + math.sqrt(half * half + square))
    total = 0.0
    for i in range(_POINTS.size):
        v = end * _POINTS[i]
        total += _WEIGHTS[i] * math.exp(-(excess * v + rate * _beyond_linear(-v)))
    return math.log(total) + math.log(count) + math.log(end)


@kernel
def _log_lower_ratio(count: float, rate: float) -> float:
    """Return the log of P(X ≤ count) / P(X = count), for a count below the rate or close."""
    if count == 0.0:
        return 0.0
    excess = rate - count - 1.0
    half = excess / rate
    square = 2.0 * _NEGLIGIBLE / rate
    end = square / (half + math.sqrt(half * half + square))
    end = min(end, math.log1p((_NEGLIGIBLE + (count + 1.0) * end) / rate))
    total = 0.0
    for i in range(_POINTS.size):
        v = end * _POINTS[i]
        total += _WEIGHTS[i] * math.exp(-(excess * v + rate * _beyond_linear(v)))
    return math.log(total) + math.log(rate) + math.log(end)


@kernel
def _log_without(log_share: float) -> float:
    """Return log(1 - share)."""
    if log_share < -1.0:
        return math.log1p(-math.exp(log_share))
    return math.log(-math.expm1(log_share)) if log_share < 0.0 else -math.inf


@kernel
def most_probable(first: float, last: float, rate: float) -> float:
    """Return the most probable count in a range; of two, the larger."""
    # Not math.floor, which makes integers that overflow.
    return min(max(float(np.floor(rate)), first), last)


@kernel
def log_relative(count: float, peak: float, rate: float) -> float:
    """Return the log of P(X = count) / P(X = peak), which has many more digits than a difference of logarithms."""
    if count == peak:
        return 0.0
    if peak == 0.0:
        return log_probability(count, rate, math.log(rate)) + rate
    tilt = math.log1p((rate - peak) / peak) if rate > 0.5 * peak else math.log(rate) - math.log(peak)
    log_peak = math.log(peak)
    fall = log_probability(count, peak, log_peak) - log_probability(peak, peak, log_peak)
    return (count - peak) * tilt + fall


@kernel
def log_above(count: float, peak: float, rate: float) -> float:
    """Return the log of P(X > count) / P(X = peak), for a count above the rate or close to it."""
    if count + 1.0 > LARGEST:
        return -math.inf
    return log_relative(count + 1.0, peak, rate) + _log_upper_ratio(count + 1.0, rate)


@kernel
def log_up_to(count: float, peak: float, rate: float) -> float:
    """Return the log of P(X ≤ count) / P(X = peak), for a count below the rate or close to it."""
    if count < 0.0:
        return -math.inf
    return log_relative(count, peak, rate) + _log_lower_ratio(count, rate)


@kernel
def log_range(first: float, last: float, rate: float) -> float:
    """Return log P(first ≤ X ≤ last), for whole numbers of which `last` may be infinite."""
    if first > last or first > LARGEST:
        return -math.inf
    log_peak = log_probability(most_probable(first, last, rate), rate, math.log(rate))
    if log_peak == -math.inf:
        return -math.inf
    return min(log_peak + log_range_ratio(first, last, rate), 0.0)


@kernel
def log_range_ratio(first: float, last: float, rate: float) -> float:
    """Return the log of P(first ≤ X ≤ last) / P(X = peak), where `peak` is the most probable count of the range."""
    peak = most_probable(first, last, rate)
    if last - first < _FEW and last < LAST_CONSECUTIVE:
        return _log_few(first, last, peak, rate)
    if first > rate:
        all_, rest = _log_upper_ratio(first, rate), log_above(last, peak, rate)
    elif last < rate:
        all_, rest = _log_lower_ratio(last, rate), log_up_to(first - 1.0, peak, rate)
    else:
        all_ = -log_probability(peak, rate, math.log(rate))
        rest = log_sum(log_up_to(first - 1.0, peak, rate), log_above(last, peak, rate))
    if rest > all_ - 1e-6:
        # So short, for such a rate, that the probabilities are alike.
        return log_relative(np.floor(0.5 * first + 0.5 * last), peak, rate) + math.log(last - first + 1.0)
    return all_ + _log_without(rest - all_)


@kernel
def log_sum(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b))."""
    larger = max(a, b)
    return larger + math.log1p(math.exp(min(a, b) - larger)) if larger > -math.inf else larger


@kernel
def _log_few(first: float, last: float, peak: float, rate: float) -> float:
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
    return math.log(total)

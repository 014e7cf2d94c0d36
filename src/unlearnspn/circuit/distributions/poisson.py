"""Poisson distributions, of counts: whole numbers from 0 up."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from unlearnspn.circuit.distributions.base import LARGEST, Floats, keep_within
from unlearnspn.circuit.distributions.poisson_tails import (
    LAST_CONSECUTIVE,
    log_at_least,
    log_at_most,
    log_probability,
    log_range,
    smooth_log_probability,
)
from unlearnspn.circuit.distributions.quadrature import unit_interval_rule
from unlearnspn.circuit.expressions import HIGH, LOW, OWN

_POINTS, _WEIGHTS = unit_interval_rule(64)
#: Up to this rate, counts are tried one by one when a quantile is looked for.
_LARGEST_RATE_TO_WALK = 1e4
#: Up to so many counts are added up one by one for a moment.
_MANY = 2.0**20


@njit(cache=True, nogil=True, error_model="numpy")
def add_log_density(parameters: Floats, values: Floats, total: Floats) -> None:
    """Add the log-probability of every value, before anything was cut off; nothing for missing ones."""
    rate = parameters[OWN]
    log_rate = math.log(rate)
    for r in range(total.size):
        value = values[r]
        if 0.0 <= value <= LARGEST and value == math.floor(value):
            total[r] += log_probability(value, rate, log_rate)
        elif value == value:
            total[r] = -math.inf


class Poisson:
    """The rate."""

    discrete = True

    def raw_log_mass(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log-probability between closed bounds, as if nothing had been cut off."""
        result = np.empty(len(parameters))
        _log_ranges(parameters[:, OWN], *_counts(low, high), result)
        return result

    def quantile(self, parameters: Floats, shares: Floats) -> Floats:
        """Return the inverse of the CDF, of what is left."""
        first, last = _counts(parameters[:, LOW], parameters[:, HIGH])
        result = np.empty(len(parameters))
        _quantiles(parameters[:, OWN], first, last, shares, result)
        return keep_within(result, shares, first, last)

    def moment(self, parameters: Floats, order: int, centre: Floats) -> Floats:
        """Return the expectation of (x - centre)**order."""
        first, last = _counts(parameters[:, LOW], parameters[:, HIGH])
        result = np.empty(len(parameters))
        _moments(parameters[:, OWN], first, last, order, centre, result)
        return result

    def mode(self, parameters: Floats) -> Floats:
        """Return the most probable count; of two, the larger."""
        first, last = _counts(parameters[:, LOW], parameters[:, HIGH])
        return np.clip(np.floor(parameters[:, OWN]), first, last)


def _counts(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the first and the last count between bounds."""
    return np.ceil(np.maximum(low, 0.0)), np.floor(high)


@njit(cache=True, nogil=True, error_model="numpy")
def _log_ranges(rates: Floats, first: Floats, last: Floats, result: Floats) -> None:
    for i in range(result.size):
        result[i] = log_range(first[i], last[i], rates[i], math.log(rates[i]))


@njit(cache=True, nogil=True, error_model="numpy")
def _quantiles(rates: Floats, first: Floats, last: Floats, shares: Floats, result: Floats) -> None:
    for i in range(result.size):
        if shares[i] <= 0.0:
            result[i] = first[i]
        elif shares[i] >= 1.0:
            result[i] = last[i]
        elif rates[i] <= _LARGEST_RATE_TO_WALK and first[i] < LAST_CONSECUTIVE:
            result[i] = _walk_to_quantile(rates[i], first[i], last[i], shares[i])
        else:
            result[i] = _search_quantile(rates[i], first[i], last[i], shares[i])


@njit(cache=True, nogil=True, error_model="numpy")
def _walk_to_quantile(rate: float, first: float, last: float, share: float) -> float:
    """Add up the probabilities that matter, relative to the largest; then again, until they reach the share."""
    peak = min(max(math.floor(rate), first), last)
    negligible = 1e-18 * share
    total, term, start = 0.0, 1.0, peak
    while start > first and term > negligible:
        term *= start / rate
        start -= 1.0
        total += term
    lowest = term
    term, count = 1.0, peak
    while term > 1e-18:
        total += term
        if count >= last:
            break
        count += 1.0
        term *= rate / count
    missing = share * total
    count, term = start, lowest
    missing -= term
    while missing > 0.0 and count < last:
        count += 1.0
        term *= rate / count
        missing -= term
        if count > peak and term < 1e-18:
            break
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def _search_quantile(rate: float, first: float, last: float, share: float) -> float:
    """Look for the count by the log-probability of the nearer tail, by Newton's method for concave functions."""
    log_rate = math.log(rate)
    log_mass = log_range(first, last, rate, log_rate)
    below, above = log_at_most(first - 1.0, rate, log_rate), log_at_least(last + 1.0, rate, log_rate)
    up_to = _log_sum(below, math.log(share) + log_mass)
    beyond = _log_sum(above, math.log1p(-share) + log_mass)
    count = min(max(math.floor(rate), first), last)
    lower = up_to < beyond
    for _ in range(100):
        if lower:
            reached = log_at_most(count, rate, log_rate)
            slope = -math.log1p(-min(math.exp(log_probability(count, rate, log_rate) - reached), 0.999))
            step = math.ceil((up_to - reached) / slope)
        else:
            reached = log_at_least(count + 1.0, rate, log_rate)
            slope = math.log1p(math.exp(log_probability(count, rate, log_rate) - reached))
            step = math.floor((reached - beyond) / slope)
        count = min(max(count + step, first), last)
        if abs(step) <= 1.0:
            break
    return _settle(count, first, last, rate, log_rate, lower, up_to if lower else beyond)


@njit(cache=True, nogil=True, error_model="numpy")
def _settle(count: float, first: float, last: float, rate: float, log_rate: float, lower: bool, target: float) -> float:
    """Go to the least count that reaches the target, from one close to it."""
    if last > LAST_CONSECUTIVE and count > 0.5 * LAST_CONSECUTIVE:
        return count
    while count < last and not _reaches(count, rate, log_rate, lower, target):
        count += 1.0
    while count > first and _reaches(count - 1.0, rate, log_rate, lower, target):
        count -= 1.0
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def _reaches(count: float, rate: float, log_rate: float, lower: bool, target: float) -> bool:
    if lower:
        return log_at_most(count, rate, log_rate) >= target
    return log_at_least(count + 1.0, rate, log_rate) <= target


@njit(cache=True, nogil=True, error_model="numpy")
def _log_sum(a: float, b: float) -> float:
    larger = max(a, b)
    return larger + math.log1p(math.exp(min(a, b) - larger)) if larger > -math.inf else larger


@njit(cache=True, nogil=True, error_model="numpy")
def _moments(rates: Floats, first: Floats, last: Floats, order: int, centre: Floats, result: Floats) -> None:
    for i in range(result.size):
        if first[i] == 0.0 and last[i] == math.inf:
            result[i] = _uncut_moment(rates[i], order, centre[i])
        else:
            result[i] = _cut_moment(rates[i], first[i], last[i], order, centre[i])


@njit(cache=True, nogil=True, error_model="numpy")
def _uncut_moment(rate: float, order: int, centre: float) -> float:
    """Return the moment from central ones, each of which is a sum over those before; in units that do not overflow."""
    unit = max(abs(rate - centre), math.sqrt(rate), 1.0)
    distance = (rate - centre) / unit
    central = np.zeros(order + 2)
    central[0] = 1.0
    total = 0.0
    for n in range(order + 1):
        total += _choose(order, n) * central[n] * distance ** (order - n)
        power = 1.0
        for i in range(n - 1, -1, -1):
            central[n + 1] += rate / unit / unit * power * _choose(n, i) * central[i]
            power /= unit
    return _rescale(total, unit, order)


@njit(cache=True, nogil=True, error_model="numpy")
def _choose(n: int, k: int) -> float:
    result = 1.0
    for i in range(k):
        result = result * (n - i) / (i + 1)
    return result


@njit(cache=True, nogil=True, error_model="numpy")
def _rescale(value: float, unit: float, order: int) -> float:
    for _ in range(order if value != 0.0 else 0):
        value *= unit
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def _cut_moment(rate: float, first: float, last: float, order: int, centre: float) -> float:
    """Average over the counts that matter: one by one, or as an integral if they are too many."""
    peak = min(max(math.floor(rate), first), last)
    negligible = 60.0 + 4.0 * order
    start, end = max(first, peak - _reach(peak, rate, negligible)), min(last, peak + _reach(peak, rate, negligible))
    unit = max(abs(start - centre), abs(end - centre))
    if unit == 0.0:
        unit = 1.0
    if end - start < _MANY and end < LAST_CONSECUTIVE:
        mean = _mean_power(rate, peak, start, end, order, centre, unit)
    else:
        mean = _integrated_mean_power(rate, peak, start - 0.5, end + 0.5, order, centre, unit)
    return _rescale(mean, unit, order)


@njit(cache=True, nogil=True, error_model="numpy")
def _reach(peak: float, rate: float, negligible: float) -> float:
    """Return how far from the most probable count, at most, probabilities fall by a factor exp(-negligible).

    d counts away they fall by at least exp(-(d·|log(peak / rate)| + d²/2(peak + d))).
    """
    if peak <= 0.0:
        return math.ceil(negligible + 3.0 * rate)
    slope = abs(math.log(peak / rate)) if peak > rate + 1.0 or peak < rate - 1.0 else 0.0
    far = 2.0 * negligible / (slope + math.sqrt(slope * slope + 2.0 * negligible / peak))
    return math.ceil(min(far + negligible, 2.0 * negligible / slope)) + 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def _mean_power(rate: float, peak: float, start: float, end: float, order: int, centre: float, unit: float) -> float:
    mass = 1.0
    total = ((peak - centre) / unit) ** order
    term, count = 1.0, peak
    while count < end:
        count += 1.0
        term *= rate / count
        mass += term
        total += term * ((count - centre) / unit) ** order
    term, count = 1.0, peak
    while count > start:
        term *= count / rate
        count -= 1.0
        mass += term
        total += term * ((count - centre) / unit) ** order
    return total / mass


@njit(cache=True, nogil=True, error_model="numpy")
def _integrated_mean_power(
    rate: float, peak: float, start: float, end: float, order: int, centre: float, unit: float
) -> float:
    """Take every count for an interval around it: with so many, they differ too little to tell."""
    largest = smooth_log_probability(peak, rate)
    mass, total = 0.0, 0.0
    for i in range(_POINTS.size):
        count = start + (end - start) * _POINTS[i]
        weight = _WEIGHTS[i] * math.exp(smooth_log_probability(max(count, 1.0), rate) - largest)
        mass += weight
        total += weight * ((count - centre) / unit) ** order
    return total / mass

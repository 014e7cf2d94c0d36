"""Poisson distributions, of counts: whole numbers from 0 up."""

from __future__ import annotations

import math

import numpy as np

from unlearnspn.circuit.distributions.base import LARGEST, Floats, keep_within
from unlearnspn.circuit.distributions.poisson_tails import (
    LAST_CONSECUTIVE,
    log_above,
    log_probability,
    log_range,
    log_range_ratio,
    log_relative,
    log_sum,
    log_up_to,
    most_probable,
)
from unlearnspn.circuit.distributions.quadrature import unit_interval_rule
from unlearnspn.circuit.expressions import HIGH, LOW, OWN
from unlearnspn.compiling import kernel

_POINTS, _WEIGHTS = unit_interval_rule(64)
#: Up to this rate, counts are tried one by one when a quantile is looked for.
_LARGEST_RATE_TO_WALK = 1e4
#: Newton's method takes far fewer steps than this.
_PATIENCE = 100
#: Up to so many counts are added up one by one for a moment.
_MANY = 2.0**20


@kernel
def add_log_density(parameters: Floats, values: Floats, total: Floats) -> None:
    """Add the log-probability of every value, before anything was cut off; nothing for missing ones."""
    rate = parameters[OWN]
    log_rate = math.log(rate)
    for r in range(total.size):
        value = values[r]
        if 0.0 <= value <= LARGEST and value == np.floor(value):
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

    def log_share(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log of the share of what is left that is between closed bounds."""
        result = np.empty(len(parameters))
        own = _counts(parameters[:, LOW], parameters[:, HIGH])
        _log_shares(parameters[:, OWN], *own, *_counts(low, high), result)
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


@kernel
def _log_ranges(rates: Floats, first: Floats, last: Floats, result: Floats) -> None:
    for i in range(result.size):
        result[i] = log_range(first[i], last[i], rates[i])


@kernel
def _log_shares(
    rates: Floats, own_first: Floats, own_last: Floats, first: Floats, last: Floats, result: Floats
) -> None:
    for i in range(result.size):
        if first[i] > last[i]:
            result[i] = -math.inf
            continue
        rate, peak = rates[i], most_probable(first[i], last[i], rates[i])
        own_peak = most_probable(own_first[i], own_last[i], rate)
        relative = log_relative(peak, own_peak, rate)
        own_ratio = log_range_ratio(own_first[i], own_last[i], rate)
        result[i] = relative + log_range_ratio(first[i], last[i], rate) - own_ratio


@kernel
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


@kernel
def _walk_to_quantile(rate: float, first: float, last: float, share: float) -> float:
    """Add up the probabilities that matter, relative to the largest; then again, until they reach the share."""
    peak = most_probable(first, last, rate)
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


@kernel
def _search_quantile(rate: float, first: float, last: float, share: float) -> float:
    """Look for the count by the probability of the smaller tail, relative to that of the most probable count."""
    peak = most_probable(first, last, rate)
    log_mass = log_range_ratio(first, last, rate)
    up_to = beyond = math.inf
    if last >= rate:
        beyond = log_sum(log_above(last, peak, rate), math.log1p(-share) + log_mass)
    if first <= rate:
        up_to = log_sum(log_up_to(first - 1.0, peak, rate), math.log(share) + log_mass)
    # The tails' formulas hold on their own sides of the rate, and a little beyond.
    if up_to < beyond:
        return _search_below(rate, peak, first, min(peak + 2.0, last), up_to)
    return _search_above(rate, peak, max(peak - 2.0, first), last, beyond)


@kernel
def _search_below(rate: float, peak: float, first: float, last: float, target: float) -> float:
    """Return the least count that reaches the target, by Newton's method: the logarithm is concave."""
    count = peak
    for _ in range(_PATIENCE):
        reached = log_up_to(count, peak, rate)
        share = math.exp(log_relative(count, peak, rate) - reached)
        step = np.ceil((target - reached) / -math.log1p(-min(share, 0.999)))
        count = min(max(count + step, first), last)
        if abs(step) <= 1.0:
            break
    for _ in range(_PATIENCE):
        if count < last and log_up_to(count, peak, rate) < target:
            count += 1.0
        elif count > first and log_up_to(count - 1.0, peak, rate) >= target:
            count -= 1.0
        else:
            break
    return count


@kernel
def _search_above(rate: float, peak: float, first: float, last: float, target: float) -> float:
    """Return the least count beyond which there is no more than the target."""
    count = peak
    for _ in range(_PATIENCE):
        beyond = log_above(count, peak, rate)
        step = np.floor((beyond - target) / math.log1p(math.exp(log_relative(count, peak, rate) - beyond)))
        count = min(max(count + step, first), last)
        if abs(step) <= 1.0:
            break
    for _ in range(_PATIENCE):
        if count < last and log_above(count, peak, rate) > target:
            count += 1.0
        elif count > first and log_above(count - 1.0, peak, rate) <= target:
            count -= 1.0
        else:
            break
    return count


@kernel
def _moments(rates: Floats, first: Floats, last: Floats, order: int, centre: Floats, result: Floats) -> None:
    for i in range(result.size):
        if first[i] == 0.0 and last[i] == math.inf:
            result[i] = _uncut_moment(rates[i], order, centre[i])
        else:
            result[i] = _cut_moment(rates[i], first[i], last[i], order, centre[i])


@kernel
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


@kernel
def _choose(n: int, k: int) -> float:
    result = 1.0
    for i in range(k):
        result = result * (n - i) / (i + 1)
    return result


@kernel
def _rescale(value: float, unit: float, order: int) -> float:
    for _ in range(order if value != 0.0 else 0):
        value *= unit
    return value


@kernel
def _cut_moment(rate: float, first: float, last: float, order: int, centre: float) -> float:
    """Average over the counts that matter: one by one, or as an integral if they are too many."""
    peak = most_probable(first, last, rate)
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


@kernel
def _reach(peak: float, rate: float, negligible: float) -> float:
    """Return how far from the most probable count, at most, probabilities fall by a factor exp(-negligible).

    d counts away they fall by at least exp(-(d·|log(peak / rate)| + d²/2(peak + d))).
    """
    if peak <= 0.0:
        return float(np.ceil(negligible + 3.0 * rate))
    slope = abs(math.log(peak / rate)) if peak > rate + 1.0 or peak < rate - 1.0 else 0.0
    far = 2.0 * negligible / (slope + math.sqrt(slope * slope + 2.0 * negligible / peak))
    return float(np.ceil(min(far + negligible, 2.0 * negligible / slope))) + 1.0


@kernel
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


@kernel
def _integrated_mean_power(
    rate: float, peak: float, start: float, end: float, order: int, centre: float, unit: float
) -> float:
    """Take every count for an interval around it: with so many, they differ too little to tell."""
    mass, total = 0.0, 0.0
    for i in range(_POINTS.size):
        count = start + (end - start) * _POINTS[i]
        weight = _WEIGHTS[i] * math.exp(log_relative(count, peak, rate))
        mass += weight
        total += weight * ((count - centre) / unit) ** order
    return total / mass

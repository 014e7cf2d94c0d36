# cython: cdivision=True
"""Quantiles of Poisson distributions that may be cut off: counts are walked through, or looked for by their tails."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, ceil, exp, fabs, floor, log, log1p
from cython.cimports.unlearnspn.circuit.distributions.poisson_tails import (
    log_above,
    log_range_ratio,
    log_relative,
    log_sum,
    log_up_to,
    most_probable,
)
from cython.cimports.unlearnspn.const_types import const_float64

from unlearnspn.circuit.distributions.base import Floats
from unlearnspn.circuit.distributions.poisson_tails import LAST_CONSECUTIVE

_LAST_CONSECUTIVE = cython.declare(cython.double, LAST_CONSECUTIVE)
#: Up to this rate, counts are tried one by one when a quantile is looked for.
_LARGEST_RATE_TO_WALK = cython.declare(cython.double, 1e4)
#: Newton's method takes far fewer steps than this.
_PATIENCE = cython.declare(cython.int, 100)


def quantiles(
    rates: const_float64[:],
    first: const_float64[:],
    last: const_float64[:],
    shares: const_float64[:],
) -> Floats:
    """Return the count of each range that a share of its probability does not exceed."""
    i: cython.Py_ssize_t
    result = np.empty(rates.shape[0])
    counts: cython.double[::1] = result
    with cython.nogil:
        for i in range(rates.shape[0]):
            counts[i] = _quantile(rates[i], first[i], last[i], shares[i])
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _quantile(rate: cython.double, first: cython.double, last: cython.double, share: cython.double) -> cython.double:
    if share <= 0.0:
        return first
    if share >= 1.0:
        return last
    if rate <= _LARGEST_RATE_TO_WALK and first < _LAST_CONSECUTIVE:
        return _walk_to_quantile(rate, first, last, share)
    return _search_quantile(rate, first, last, share)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _walk_to_quantile(
    rate: cython.double, first: cython.double, last: cython.double, share: cython.double
) -> cython.double:
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _search_quantile(
    rate: cython.double, first: cython.double, last: cython.double, share: cython.double
) -> cython.double:
    """Look for the count by the probability of the smaller tail, relative to that of the most probable count."""
    peak = most_probable(first, last, rate)
    log_mass = log_range_ratio(first, last, rate)
    up_to = beyond = INFINITY
    if last >= rate:
        beyond = log_sum(log_above(last, peak, rate), log1p(-share) + log_mass)
    if first <= rate:
        up_to = log_sum(log_up_to(first - 1.0, peak, rate), log(share) + log_mass)
    # The tails' formulas hold on their own sides of the rate, and a little beyond.
    if up_to < beyond:
        return _search_below(rate, peak, first, min(peak + 2.0, last), up_to)
    return _search_above(rate, peak, max(peak - 2.0, first), last, beyond)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _search_below(
    rate: cython.double, peak: cython.double, first: cython.double, last: cython.double, target: cython.double
) -> cython.double:
    """Return the least count that reaches the target, by Newton's method: the logarithm is concave."""
    _: cython.int
    count = peak
    for _ in range(_PATIENCE):
        reached = log_up_to(count, peak, rate)
        share = exp(log_relative(count, peak, rate) - reached)
        step = ceil((target - reached) / -log1p(-min(share, 0.999)))
        count = min(max(count + step, first), last)
        if fabs(step) <= 1.0:
            break
    for _ in range(_PATIENCE):
        if count < last and log_up_to(count, peak, rate) < target:
            count += 1.0
        elif count > first and log_up_to(count - 1.0, peak, rate) >= target:
            count -= 1.0
        else:
            break
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _search_above(
    rate: cython.double, peak: cython.double, first: cython.double, last: cython.double, target: cython.double
) -> cython.double:
    """Return the least count beyond which there is no more than the target."""
    _: cython.int
    count = peak
    for _ in range(_PATIENCE):
        beyond = log_above(count, peak, rate)
        step = floor((beyond - target) / log1p(exp(log_relative(count, peak, rate) - beyond)))
        count = min(max(count + step, first), last)
        if fabs(step) <= 1.0:
            break
    for _ in range(_PATIENCE):
        if count < last and log_above(count, peak, rate) > target:
            count += 1.0
        elif count > first and log_above(count - 1.0, peak, rate) <= target:
            count -= 1.0
        else:
            break
    return count

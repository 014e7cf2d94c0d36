# cython: cdivision=True
"""Moments of Poisson distributions that may be cut off."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, ceil, exp, fabs, log, sqrt
from cython.cimports.unlearnspn.circuit.distributions.poisson_tails import log_relative, most_probable
from cython.cimports.unlearnspn.circuit.distributions.powers import power
from cython.cimports.unlearnspn.const_types import const_float64

from unlearnspn.circuit.distributions.base import Floats
from unlearnspn.circuit.distributions.poisson_tails import LAST_CONSECUTIVE
from unlearnspn.circuit.distributions.quadrature import unit_interval_rule

_LAST_CONSECUTIVE = cython.declare(cython.double, LAST_CONSECUTIVE)
_POINTS = cython.declare(const_float64[::1], unit_interval_rule(64)[0])
_WEIGHTS = cython.declare(const_float64[::1], unit_interval_rule(64)[1])
#: Up to so many counts are added up one by one.
_MANY = cython.declare(cython.double, 2.0**20)


def moments(
    rates: const_float64[:],
    first: const_float64[:],
    last: const_float64[:],
    order: cython.longlong,
    centre: const_float64[:],
) -> Floats:
    """Return the expectation of (x - centre)**order over each range."""
    i: cython.Py_ssize_t
    result = np.empty(rates.shape[0])
    expected: cython.double[::1] = result
    central: cython.double[::1] = np.empty(order + 2)
    with cython.nogil:
        for i in range(rates.shape[0]):
            if first[i] == 0.0 and last[i] == INFINITY:
                expected[i] = _uncut_moment(rates[i], order, centre[i], central)
            else:
                expected[i] = _cut_moment(rates[i], first[i], last[i], order, centre[i])
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _uncut_moment(
    rate: cython.double, order: cython.longlong, centre: cython.double, central: cython.double[::1]
) -> cython.double:
    """Return the moment from central ones, each of which is a sum over those before; in units that do not overflow."""
    n: cython.longlong
    i: cython.longlong
    unit = max(fabs(rate - centre), sqrt(rate), 1.0)
    distance = (rate - centre) / unit
    central[:] = 0.0
    central[0] = 1.0
    total = 0.0
    for n in range(order + 1):
        total += _choose(order, n) * central[n] * power(distance, order - n)
        shrinking = 1.0
        for i in range(n - 1, -1, -1):
            central[n + 1] += rate / unit / unit * shrinking * _choose(n, i) * central[i]
            shrinking /= unit
    return _rescale(total, unit, order)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _choose(n: cython.longlong, k: cython.longlong) -> cython.double:
    i: cython.longlong
    result = 1.0
    for i in range(k):
        result = result * (n - i) / (i + 1)
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rescale(value: cython.double, unit: cython.double, order: cython.longlong) -> cython.double:
    _: cython.longlong
    for _ in range(order if value != 0.0 else 0):
        value *= unit
    return value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cut_moment(
    rate: cython.double, first: cython.double, last: cython.double, order: cython.longlong, centre: cython.double
) -> cython.double:
    """Average over the counts that matter: one by one, or as an integral if they are too many."""
    peak = most_probable(first, last, rate)
    negligible = 60.0 + 4.0 * order
    start, end = max(first, peak - _reach(peak, rate, negligible)), min(last, peak + _reach(peak, rate, negligible))
    unit = max(fabs(start - centre), fabs(end - centre))
    if unit == 0.0:
        unit = 1.0
    if end - start < _MANY and end < _LAST_CONSECUTIVE:
        mean = _mean_power(rate, peak, start, end, order, centre, unit)
    else:
        mean = _integrated_mean_power(rate, peak, start - 0.5, end + 0.5, order, centre, unit)
    return _rescale(mean, unit, order)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reach(peak: cython.double, rate: cython.double, negligible: cython.double) -> cython.double:
    """Return how far from the most probable count, at most, probabilities fall by a factor exp(-negligible).

    d counts away they fall by at least exp(-(d·|log(peak / rate)| + d²/2(peak + d))).
    """
    if peak <= 0.0:
        return ceil(negligible + 3.0 * rate)
    slope = fabs(log(peak / rate)) if peak > rate + 1.0 or peak < rate - 1.0 else 0.0
    far = 2.0 * negligible / (slope + sqrt(slope * slope + 2.0 * negligible / peak))
    return ceil(min(far + negligible, 2.0 * negligible / slope)) + 1.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mean_power(
    rate: cython.double,
    peak: cython.double,
    start: cython.double,
    end: cython.double,
    order: cython.longlong,
    centre: cython.double,
    unit: cython.double,
) -> cython.double:
    mass = 1.0
    total = power((peak - centre) / unit, order)
    term, count = 1.0, peak
    while count < end:
        count += 1.0
        term *= rate / count
        mass += term
        total += term * power((count - centre) / unit, order)
    term, count = 1.0, peak
    while count > start:
        term *= count / rate
        count -= 1.0
        mass += term
        total += term * power((count - centre) / unit, order)
    return total / mass


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _integrated_mean_power(
    rate: cython.double,
    peak: cython.double,
    start: cython.double,
    end: cython.double,
    order: cython.longlong,
    centre: cython.double,
    unit: cython.double,
) -> cython.double:
    """Take every count for an interval around it: with so many, they differ too little to tell."""
    i: cython.Py_ssize_t
    mass, total = 0.0, 0.0
    for i in range(_POINTS.shape[0]):
        count = start + (end - start) * _POINTS[i]
        weight = _WEIGHTS[i] * exp(log_relative(count, peak, rate))
        mass += weight
        total += weight * power((count - centre) / unit, order)
    return total / mass

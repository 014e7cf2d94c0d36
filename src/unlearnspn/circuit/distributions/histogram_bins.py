# cython: cdivision=True
"""Probabilities, quantiles, moments and modes of histograms that may be cut off, bin by bin."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, exp, fabs, log
from cython.cimports.unlearnspn.circuit.distributions.powers import power
from cython.cimports.unlearnspn.const_types import const_float64

from unlearnspn.circuit import expressions
from unlearnspn.circuit.distributions.base import LARGEST, Floats

_LOW = cython.declare(cython.Py_ssize_t, expressions.LOW)
_HIGH = cython.declare(cython.Py_ssize_t, expressions.HIGH)
_START = cython.declare(cython.Py_ssize_t, expressions.OWN)
_WIDTH = cython.declare(cython.Py_ssize_t, expressions.OWN + 1)
_BINS = cython.declare(cython.Py_ssize_t, expressions.OWN + 2)
_LARGEST = cython.declare(cython.double, LARGEST)
_LOG_TWO = cython.declare(cython.double, 0.6931471805599453)


def log_masses(
    parameters: const_float64[:, ::1],
    low: const_float64[:],
    high: const_float64[:],
) -> Floats:
    """Return the log-probability of each histogram between bounds."""
    i: cython.Py_ssize_t
    result = np.empty(parameters.shape[0])
    masses: cython.double[::1] = result
    bins: cython.double[::1] = np.empty(parameters.shape[1] - _BINS)
    with cython.nogil:
        for i in range(masses.shape[0]):
            largest = _weigh(parameters[i], low[i], high[i], bins)
            masses[i] = largest + log(_total(bins)) if largest > -INFINITY else -INFINITY
    return result


def quantiles(parameters: const_float64[:, ::1], shares: const_float64[:]) -> Floats:
    """Return the number that a share of what is left of each histogram does not exceed."""
    i: cython.Py_ssize_t
    result = np.empty(parameters.shape[0])
    numbers: cython.double[::1] = result
    bins: cython.double[::1] = np.empty(parameters.shape[1] - _BINS)
    with cython.nogil:
        for i in range(numbers.shape[0]):
            numbers[i] = _quantile(parameters[i], shares[i], bins)
    return result


def moments(parameters: const_float64[:, ::1], order: cython.longlong, centre: const_float64[:]) -> Floats:
    """Return the expectation of (x - centre)**order over what is left of each histogram."""
    i: cython.Py_ssize_t
    result = np.empty(parameters.shape[0])
    expected: cython.double[::1] = result
    bins: cython.double[::1] = np.empty(parameters.shape[1] - _BINS)
    with cython.nogil:
        for i in range(expected.shape[0]):
            expected[i] = _moment(parameters[i], order, centre[i], bins)
    return result


def modes(parameters: const_float64[:, ::1]) -> Floats:
    """Return the middle of what is left of the first among the densest bins of each histogram."""
    i: cython.Py_ssize_t
    result = np.empty(parameters.shape[0])
    numbers: cython.double[::1] = result
    with cython.nogil:
        for i in range(numbers.shape[0]):
            numbers[i] = _mode(parameters[i])
    return result


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _edge(line: const_float64[::1], index: cython.Py_ssize_t) -> cython.double:
    return min(line[_START] + line[_WIDTH] * index, _LARGEST)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _left(line: const_float64[::1], index: cython.Py_ssize_t, low: cython.double) -> cython.double:
    """Return where the part of a bin that is above a bound starts."""
    return max(low, _edge(line, index))


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _right(line: const_float64[::1], index: cython.Py_ssize_t, high: cython.double) -> cython.double:
    """Return where the part of a bin that is below a bound ends."""
    return min(high, _edge(line, index + 1))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_length(left: cython.double, right: cython.double) -> cython.double:
    if not left < right:
        return -INFINITY
    length = right - left
    return log(length) if length <= _LARGEST else log(0.5 * right - 0.5 * left) + _LOG_TWO


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weigh(
    line: const_float64[::1], low: cython.double, high: cython.double, weights: cython.double[::1]
) -> cython.double:
    """Write the probabilities of the bins between bounds, relative to the largest, and return its logarithm."""
    index: cython.Py_ssize_t
    largest: cython.double = -INFINITY
    for index in range(weights.shape[0]):
        weights[index] = line[_BINS + index] + _log_length(_left(line, index, low), _right(line, index, high))
        largest = max(largest, weights[index])
    for index in range(weights.shape[0]):
        weights[index] = exp(weights[index] - largest) if weights[index] > -INFINITY else 0.0
    return largest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _total(weights: cython.double[::1]) -> cython.double:
    index: cython.Py_ssize_t
    total = 0.0
    for index in range(weights.shape[0]):
        total += weights[index]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _quantile(line: const_float64[::1], share: cython.double, weights: cython.double[::1]) -> cython.double:
    index: cython.Py_ssize_t
    low, high = line[_LOW], line[_HIGH]
    _weigh(line, low, high, weights)
    missing, reached = share * _total(weights), low
    for index in range(weights.shape[0]):
        if weights[index] == 0.0:
            continue
        reached = _between(_left(line, index, low), _right(line, index, high), min(missing / weights[index], 1.0))
        missing -= weights[index]
        if missing <= 0.0:
            break
    return reached


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _between(left: cython.double, right: cython.double, part: cython.double) -> cython.double:
    length = right - left
    return min(left + part * length, right) if length <= _LARGEST else (1.0 - part) * left + part * right


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _moment(
    line: const_float64[::1], order: cython.longlong, centre: cython.double, weights: cython.double[::1]
) -> cython.double:
    index: cython.Py_ssize_t
    _: cython.longlong
    _weigh(line, line[_LOW], line[_HIGH], weights)
    unit = _largest_half_distance(line, weights, centre)
    total = 0.0
    for index in range(weights.shape[0]):
        if weights[index] > 0.0:
            left = (0.5 * _left(line, index, line[_LOW]) - 0.5 * centre) / unit
            right = (0.5 * _right(line, index, line[_HIGH]) - 0.5 * centre) / unit
            total += weights[index] * _uniform_moment(left, right, order)
    total /= _total(weights)
    for _ in range(order):
        total *= unit * 2.0
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _largest_half_distance(
    line: const_float64[::1], weights: cython.double[::1], centre: cython.double
) -> cython.double:
    """Return half of the largest distance from the centre that matters, which does not overflow; 1 if it is 0."""
    index: cython.Py_ssize_t
    largest = 0.0
    for index in range(weights.shape[0]):
        if weights[index] > 0.0:
            left, right = _left(line, index, line[_LOW]), _right(line, index, line[_HIGH])
            largest = max(largest, fabs(0.5 * left - 0.5 * centre), fabs(0.5 * right - 0.5 * centre))
    return largest if largest > 0.0 else 1.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _uniform_moment(left: cython.double, right: cython.double, order: cython.longlong) -> cython.double:
    """Return the expectation of x**order between two numbers, all alike.

    From the middle, only even powers of the distance to it count, and nothing cancels.
    """
    k: cython.longlong
    middle, half = 0.5 * left + 0.5 * right, 0.5 * right - 0.5 * left
    moment, choices = 0.0, 1.0
    for k in range(order + 1):
        if k % 2 == 0:
            moment += choices * power(middle, order - k) * power(half, k) / (k + 1)
        choices = choices * (order - k) / (k + 1)
    return moment


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mode(line: const_float64[::1]) -> cython.double:
    index: cython.Py_ssize_t
    mode, largest = line[_LOW], -INFINITY
    for index in range(line.shape[0] - _BINS):
        left, right = _left(line, index, line[_LOW]), _right(line, index, line[_HIGH])
        if left < right and line[_BINS + index] > largest:
            mode, largest = 0.5 * left + 0.5 * right, line[_BINS + index]
    return mode

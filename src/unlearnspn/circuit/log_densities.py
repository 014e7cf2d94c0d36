# cython: cdivision=True
"""Log-densities of numbers under the distributions that inputs have.

They are those from before anything was cut off, minus infinity outside of the support, and never NaN or plus infinity.
Parameters are laid out as `expressions.Unit` says: bounds and log-mass first.
"""

from __future__ import annotations

import math

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import INFINITY, fabs, floor
from cython.cimports.libc.math import log as system_log
from cython.cimports.unlearnspn.circuit.distributions.poisson_tails import log_probability
from cython.cimports.unlearnspn.circuit.log_densities import Numbers
from cython.cimports.unlearnspn.circuit.row_loops import add_normal
from cython.cimports.unlearnspn.const_types import const_float64
from cython.cimports.unlearnspn.portable_math import log

from unlearnspn.circuit.expressions import LOW, OWN, Unit

Floats = npt.NDArray[np.float64]

_GAUSSIAN = cython.declare(cython.int, int(Unit.GAUSSIAN))
_EXPONENTIAL = cython.declare(cython.int, int(Unit.EXPONENTIAL))
_LOG_NORMAL = cython.declare(cython.int, int(Unit.LOG_NORMAL))
_POISSON = cython.declare(cython.int, int(Unit.POISSON))
_HISTOGRAM = cython.declare(cython.int, int(Unit.HISTOGRAM))
_LOW = cython.declare(cython.Py_ssize_t, LOW)
_OWN = cython.declare(cython.Py_ssize_t, OWN)
_LOG_SQRT_TWO_PI = cython.declare(cython.double, 0.5 * math.log(2.0 * math.pi))
_SQRT_HALF = cython.declare(cython.double, math.sqrt(0.5))
#: The largest number there is.
_LARGEST = cython.declare(cython.double, 1.7976931348623157e308)
#: Between these a difference of values overflows only if it is impossible, and the inverse of a scale does not.
_LEAST_STD = cython.declare(cython.double, 1e-300)
_LARGEST_STD = cython.declare(cython.double, 1e150)


def add_log_density(unit: Unit, parameters: Floats, values: Floats, total: Floats) -> None:
    """Add the log-density of every value, before anything was cut off; nothing for missing ones."""
    own: const_float64[::1] = parameters
    numbers: const_float64[::1] = values
    sums: cython.double[::1] = total
    if sums.shape[0]:
        first = cython.address(sums[0])
        add_numeric(unit, cython.address(own[0]), own.shape[0], cython.address(numbers[0]), first, sums.shape[0])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_numeric(
    unit: cython.int,
    parameters: Numbers,
    n_parameters: cython.Py_ssize_t,
    values: Numbers,
    total: cython.p_double,
    n_rows: cython.Py_ssize_t,
) -> cython.void:
    """Do what `add_log_density` does."""
    if unit == _GAUSSIAN:
        _add_gaussian(parameters, values, total, n_rows)
    elif unit == _EXPONENTIAL:
        _add_exponential(parameters, values, total, n_rows)
    elif unit == _LOG_NORMAL:
        _add_log_normal(parameters, values, total, n_rows)
    elif unit == _POISSON:
        _add_poisson(parameters, values, total, n_rows)
    elif unit == _HISTOGRAM:
        _add_histogram(parameters, n_parameters, values, total, n_rows)
    else:
        _add_point(parameters, values, total, n_rows)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_gaussian(
    parameters: Numbers, values: Numbers, total: cython.p_double, n_rows: cython.Py_ssize_t
) -> cython.void:
    """Mean and standard deviation."""
    mean = parameters[_OWN]
    std = parameters[_OWN + 1]
    constant = -(log(std) + _LOG_SQRT_TWO_PI)
    if std < _LEAST_STD or std > _LARGEST_STD:
        _add_at_extreme_scales(mean, std, constant, values, total, n_rows)
        return
    # A difference that overflows is impossible at these scales, as its square says.
    add_normal(total, values, mean, _SQRT_HALF / std, constant, n_rows)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_at_extreme_scales(
    mean: cython.double,
    std: cython.double,
    constant: cython.double,
    values: Numbers,
    total: cython.p_double,
    n_rows: cython.Py_ssize_t,
) -> cython.void:
    """Do the same where a difference of values or the inverse of the scale may overflow."""
    r: cython.Py_ssize_t
    before = 0.5 if std > 1.0 else 1.0
    # The inverse of the least scale is too large for a number: in two steps.
    first = 1.0 if std > 1.0 else 1267650600228229401496703205376.0  # 2¹⁰⁰
    second = _SQRT_HALF / before / (std * first)
    for r in range(n_rows):
        value = values[r]
        distance = fabs(value * before - mean * before) * first
        score = (_LARGEST if distance > _LARGEST else distance) * second
        density = constant - score * score
        total[r] += density if value == value else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_exponential(
    parameters: Numbers, values: Numbers, total: cython.p_double, n_rows: cython.Py_ssize_t
) -> cython.void:
    """Mean."""
    r: cython.Py_ssize_t
    mean = parameters[_OWN]
    constant = -system_log(mean)
    for r in range(n_rows):
        value = values[r]
        density = constant - value / mean
        possible = density if value >= 0.0 else -INFINITY
        total[r] += possible if value == value else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_log_normal(
    parameters: Numbers, values: Numbers, total: cython.p_double, n_rows: cython.Py_ssize_t
) -> cython.void:
    """Mean and standard deviation of the logarithm."""
    r: cython.Py_ssize_t
    mean = parameters[_OWN]
    std = parameters[_OWN + 1]
    constant = -(system_log(std) + _LOG_SQRT_TWO_PI)
    for r in range(n_rows):
        value = values[r]
        if 0.0 < value <= _LARGEST:
            log_value = system_log(value)
            score = (log_value - mean) / std
            total[r] += constant - log_value - 0.5 * score * score
        elif value == value:
            total[r] = -INFINITY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_poisson(
    parameters: Numbers, values: Numbers, total: cython.p_double, n_rows: cython.Py_ssize_t
) -> cython.void:
    """Rate."""
    r: cython.Py_ssize_t
    rate = parameters[_OWN]
    log_rate = system_log(rate)
    for r in range(n_rows):
        value = values[r]
        if 0.0 <= value <= _LARGEST and value == floor(value):
            total[r] += log_probability(value, rate, log_rate)
        elif value == value:
            total[r] = -INFINITY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_histogram(
    parameters: Numbers,
    n_parameters: cython.Py_ssize_t,
    values: Numbers,
    total: cython.p_double,
    n_rows: cython.Py_ssize_t,
) -> cython.void:
    """Where the first bin starts, how wide bins are, and the log-density in each; the last includes its upper edge."""
    r: cython.Py_ssize_t
    start = parameters[_OWN]
    width = parameters[_OWN + 1]
    log_densities: Numbers = parameters + _OWN + 2
    n_bins: cython.Py_ssize_t = n_parameters - _OWN - 2
    end = min(start + width * n_bins, _LARGEST)
    last: cython.double = n_bins - 1
    # Halves do not overflow. The steps of the loop are choices, not branches, which values would make hard to predict.
    half_start = 0.5 * start
    for r in range(n_rows):
        value = values[r]
        within: cython.bint = (start <= value) & (value <= end)
        place = (0.5 * value - half_start) / width * 2.0
        place = place if place < last else last
        place = place if within else 0.0
        density = log_densities[cython.cast(cython.Py_ssize_t, place)]
        outside = -INFINITY if value == value else 0.0
        total[r] += density if within else outside


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_point(parameters: Numbers, values: Numbers, total: cython.p_double, n_rows: cython.Py_ssize_t) -> cython.void:
    """Nothing: all of the probability is at the bounds' common value."""
    r: cython.Py_ssize_t
    point = parameters[_LOW]
    for r in range(n_rows):
        value = values[r]
        total[r] += -INFINITY if (value < point) | (value > point) else 0.0

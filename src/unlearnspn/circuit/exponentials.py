"""Exponentials and logarithms of many numbers: mixing takes most of the time of a log-density.

From the four operations alone, in loops without a question or a table, so that a processor does several numbers at a
time, and each comes out the same whatever stands beside it. Exponents of two are put in and taken out as bits.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from unlearnspn.compiling import kernel

Floats = npt.NDArray[np.float64]

#: Below this, exponentials have fewer bits, and processors are slow with such; beside 1 they are nothing.
_LEAST = -708.0
_PER_LN2 = 1.4426950408889634
#: The logarithm of 2 in two parts: products of the first and a small whole number are exact.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
#: A number that is added to this is rounded to a whole one, which then stands in the lowest bits.
_ROUNDED = 1.5 * 2.0**52
#: The series of exp(h), and of atanh(f) / f in f², highest powers first; h is at most log(2) / 2, f² at most 0.03.
_EXP_TERMS = np.array([1.0 / math.factorial(n) for n in range(12, -1, -1)])
_LOG_TERMS = np.array([1.0 / odd for odd in range(21, 0, -2)])

#: Below this a sum of densities has lost bits.
LEAST_DENSITY = 1e-280

_EXPONENT_BITS, _BIAS = 52, 1023
_MANTISSA = (1 << _EXPONENT_BITS) - 1
_ONE = _BIAS << _EXPONENT_BITS
#: The bits of 2⁵²: a small number in the lowest bits beside them is added to it.
_LARGE, _LARGE_BITS = 2.0**_EXPONENT_BITS, (_BIAS + _EXPONENT_BITS) << _EXPONENT_BITS


@kernel
def exponentials(values: Floats) -> None:
    """Put exp(x) in the place of each x, which is at most 0; 0 where that has fewer bits than others, or x is NaN."""
    powers = np.empty(values.size)
    bits = powers.view(np.int64)
    for r in range(values.size):
        x = values[r] if values[r] > _LEAST else _LEAST
        powers[r] = x * _PER_LN2 + _ROUNDED
        exponent = powers[r] - _ROUNDED
        h = (x - exponent * _LN2_HIGH) - exponent * _LN2_LOW
        series = 0.0
        for n in range(_EXP_TERMS.size):
            series = series * h + _EXP_TERMS[n]
        values[r] = series if x > _LEAST else 0.0
    for r in range(values.size):
        bits[r] = (bits[r] + _BIAS) << _EXPONENT_BITS
    for r in range(values.size):
        values[r] *= powers[r]


@kernel
def logarithms(values: Floats) -> Floats:
    """Return log(x) of each x, a positive normal double; what comes of others is some finite number."""
    mantissas, logs = np.empty(values.size), np.empty(values.size)
    bits, mantissa_bits, exponent_bits = values.view(np.int64), mantissas.view(np.int64), logs.view(np.int64)
    for r in range(values.size):
        mantissa_bits[r] = (bits[r] & _MANTISSA) | _ONE
        exponent_bits[r] = (bits[r] >> _EXPONENT_BITS) | _LARGE_BITS
    for r in range(values.size):
        is_large = mantissas[r] > math.sqrt(2.0)
        mantissa = mantissas[r] * 0.5 if is_large else mantissas[r]
        exponent = logs[r] - (_LARGE + (_BIAS - 1.0) if is_large else _LARGE + _BIAS)
        f = (mantissa - 1.0) / (mantissa + 1.0)
        square = f * f
        series = 0.0
        for n in range(_LOG_TERMS.size):
            series = series * square + _LOG_TERMS[n]
        logs[r] = 2.0 * f * series + exponent * (_LN2_HIGH + _LN2_LOW)
    return logs


def exponentials_by_numpy(values: Floats) -> Floats:
    """Return what `exponentials` puts in the place of each x."""
    x = np.where(values > _LEAST, values, _LEAST)
    powers = x * _PER_LN2 + _ROUNDED
    exponents = powers - _ROUNDED
    h = (x - exponents * _LN2_HIGH) - exponents * _LN2_LOW
    series = np.zeros_like(x)
    for term in _EXP_TERMS:
        series = series * h + term
    bits = (powers.view(np.int64) + _BIAS) << _EXPONENT_BITS
    scaled: Floats = np.where(x > _LEAST, series, 0.0) * bits.view(np.float64)
    return scaled


def logarithms_by_numpy(values: Floats) -> Floats:
    """Return what `logarithms` returns."""
    bits = values.view(np.int64)
    mantissas = ((bits & _MANTISSA) | _ONE).view(np.float64)
    exponents = ((bits >> _EXPONENT_BITS) | _LARGE_BITS).view(np.float64)
    is_large = mantissas > math.sqrt(2.0)
    mantissas = np.where(is_large, mantissas * 0.5, mantissas)
    exponents = exponents - np.where(is_large, _LARGE + (_BIAS - 1.0), _LARGE + _BIAS)
    f = (mantissas - 1.0) / (mantissas + 1.0)
    square, series = f * f, np.zeros_like(f)
    for term in _LOG_TERMS:
        series = series * square + term
    logs: Floats = 2.0 * f * series + exponents * (_LN2_HIGH + _LN2_LOW)
    return logs

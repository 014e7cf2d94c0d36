"""Logarithm and sine from the four IEEE operations alone.

Decisions about the structure must come out the same on every machine and for every order of the rows. The system's
own functions may differ in the last bit between libraries, and between the body and the tail of a vectorised loop.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt

from unlearnspn.compiling import elements, kernel, late_kernel

_LN2 = 0.6931471805599453
_SQRT_HALF = 0.7071067811865476
_TWO_PI = 6.283185307179586
_INVERSE_TWO_PI = 0.15915494309189535

#: Fractional bits of the integers that `x_log_x` returns.
X_LOG_X_BITS = 24

_TABULATED = 1 << 16


@kernel
def log(x: float) -> float:
    """Natural logarithm of a positive, normal double."""
    mantissa, exponent = math.frexp(x)
    if mantissa < _SQRT_HALF:
        mantissa *= 2.0
        exponent -= 1
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    series = 0.0
    for odd in range(21, 0, -2):
        series = series * square + 1.0 / odd
    return 2.0 * ratio * series + exponent * _LN2


@kernel
def sin(x: float) -> float:
    """Sine, to about 1e-12 for moderate arguments."""
    x = x - _TWO_PI * math.floor(x * _INVERSE_TWO_PI + 0.5)
    square = x * x
    series = 0.0
    for even in range(26, 0, -2):
        series = (series + 1.0) * (-square / (even * (even + 1.0)))
    return x * (1.0 + series)


@kernel
def x_log_x(count: int) -> int:
    """Return count·ln(count) as an integer with `X_LOG_X_BITS` fractional bits, so that sums of it are exact."""
    if count < 2:
        return 0
    return math.floor(count * log(float(count)) * (1 << X_LOG_X_BITS) + 0.5)


@cache
def x_log_x_table() -> npt.NDArray[np.int64]:
    """Tabulate `x_log_x` for the counts that occur most."""
    return _tabulate(_TABULATED)


@late_kernel(elements)
def _tabulate(size: int) -> npt.NDArray[np.int64]:
    table = np.empty(size, np.int64)
    for count in range(size):
        table[count] = x_log_x(count)
    return table

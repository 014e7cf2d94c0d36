"""Logarithm, sine and sum from the four IEEE operations alone.

Decisions about the structure must come out the same on every machine and for every order of the rows. The system's
own functions may differ in the last bit between libraries, and between the body and the tail of a vectorised loop.
`portable_math.pxd` has the same for inner loops, and `statistics.logs` a table of x·log x.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

_LN2 = 0.6931471805599453
_SQRT_HALF = 0.7071067811865476


def log(x: float) -> float:
    """Natural logarithm of a positive, normal double.

    >>> log(1.0), log(2.0)
    (0.0, 0.6931471805599453)
    """
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


def add_up(numbers: Iterable[float]) -> float:
    """Sum, one number after the other: Python's own `sum` gives other bits from version 3.12 on.

    >>> add_up([0.1] * 10)
    0.9999999999999999
    """
    total = 0.0
    for number in numbers:
        total += number
    return total

"""Numbers in other types: rounded where need be, and kept within range."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def to_floats(numbers: Floats, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the numbers as floats of another precision; those too large become the largest there is.

    >>> to_floats(np.array([0.1, 1e300, np.nan]), np.float16).tolist()
    [0.0999755859375, 65504.0, nan]
    """
    limit = np.finfo(np.dtype(dtype)).max
    if limit >= np.finfo(np.float64).max:
        return numbers.astype(dtype)
    return np.clip(numbers, -float(limit), float(limit)).astype(dtype)


def to_integers(numbers: Floats, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the nearest integers within the type's range; 0 for NaN.

    >>> to_integers(np.array([2.6, -3.0, 1e9, np.nan]), np.uint8).tolist()
    [3, 0, 255, 0]
    >>> to_integers(np.array([1e30, -1e30]), np.int64).tolist() == [2**63 - 1, -(2**63)]
    True
    """
    limits = np.iinfo(np.dtype(dtype))
    rounded = np.rint(np.nan_to_num(numbers, nan=0.0, posinf=np.inf, neginf=-np.inf))
    # The largest 64-bit integer is no double: casting the double next to it would overflow.
    too_large = rounded >= float(limits.max)
    integers = np.where(too_large, 0.0, np.maximum(rounded, float(limits.min))).astype(dtype)
    integers[too_large] = limits.max
    return integers


def within_decimal(numbers: Floats, precision: int, scale: int) -> Floats:
    """Keep the numbers within what a decimal of so many digits, some after the point, can hold."""
    bound = 10.0 ** (precision - scale)
    limit = min(bound - 10.0**-scale, float(np.nextafter(bound, 0.0)))
    return np.clip(numbers, -limit, limit)

"""Settings of leaves, checked when a leaf is made."""

from __future__ import annotations

import math


def require_positive(**settings: float) -> None:
    """Raise unless every setting is a positive, finite number.

    >>> require_positive(alpha=0.0)
    Traceback (most recent call last):
      ...
    ValueError: alpha=0.0 must be a positive number
    """
    for name, value in settings.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0.0 < value < math.inf:
            raise ValueError(f"{name}={value!r} must be a positive number")


def require_whole(most: int, **settings: int) -> None:
    """Raise unless every setting is a whole number from 1 to some other.

    >>> require_whole(8, order=9)
    Traceback (most recent call last):
      ...
    ValueError: order=9 must be a whole number from 1 to 8
    """
    for name, value in settings.items():
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise ValueError(f"{name}={value!r} must be a whole number from 1 to {most}")

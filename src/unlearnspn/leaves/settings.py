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

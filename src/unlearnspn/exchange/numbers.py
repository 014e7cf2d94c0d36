"""Numbers as JSON has them: all but infinities and NaN."""

from __future__ import annotations

import math
from typing import Any


def only_finite(document: Any) -> Any:
    """Return what is to be written as JSON with null in place of numbers that JSON lacks.

    >>> only_finite({"rows": [{"log_density": float("-inf")}, {"log_density": -1.5}]})
    {'rows': [{'log_density': None}, {'log_density': -1.5}]}
    """
    if isinstance(document, float):
        return document if math.isfinite(document) else None
    if isinstance(document, dict):
        return {name: only_finite(value) for name, value in document.items()}
    if isinstance(document, list | tuple):
        return [only_finite(value) for value in document]
    return document

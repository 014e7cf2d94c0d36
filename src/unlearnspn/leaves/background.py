"""The background of a number: for values that nothing which was learned accounts for."""

from __future__ import annotations

import math

from unlearnspn.circuit.expressions import Input, Unit, numeric
from unlearnspn.coding import NumericCoder

#: Its standard deviation, in scales of the column.
_WIDTH = 4.0


def background(coder: NumericCoder, variable: int) -> Input:
    """Return a wide Gaussian around the centre of a column."""
    return numeric(Unit.GAUSSIAN, variable, *background_parameters(coder))


def background_parameters(coder: NumericCoder) -> tuple[float, float]:
    """Return mean and standard deviation of the background."""
    std = _WIDTH * coder.scale
    return coder.centre, std if math.isfinite(std) else coder.scale

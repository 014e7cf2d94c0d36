"""Gaussian leaves, from exact sums of floats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import Unit
from unlearnspn.exact_sum import Moments
from unlearnspn.leaves.from_moments import FromMoments
from unlearnspn.leaves.settings import require_positive
from unlearnspn.leaves.support import ANY_NUMBER, Support
from unlearnspn.slices import Slice

_LOG_SQRT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_SMALLEST = 5e-324


@dataclass(frozen=True)
class Gaussian(FromMoments):
    """A normal distribution whose deviation never falls below `min_std` times its column's scale.

    A leaf all of whose values are missing takes the column's centre and scale.

    >>> Gaussian().name
    'gaussian'
    """

    min_std: float = 0.05

    def __post_init__(self) -> None:
        require_positive(min_std=self.min_std)

    @property
    def name(self) -> str:
        """The name under which the leaf is shown."""
        return "gaussian"

    @property
    def unit(self) -> Unit:
        """The unit of a circuit that the leaf becomes."""
        return Unit.GAUSSIAN

    @property
    def support(self) -> Support:
        """The values that it can model: all numbers."""
        return ANY_NUMBER

    def parameters(self, statistics: Moments, data: Slice) -> dict[str, float]:
        """Return mean and standard deviation."""
        coder = data.encoding.numeric(data.variable)
        if statistics.n == 0:
            return {"mean": coder.centre, "std": coder.scale}
        floor = max(self.min_std * coder.scale, _SMALLEST)
        return {"mean": statistics.mean(), "std": max(statistics.std(), floor)}

    def log_density(self, statistics: Moments, data: Slice, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the log-density of each value, 0 where it is missing."""
        mean, std = self.parameters(statistics, data).values()
        with np.errstate(over="ignore"):
            # Halved first, so that the difference of two huge values of opposite sign stays finite.
            score = (values * 0.5 - mean * 0.5) / std * 2.0
            density = -0.5 * score * score - (math.log(std) + _LOG_SQRT_TWO_PI)
        return np.where(np.isnan(values), 0.0, density)

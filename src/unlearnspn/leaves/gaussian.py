"""Gaussian leaves, from exact sums of floats."""

from __future__ import annotations

from dataclasses import dataclass

from unlearnspn.circuit.expressions import Unit
from unlearnspn.coding import NumericCoder
from unlearnspn.leaves.from_moments import FromMoments
from unlearnspn.leaves.settings import require_positive
from unlearnspn.leaves.support import ANY_NUMBER, Support
from unlearnspn.slices import Slice
from unlearnspn.statistics.moments import Moments

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
        return {"mean": statistics.mean(), "std": max(statistics.std(), self.least_std(coder))}

    def least_std(self, coder: NumericCoder) -> float:
        """Return the least standard deviation in a column."""
        return max(self.min_std * coder.scale, _SMALLEST)

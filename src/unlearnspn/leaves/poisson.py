"""Poisson leaves, for counts."""

from __future__ import annotations

from dataclasses import dataclass

from unlearnspn.circuit.expressions import Unit
from unlearnspn.leaves.from_moments import FromMoments
from unlearnspn.leaves.settings import require_positive
from unlearnspn.leaves.support import COUNTS, Support
from unlearnspn.slices import Slice
from unlearnspn.statistics.moments import Moments


@dataclass(frozen=True)
class Poisson(FromMoments):
    """A Poisson distribution, smoothed as if `alpha` more records had the rate of the column.

    With n counts in the leaf that sum to s, and c the column's centre, or its scale if that is larger, the rate is
    (s + alpha·c) / (n + alpha): never 0, and c itself where all values are missing.

    >>> Poisson().support.words
    'whole numbers from 0 to 2**53'
    """

    alpha: float = 0.1

    def __post_init__(self) -> None:
        require_positive(alpha=self.alpha)

    @property
    def name(self) -> str:
        """The name under which the leaf is shown."""
        return "poisson"

    @property
    def unit(self) -> Unit:
        """The unit of a circuit that the leaf becomes."""
        return Unit.POISSON

    @property
    def support(self) -> Support:
        """The values that it can model: counts."""
        return COUNTS

    def parameters(self, statistics: Moments, data: Slice) -> dict[str, float]:
        """Return the rate."""
        coder = data.encoding.numeric(data.variable)
        column = max(coder.centre, coder.scale)
        if statistics.n == 0:
            return {"rate": column}
        total = statistics.n * statistics.mean()
        return {"rate": (total + self.alpha * column) / (statistics.n + self.alpha)}

"""Exponential leaves, for numbers that are not negative and mostly small."""

from __future__ import annotations

from dataclasses import dataclass

from unlearnspn.circuit.expressions import Unit
from unlearnspn.leaves.from_moments import FromMoments
from unlearnspn.leaves.settings import require_positive
from unlearnspn.leaves.support import NOT_NEGATIVE, Support
from unlearnspn.slices import Slice
from unlearnspn.statistics.moments import Moments

_SMALLEST = 5e-324


@dataclass(frozen=True)
class Exponential(FromMoments):
    """An exponential distribution whose mean never falls below `min_mean` times its column's scale.

    The floor keeps a leaf of zeros from having an infinite density. A leaf all of whose values are missing takes the
    column's centre as its mean, or its scale if that is larger.

    >>> Exponential().support.words
    'numbers of at least 0'
    """

    min_mean: float = 0.05

    def __post_init__(self) -> None:
        require_positive(min_mean=self.min_mean)

    @property
    def name(self) -> str:
        """The name under which the leaf is shown."""
        return "exponential"

    @property
    def unit(self) -> Unit:
        """The unit of a circuit that the leaf becomes."""
        return Unit.EXPONENTIAL

    @property
    def support(self) -> Support:
        """The values that it can model: numbers that are not negative."""
        return NOT_NEGATIVE

    def parameters(self, statistics: Moments, data: Slice) -> dict[str, float]:
        """Return the mean."""
        coder = data.encoding.numeric(data.variable)
        if statistics.n == 0:
            return {"mean": max(coder.centre, coder.scale)}
        return {"mean": max(statistics.mean(), self.min_mean * coder.scale, _SMALLEST)}

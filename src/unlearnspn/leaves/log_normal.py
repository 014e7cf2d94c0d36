"""Log-normal leaves, for positive numbers that differ by factors rather than by amounts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unlearnspn.circuit.expressions import Unit
from unlearnspn.leaves.from_moments import FromMoments
from unlearnspn.leaves.settings import require_positive
from unlearnspn.leaves.support import POSITIVE, Support
from unlearnspn.leaves.values import log_values
from unlearnspn.portable_math import log
from unlearnspn.slices import Rows, Slice
from unlearnspn.statistics.moments import Moments

#: The deviation of the logarithm where nothing is known of it.
_STD_OF_NOTHING = 1.0


@dataclass(frozen=True)
class LogNormal(FromMoments):
    """A normal distribution of the logarithm, whose deviation never falls below `min_std`.

    The statistics are exact moments of the logarithms, each of which is computed by one formula that gives the same
    bits everywhere. A leaf all of whose values are missing takes the logarithm of the column's centre, or of its scale
    if that is larger, and a deviation of 1.

    >>> LogNormal().support.words
    'numbers above 0'
    """

    min_std: float = 0.05

    def __post_init__(self) -> None:
        require_positive(min_std=self.min_std)

    @property
    def name(self) -> str:
        """The name under which the leaf is shown."""
        return "log-normal"

    @property
    def unit(self) -> Unit:
        """The unit of a circuit that the leaf becomes."""
        return Unit.LOG_NORMAL

    @property
    def support(self) -> Support:
        """The values that it can model: positive numbers."""
        return POSITIVE

    def learn(self, data: Slice, rows: Rows) -> Moments:
        """Sum logarithms and their squares exactly."""
        logs = log_values(data.records.values, rows, data.records.place[data.variable])
        return Moments.of(logs, np.arange(rows.size))

    def parameters(self, statistics: Moments, data: Slice) -> dict[str, float]:
        """Return mean and standard deviation of the logarithm."""
        if statistics.n == 0:
            coder = data.encoding.numeric(data.variable)
            return {"log_mean": log(max(coder.centre, coder.scale)), "log_std": _STD_OF_NOTHING}
        return {"log_mean": statistics.mean(), "log_std": max(statistics.std(), self.min_std)}

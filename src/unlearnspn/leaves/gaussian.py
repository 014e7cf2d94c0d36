"""Gaussian leaves, from exact sums of floats."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import Expression, Unit, numeric
from unlearnspn.exact_sum import Moments
from unlearnspn.hashing import fingerprint
from unlearnspn.schema import Kind
from unlearnspn.slices import Rows, Slice
from unlearnspn.tables import Category

_LOG_SQRT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True)
class Gaussian:
    """A normal distribution whose deviation never falls below `min_std` times its column's scale.

    A leaf all of whose values are missing takes the column's centre and scale.

    >>> Gaussian().name
    'gaussian'
    """

    min_std: float = 0.05

    @property
    def name(self) -> str:
        """The name under which the leaf is shown."""
        return "gaussian"

    @property
    def kind(self) -> Kind:
        """The kind of variable that it models."""
        return Kind.NUMERIC

    def learn(self, data: Slice, rows: Rows) -> Moments:
        """Sum values and squares exactly."""
        return Moments.of(data.records.values, rows, int(data.records.place[data.variable]))

    def revise(self, statistics: Moments, data: Slice, minus: Rows, plus: Rows) -> Moments:
        """Take rows out and put others in, exactly."""
        if minus.size:
            statistics = statistics.minus(self.learn(data, minus))
        return statistics.plus(self.learn(data, plus)) if plus.size else statistics

    def fingerprint(self, statistics: Moments, data: Slice) -> bytes:
        """Hash the exact sums."""
        return fingerprint([b"gaussian", *statistics.to_bytes()])

    def parameters(self, statistics: Moments, data: Slice) -> Mapping[str, Any]:
        """Return mean and standard deviation."""
        mean, std = self._parameters(statistics, data)
        return {"mean": mean, "std": std}

    def express(self, statistics: Moments, data: Slice) -> Expression:
        """Return the distribution as part of a circuit."""
        return numeric(Unit.GAUSSIAN, data.variable, *self._parameters(statistics, data))

    def categories(self, data: Slice) -> tuple[Category, ...]:
        """Return nothing: the variable is numeric."""
        return ()

    def log_density(self, statistics: Moments, data: Slice, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the log-density of each value, 0 where it is missing."""
        mean, std = self._parameters(statistics, data)
        with np.errstate(over="ignore"):
            # Halved first, so that the difference of two huge values of opposite sign stays finite.
            score = (values * 0.5 - mean * 0.5) / std * 2.0
            density = -0.5 * score * score - (math.log(std) + _LOG_SQRT_TWO_PI)
        return np.where(np.isnan(values), 0.0, density)

    def _parameters(self, statistics: Moments, data: Slice) -> tuple[float, float]:
        coder = data.encoding.numeric(data.variable)
        if statistics.n == 0:
            return coder.centre, coder.scale
        floor = max(self.min_std * coder.scale, 5e-324)
        return statistics.mean(), max(statistics.std(), floor)

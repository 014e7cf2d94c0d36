"""What leaves have in common that are learned from a sum and a sum of squares."""

from __future__ import annotations

from abc import ABC, abstractmethod

from unlearnspn.circuit.expressions import Expression, Unit, numeric
from unlearnspn.schema import Kind
from unlearnspn.slices import Rows, Slice
from unlearnspn.statistics.moments import Moments
from unlearnspn.tables import Category


class FromMoments(ABC):
    """A leaf of a numeric variable, learned from exact moments."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name under which the leaf is shown."""

    @property
    def kind(self) -> Kind:
        """The kind of variable that it models."""
        return Kind.NUMERIC

    @property
    @abstractmethod
    def unit(self) -> Unit:
        """The unit of a circuit that the leaf becomes."""

    @abstractmethod
    def parameters(self, statistics: Moments, data: Slice) -> dict[str, float]:
        """Return the parameters by name, in the order of the unit."""

    def learn(self, data: Slice, rows: Rows) -> Moments:
        """Sum values and squares exactly."""
        return Moments.of(data.records.values, rows, int(data.records.place[data.variable]))

    def revise(self, statistics: Moments, data: Slice, minus: Rows, plus: Rows) -> Moments:
        """Take rows out and put others in, exactly."""
        if minus.size:
            statistics = statistics.minus(self.learn(data, minus))
        return statistics.merge(self.learn(data, plus)) if plus.size else statistics

    def fingerprint(self, statistics: Moments, data: Slice) -> bytes:
        """Return the exact sums."""
        return statistics.fingerprint()

    def express(self, statistics: Moments, data: Slice) -> Expression:
        """Return the distribution as part of a circuit."""
        return numeric(self.unit, data.variable, *self.parameters(statistics, data).values())

    def categories(self, data: Slice) -> tuple[Category, ...]:
        """Return nothing: the variable is numeric."""
        return ()

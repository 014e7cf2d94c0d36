"""What leaves have in common that are learned from counts of categories."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import Expression, categorical
from unlearnspn.leaves.level_counts import (
    LevelCounts,
    Smoothing,
    count_levels,
    hash_levels,
    shift_levels,
    smoothed_log_probabilities,
)
from unlearnspn.schema import Kind
from unlearnspn.slices import Counts, Rows, Slice
from unlearnspn.tables import Category


class Outcomes(NamedTuple):
    """What a categorical variable can be, and how much of the smoothing falls to what was never seen."""

    #: In canonical order.
    categories: tuple[Category, ...]
    #: The code of each category; -1 for one that nobody has.
    levels: Counts
    #: The share of one category's smoothing that all categories never seen get together.
    unseen: float


NO_OUTCOMES = Outcomes((), np.zeros(0, np.int64), 0.0)


def in_arrays(outcomes: Sequence[Outcomes]) -> tuple[Counts, Counts, npt.NDArray[np.float64]]:
    """Return where the levels of each variable start, and at the end how many there are; all levels; what is unseen."""
    starts = np.cumsum([0, *(len(each.levels) for each in outcomes)])
    levels = np.concatenate([each.levels for each in outcomes]).astype(np.int64)
    return starts, levels, np.array([each.unseen for each in outcomes], np.float64)


@runtime_checkable
class HasOutcomes(Protocol):
    """A leaf of a categorical variable that can be part of a joint distribution of several."""

    def outcomes(self, data: Slice, variable: int) -> Outcomes:
        """Return what a variable can be."""


class FromCounts(ABC):
    """A leaf of a categorical variable: relative frequencies with additive smoothing."""

    alpha: float

    @property
    @abstractmethod
    def name(self) -> str:
        """The name under which the leaf is shown."""

    @abstractmethod
    def outcomes(self, data: Slice, variable: int) -> Outcomes:
        """Return what a variable can be."""

    @property
    def kind(self) -> Kind:
        """The kind of variable that it models."""
        return Kind.CATEGORICAL

    def learn(self, data: Slice, rows: Rows) -> LevelCounts:
        """Count the levels that occur."""
        records, variable = data.records, data.variable
        n_levels = len(data.encoding.categorical(variable).categories)
        return LevelCounts(*count_levels(records.levels, rows, records.place[variable], n_levels))

    def revise(self, statistics: LevelCounts, data: Slice, minus: Rows, plus: Rows) -> LevelCounts:
        """Take rows out and put others in."""
        records = data.records
        return LevelCounts(*shift_levels(*statistics, records.levels, minus, plus, records.place[data.variable]))

    def fingerprint(self, statistics: LevelCounts, data: Slice) -> bytes:
        """Hash the categories that occur, by their own fingerprints, with their counts."""
        low, high = hash_levels(*statistics, data.encoding.categorical(data.variable).category_prints)
        return struct.pack("<QQ", int(low), int(high))

    def parameters(self, statistics: LevelCounts, data: Slice) -> Mapping[str, Any]:
        """Return the probability of each category of the column, and that of all others together."""
        *probabilities, unseen = np.exp(self._log_probabilities(statistics, data)).tolist()
        names = readable(self.categories(data))
        return {"probabilities": dict(zip(names, probabilities, strict=True)), "unseen": unseen}

    def express(self, statistics: LevelCounts, data: Slice) -> Expression:
        """Return the distribution as part of a circuit."""
        return categorical(data.variable, self._log_probabilities(statistics, data))

    def categories(self, data: Slice) -> tuple[Category, ...]:
        """Return the categories that `express` gives probabilities to, in canonical order."""
        return self.outcomes(data, data.variable).categories

    def _log_probabilities(self, statistics: LevelCounts, data: Slice) -> npt.NDArray[np.float64]:
        """Return the log-probability of each category, then of those never seen together."""
        _, levels, unseen = self.outcomes(data, data.variable)
        return smoothed_log_probabilities(*statistics, levels, self.alpha, unseen)


def smoothing_of(leaves: Sequence[object], data: Slice) -> Smoothing:
    """Return what becomes of the counts of all variables whose leaves do with them as is done here."""
    applies = [isinstance(leaf, FromCounts) and _expresses_alike(type(leaf)) for leaf in leaves]
    outcomes = [
        cast(FromCounts, leaf).outcomes(data, variable) if applies[variable] else NO_OUTCOMES
        for variable, leaf in enumerate(leaves)
    ]
    starts, levels, unseen = in_arrays(outcomes)
    alphas = np.array([float(getattr(leaf, "alpha", 0.0)) for leaf in leaves])
    return Smoothing(np.array(applies, np.bool_), starts, levels, alphas, unseen)


def _expresses_alike(kind: type[FromCounts]) -> bool:
    return kind.express is FromCounts.express and kind._log_probabilities is FromCounts._log_probabilities


def readable(categories: tuple[Category, ...]) -> list[Category]:
    """Return categories as keys of a mapping: as they are, but by name where a column has both True and 1.

    >>> readable((False, "a")), readable((True, 1))
    ([False, 'a'], ['True', '1'])
    """
    clash = len(set(categories)) < len(categories)
    return [repr(category) if clash else category for category in categories]

"""Categorical leaves, from counts."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import Expression, categorical
from unlearnspn.leaves.level_counts import (
    LevelCounts,
    count_levels,
    hash_levels,
    shift_levels,
    smoothed_log_probabilities,
)
from unlearnspn.schema import Kind
from unlearnspn.slices import Rows, Slice
from unlearnspn.tables import Category

#: The share of one category's smoothing that all categories never seen get together.
UNSEEN = 0.01


@dataclass(frozen=True)
class Categorical:
    """Relative frequencies with additive smoothing.

    With n records in the leaf, of which c have the category, and L categories in the column, a category's
    probability is (c + alpha) / (n + alpha·(L + 0.01)); a category never seen gets 0.01·alpha in place of c + alpha.

    >>> Categorical().name
    'categorical'
    """

    alpha: float = 0.3

    @property
    def name(self) -> str:
        """The name under which the leaf is shown."""
        return "categorical"

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
        probabilities = np.exp(self._log_probabilities(statistics, data)).tolist()
        coder = data.encoding.categorical(data.variable)
        present = [(category, level) for level, category in enumerate(coder.categories) if category is not None]
        present.sort(key=lambda pair: (type(pair[0]).__name__, pair[0]))
        # True and 1 are one key to Python; where a column has both kinds, their names tell them apart.
        clash = len({category for category, _ in present}) < len(present)
        named = {repr(category) if clash else category: probabilities[level] for category, level in present}
        return {"probabilities": named, "unseen": probabilities[-2]}

    def express(self, statistics: LevelCounts, data: Slice) -> Expression:
        """Return the distribution as part of a circuit."""
        codes = data.encoding.categorical(data.variable).canonical_codes
        return categorical(data.variable, smoothed_log_probabilities(*statistics, codes, self.alpha, UNSEEN))

    def categories(self, data: Slice) -> tuple[Category, ...]:
        """Return the categories of the column."""
        return data.encoding.categorical(data.variable).canonical_categories

    def log_density(self, statistics: LevelCounts, data: Slice, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the log-probability of each level, 0 where it is missing."""
        return np.asarray(self._log_probabilities(statistics, data)[values])

    def _log_probabilities(self, statistics: LevelCounts, data: Slice) -> npt.NDArray[np.float64]:
        """Return the log-probability by level; then, reached as -2 and -1, of what was never seen and of missing."""
        coder = data.encoding.categorical(data.variable)
        counts = np.zeros(len(coder.categories) + 2)
        counts[statistics.levels] = statistics.counts
        total = int(statistics.counts.sum()) + self.alpha * (coder.n_levels + UNSEEN)
        counts += self.alpha
        counts[-2] = self.alpha * UNSEEN
        counts[-1] = total
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(counts / total)

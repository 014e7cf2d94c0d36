"""Categorical leaves, from counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.hashing import fingerprint
from unlearnspn.slices import Rows, Slice
from unlearnspn.tables import token

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

    alpha: float = 0.1

    @property
    def name(self) -> str:
        """The name under which the leaf is shown."""
        return "categorical"

    def learn(self, data: Slice, rows: Rows) -> dict[int, int]:
        """Count the levels that occur."""
        levels = data.records.levels[rows, data.records.place[data.variable]]
        counts = np.bincount(levels[levels >= 0])
        occurring = np.flatnonzero(counts)
        return dict(zip(occurring.tolist(), counts[occurring].tolist(), strict=True))

    def revise(self, statistics: dict[int, int], data: Slice, minus: Rows, plus: Rows) -> dict[int, int]:
        """Take rows out and put others in."""
        counts = dict(statistics)
        for rows, sign in ((minus, -1), (plus, 1)):
            if rows.size:
                for level, number in self.learn(data, rows).items():
                    counts[level] = counts.get(level, 0) + sign * number
        return {level: number for level, number in counts.items() if number}

    def fingerprint(self, statistics: dict[int, int], data: Slice) -> bytes:
        """Hash the categories that occur, in canonical order, with their counts."""
        categories = data.encoding.categorical(data.variable).categories
        named = sorted((token(categories[level]), number) for level, number in statistics.items())  # type: ignore[arg-type]
        counts = np.array([number for _, number in named], np.int64)
        return fingerprint([b"categorical", *(name for name, _ in named), counts.tobytes()])

    def parameters(self, statistics: dict[int, int], data: Slice) -> Mapping[str, Any]:
        """Return the probability of each category of the column, and that of all others together."""
        probabilities = np.exp(self._log_probabilities(statistics, data)).tolist()
        coder = data.encoding.categorical(data.variable)
        named = {category: probabilities[level] for level, category in enumerate(coder.categories)}
        named = {category: named[category] for category in sorted(filter(_present, named), key=_readable)}
        return {"probabilities": named, "unseen": probabilities[-2]}

    def log_density(
        self, statistics: dict[int, int], data: Slice, values: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Return the log-probability of each level, 0 where it is missing."""
        return self._log_probabilities(statistics, data)[values]

    def _log_probabilities(self, statistics: dict[int, int], data: Slice) -> npt.NDArray[np.float64]:
        """Return the log-probability by level; then, reached as -2 and -1, of what was never seen and of missing."""
        coder = data.encoding.categorical(data.variable)
        counts = np.zeros(len(coder.categories) + 2)
        counts[list(statistics)] = list(statistics.values())
        total = sum(statistics.values()) + self.alpha * (coder.n_levels + UNSEEN)
        counts += self.alpha
        counts[-2] = self.alpha * UNSEEN
        counts[-1] = total
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(counts / total)


def _present(category: Any) -> bool:
    return category is not None


def _readable(category: Any) -> tuple[str, Any]:
    return (type(category).__name__, category)

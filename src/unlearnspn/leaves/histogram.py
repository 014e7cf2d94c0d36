"""Histogram leaves, for numbers whose distribution has no simple shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import Expression, Input, Unit, mixture
from unlearnspn.coding import Levels
from unlearnspn.hashing import fingerprint
from unlearnspn.leaves.background import background
from unlearnspn.leaves.level_counts import LevelCounts, count_levels, shift_levels
from unlearnspn.leaves.settings import require_positive
from unlearnspn.leaves.support import ANY_NUMBER, Support
from unlearnspn.leaves.values import bin_values, log_densities
from unlearnspn.portable_math import log
from unlearnspn.schema import Kind
from unlearnspn.slices import Rows, Slice
from unlearnspn.tables import Category

#: How many scales of the column the bins reach to either side of its centre.
_REACH = 8.0
#: Columns of a larger scale than this have no bins: their ends would not be finite.
_LARGEST_SCALE = 2.0**1018


class _Grid(NamedTuple):
    """Equal bins, from `start` on."""

    start: float
    width: float
    n_bins: int


@dataclass(frozen=True)
class Histogram:
    """Relative frequencies in equal bins, over a background that reaches everywhere.

    The `n_bins` bins cover eight scales of the column to either side of its centre. Centre and scale are those of the
    whole column, rounded to a coarse lattice, so that one record hardly ever moves a bin. The background is a Gaussian
    around the centre, with a deviation of four scales; it stands for the values outside the bins, and for `alpha`
    records more, so that no value is impossible. It is all there is where all values are missing.

    >>> Histogram().name
    'histogram'
    """

    n_bins: int = 64
    alpha: float = 3.0

    def __post_init__(self) -> None:
        require_positive(alpha=self.alpha)
        if not isinstance(self.n_bins, int) or self.n_bins < 1:
            raise ValueError(f"n_bins={self.n_bins!r} must be an integer of at least 1")

    @property
    def name(self) -> str:
        """The name under which the leaf is shown."""
        return "histogram"

    @property
    def kind(self) -> Kind:
        """The kind of variable that it models."""
        return Kind.NUMERIC

    @property
    def support(self) -> Support:
        """The values that it can model: all numbers."""
        return ANY_NUMBER

    def learn(self, data: Slice, rows: Rows) -> LevelCounts:
        """Count the bins that occur, and the values outside all of them."""
        bins = self._bins(data, rows)
        return LevelCounts(*count_levels(bins, np.arange(rows.size), 0, self.n_bins + 1))

    def revise(self, statistics: LevelCounts, data: Slice, minus: Rows, plus: Rows) -> LevelCounts:
        """Take rows out and put others in."""
        bins = self._bins(data, np.concatenate([minus, plus]))
        places = np.arange(len(bins))
        return LevelCounts(*shift_levels(*statistics, bins, places[: minus.size], places[minus.size :], 0))

    def fingerprint(self, statistics: LevelCounts, data: Slice) -> bytes:
        """Hash the bins that occur with their counts."""
        order = np.argsort(statistics.levels)
        return fingerprint([b"histogram", *(part[order].astype("<i8").tobytes() for part in statistics)])

    def parameters(self, statistics: LevelCounts, data: Slice) -> Mapping[str, Any]:
        """Return where the bins are, the probability of each, and what remains for the background."""
        grid, counts, outside = self._counts(statistics, data)
        total = int(counts.sum()) + outside + self.alpha
        return {
            "start": grid.start,
            "width": grid.width,
            "probabilities": (counts / total).tolist(),
            "background": (outside + self.alpha) / total,
        }

    def express(self, statistics: LevelCounts, data: Slice) -> Expression:
        """Return the distribution as part of a circuit: a mixture of the bins and the background."""
        grid, counts, outside = self._counts(statistics, data)
        coder, inside = data.encoding.numeric(data.variable), int(counts.sum())
        others = background(coder, data.variable)
        if inside == 0:
            return others
        parameters = np.concatenate([_UNBOUNDED, [grid.start, grid.width], log_densities(counts, grid.width)])
        total = inside + outside + self.alpha
        weights = [log(inside / total), log((outside + self.alpha) / total)]
        return mixture([Input(Unit.HISTOGRAM, data.variable, parameters), others], weights)

    def categories(self, data: Slice) -> tuple[Category, ...]:
        """Return nothing: the variable is numeric."""
        return ()

    def _grid(self, data: Slice) -> _Grid:
        coder = data.encoding.numeric(data.variable)
        if coder.scale > _LARGEST_SCALE:
            return _Grid(coder.centre, 1.0, 0)
        reach = _REACH * coder.scale
        return _Grid(coder.centre - reach, 2.0 * reach / self.n_bins, self.n_bins)

    def _bins(self, data: Slice, rows: Rows) -> Levels:
        """Return each row's bin as a table of one column."""
        return bin_values(data.records.values, rows, data.records.place[data.variable], *self._grid(data))

    def _counts(self, statistics: LevelCounts, data: Slice) -> tuple[_Grid, npt.NDArray[np.int64], int]:
        """Return the grid, the count of each bin, and that of the values outside."""
        grid = self._grid(data)
        counts = np.zeros(grid.n_bins + 1, np.int64)
        counts[statistics.levels] = statistics.counts
        return grid, counts[:-1], int(counts[-1])


_UNBOUNDED = np.array([-math.inf, math.inf, 0.0])

"""The G-test of the original LearnSPN, on integer tables of two variables' codes.

A record changes one cell of each pair's table, so a revision costs the number of pairs, whatever the number of
records. Logarithms enter as integers, hence G is an exact sum that no order of summation can change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unlearnspn.hashing import Keys
from unlearnspn.independence.base import Groups
from unlearnspn.independence.pair_tables import (
    count_pairs,
    dependent_groups,
    hash_tables,
    pair_cells,
    shift_pairs,
)
from unlearnspn.portable_math import x_log_x_table
from unlearnspn.slices import Counts, Rows, Slice


class PairTables(NamedTuple):
    """The tables of all pairs, one after another, and a hash of them that is kept up to date."""

    cells: Counts
    hashes: Keys


@dataclass(frozen=True)
class GTest:
    """Two variables are dependent if G exceeds `threshold`·2·(degrees of freedom).

    Missing values are left out pair by pair. Numeric variables enter by their bins.
    """

    threshold: float = 3.0

    def learn(self, data: Slice, rows: Rows) -> PairTables:
        """Count the tables of all pairs."""
        scope, sizes = data.scope, data.encoding.sizes
        cells = np.zeros(pair_cells(scope, sizes), np.int64)
        count_pairs(data.records.codes, rows, scope, sizes, cells)
        return PairTables(cells, hash_tables(cells, scope, sizes, data.encoding.prints))

    def revise(
        self, statistics: PairTables, data: Slice, minus: Rows, plus: Rows, rows: Callable[[], Rows]
    ) -> PairTables:
        """Change one cell of each pair for each row."""
        revised = PairTables(statistics.cells.copy(), statistics.hashes.copy())
        codes, encoding = data.records.codes, data.encoding
        for changed, sign in ((minus, -1), (plus, 1)):
            if changed.size:
                shift_pairs(codes, changed, data.scope, encoding.sizes, encoding.prints, *revised, sign)
        return revised

    def groups(self, statistics: PairTables, data: Slice) -> Groups:
        """Join dependent variables."""
        sizes, cut = data.encoding.sizes, float(self.threshold)
        return dependent_groups(statistics.cells, data.scope, sizes, cut, x_log_x_table())

    def fingerprint(self, statistics: PairTables, data: Slice) -> bytes:
        """Return the hash of all cells."""
        return statistics.hashes.tobytes()

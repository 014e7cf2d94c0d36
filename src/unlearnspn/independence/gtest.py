"""The G-test of the original LearnSPN, on integer tables of two variables' codes.

A record changes one cell of each pair's table, so a revision costs the number of pairs, whatever the number of
records. Logarithms enter as integers, hence G is an exact sum that no order of summation can change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unlearnspn.hashing import fingerprint
from unlearnspn.independence.base import Groups
from unlearnspn.independence.pair_tables import count_pairs, dependent_groups, hash_tables, pair_cells
from unlearnspn.portable_math import x_log_x_table
from unlearnspn.slices import Counts, Rows, Slice


@dataclass(frozen=True)
class GTest:
    """Two variables are dependent if G exceeds `threshold`·2·(degrees of freedom).

    Missing values are left out pair by pair. Numeric variables enter by their bins.
    """

    threshold: float = 5.0

    def learn(self, data: Slice, rows: Rows) -> Counts:
        """Count the tables of all pairs."""
        tables = np.zeros(pair_cells(data.scope, data.encoding.sizes), np.int64)
        count_pairs(data.records.codes, rows, data.scope, data.encoding.sizes, tables, 1)
        return tables

    def revise(
        self, statistics: Counts, data: Slice, minus: Rows, plus: Rows, rows: Callable[[], Rows]
    ) -> Counts:
        """Change one cell of each pair for each row."""
        tables = statistics.copy()
        count_pairs(data.records.codes, minus, data.scope, data.encoding.sizes, tables, -1)
        count_pairs(data.records.codes, plus, data.scope, data.encoding.sizes, tables, 1)
        return tables

    def groups(self, statistics: Counts, data: Slice) -> Groups:
        """Join dependent variables."""
        sizes = data.encoding.sizes
        return dependent_groups(statistics, data.scope, sizes, float(self.threshold), x_log_x_table())  # type: ignore[no-any-return]

    def fingerprint(self, statistics: Counts, data: Slice) -> bytes:
        """Hash all cells."""
        low, high = hash_tables(statistics, data.scope, data.encoding.sizes, data.encoding.prints)
        return fingerprint([b"gtest", int(low).to_bytes(8, "little"), int(high).to_bytes(8, "little")])

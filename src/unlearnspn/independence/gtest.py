"""The G-test of the original LearnSPN, on integer tables of two variables' codes.

Logarithms enter as integers, hence G is an exact sum that no order of summation can change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from unlearnspn.independence.base import Groups
from unlearnspn.independence.dependent_pairs import dependent_groups
from unlearnspn.pair_tables import PairTables
from unlearnspn.portable_math import x_log_x_table
from unlearnspn.slices import Rows, Slice


@dataclass(frozen=True)
class GTest:
    """Two variables are dependent if G exceeds `threshold`·2·(degrees of freedom).

    Missing values are left out pair by pair. Numeric variables enter by their bins.
    """

    threshold: float = 3.0

    def learn(self, data: Slice, rows: Rows) -> PairTables:
        """Count the tables of all pairs."""
        return PairTables.learn(data, rows)

    def revise(
        self, statistics: PairTables, data: Slice, minus: Rows, plus: Rows, rows: Callable[[], Rows]
    ) -> PairTables:
        """Change one cell of each pair for each row."""
        return statistics.revise(data, minus, plus)

    def groups(self, statistics: PairTables, data: Slice) -> Groups:
        """Join dependent variables."""
        sizes, cut = data.encoding.sizes, float(self.threshold)
        return dependent_groups(statistics.cells, data.scope, sizes, cut, x_log_x_table())

    def fingerprint(self, statistics: PairTables, data: Slice) -> bytes:
        """Return the hash of all cells."""
        return statistics.fingerprint()

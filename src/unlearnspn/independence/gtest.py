"""The G-test of the original LearnSPN, on integer tables of two variables' codes.

Logarithms enter as integers, hence G is an exact sum that no order of summation can change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlearnspn.independence.base import Groups
from unlearnspn.slices import Rows
from unlearnspn.statistics.pairs import AskedPairs, wants_tables


@dataclass(frozen=True)
class GTest:
    """Two variables are dependent if G exceeds `threshold`·2·(degrees of freedom).

    Missing values are left out pair by pair. Numeric variables enter by their bins.
    """

    threshold: float = 3.0
    #: Among more records than this, or than three times the square of the number of variables, tables are kept of the
    #: pairs asked; among fewer they would take much room, and counting again takes little time.
    tables_above: int = 2048

    def __post_init__(self) -> None:
        if not 0 <= self.tables_above < 1 << 16:
            raise ValueError(f"tables_above={self.tables_above!r} is not a number from 0 to 65535")

    def learn(self, data: Any, rows: Rows) -> AskedPairs:
        """Ask for the pairs that have to be asked."""
        return self._ask(data, rows, None)

    def _ask(self, data: Any, rows: Rows, known: AskedPairs | None) -> AskedPairs:
        with_tables = wants_tables(rows.size, data.scope.size, self.tables_above)
        return AskedPairs.ask(data.coded, rows, data.scope, float(self.threshold), with_tables, known)

    def revise(
        self, statistics: AskedPairs, data: Any, minus: Rows, plus: Rows, rows: Callable[[], Rows]
    ) -> AskedPairs:
        """Take rows out of what is known of each pair, and put others in; ask anew if a pair answers otherwise now.

        The statistics are changed in place, unless others are returned: then they are what they were.
        """
        # Tables tell how many other rows have the codes of a row; without them these are counted.
        staying = None if statistics.keeps_tables else _without(rows(), plus)
        statistics.shift(data.coded, staying, minus, plus, data.scope)
        if self._answers_hold(statistics, data.scope.size):
            return statistics
        try:
            return self._ask(data, rows(), statistics)
        finally:
            statistics.shift(data.coded, staying, plus, minus, data.scope)

    def _answers_hold(self, statistics: AskedPairs, width: int) -> bool:
        """Tell whether the same pairs would be asked and give the same answers, and as much be kept of them."""
        wanted = wants_tables(statistics.n_records, width, self.tables_above)
        return statistics.keeps_tables == wanted and statistics.answers_hold(float(self.threshold))

    def groups(self, statistics: AskedPairs, data: Any) -> Groups:
        """Join dependent variables."""
        return statistics.groups(data.scope.size)

    def fingerprint(self, statistics: AskedPairs, data: Any) -> bytes:
        """Return how many pairs were asked, and the hash of what is known of them."""
        return statistics.fingerprint()


def _without(rows: Rows, others: Rows) -> Rows:
    return rows[~np.isin(rows, others)] if others.size else rows

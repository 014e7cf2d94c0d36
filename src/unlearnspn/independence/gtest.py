"""The G-test of the original LearnSPN, on integer tables of two variables' codes.

Logarithms enter as integers, hence G is an exact sum that no order of summation can change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unlearnspn.exact_sum import Words
from unlearnspn.hashing import fingerprint
from unlearnspn.independence.asked_pairs import (
    N_CELLS,
    answered_groups,
    answers_hold,
    ask_pairs,
    keeps_tables,
    shift_pairs,
    wants_tables,
)
from unlearnspn.independence.base import Groups
from unlearnspn.portable_math import x_log_x_table
from unlearnspn.slices import Rows, Slice


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

    def learn(self, data: Slice, rows: Rows) -> Words:
        """Ask for the pairs that have to be asked."""
        return self._ask(data, rows, np.zeros(0, np.int64))

    def _ask(self, data: Slice, rows: Rows, known: Words) -> Words:
        codes, encoding, cut = data.records.codes, data.encoding, float(self.threshold)
        logs, with_tables = x_log_x_table(), wants_tables(rows.size, data.scope.size, self.tables_above)
        return ask_pairs(codes, rows, data.scope, encoding.sizes, encoding.prints, cut, logs, known, with_tables)

    def revise(self, statistics: Words, data: Slice, minus: Rows, plus: Rows, rows: Callable[[], Rows]) -> Words:
        """Take rows out of what is known of each pair, and put others in; ask anew if a pair answers otherwise now."""
        encoding, revised, after = data.encoding, statistics.copy(), rows()
        staying, logs = after[~np.isin(after, plus)], x_log_x_table()
        codes, sizes, prints = data.records.codes, encoding.sizes, encoding.prints
        shift_pairs(revised, 0, codes, staying, minus, plus, data.scope, sizes, prints, logs, plus[:0])
        kept_alike = keeps_tables(revised, 0) == wants_tables(after.size, data.scope.size, self.tables_above)
        if kept_alike and answers_hold(revised, 0, float(self.threshold)):
            return revised
        return self._ask(data, after, revised)

    def groups(self, statistics: Words, data: Slice) -> Groups:
        """Join dependent variables."""
        return answered_groups(statistics, data.scope.size)

    def fingerprint(self, statistics: Words, data: Slice) -> bytes:
        """Return how many pairs were asked, and the hash of what is known of them."""
        return fingerprint([b"gtest", statistics[:N_CELLS].tobytes()])

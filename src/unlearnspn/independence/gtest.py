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
    HEAD,
    answered_groups,
    answers_hold,
    ask_pairs,
    shift_pairs,
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

    def learn(self, data: Slice, rows: Rows) -> Words:
        """Count the tables of the pairs that have to be asked."""
        return self._ask(data, rows, np.zeros(0, np.int64))

    def _ask(self, data: Slice, rows: Rows, known: Words) -> Words:
        codes, encoding, cut = data.records.codes, data.encoding, float(self.threshold)
        return ask_pairs(codes, rows, data.scope, encoding.sizes, encoding.prints, cut, x_log_x_table(), known)

    def revise(self, statistics: Words, data: Slice, minus: Rows, plus: Rows, rows: Callable[[], Rows]) -> Words:
        """Change one cell of each pair for each row; ask anew if a pair answers otherwise now."""
        codes, encoding, revised = data.records.codes, data.encoding, statistics.copy()
        for changed, sign in ((minus, -1), (plus, 1)):
            shift_pairs(revised, 0, codes, changed, data.scope, encoding.sizes, encoding.prints, x_log_x_table(), sign)
        if answers_hold(revised, 0, float(self.threshold)):
            return revised
        return self._ask(data, rows(), revised)

    def groups(self, statistics: Words, data: Slice) -> Groups:
        """Join dependent variables."""
        return answered_groups(statistics, data.scope.size)

    def fingerprint(self, statistics: Words, data: Slice) -> bytes:
        """Return how many pairs were asked, and the hash of their tables, from which all else follows."""
        return fingerprint([b"gtest", statistics[:HEAD].tobytes()])

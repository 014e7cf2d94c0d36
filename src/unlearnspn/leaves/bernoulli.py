"""Bernoulli leaves, for columns that hold one of two things."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unlearnspn.leaves.from_counts import FromCounts, Outcomes
from unlearnspn.leaves.settings import require_positive
from unlearnspn.leaves.support import BINARY, Support
from unlearnspn.slices import Slice
from unlearnspn.tables import Category, token

_BOOLEANS: tuple[Category, Category] = (False, True)
_NUMBERS: tuple[Category, Category] = (0, 1)


@dataclass(frozen=True)
class Bernoulli(FromCounts):
    """True or False, or 1 or 0: both are always possible, and nothing else ever is.

    With n records in the leaf, of which c are true, the probability of true is (c + alpha) / (n + 2·alpha). Of a
    column without any value nothing is known, not even which two things it holds.

    >>> Bernoulli().support.words
    'either True and False, or 0 and 1'
    """

    alpha: float = 0.3

    def __post_init__(self) -> None:
        require_positive(alpha=self.alpha)

    @property
    def name(self) -> str:
        """The name under which the leaf is shown."""
        return "bernoulli"

    @property
    def support(self) -> Support:
        """The values that it can model: two."""
        return BINARY

    def outcomes(self, data: Slice, variable: int) -> Outcomes:
        """Return both outcomes."""
        coder = data.encoding.categorical(variable)
        if not coder.index:
            return Outcomes((), np.zeros(0, np.int64), 1.0)
        categories = _BOOLEANS if isinstance(coder.canonical_categories[0], bool) else _NUMBERS
        levels = [coder.index.get(token(category), -1) for category in categories]
        return Outcomes(categories, np.array(levels, np.int64), 0.0)

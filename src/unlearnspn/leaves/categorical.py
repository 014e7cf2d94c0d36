"""Categorical leaves, from counts."""

from __future__ import annotations

from dataclasses import dataclass

from unlearnspn.leaves.from_counts import FromCounts, Outcomes
from unlearnspn.leaves.settings import require_positive
from unlearnspn.leaves.support import ANY_CATEGORY, Support
from unlearnspn.slices import Slice

#: The share of one category's smoothing that all categories never seen get together.
UNSEEN = 0.01


@dataclass(frozen=True)
class Categorical(FromCounts):
    """Relative frequencies with additive smoothing.

    With n records in the leaf, of which c have the category, and L categories in the column, a category's
    probability is (c + alpha) / (n + alpha·(L + 0.01)); a category never seen gets 0.01·alpha in place of c + alpha.

    >>> Categorical().name
    'categorical'
    """

    alpha: float = 0.3

    def __post_init__(self) -> None:
        require_positive(alpha=self.alpha)

    @property
    def name(self) -> str:
        """The name under which the leaf is shown."""
        return "categorical"

    @property
    def support(self) -> Support:
        """The values that it can model: all categories."""
        return ANY_CATEGORY

    def outcomes(self, data: Slice, variable: int) -> Outcomes:
        """Return the categories of the column."""
        coder = data.encoding.categorical(variable)
        return Outcomes(coder.canonical_categories, coder.canonical_codes, UNSEEN)

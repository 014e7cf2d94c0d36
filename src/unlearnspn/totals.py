"""Totals of the columns: exact moments of numbers, counts of categories; they decide how values are coded.

Totals are revised with the records, see `shift_totals`; those of disjoint records of one table merge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.coding import Encoding
from unlearnspn.hashing import fingerprint
from unlearnspn.mixing import hash_counts
from unlearnspn.statistics.moments import Moments, Window, Words

Counts = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]
Bits = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint8]

#: What a change of rows does to a column's coding: nothing, it must be looked at, even its window is another.
SURE, UNSURE, OTHER_WINDOW = 0, 1, 2


class Totals(NamedTuple):
    """How many values have each part of the exponents; each column's moments; how many records have each level."""

    #: Indexed [variable, part].
    parts: Counts
    #: Indexed [variable]: where the limbs of a column's sums start, see `Window`.
    windows: Counts
    #: Where each variable's moments start in `sums`, and at the end their length.
    starts: Counts
    sums: Words
    #: Laid out as `Encoding.level_starts` says.
    level_counts: Counts
    #: Indexed [variable]: how many values may leave or come before bins may have to lie elsewhere, see `search_crowd`.
    slack: Counts

    @classmethod
    def of(cls, parts: Counts, is_numeric: npt.NDArray[np.bool_], n_levels: int) -> Totals:
        """Make room for columns whose exponents fall into some parts; sums and levels are zeros."""
        none = Window(0, 0, 0)
        found = [Window.of(line) if numeric else none for line, numeric in zip(parts, is_numeric, strict=True)]
        windows = np.array(found)
        starts = np.concatenate([[0], np.cumsum(np.where(is_numeric, 1 + windows[:, 1] + windows[:, 2], 0))])
        sums, slack = np.zeros(starts[-1], np.int64), np.zeros(len(parts), np.int64)
        return cls(parts, windows, starts, sums, np.zeros(n_levels, np.int64), slack)

    def window(self, variable: int) -> Window:
        """Return which limbs a column's sums have."""
        return Window(*self.windows[variable].tolist())

    def moments(self, variable: int) -> Moments:
        """Return a column's moments."""
        words = self.sums[self.starts[variable] : self.starts[variable + 1]]
        return Moments.from_words(words, self.window(variable))

    def copied(self) -> Totals:
        """Return totals that can be changed without changing these."""
        parts, sums = self.parts.copy(), self.sums.copy()
        return Totals(parts, self.windows, self.starts, sums, self.level_counts.copy(), self.slack.copy())

    def merge(self, other: Totals) -> Totals:
        """Return the totals of the records of both, which have none in common and number their levels alike.

        How much slack these have must be found anew.
        """
        moments = [
            self.moments(v).merge(other.moments(v)) if numeric else None for v, numeric in enumerate(self.is_numeric)
        ]
        level_counts = self.level_counts + other.level_counts
        return _laid_out(self.parts + other.parts, moments, level_counts, self.slack).without_slack()

    @property
    def is_numeric(self) -> npt.NDArray[np.bool_]:
        """Indexed [variable]: whether it has moments."""
        return np.diff(self.starts) > 0

    def without_slack(self) -> Totals:
        """Return totals that do not tell how many values have left or come since the slack was last found."""
        return self._replace(slack=np.full(self.slack.size, -1))

    def digest(self, encoding: Encoding) -> bytes:
        """Digest everything but the slack."""
        return fingerprint(
            [self.windows.tobytes(), self.sums.tobytes(), hash_counts(self.level_counts, encoding.level_prints)]
        )


def relaid(totals: Totals, before: Totals, found: Flags, bits: Bits, place: Counts, minus: Rows, plus: Rows) -> Totals:
    """Return totals with new windows for the columns that were found to need others."""
    if not (found == OTHER_WINDOW).any():
        return totals
    moments: list[Moments | None] = []
    for v, numeric in enumerate(totals.is_numeric):
        if found[v] == OTHER_WINDOW:
            left, came = (Moments.of(bits.view(np.float64), rows, int(place[v])) for rows in (minus, plus))
            moments.append(before.moments(v).minus(left).merge(came))
        else:
            moments.append(totals.moments(v) if numeric else None)
    return _laid_out(totals.parts, moments, totals.level_counts, totals.slack)


def _laid_out(parts: Counts, moments: list[Moments | None], level_counts: Counts, slack: Counts) -> Totals:
    """Return totals with the windows that the parts of exponents need; None is in place of a category's moments."""
    is_numeric = np.array([each is not None for each in moments], np.bool_)
    totals = Totals.of(parts, is_numeric, 0)._replace(level_counts=level_counts, slack=slack)
    for v, each in enumerate(moments):
        if each is not None:
            totals.sums[totals.starts[v] : totals.starts[v + 1]] = each.to_words(totals.window(v))
    return totals

"""Totals of the columns: exact moments of numbers, counts of categories; they decide how values are coded.

Totals are revised with the records. Almost always the coding stays what it is, and a kernel that needs no exact
arithmetic can tell so: it only names the columns about which it is not sure.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.arrays import count_of
from unlearnspn.coding import (
    CENTRE,
    CENTRE_SPACING,
    IS_NUMERIC,
    LEVELS_START,
    PLACE,
    SCALE,
    SMALLEST_SCALE,
    Columns,
    Encoding,
    Levels,
)
from unlearnspn.compiling import IN, OUT, kernel, late_kernel
from unlearnspn.exact_sum import (
    FIRST_LIMBS,
    N_PARTS,
    Bits,
    Moments,
    Rows,
    Window,
    Words,
    add_value,
    carry,
    count_parts,
)
from unlearnspn.fetching import close_together
from unlearnspn.hashing import fingerprint, hash_counts

Flags = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int64]

#: What a kernel found about a column: nothing to do, the coding must be looked at, even its window may be another.
_SURE, _UNSURE, _OTHER_WINDOW = 0, 1, 2

_ROUNDING = 2.0**-48  # far above what a few dozen roundings of doubles can add up to


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
    #: Indexed [variable]: how many values may leave or come before bins may have to lie elsewhere, see `find_crowd`.
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

    def without_slack(self) -> Totals:
        """Return totals that do not tell how many values have left or come since the slack was last found."""
        return self._replace(slack=np.full(self.slack.size, -1))

    def digest(self, encoding: Encoding) -> bytes:
        """Digest everything but the slack."""
        return fingerprint(
            [self.windows.tobytes(), self.sums.tobytes(), hash_counts(self.level_counts, encoding.level_prints)]
        )


@kernel
def _estimates(sums: Words, at: int, window: tuple[int, int, int]) -> tuple[float, float, float]:
    """Return mean, mean square and variance of moments as doubles, by Horner's rule."""
    low, n_first, n_second = window
    first, second = 0.0, 0.0
    for limb in range(at + n_first, at, -1):
        first = first * 4294967296.0 + sums[limb]
    for limb in range(at + n_first + n_second, at + n_first, -1):
        second = second * 4294967296.0 + sums[limb]
    mean = math.ldexp(first / sums[at], int(32 * low - 1074))
    square = math.ldexp(second / sums[at], int(64 * low - 2148))
    return mean, square, square - mean * mean


@kernel
def _surely_coded_alike(sums: Words, at: int, window: tuple[int, int, int], scale: float, centre: float) -> bool:
    """Tell whether scale and centre are sure to be what they were."""
    if sums[at] == 0 or scale <= SMALLEST_SCALE or not 1e-100 < scale < 1e100:
        return False
    mean, square, variance = _estimates(sums, at, window)
    doubt = _ROUNDING * square
    if not (variance - doubt > scale * scale and variance + doubt < 4.0 * scale * scale):
        return False
    place, doubt = mean / (CENTRE_SPACING * scale) + 0.5, _ROUNDING * (abs(mean) / scale + 1.0)
    expected = centre / (CENTRE_SPACING * scale)
    return math.floor(place - doubt) == expected and math.floor(place + doubt) == expected


@kernel
def _count_observed(bits: Bits, lines: Rows, place: int) -> int:
    """Count the values that are not missing."""
    observed = 0
    for line in lines:
        observed += (bits[line, place] >> 52) & 0x7FF != 0x7FF
    return observed


@kernel
def _fits(parts: Counts, window: tuple[int, int, int]) -> bool:
    """Tell whether parts still reach from the window's first to its last, as far as they reach at all."""
    low, high = -1, 0
    for part in range(N_PARTS):
        if parts[part]:
            low = part if low < 0 else low
            high = part
    low = max(low, 0)
    return low == window[0] and high - low + FIRST_LIMBS == window[1]


@kernel
def _count_levels(level_counts: Counts, start: int, levels: Levels, place: int, rows: Rows, sign: int) -> None:
    """Count rows out, or in."""
    for row in rows:
        if levels[row, place] >= 0:
            level_counts[start + levels[row, place]] += sign


@kernel
def _all_occur(level_counts: Counts, start: int, levels: Levels, place: int, rows: Rows) -> bool:
    """Tell whether all levels of some rows occur."""
    for row in rows:
        if levels[row, place] >= 0 and level_counts[start + levels[row, place]] == 0:
            return False
    return True


def _steps_of_shift(columns: Columns, bits: Bits, levels: Levels, minus: Rows, plus: Rows, *_: Counts) -> int:
    return 20 * len(columns) * int(minus.size + plus.size)


@late_kernel(_steps_of_shift)
def shift_totals(
    columns: Columns,
    bits: Bits,
    levels: Levels,
    minus: Rows,
    plus: Rows,
    parts: Counts,
    windows: Counts,
    starts: Counts,
    sums: Words,
    level_counts: Counts,
    slack: Counts,
    found: Flags,
) -> bool:
    """Take rows out of totals and put others in; tell whether the coding is sure to stay.

    Write of each variable whether it is, where there are zeros. Sums whose window does not fit any more are left alone.
    """
    numbers = columns.view(np.float64)
    minus_bits, minus_lines = close_together(bits, minus)
    plus_bits, plus_lines = close_together(bits, plus)
    minus_levels, minus_rows = close_together(levels, minus)
    plus_levels, plus_rows = close_together(levels, plus)
    for v in range(len(columns)):
        place = columns[v, PLACE]
        if not columns[v, IS_NUMERIC]:
            start = columns[v, LEVELS_START]
            _count_levels(level_counts, start, minus_levels, place, minus_rows, OUT)
            _count_levels(level_counts, start, plus_levels, place, plus_rows, IN)
            stays = _all_occur(level_counts, start, minus_levels, place, minus_rows)
            found[v] = _SURE if stays else _UNSURE
            continue
        window = (windows[v, 0], windows[v, 1], windows[v, 2])
        slack[v] -= _count_observed(minus_bits, minus_lines, place) + _count_observed(plus_bits, plus_lines, place)
        count_parts(minus_bits, minus_lines, place, parts[v], OUT)
        count_parts(plus_bits, plus_lines, place, parts[v], IN)
        if not _fits(parts[v], window):
            found[v] = _OTHER_WINDOW
            continue
        at = starts[v]
        for line in minus_lines:
            add_value(sums, at, minus_bits[line, place], window, OUT)
        for line in plus_lines:
            add_value(sums, at, plus_bits[line, place], window, IN)
        carry(sums, at, window)
        if slack[v] < 0 or not _surely_coded_alike(sums, at, window, numbers[v, SCALE], numbers[v, CENTRE]):
            found[v] = _UNSURE
    return count_of(found, _SURE) == found.size


def relaid(totals: Totals, before: Totals, found: Flags, bits: Bits, place: Counts, minus: Rows, plus: Rows) -> Totals:
    """Return totals with new windows for the columns that a kernel found to need others."""
    moments = {}
    for v in np.flatnonzero(found == _OTHER_WINDOW).tolist():
        values = bits.view(np.float64)
        left, came = (Moments.of(values, rows, int(place[v])) for rows in (minus, plus))
        moments[v] = before.moments(v).minus(left).plus(came)
    if not moments:
        return totals
    is_numeric = np.diff(totals.starts) > 0
    fresh = Totals.of(totals.parts, is_numeric, 0)._replace(level_counts=totals.level_counts, slack=totals.slack)
    for v in np.flatnonzero(is_numeric).tolist():
        known = moments.get(v) or totals.moments(v)
        fresh.sums[fresh.starts[v] : fresh.starts[v + 1]] = known.to_words(fresh.window(v))
    return fresh

"""Kernels on level counts: which levels occur in a leaf, and how often."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.arrays import places_of, put
from unlearnspn.coding import Levels
from unlearnspn.compiling import elements, kernel, late_kernel, per_element
from unlearnspn.hashing import Keys, mix64
from unlearnspn.portable_math import log
from unlearnspn.slices import Counts, Flags, Rows


class LevelCounts(NamedTuple):
    """The levels that occur, in no particular order, and how often each does."""

    levels: Counts
    counts: Counts


@kernel
def _occurring(levels: Counts, counts: Counts, known: int) -> tuple[Counts, Counts]:
    """Return the levels that occur, and how often each does, in arrays of their own."""
    kept = places_of(counts[:known] > 0, True)
    return levels[kept], counts[kept]


@late_kernel(per_element(1, 1))
def count_levels(table: Levels, rows: Rows, column: int, n_levels: int) -> tuple[Counts, Counts]:
    """Count the levels of some rows; those below zero are missing."""
    counts = np.zeros(n_levels, np.int64)
    for row in rows:
        level = table[row, column]
        if level >= 0:
            counts[level] += 1
    return _occurring(np.arange(n_levels), counts, n_levels)


def _steps_of_shift(levels: Counts, counts: Counts, table: Levels, minus: Rows, plus: Rows, column: int) -> int:
    return levels.size * (1 + minus.size + plus.size)


@late_kernel(_steps_of_shift)
def shift_levels(
    levels: Counts, counts: Counts, table: Levels, minus: Rows, plus: Rows, column: int
) -> tuple[Counts, Counts]:
    """Count rows out and others in."""
    known = levels.size
    room = known + minus.size + plus.size
    new_levels, new_counts = np.empty(room, np.int64), np.zeros(room, np.int64)
    put(new_levels, 0, levels)
    put(new_counts, 0, counts)
    for i in range(minus.size + plus.size):
        row, sign = (minus[i], -1) if i < minus.size else (plus[i - minus.size], 1)
        level = table[row, column]
        if level < 0:
            continue
        place = 0
        while place < known and new_levels[place] != level:
            place += 1
        if place == known:
            new_levels[known] = level
            known += 1
        new_counts[place] += sign
    return _occurring(new_levels, new_counts, known)


@late_kernel(elements)
def hash_levels(levels: Counts, counts: Counts, prints: Keys) -> tuple[np.uint64, np.uint64]:
    """Sum count·hash over the levels: independent of their order and of their codes."""
    low, high = np.uint64(0), np.uint64(0)
    for i in range(levels.size):
        name = mix64(prints[levels[i]])
        low += np.uint64(counts[i]) * name
        high += np.uint64(counts[i]) * mix64(name)
    return low, high


@late_kernel(elements)
def smoothed_log_probabilities(
    levels: Counts, counts: Counts, outcomes: Counts, alpha: float, unseen: float
) -> npt.NDArray[np.float64]:
    """Return log((count + alpha) / total) of each outcome, given by its level, then of those never seen together.

    A level below zero is that of an outcome nobody has; what was never seen has `unseen`·alpha in place of
    count + alpha.
    """
    largest = -1
    for level in levels:
        largest = max(largest, level)
    by_level = np.zeros(largest + 1, np.int64)
    for i in range(levels.size):
        by_level[levels[i]] = counts[i]
    log_probabilities = np.empty(outcomes.size + 1)
    smooth(by_level, outcomes, alpha, unseen, log_probabilities)
    return log_probabilities


class Smoothing(NamedTuple):
    """What becomes of counts, for all variables of a table."""

    #: Whether this holds of a variable at all.
    applies: Flags
    #: Where the outcomes of each variable start, and at the end how many there are in all; the level of each.
    starts: Counts
    levels: Counts
    alphas: npt.NDArray[np.float64]
    unseen: npt.NDArray[np.float64]


@kernel
def smooth(
    by_level: Counts, outcomes: Counts, alpha: float, unseen: float, log_probabilities: npt.NDArray[np.float64]
) -> None:
    """Write what `smoothed_log_probabilities` returns, given a count for each level."""
    n_records = 0
    for count in by_level:
        n_records += count
    total = n_records + alpha * (outcomes.size + unseen)
    for i in range(outcomes.size):
        level = outcomes[i]
        known = by_level[level] if 0 <= level < by_level.size else 0
        log_probabilities[i] = _log_share(known + alpha, total)
    log_probabilities[outcomes.size] = _log_share(alpha * unseen, total)


@kernel
def _log_share(part: float, total: float) -> float:
    # Shares below the normal doubles are as good as none, and `log` does not know them.
    share = part / total
    return log(share) if share >= 2.0**-1022 else -np.inf

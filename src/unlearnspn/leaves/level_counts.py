"""Level counts: which levels occur in a leaf, and how often."""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.const_types import const_int16, const_int32, const_int64, const_level, const_uint64
from cython.cimports.unlearnspn.leaves.smoothing import smooth
from cython.cimports.unlearnspn.mixing import mix64

from unlearnspn.coding import Levels
from unlearnspn.hashing import Keys
from unlearnspn.slices import Counts, Flags, Rows

Floats = npt.NDArray[np.float64]


class LevelCounts(NamedTuple):
    """The levels that occur, in no particular order, and how often each does."""

    levels: Counts
    counts: Counts

    def merge(self, other: LevelCounts) -> LevelCounts:
        """Return the counts of the rows of both, which have none in common."""
        levels, places = np.unique(np.concatenate([self.levels, other.levels]), return_inverse=True)
        counts = np.zeros(levels.size, np.int64)
        np.add.at(counts, places, np.concatenate([self.counts, other.counts]))
        return LevelCounts(levels, counts)


class Smoothing(NamedTuple):
    """What becomes of counts, for all variables of a table."""

    #: Whether this holds of a variable at all.
    applies: Flags
    #: Where the outcomes of each variable start, and at the end how many there are in all; the level of each.
    starts: Counts
    levels: Counts
    alphas: Floats
    unseen: Floats


def count_levels(table: Levels, rows: Rows, column: int, n_levels: int) -> LevelCounts:
    """Count the levels of some rows; those below zero are missing."""
    counts = np.zeros(n_levels, np.int64)
    if table.itemsize == 2:
        _count[const_int16](table, rows, column, counts)
    else:
        _count[const_int32](table, rows, column, counts)
    return _occurring(np.arange(n_levels), counts, n_levels)


@cython.cfunc
def _count(
    table: const_level[:, ::1], rows: const_int64[:], column: cython.Py_ssize_t, counts: cython.longlong[::1]
) -> cython.void:
    i: cython.Py_ssize_t
    level: cython.Py_ssize_t
    with cython.nogil:
        for i in range(rows.shape[0]):
            level = table[rows[i], column]
            if level >= 0:
                counts[level] += 1


def _occurring(levels: Counts, counts: Counts, known: int) -> LevelCounts:
    """Return which of the known levels occur, and how often each does, in arrays of their own."""
    number = _keep_occurring(levels, counts, known)
    return LevelCounts(levels[:number].copy(), counts[:number].copy())


@cython.cfunc
def _keep_occurring(
    levels: cython.longlong[::1], counts: cython.longlong[::1], known: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Move the levels that occur to the front, and return how many do."""
    i: cython.Py_ssize_t
    number: cython.Py_ssize_t = 0
    for i in range(known):
        if counts[i] > 0:
            levels[number], counts[number] = levels[i], counts[i]
            number += 1
    return number


def shift_levels(levels: Counts, counts: Counts, table: Levels, minus: Rows, plus: Rows, column: int) -> LevelCounts:
    """Count rows out and others in."""
    known = levels.size
    new_levels, new_counts = np.zeros((2, known + minus.size + plus.size), np.int64)
    new_levels[:known], new_counts[:known] = levels, counts
    for rows, sign in ((minus, -1), (plus, 1)):
        if table.itemsize == 2:
            known = _shift[const_int16](table, rows, column, new_levels, new_counts, known, sign)
        else:
            known = _shift[const_int32](table, rows, column, new_levels, new_counts, known, sign)
    return _occurring(new_levels, new_counts, known)


@cython.cfunc
def _shift(
    table: const_level[:, ::1],
    rows: const_int64[:],
    column: cython.Py_ssize_t,
    levels: cython.longlong[::1],
    counts: cython.longlong[::1],
    known: cython.Py_ssize_t,
    sign: cython.longlong,
) -> cython.Py_ssize_t:
    """Count rows in, or out; return how many levels are known then."""
    i: cython.Py_ssize_t
    place: cython.Py_ssize_t
    level: cython.longlong
    with cython.nogil:
        for i in range(rows.shape[0]):
            level = table[rows[i], column]
            if level < 0:
                continue
            place = 0
            while place < known and levels[place] != level:
                place += 1
            if place == known:
                levels[known] = level
                known += 1
            counts[place] += sign
    return known


def hash_levels(levels: Counts, counts: Counts, prints: Keys) -> tuple[int, int]:
    """Sum count·hash over the levels: independent of their order and of their codes."""
    own: const_int64[::1] = levels
    numbers: const_int64[::1] = counts
    names: const_uint64[::1] = prints
    low: cython.ulonglong = 0
    high: cython.ulonglong = 0
    name: cython.ulonglong
    i: cython.Py_ssize_t
    for i in range(own.shape[0]):
        name = mix64(names[own[i]])
        low += cython.cast(cython.ulonglong, numbers[i]) * name
        high += cython.cast(cython.ulonglong, numbers[i]) * mix64(name)
    return low, high


def smoothed_log_probabilities(levels: Counts, counts: Counts, outcomes: Counts, alpha: float, unseen: float) -> Floats:
    """Return log((count + alpha) / total) of each outcome, given by its level, then of those never seen together.

    A level below zero is that of an outcome nobody has; what was never seen has `unseen`·alpha in place of
    count + alpha.
    """
    by_level = np.zeros(levels.max(initial=0) + 1, np.int64)
    by_level[levels] = counts
    log_probabilities = np.empty(outcomes.size + 1)
    _smooth(by_level, outcomes, alpha, unseen, log_probabilities)
    return log_probabilities


@cython.cfunc
def _smooth(
    by_level: const_int64[::1],
    outcomes: const_int64[::1],
    alpha: cython.double,
    unseen: cython.double,
    log_probabilities: cython.double[::1],
) -> cython.void:
    smooth(by_level, 0, by_level.shape[0], outcomes, 0, outcomes.shape[0], alpha, unseen, log_probabilities, 0)

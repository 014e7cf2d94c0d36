"""Which centroid is the nearest: for one row, or for many against one centroid after another.

Many rows have their features side by side, a column for each variable. So the processor computes several distances at
a time, and what it works on stays in its cache.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.string import memset
from cython.cimports.unlearnspn.const_types import const_int16, const_int64
from cython.cimports.unlearnspn.prefetching import prefetch
from cython.cimports.unlearnspn.rows.features import FEATURE_MISSING
from cython.cimports.unlearnspn.statistics.layout import BLOCK, ONE, count_blocks
from cython.cimports.unlearnspn.statistics.space import Space

#: Fewer rows are not worth being put side by side.
_FEW_ROWS = cython.declare(cython.Py_ssize_t, 8)
#: To look these up takes as long as to label a row.
_empty = cython.declare(object, np.empty)
_INT64 = cython.declare(object, np.dtype(np.int64))


def gather(space: Space, rows: const_int64[::1]) -> npt.NDArray[Any]:
    """Return the features of some rows, [variable, row]."""
    block: cython.Py_ssize_t
    columns = np.empty((space.n_variables, rows.shape[0]), np.int16)
    table: cython.short[:, ::1] = columns
    with cython.nogil:
        for block in range(count_blocks(rows.shape[0])):
            _gather_block(space, rows, block, table, block * BLOCK)
    return columns


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _gather_block(
    space: Space,
    rows: const_int64[::1],
    block: cython.Py_ssize_t,
    columns: cython.short[:, ::1],
    start: cython.Py_ssize_t,
) -> cython.void:
    """Put the rows of a block side by side, from some place on.

    They lie anywhere in memory: the processor fetches many at a time if it is told first what it will need.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    v: cython.Py_ssize_t
    first: cython.Py_ssize_t = block * BLOCK
    n_rows: cython.Py_ssize_t = min(BLOCK, rows.shape[0] - first)
    n_columns: cython.Py_ssize_t = space.coded.features.shape[1]
    features: cython.p_short = space.features(0)
    column: cython.p_short
    for j in range(first, first + n_rows):
        for v in range(0, n_columns, 32):  # so many come at once
            prefetch(features + rows[j] * n_columns + v)
        prefetch(features + rows[j] * n_columns + n_columns - 1)
    for i in range(space.n_variables):
        v = space.variables[i].column
        column = cython.address(columns[i, start])
        for j in range(n_rows):
            column[j] = features[rows[first + j] * n_columns + v]


@cython.cfunc
def label_rows(
    space: Space,
    rows: const_int64[::1],
    centroids: cython.p_const_longlong,
    n_clusters: cython.Py_ssize_t,
) -> npt.NDArray[Any]:
    """Return the nearest centroid of each row."""
    j: cython.Py_ssize_t
    block: cython.Py_ssize_t
    n_rows: cython.Py_ssize_t = rows.shape[0]
    found: npt.NDArray[Any] = _empty(n_rows, _INT64)
    labels: cython.longlong[::1] = found
    if n_rows < _FEW_ROWS or n_clusters < 2:
        for j in range(n_rows):
            labels[j] = nearest(space, rows[j], centroids, n_clusters) if n_clusters > 1 else 0
        return found
    costs: Costs = Costs(space, n_clusters)
    columns: cython.short[:, ::1] = np.empty((space.n_variables, min(BLOCK, n_rows)), np.int16)
    with cython.nogil:
        costs.start(centroids, n_clusters)
        for block in range(count_blocks(n_rows)):
            _gather_block(space, rows, block, columns, 0)
            costs.label(columns, 0, min(BLOCK, n_rows - block * BLOCK), cython.address(labels[block * BLOCK]))
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def nearest(
    space: Space,
    row: cython.Py_ssize_t,
    centroids: cython.p_const_longlong,
    n_clusters: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return the nearest centroid of a row, the first of equals; missing values count for nothing."""
    c: cython.Py_ssize_t
    best: cython.Py_ssize_t = 0
    smallest: cython.longlong = 0
    distance: cython.longlong
    features: cython.p_short = space.features(row)
    # Differences from the first distance do not overflow where distances may.
    first: cython.longlong = _distance(space, features, centroids)
    for c in range(1, n_clusters):
        distance = _distance(space, features, centroids + c * space.width) - first
        if distance < smallest:
            best, smallest = c, distance
    return best


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _distance(space: Space, features: cython.p_short, centroid: cython.p_const_longlong) -> cython.longlong:
    """Return the squared distance from a centroid, less what is the same for all centroids."""
    i: cython.Py_ssize_t
    entry: cython.Py_ssize_t
    feature: cython.longlong
    coordinate: cython.longlong
    distance: cython.longlong = 0
    for i in range(space.n_variables):
        feature = features[space.variables[i].column]
        if space.variables[i].is_numeric:
            coordinate = centroid[space.variables[i].start]
            distance += coordinate * (coordinate - 2 * feature) if feature != FEATURE_MISSING else 0
        elif feature:
            for entry in range(space.variables[i].start + 1, space.variables[i].end):
                distance += centroid[entry] * centroid[entry]
            distance -= 2 * ONE * centroid[space.variables[i].start + feature]
    return distance


@cython.cclass
class Costs:
    """What each entry of a line adds to the squared distance from a centroid, less what it adds for the first one.

    For a number x with coordinate c that is c² - 2cx: the first entry times x, and the second; for a code it is the
    code's entry. After a few rounds most costs are what they were in the round before: only changes are added up.
    """

    def __init__(self, space: Space, n_clusters: cython.Py_ssize_t) -> None:
        self.space = space
        self.n_clusters = n_clusters
        self.values = np.zeros((n_clusters, space.width), np.int64)
        self.changes = np.zeros((n_clusters, space.width), np.int64)
        self.is_changed = np.zeros((n_clusters, space.n_variables), np.uint8)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def start(self, centroids: cython.p_const_longlong, n_clusters: cython.Py_ssize_t) -> cython.void:
        """Take centroids, of which there may be fewer than there is room for, and forget those from before."""
        self.n_clusters = n_clusters
        if n_clusters:
            memset(cython.address(self.values[0, 0]), 0, n_clusters * self.space.width * cython.sizeof(cython.longlong))
        self.move(centroids)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def move(self, centroids: cython.p_const_longlong) -> cython.void:
        """Take the centroids of the next round, and note what changes by it."""
        c: cython.Py_ssize_t
        i: cython.Py_ssize_t
        entry: cython.Py_ssize_t
        change: cython.longlong
        changed: cython.bint
        # Changes hold the costs themselves, until others are taken away from them; those of the first one stay.
        for c in range(self.n_clusters):
            _write_costs(self.space, centroids + c * self.space.width, cython.address(self.changes[c, 0]))
        for c in range(1, self.n_clusters):
            for i in range(self.space.n_variables):
                changed = False
                for entry in range(self.space.variables[i].start, self.space.variables[i].end):
                    change = self.changes[c, entry] - self.changes[0, entry] - self.values[c, entry]
                    self.changes[c, entry] = change
                    self.values[c, entry] += change
                    changed |= change != 0
                self.is_changed[c, i] = changed

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def label(
        self,
        columns: const_int16[:, ::1],
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        labels: cython.p_longlong,
    ) -> cython.void:
        """Write the nearest centroid of the rows from one place among columns to another, after a start."""
        c: cython.Py_ssize_t
        j: cython.Py_ssize_t
        block: cython.Py_ssize_t
        first: cython.Py_ssize_t
        n_rows: cython.Py_ssize_t
        distances = cython.declare(cython.longlong[BLOCK])
        least = cython.declare(cython.longlong[BLOCK])
        for block in range(count_blocks(end - start)):
            first = start + block * BLOCK
            n_rows = min(BLOCK, end - first)
            for j in range(n_rows):
                least[j] = labels[first - start + j] = 0
            for c in range(1, self.n_clusters):
                for j in range(n_rows):
                    distances[j] = 0
                self.add_changes(c, columns, first, n_rows, distances)
                _take_nearer(c, distances, n_rows, least, labels + (first - start))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def relabel(
        self,
        columns: const_int16[:, ::1],
        distances: cython.longlong[:, :, ::1],
        labels: cython.p_longlong,
    ) -> cython.void:
        """Bring distances up to date, [block, centroid, row], and write the nearest centroid of each row."""
        c: cython.Py_ssize_t
        j: cython.Py_ssize_t
        block: cython.Py_ssize_t
        first: cython.Py_ssize_t
        n_rows: cython.Py_ssize_t
        line: cython.p_longlong
        least = cython.declare(cython.longlong[BLOCK])
        for block in range(count_blocks(columns.shape[1])):
            first = block * BLOCK
            n_rows = min(BLOCK, columns.shape[1] - first)
            for j in range(n_rows):
                least[j] = labels[first + j] = 0
            for c in range(1, self.n_clusters):
                line = cython.address(distances[block, c, 0])
                self.add_changes(c, columns, first, n_rows, line)
                _take_nearer(c, line, n_rows, least, labels + first)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_changes(
        self,
        c: cython.Py_ssize_t,
        columns: const_int16[:, ::1],
        first: cython.Py_ssize_t,
        n_rows: cython.Py_ssize_t,
        distances: cython.p_longlong,
    ) -> cython.void:
        """Add what changed to the distances of a block of rows from a centroid."""
        i: cython.Py_ssize_t
        start: cython.Py_ssize_t
        n_entries: cython.Py_ssize_t
        changes: cython.p_longlong
        column: cython.p_const_short
        pending: cython.p_longlong = cython.NULL
        pending_column: cython.p_const_short = cython.NULL
        for i in range(self.space.n_variables):
            if not self.is_changed[c, i]:
                continue
            start = self.space.variables[i].start
            n_entries = self.space.variables[i].end - start
            column = cython.address(columns[i, first])
            changes = cython.address(self.changes[c, start])
            if self.space.variables[i].is_numeric:
                _add_products(column, n_rows, FEATURE_MISSING, changes[0], changes[1], distances)
            elif n_entries == 2:
                _add_products(column, n_rows, 0, 0, changes[1], distances)
            elif n_entries == 3:  # two codes lie on a line, as numbers do
                _add_products(column, n_rows, 0, changes[2] - changes[1], 2 * changes[1] - changes[2], distances)
            elif pending:
                _add_entries(pending_column, column, n_rows, pending, changes, distances)
                pending = cython.NULL
            else:
                pending, pending_column = changes, column
        if pending:
            for i in range(n_rows):
                distances[i] += pending[pending_column[i]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write_costs(space: Space, centroid: cython.p_const_longlong, costs: cython.p_longlong) -> cython.void:
    """Turn coordinates into what is added to a squared distance."""
    i: cython.Py_ssize_t
    entry: cython.Py_ssize_t
    start: cython.Py_ssize_t
    end: cython.Py_ssize_t
    squares: cython.longlong
    for i in range(space.n_variables):
        start, end = space.variables[i].start, space.variables[i].end
        if space.variables[i].is_numeric:
            costs[start] = -2 * centroid[start]
            costs[start + 1] = centroid[start] * centroid[start]
            continue
        squares = 0
        for entry in range(start + 1, end):  # the first is for missing values
            squares += centroid[entry] * centroid[entry]
        costs[start] = 0
        for entry in range(start + 1, end):
            costs[entry] = squares - 2 * ONE * centroid[entry]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_products(
    column: cython.p_const_short,
    n_rows: cython.Py_ssize_t,
    missing: cython.int,
    slope: cython.longlong,
    constant: cython.longlong,
    distances: cython.p_longlong,
) -> cython.void:
    """Add a multiple of numbers, and a constant, where they are not missing."""
    j: cython.Py_ssize_t
    feature: cython.int
    factor: cython.int = cython.cast(cython.int, slope)
    if factor == slope:  # then there are instructions for several products at a time
        for j in range(n_rows):
            feature = column[j]
            distances[j] += cython.cast(cython.longlong, factor) * feature + constant if feature != missing else 0
    else:
        for j in range(n_rows):
            feature = column[j]
            distances[j] += slope * feature + constant if feature != missing else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_entries(
    column: cython.p_const_short,
    other: cython.p_const_short,
    n_rows: cython.Py_ssize_t,
    changes: cython.p_longlong,
    other_changes: cython.p_longlong,
    distances: cython.p_longlong,
) -> cython.void:
    """Add the entries of the codes of two variables."""
    j: cython.Py_ssize_t
    for j in range(n_rows):
        distances[j] += changes[column[j]] + other_changes[other[j]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take_nearer(
    c: cython.longlong,
    distances: cython.p_longlong,
    n_rows: cython.Py_ssize_t,
    least: cython.p_longlong,
    labels: cython.p_longlong,
) -> cython.void:
    """Label rows by a centroid that is nearer than all before."""
    j: cython.Py_ssize_t
    for j in range(n_rows):
        labels[j] = c if distances[j] < least[j] else labels[j]
        least[j] = min(distances[j], least[j])

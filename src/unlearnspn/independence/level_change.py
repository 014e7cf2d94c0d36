"""What becomes of rows in order and of levels when rows leave and others come.

A change moves quantiles to neighbouring values, and only rows in between to other levels: with rows kept in order of
their values they are found without looking at the others.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.string import memcpy
from cython.cimports.unlearnspn.independence.levels import level_of, write_cuts
from cython.cimports.unlearnspn.independence.value_order import (
    Sorter,
    find_rows,
    replace_rows,
    sort_rows,
    sorter_for,
)
from cython.cimports.unlearnspn.independence.variables import Variables
from cython.cimports.unlearnspn.rows.sorted_rows import is_among, place_of

from unlearnspn.independence.levels import Orders
from unlearnspn.slices import Rows


@cython.cclass
class LevelChange:
    """What becomes of orders and levels when rows leave and others come."""

    def __init__(self, variables: Variables, before: Orders, minus: Rows, plus: Rows) -> None:
        """Take rows out and put others in, both in increasing order."""
        n_columns, n_cuts = variables.n_numeric, variables.n_levels - 1
        n_after = len(before.members) - len(minus) + len(plus)
        n_changed = max(len(minus), len(plus))
        self.variables = variables
        self.minus, self.plus = minus, plus
        self.ordered, self.observed, self.members, self.levels = before
        #: With rows that stay at the levels they had, and those that come at theirs.
        self.orders = Orders(
            np.empty((n_columns, n_after), np.int32),
            np.empty(n_columns, np.int64),
            np.empty(n_after, np.int64),
            np.empty((n_columns, n_after), np.uint8),
        )
        self.new_ordered, self.new_observed, self.new_members, self.new_levels = self.orders
        #: The values at which each next level begins, [before and afterwards, column, level]; infinite without values.
        self.cuts = np.empty((2, n_columns, n_cuts))
        #: Places of rows between the quantiles before and afterwards, [column, level, start and end], and their number.
        self.spans = np.empty((n_columns, n_cuts, 2), np.int64)
        self.n_found = 0
        scratch: cython.longlong[:, ::1] = np.empty((3, n_changed), np.int64)
        sorter: Sorter = sorter_for(n_changed)
        with cython.nogil:
            self._revise_rows(sorter, scratch)
            self._write_quantiles()
            self._revise_members()
            self._find_spans()
        #: The rows that stay and come to another level: [place among members, column, level], and their number.
        self.moves = np.empty((self.n_found, 3), np.int64)
        self.n_moves = 0
        with cython.nogil:
            self._write_moves()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _revise_rows(self, sorter: Sorter, scratch: cython.longlong[:, ::1]) -> cython.void:
        """Order the rows that there are afterwards."""
        leaving: cython.longlong[::1] = scratch[0]
        gone: cython.longlong[::1] = scratch[1]
        coming: cython.longlong[::1] = scratch[2]
        values: cython.double[:, ::1] = self.variables.values
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        place: cython.Py_ssize_t
        n_leaving: cython.Py_ssize_t
        n_coming: cython.Py_ssize_t
        for j in range(self.new_observed.shape[0]):
            ordered: cython.int[::1] = self.ordered[j, : self.observed[j]]
            line: cython.int[::1] = self.new_ordered[j]
            place = self.variables.places[j]
            n_leaving = sort_rows(sorter, values, place, self.minus, leaving)
            n_coming = sort_rows(sorter, values, place, self.plus, coming)
            find_rows(ordered, values, place, leaving[:n_leaving], gone)
            self.new_observed[j] = replace_rows(ordered, values, place, gone[:n_leaving], coming[:n_coming], line)
            for i in range(self.new_observed[j], line.shape[0]):
                line[i] = -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _write_quantiles(self) -> cython.void:
        """Write the values at which each next level begins, before and afterwards."""
        j: cython.Py_ssize_t
        for j in range(self.observed.shape[0]):
            write_cuts(self.ordered[j], self.observed[j], self.variables, j, self.cuts[0, j])
            write_cuts(self.new_ordered[j], self.new_observed[j], self.variables, j, self.cuts[1, j])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _revise_members(self) -> cython.void:
        """Merge rows that come, at their levels, with those that stay, at the levels they had."""
        j: cython.Py_ssize_t
        leaves: cython.bint
        done: cython.Py_ssize_t = 0
        place: cython.Py_ssize_t = 0
        gone: cython.Py_ssize_t = 0
        come: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t
        members: cython.longlong[::1] = self.members
        new_members: cython.longlong[::1] = self.new_members
        n_columns: cython.Py_ssize_t = self.observed.shape[0]
        # From one row that leaves or comes to the next, all stay.
        while done < members.shape[0] or come < self.plus.shape[0]:
            leaves = come == self.plus.shape[0] or (gone < self.minus.shape[0] and self.minus[gone] < self.plus[come])
            if leaves and gone == self.minus.shape[0]:
                end = members.shape[0]
            else:
                end = place_of(members, self.minus[gone] if leaves else self.plus[come])
            if end > done:
                memcpy(cython.address(new_members[place]), cython.address(members[done]), 8 * (end - done))
                for j in range(n_columns):
                    memcpy(cython.address(self.new_levels[j, place]), cython.address(self.levels[j, done]), end - done)
            place += end - done
            done = end
            if not leaves:
                new_members[place] = self.plus[come]
                for j in range(n_columns):
                    self.new_levels[j, place] = level_of(
                        self.cuts[1, j], self.variables.values[self.plus[come], self.variables.places[j]]
                    )
                place += 1
                come += 1
            elif gone < self.minus.shape[0]:
                done += 1
                gone += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.cdivision(True)
    def _find_spans(self) -> cython.void:
        """Find the rows that are on other sides of the quantiles before and afterwards."""
        values: cython.double[:, ::1] = self.variables.values
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        start: cython.Py_ssize_t
        end: cython.Py_ssize_t
        place: cython.Py_ssize_t
        low: cython.double
        high: cython.double
        n_cuts: cython.Py_ssize_t = self.cuts.shape[2]
        for j in range(self.observed.shape[0]):
            ordered: cython.int[::1] = self.new_ordered[j, : self.new_observed[j]]
            place = self.variables.places[j]
            end = 0
            for k in range(n_cuts):
                low = min(self.cuts[0, j, k], self.cuts[1, j, k])
                high = max(self.cuts[0, j, k], self.cuts[1, j, k])
                self.spans[j, k, 0], self.spans[j, k, 1] = 0, 0
                if low == high or ordered.shape[0] == 0:
                    continue
                start = (k + 1) * ordered.shape[0] // (n_cuts + 1)
                start = max(end, _first_near(ordered, values, place, low, start))
                end = max(start, _first_near(ordered, values, place, high, start))
                self.spans[j, k, 0], self.spans[j, k, 1] = start, end
                self.n_found += end - start

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _write_moves(self) -> cython.void:
        """Write to which levels the rows found come, but those that were not there before."""
        values: cython.double[:, ::1] = self.variables.values
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        row: cython.Py_ssize_t
        level: cython.Py_ssize_t
        n_cuts: cython.Py_ssize_t = self.cuts.shape[2]
        for j in range(self.observed.shape[0]):
            level = 0
            for k in range(n_cuts):
                for i in range(self.spans[j, k, 0], self.spans[j, k, 1]):
                    row = self.new_ordered[j, i]
                    while level < n_cuts and self.cuts[1, j, level] <= values[row, self.variables.places[j]]:
                        level += 1
                    if not is_among(self.plus, row):
                        self.moves[self.n_moves, 0] = place_of(self.new_members, row)
                        self.moves[self.n_moves, 1] = j
                        self.moves[self.n_moves, 2] = 1 + level
                        self.n_moves += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _first_near(
    ordered: cython.int[::1],
    values: cython.double[:, ::1],
    place: cython.Py_ssize_t,
    value: cython.double,
    spot: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return the first spot with at least this value, looking for it from somewhere near."""
    while spot > 0 and values[ordered[spot - 1], place] >= value:
        spot -= 1
    while spot < ordered.shape[0] and values[ordered[spot], place] < value:
        spot += 1
    return spot

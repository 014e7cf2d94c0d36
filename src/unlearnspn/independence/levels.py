"""Ranks of numeric values, quantised: the rank of a value among its node's, in (0, 1], becomes one of a few levels.

A value's rank is the share of observed values that are at most as large, so equal values share a level, and a monotone
map of the column changes none. The level counts the quantiles that a value reaches. A change moves quantiles to
neighbouring values, and only rows in between to other levels: with rows kept in order of their values they are found
without looking at the others. Ranks among the rows of parts do not merge into those among all.
"""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import INFINITY, isnan
from cython.cimports.libc.string import memcpy
from cython.cimports.unlearnspn.independence.variables import Variables
from cython.cimports.unlearnspn.rows.sorted_rows import is_among, place_of

from unlearnspn.coding import Codes
from unlearnspn.slices import Counts, Rows

SortedRows = npt.NDArray[np.int32]

#: So few rows are sorted sooner by putting one after another into its place.
_FEW_ROWS = cython.declare(cython.Py_ssize_t, 16)


class Orders(NamedTuple):
    """Rows by increasing value, for some numeric columns; the order of equal values means nothing."""

    #: [column, place]; after the observed ones -1.
    rows: SortedRows
    #: How many values are observed, for each column.
    observed: Counts
    #: All rows, in increasing order, and their levels, [column, place].
    members: Rows
    levels: Codes


@cython.cclass
class Sorter:
    """Room to sort some rows by their values."""

    def __init__(self, n_rows: int) -> None:
        self.keys = np.empty((2, n_rows), np.uint64)
        self.members = np.empty((2, n_rows), np.int32)
        self.starts = np.empty((8, 256), np.int32)
        #: Which half of `keys` and `members` holds the result.
        self.side = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sort(
        self, values: cython.double[:, ::1], place: cython.Py_ssize_t, rows: cython.longlong[::1]
    ) -> cython.Py_ssize_t:
        """Sort the values there are, byte by byte: as integers of the same order, and the places of their rows."""
        i: cython.Py_ssize_t
        k: cython.int
        byte: cython.int
        to: cython.int
        before: cython.int
        here: cython.int
        key: cython.ulonglong
        side: cython.Py_ssize_t = 0
        number: cython.Py_ssize_t = 0
        keys: cython.ulonglong[:, ::1] = self.keys
        members: cython.int[:, ::1] = self.members
        starts: cython.int[:, ::1] = self.starts
        for k in range(8):
            for byte in range(256):
                starts[k, byte] = 0
        for i in range(rows.shape[0]):
            if not isnan(values[rows[i], place]):
                key = _ordered_bits(values[rows[i], place])
                keys[0, number] = key
                members[0, number] = i
                number += 1
                for k in range(8):
                    starts[k, (key >> (8 * k)) & 255] += 1
        for k in range(8):
            if number == 0 or starts[k, (keys[side, 0] >> (8 * k)) & 255] == number:
                continue
            before = 0
            for byte in range(256):
                here = starts[k, byte]
                starts[k, byte] = before
                before += here
            for i in range(number):
                key = keys[side, i]
                byte = (key >> (8 * k)) & 255
                to = starts[k, byte]
                starts[k, byte] += 1
                keys[1 - side, to] = key
                members[1 - side, to] = members[side, i]
            side = 1 - side
        self.side = side
        return number


#: For rows so few that they are sorted without.
_NO_SORTER = cython.declare(Sorter, Sorter(0))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _ordered_bits(value: cython.double) -> cython.ulonglong:
    """Return bits that have, as an integer, the order of the value."""
    bits: cython.ulonglong = 0
    sign: cython.ulonglong = cython.cast(cython.ulonglong, 1) << 63
    value += 0.0  # zeros of both signs are equal
    memcpy(cython.address(bits), cython.address(value), 8)
    return ~bits if bits & sign else bits | sign


def learn_orders(variables: Variables, rows: Rows) -> Orders:
    """Order rows by each numeric variable, and find their levels: 1, 2, …, and 0 for a missing value.

    Rows are in increasing order, if they are to be revised.
    """
    n_columns: cython.Py_ssize_t = variables.n_numeric
    n_rows = len(rows)
    orders = Orders(
        np.full((n_columns, n_rows), -1, np.int32),
        np.zeros(n_columns, np.int64),
        rows.copy(),
        np.zeros((n_columns, n_rows), np.uint8),
    )
    ordered: cython.int[:, ::1] = orders.rows
    observed: cython.longlong[::1] = orders.observed
    members: cython.longlong[::1] = orders.members
    levels: cython.uchar[:, ::1] = orders.levels
    sorter: Sorter = Sorter(n_rows)
    j: cython.Py_ssize_t
    with cython.nogil:
        for j in range(n_columns):
            observed[j] = sorter.sort(variables.values, variables.places[j], members)
            _write_levels(
                sorter.keys[sorter.side, : observed[j]],
                sorter.members[sorter.side],
                variables.n_levels,
                members,
                ordered[j],
                levels[j],
            )
    return orders


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.cdivision(True)
def _write_levels(
    keys: cython.ulonglong[::1],
    members: cython.int[::1],
    n_levels: cython.longlong,
    rows: cython.longlong[::1],
    ordered: cython.int[::1],
    levels: cython.uchar[::1],
) -> cython.void:
    """Write rows in the order of sorted values, and the levels of these; see `Sorter`."""
    i: cython.Py_ssize_t
    level: cython.uchar
    number: cython.longlong = keys.shape[0]
    first: cython.longlong = 0
    end: cython.longlong
    while first < number:
        end = first + 1
        while end < number and keys[end] == keys[first]:
            end += 1
        level = (n_levels * end + number - 1) // number
        for i in range(first, end):
            levels[members[i]] = level
            ordered[i] = rows[members[i]]
        first = end


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
        sorter: Sorter = Sorter(n_changed) if n_changed > _FEW_ROWS else _NO_SORTER
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
            n_leaving = _sort_rows(sorter, values, place, self.minus, leaving)
            n_coming = _sort_rows(sorter, values, place, self.plus, coming)
            _find_rows(ordered, values, place, leaving[:n_leaving], gone)
            self.new_observed[j] = _replace(ordered, values, place, gone[:n_leaving], coming[:n_coming], line)
            for i in range(self.new_observed[j], line.shape[0]):
                line[i] = -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _write_quantiles(self) -> cython.void:
        """Write the values at which each next level begins, before and afterwards."""
        j: cython.Py_ssize_t
        for j in range(self.observed.shape[0]):
            _write_cuts(self.ordered[j], self.observed[j], self.variables, j, self.cuts[0, j])
            _write_cuts(self.new_ordered[j], self.new_observed[j], self.variables, j, self.cuts[1, j])

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
                    self.new_levels[j, place] = _level_of(
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
def _sort_rows(
    sorter: Sorter,
    values: cython.double[:, ::1],
    place: cython.Py_ssize_t,
    rows: cython.longlong[::1],
    into: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Write the rows that have a value, by increasing value; return how many there are."""
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    number: cython.Py_ssize_t = 0
    if rows.shape[0] > _FEW_ROWS:
        number = sorter.sort(values, place, rows)
        for i in range(number):
            into[i] = rows[sorter.members[sorter.side, i]]
        return number
    for i in range(rows.shape[0]):
        if not isnan(values[rows[i], place]):
            at = number
            while at > 0 and values[into[at - 1], place] > values[rows[i], place]:
                into[at] = into[at - 1]
                at -= 1
            into[at] = rows[i]
            number += 1
    return number


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_rows(
    ordered: cython.int[::1],
    values: cython.double[:, ::1],
    place: cython.Py_ssize_t,
    rows: cython.longlong[::1],
    found: cython.longlong[::1],
) -> cython.void:
    """Write where some rows, by increasing value, stand in the order of all, in increasing order."""
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    spot: cython.Py_ssize_t
    for i in range(rows.shape[0]):
        spot = _first_reaching(ordered, values, place, values[rows[i], place])
        while ordered[spot] != rows[i]:
            spot += 1
        at = i
        while at > 0 and found[at - 1] > spot:  # equal values stand in any order
            found[at] = found[at - 1]
            at -= 1
        found[at] = spot


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _replace(
    ordered: cython.int[::1],
    values: cython.double[:, ::1],
    place: cython.Py_ssize_t,
    gone: cython.longlong[::1],
    coming: cython.longlong[::1],
    line: cython.int[::1],
) -> cython.Py_ssize_t:
    """Write a line without the rows at some places, and with others that are sorted, too; return how many there are."""
    end: cython.Py_ssize_t
    spot: cython.Py_ssize_t
    comes: cython.bint
    to: cython.Py_ssize_t = 0
    done: cython.Py_ssize_t = 0
    n_gone: cython.Py_ssize_t = 0
    n_come: cython.Py_ssize_t = 0
    while n_gone <= gone.shape[0]:
        end = gone[n_gone] if n_gone < gone.shape[0] else ordered.shape[0]
        comes = False
        if n_come < coming.shape[0]:
            spot = _first_reaching(ordered, values, place, values[coming[n_come], place])
            comes = spot <= end
            end = min(spot, end)
        if end > done:
            memcpy(cython.address(line[to]), cython.address(ordered[done]), 4 * (end - done))
        to += end - done
        done = end
        if comes:
            line[to] = coming[n_come]
            to += 1
            n_come += 1
        else:
            done += 1
            n_gone += 1
    return to


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _first_reaching(
    ordered: cython.int[::1], values: cython.double[:, ::1], place: cython.Py_ssize_t, value: cython.double
) -> cython.Py_ssize_t:
    """Return the first spot with at least this value."""
    low: cython.Py_ssize_t = 0
    middle: cython.Py_ssize_t
    high: cython.Py_ssize_t = ordered.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if values[ordered[middle], place] < value:
            low = middle + 1
        else:
            high = middle
    return low


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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.cdivision(True)
def _write_cuts(
    ordered: cython.int[::1],
    observed: cython.longlong,
    variables: Variables,
    column: cython.Py_ssize_t,
    cuts: cython.double[::1],
) -> cython.void:
    """Write the values at which each next level begins; infinities if no value is observed."""
    k: cython.longlong
    for k in range(1, variables.n_levels):
        if observed > 0:
            cuts[k - 1] = variables.values[ordered[k * observed // variables.n_levels], variables.places[column]]
        else:
            cuts[k - 1] = INFINITY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _level_of(cuts: cython.double[::1], value: cython.double) -> cython.uchar:
    """Return the level of a value: how many quantiles it reaches, and one; 0 for a missing value."""
    low: cython.Py_ssize_t = 0
    half: cython.Py_ssize_t
    number: cython.Py_ssize_t = cuts.shape[0]
    if isnan(value):
        return 0
    while number > 0:
        half = (number + 1) >> 1
        low += half if cuts[low + half - 1] <= value else 0
        number -= half
    return 1 + low

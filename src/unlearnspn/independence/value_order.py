"""Rows of a column by increasing value: sorted, found again, taken out and put in; equal values stand in any order."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import isnan
from cython.cimports.libc.string import memcpy

#: So few rows are sorted sooner by putting one after another into its place.
_FEW_ROWS = cython.declare(cython.Py_ssize_t, 16)


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


#: For rows so few that they are sorted without.
_NO_SORTER = cython.declare(Sorter, Sorter(0))


@cython.ccall
def sorter_for(n_rows: cython.Py_ssize_t) -> Sorter:
    """Return room for `sort_rows`, which needs none for few rows."""
    return Sorter(n_rows) if n_rows > _FEW_ROWS else _NO_SORTER


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def sort_rows(
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


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def find_rows(
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


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def replace_rows(
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

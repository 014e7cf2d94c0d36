"""The rows that a node keeps: a statistic like others, that adds, subtracts and merges."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.string import memcpy, memmove, memset
from cython.cimports.unlearnspn.mixing import SECOND, mix64
from cython.cimports.unlearnspn.rows.array_data import data_of
from cython.cimports.unlearnspn.rows.coded import CodedRows
from cython.cimports.unlearnspn.rows.sorted_rows import first_reaching

from unlearnspn.rows.sorted_rows import merged

Rows = npt.NDArray[np.int64]


@cython.no_gc
@cython.cclass
class RowSet:
    """Rows in increasing order, with room for more, and a fingerprint of the records that are in them.

    Places behind the last row are zeros: nothing remains of a row that was taken out.
    """

    def __init__(self, rows: Rows, members: tuple[int, int]) -> None:
        self.array = np.array(rows, np.int64)
        self.slots = data_of(self.array)
        self.n_slots = self.array.size
        self.n_rows = len(rows)
        self.low, self.high = members

    @staticmethod
    def of(coded: CodedRows, rows: Rows) -> RowSet:
        """Return the set of some rows, which are in increasing order."""
        row_set = RowSet(np.zeros(0, np.int64), (0, 0))
        row_set.shift(coded, rows, 1)
        return row_set

    def __reduce__(self) -> tuple[type[RowSet], tuple[Rows, tuple[int, int]]]:
        return RowSet, (self.rows, self.members)

    def __len__(self) -> int:
        return int(self.n_rows)

    @property
    def rows(self) -> Rows:
        """The rows, as long as none comes or goes: whoever needs them longer copies them."""
        rows: Rows = self.array[: self.n_rows]
        return rows

    @property
    def members(self) -> tuple[int, int]:
        """Fingerprint of the records: two 64-bit sums of their mixed keys, the same in any order."""
        return self.low, self.high

    @cython.ccall
    def shift(self, coded: CodedRows, rows: cython.longlong[::1], sign: cython.longlong) -> cython.void:
        """Put rows in, or take them out if the sign is negative; they are in increasing order."""
        key: cython.ulonglong
        i: cython.Py_ssize_t
        if sign > 0:
            self.reserve(self.n_rows + rows.shape[0])
        else:
            self.require(rows)
        with cython.nogil:
            if sign > 0:
                self.insert(rows)
            else:
                self.drop(rows)
            for i in range(rows.shape[0]):
                key = coded.keys[rows[i]]
                self.low += cython.cast(cython.ulonglong, sign) * mix64(key)
                self.high += cython.cast(cython.ulonglong, sign) * mix64(key ^ SECOND)

    @cython.ccall
    def copy(self) -> RowSet:
        """Return a set that no change to this one reaches."""
        return RowSet(self.rows, self.members)

    @cython.ccall
    def merge(self, other: RowSet) -> RowSet:
        """Return the rows of this set and of another, which has none of them."""
        members = self.low + other.low, self.high + other.high
        return RowSet(merged(self.rows, other.rows), members)

    @cython.cfunc
    def reserve(self, n_rows: cython.Py_ssize_t) -> cython.void:
        """Make room for so many rows, and for an eighth more if there was too little."""
        if n_rows <= self.n_slots:
            return
        array = np.zeros(n_rows + n_rows // 8 if self.n_rows else n_rows, np.int64)
        array[: self.n_rows] = self.rows
        self.array = array
        self.slots = data_of(array)
        self.n_slots = array.size

    @cython.cfunc
    def require(self, rows: cython.longlong[::1]) -> cython.void:
        """Raise unless all of some rows are there: to take others out would reach beyond the array."""
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        for i in range(rows.shape[0]):
            place = first_reaching(self.slots, self.n_rows, rows[i])
            if place == self.n_rows or self.slots[place] != rows[i]:
                raise ValueError(f"the record in slot {rows[i]} is not where the model says that it is")

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def insert(self, rows: cython.longlong[::1]) -> cython.void:
        """Put rows in, the last one first; there is room for them."""
        end: cython.Py_ssize_t = self.n_rows
        coming: cython.Py_ssize_t = rows.shape[0]
        place: cython.Py_ssize_t
        if coming == 0:
            return
        slots: cython.p_longlong = self.slots
        self.n_rows += coming
        while coming and end:
            place = first_reaching(slots, end, rows[coming - 1])
            memmove(slots + place + coming, slots + place, (end - place) * cython.sizeof(cython.longlong))
            coming -= 1
            slots[place + coming] = rows[coming]
            end = place
        memcpy(slots, cython.address(rows[0]), coming * cython.sizeof(cython.longlong))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def drop(self, rows: cython.longlong[::1]) -> cython.void:
        """Take rows out, the first one first; all of them are there."""
        going: cython.Py_ssize_t = rows.shape[0]
        start: cython.Py_ssize_t
        end: cython.Py_ssize_t
        i: cython.Py_ssize_t
        if going == 0:
            return
        slots: cython.p_longlong = self.slots
        end = first_reaching(slots, self.n_rows, rows[0])
        for i in range(going):
            start = end + 1
            end = self.n_rows
            if i + 1 < going:
                end = start + first_reaching(slots + start, self.n_rows - start, rows[i + 1])
            memmove(slots + start - 1 - i, slots + start, (end - start) * cython.sizeof(cython.longlong))
        self.n_rows -= going
        memset(slots + self.n_rows, 0, going * cython.sizeof(cython.longlong))

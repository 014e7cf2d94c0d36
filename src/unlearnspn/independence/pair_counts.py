"""Counting how many rows have each pair of codes, for a few pairs of variables.

Where variables have few codes, a code's rows are a set of bits and a cell counts the bits that two sets share, 64 rows
at a time. Otherwise rows are counted one by one.
"""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.independence.variables import Variables
from cython.cimports.unlearnspn.statistics.bits import count_common

from unlearnspn.coding import Codes
from unlearnspn.slices import Counts, Rows

#: Up to so many codes a variable's rows are kept as sets of bits, too.
_FEW = cython.declare(cython.longlong, 8)

Table = npt.NDArray[np.int32]


@cython.cclass
class Columns:
    """The levels and codes of some rows, variable by variable; codes are gathered when they are first needed."""

    def __init__(self, variables: Variables, rows: Rows, levels: Codes, counts: Counts) -> None:
        """Take rows and the levels of their numeric values, [column, row].

        `counts` says how often each code occurs, [variable, code]; if that is not known yet, `count_codes` writes it.
        """
        n_variables, n_rows = variables.scope.shape[0], len(rows)
        self.variables = variables
        self.rows = rows
        self.levels = levels
        self.counts = counts
        #: [variable, row], and whether they are there yet.
        self.codes = np.empty((n_variables, n_rows), np.uint8)
        self.is_ready = np.zeros(n_variables, np.uint8)
        #: Which rows have each code, [variable, code, 64 rows]; only where there are few codes.
        self.bits = np.empty((n_variables, 8, (n_rows + 63) // 64), np.uint64)

    def count_codes(self) -> None:
        """Write how often each code occurs, where there are zeros."""
        i: cython.Py_ssize_t
        row: cython.Py_ssize_t
        code: cython.Py_ssize_t
        sizes: cython.longlong[::1] = self.variables.sizes
        codes: cython.uchar[:, ::1] = self.codes
        counts: cython.longlong[:, ::1] = self.counts
        with cython.nogil:
            for i in range(sizes.shape[0]):
                self._prepare(i)
                if sizes[i] > _FEW:
                    for row in range(codes.shape[1]):
                        counts[i, codes[i, row]] += 1
                else:
                    for code in range(sizes[i]):
                        counts[i, code] = self._count_common(i, code, i, code)

    def count_pair(self, u: cython.Py_ssize_t, v: cython.Py_ssize_t) -> Table:
        """Return how many rows have each pair of two variables' codes."""
        table = np.empty((self.variables.sizes[u], self.variables.sizes[v]), np.int32)
        self.write_pair(u, v, table.reshape(-1), 0)
        return table

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_pair(
        self, u: cython.Py_ssize_t, v: cython.Py_ssize_t, cells: cython.int[::1], start: cython.Py_ssize_t
    ) -> cython.void:
        """Write the table of two variables to where it starts among the cells."""
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        i: cython.Py_ssize_t
        n_left: cython.Py_ssize_t = self.variables.sizes[u]
        n_right: cython.Py_ssize_t = self.variables.sizes[v]
        self._prepare(u)
        self._prepare(v)
        for i in range(start, start + n_left * n_right):
            cells[i] = 0
        if n_left <= _FEW and n_right <= _FEW:
            for a in range(n_left):
                for b in range(n_right):
                    if self.counts[u, a] and self.counts[v, b]:
                        cells[start + a * n_right + b] = self._count_common(u, a, v, b)
        else:
            left: cython.uchar[::1] = self.codes[u]
            right: cython.uchar[::1] = self.codes[v]
            for i in range(left.shape[0]):
                cells[start + left[i] * n_right + right[i]] += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _count_common(
        self, u: cython.Py_ssize_t, a: cython.Py_ssize_t, v: cython.Py_ssize_t, b: cython.Py_ssize_t
    ) -> cython.int:
        """Count the rows that have a code of one variable and a code of another, of which there are few."""
        n_words: cython.Py_ssize_t = self.bits.shape[2]
        if n_words == 0:
            return 0
        one: cython.p_ulonglong = cython.address(self.bits[u, a, 0])
        other: cython.p_ulonglong = cython.address(self.bits[v, b, 0])
        return cython.cast(cython.int, count_common(one, other, n_words))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _prepare(self, i: cython.Py_ssize_t) -> cython.void:
        """Gather the codes of a variable, unless they are there."""
        if self.is_ready[i]:
            return
        if self.variables.columns[i] >= 0:
            self.codes[i, :] = self.levels[self.variables.columns[i]]
        else:
            _gather(self.variables.codes, self.variables.scope[i], self.rows, self.codes[i])
        if self.variables.sizes[i] <= _FEW:
            _write_bits(self.codes[i], self.bits[i])
        self.is_ready[i] = True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _gather(
    records: cython.uchar[:, ::1], v: cython.Py_ssize_t, rows: cython.longlong[::1], codes: cython.uchar[::1]
) -> cython.void:
    """Write the codes of a variable, row by row."""
    i: cython.Py_ssize_t
    for i in range(rows.shape[0]):
        codes[i] = records[rows[i], v]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write_bits(codes: cython.uchar[::1], bits: cython.ulonglong[:, ::1]) -> cython.void:
    """Write which rows have each code, [code, 64 rows]."""
    code: cython.Py_ssize_t
    word: cython.Py_ssize_t
    row: cython.Py_ssize_t
    for code in range(bits.shape[0]):
        for word in range(bits.shape[1]):
            bits[code, word] = 0
    for row in range(codes.shape[0]):
        bits[codes[row], row >> 6] |= cython.cast(cython.ulonglong, 1) << (row & 63)

"""In what many rows agree with one, as bits: how many agree in two variables at once is then soon counted.

Bits lie in words of 64 rows, [column, word], so that the words of two columns are compared many at once.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.unlearnspn.prefetching import prefetch
from cython.cimports.unlearnspn.rows.coded import CodedRows
from cython.cimports.unlearnspn.statistics.bits import Line, LinePointer, count_common, zero_bytes


@cython.final
@cython.cclass
class Agreement:
    """Which of some rows have the code of another one, and which have no value, column by column."""

    def __init__(self, n_rows: cython.Py_ssize_t, n_columns: cython.Py_ssize_t) -> None:
        """Make room for so many rows, and so many columns of codes."""
        n_words: cython.Py_ssize_t = (n_rows + 63) >> 6
        self.n_columns = n_columns
        self.most_words = n_words
        self.n_words = 0
        self._scratch = np.empty(n_columns * (2 * n_words + 4) + 1, np.uint64)
        self._agrees = cython.address(self._scratch[0])
        self._absent = self._agrees + n_columns * n_words
        #: How many rows agree, by column.
        self.alike = cython.cast(cython.p_longlong, self._absent + n_columns * n_words)
        self._octets = cython.cast(cython.p_uchar, self.alike + n_columns)
        self._has_gaps = self._octets + 16 * n_columns

    def compare(self, coded: CodedRows, rows: cython.longlong[::1], row: cython.Py_ssize_t) -> None:
        """Compare some rows with another one."""
        first: cython.p_longlong = cython.address(rows[0]) if rows.shape[0] else cython.NULL
        with cython.nogil:
            self.compare_first(coded, first, rows.shape[0], row)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def compare_first(
        self, coded: CodedRows, rows: cython.p_const_longlong, n_rows: cython.Py_ssize_t, row: cython.Py_ssize_t
    ) -> cython.void:
        """Compare so many rows with another one."""
        word: cython.Py_ssize_t
        v: cython.Py_ssize_t
        memset(self._has_gaps, 0, self.n_columns)
        self.n_words = (n_rows + 63) >> 6
        for word in range(self.n_words):
            self._compare_block(coded, rows + 64 * word, min(n_rows - 64 * word, 64), row, word)
        for v in range(self.n_columns):
            self.alike[v] = self.count_both(v, v)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _compare_block(
        self,
        coded: CodedRows,
        rows: cython.p_const_longlong,
        n_rows: cython.Py_ssize_t,
        row: cython.Py_ssize_t,
        word: cython.Py_ssize_t,
    ) -> cython.void:
        """Compare 64 rows, or fewer: eight of them at a time, as they lie in memory, then bits go to their columns."""
        i: cython.Py_ssize_t
        v: cython.Py_ssize_t
        found: cython.ulonglong
        lacking: cython.ulonglong
        n_columns: cython.Py_ssize_t = self.n_columns
        octets: cython.p_uchar = self._octets
        lines = cython.declare(Line[64])
        for i in range(n_rows):
            lines[i] = cython.address(coded.codes[rows[i], 0])
            prefetch(lines[i])
        for i in range(8):
            self._compare_eight(
                lines + 8 * i,
                max(min(n_rows - 8 * i, 8), 0),
                cython.address(coded.codes[row, 0]),
                octets + 2 * i * n_columns,
            )
        for v in range(n_columns):
            found = 0
            for i in range(8):
                found |= cython.cast(cython.ulonglong, octets[2 * i * n_columns + v]) << (8 * i)
            self._agrees[v * self.most_words + word] = found
        for v in range(n_columns):
            lacking = 0
            for i in range(8):
                lacking |= cython.cast(cython.ulonglong, octets[(2 * i + 1) * n_columns + v]) << (8 * i)
            self._absent[v * self.most_words + word] = lacking
            self._has_gaps[v] |= lacking != 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _compare_eight(
        self, lines: LinePointer, n_lines: cython.Py_ssize_t, own: Line, octets: cython.p_uchar
    ) -> cython.void:
        """Write for each column a byte with a bit for each of eight rows, or fewer, that agrees; then so for gaps.

        Eight columns are compared at a time, as the bytes of a word; the last ones may have been compared already.
        """
        column: cython.Py_ssize_t = 0
        n_columns: cython.Py_ssize_t = self.n_columns
        if n_columns < 8:
            _compare_bytes(lines, n_lines, own, octets, octets + n_columns, 0, n_columns)
            return
        while column < n_columns:
            column = min(column, n_columns - 8)
            _compare_bytes(lines, n_lines, own, octets, octets + n_columns, column, 8)
            column += 8

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def count_both(self, u: cython.Py_ssize_t, v: cython.Py_ssize_t) -> cython.longlong:
        """Count the rows that agree in two columns, which may be the same."""
        most: cython.Py_ssize_t = self.most_words
        return count_common(self._agrees + u * most, self._agrees + v * most, self.n_words)

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def count_absent(self, u: cython.Py_ssize_t, v: cython.Py_ssize_t) -> cython.longlong:
        """Count the rows that agree in one column and have no value in another."""
        most: cython.Py_ssize_t = self.most_words
        if not self._has_gaps[v]:
            return 0
        return count_common(self._agrees + u * most, self._absent + v * most, self.n_words)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _compare_bytes(
    lines: LinePointer,
    n_lines: cython.Py_ssize_t,
    own: Line,
    octets: cython.p_uchar,
    gaps: cython.p_uchar,
    column: cython.Py_ssize_t,
    n_bytes: cython.Py_ssize_t,
) -> cython.void:
    """Compare some columns, eight at most: what each row adds comes in at the highest bit of bytes, and moves down."""
    i: cython.Py_ssize_t
    codes: cython.ulonglong = 0
    wanted: cython.ulonglong = 0
    agreeing: cython.ulonglong = 0
    missing: cython.ulonglong = 0
    memcpy(cython.address(wanted), own + column, n_bytes)
    for i in range(n_lines):
        memcpy(cython.address(codes), lines[i] + column, n_bytes)
        agreeing = (agreeing >> 1) | zero_bytes(codes ^ wanted)
        missing = (missing >> 1) | zero_bytes(codes)
    for _ in range(n_lines, 8):
        agreeing >>= 1
        missing >>= 1
    memcpy(octets + column, cython.address(agreeing), n_bytes)
    memcpy(gaps + column, cython.address(missing), n_bytes)

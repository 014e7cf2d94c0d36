"""Pair tables: for each pair of variables, how many records have each pair of codes.

The tables of all pairs of some variables lie one after another in a single array, pairs (0, 1), (0, 2), … in the order
of the scope.
"""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.const_types import const_int64
from cython.cimports.unlearnspn.rows.coded import CodedRows
from cython.cimports.unlearnspn.statistics.bits import count_common
from cython.cimports.unlearnspn.statistics.g_test import MOST_CODES, Association, g_statistic
from cython.cimports.unlearnspn.statistics.logs import tabulated_logs

Scope = npt.NDArray[np.int64]

#: So many rows' codes of two variables fit into the processor's nearest cache, beside their table.
_ROWS_AT_A_TIME = cython.declare(cython.Py_ssize_t, 512)
#: Their number in words of bits. So many tables' cells are counted by bits sooner than row by row.
_WORDS = cython.declare(cython.Py_ssize_t, 8)
_MOST_CELLS = cython.declare(cython.longlong, 30)


def pair_cells(coded: CodedRows, scope: const_int64[::1]) -> int:
    """Return the number of cells of all pairs' tables."""
    i: cython.Py_ssize_t
    size: cython.longlong
    before: cython.longlong = 0
    cells: cython.longlong = 0
    for i in range(scope.shape[0]):
        size = coded.sizes[scope[i]]
        cells += before * size
        before += size
    return int(cells)


def count_pairs(
    coded: CodedRows,
    rows: const_int64[::1],
    scope: const_int64[::1],
    tables: cython.longlong[::1],
    sign: cython.longlong,
) -> None:
    """Count every row in, or out, in the table of every pair: one table at a time, for some rows."""
    first: cython.Py_ssize_t = 0
    if scope.shape[0] < 2:
        return
    counter: _Counter = _Counter(coded, scope)
    with cython.nogil:
        while first < rows.shape[0]:
            counter.gather(rows[first : first + min(_ROWS_AT_A_TIME, rows.shape[0] - first)])
            counter.count(tables, sign)
            first += counter.n_rows


@cython.cclass
class _Counter:
    """Counts some rows at a time."""

    coded: CodedRows
    scope: const_int64[::1]
    n_rows: cython.Py_ssize_t
    # The codes, [variable, row].
    codes: cython.uchar[:, ::1]
    # Of variables with few codes: for each code the rows that have it, as bits, and how many these are.
    first_codes: const_int64[::1]
    bits: cython.ulonglong[:, ::1]
    totals: cython.longlong[::1]

    def __init__(self, coded: CodedRows, scope: Scope) -> None:
        sizes = np.asarray(coded.sizes)[scope]
        starts = np.concatenate([[0], np.cumsum(np.where(sizes - 1 <= _MOST_CELLS, sizes, 0))])
        self.coded, self.scope, self.first_codes = coded, scope, starts
        self.codes = np.empty((scope.size, _ROWS_AT_A_TIME), np.uint8)
        n_codes = starts[sizes.size]  # not [-1]: compiled, without wraparound, that is no index of NumPy 2.5's arrays
        self.bits, self.totals = np.empty((n_codes, _WORDS), np.uint64), np.empty(n_codes, np.int64)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def gather(self, rows: const_int64[::1]) -> cython.void:
        """Bring the codes of some rows together."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        at: cython.Py_ssize_t
        one: cython.ulonglong = 1
        self.n_rows = rows.shape[0]
        for i in range(rows.shape[0]):
            for j in range(self.scope.shape[0]):
                self.codes[j, i] = self.coded.codes[rows[i], self.scope[j]]
        for at in range(self.bits.shape[0]):
            self.totals[at] = 0
            for i in range(_WORDS):
                self.bits[at, i] = 0
        for j in range(self.scope.shape[0]):
            if self.first_codes[j] < self.first_codes[j + 1]:
                for i in range(rows.shape[0]):
                    at = self.first_codes[j] + self.codes[j, i]
                    self.totals[at] += 1
                    self.bits[at, i >> 6] |= one << (i & 63)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def count(self, tables: cython.longlong[::1], sign: cython.longlong) -> cython.void:
        """Count the gathered rows in all tables."""
        u: cython.Py_ssize_t
        v: cython.Py_ssize_t
        n_codes: cython.longlong
        n_columns: cython.longlong
        table: cython.p_longlong = cython.address(tables[0])
        for u in range(self.scope.shape[0] - 1):
            n_codes = self.coded.sizes[self.scope[u]]
            for v in range(u + 1, self.scope.shape[0]):
                n_columns = self.coded.sizes[self.scope[v]]
                if (n_codes - 1) * (n_columns - 1) <= _MOST_CELLS:
                    self.count_bits(u, v, n_codes, n_columns, table, sign)
                else:
                    left, right = cython.address(self.codes[u, 0]), cython.address(self.codes[v, 0])
                    _count_table(left, right, self.n_rows, n_columns, table, sign)
                table += n_codes * n_columns

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def count_bits(
        self,
        u: cython.Py_ssize_t,
        v: cython.Py_ssize_t,
        n_codes: cython.longlong,
        n_columns: cython.longlong,
        table: cython.p_longlong,
        sign: cython.longlong,
    ) -> cython.void:
        """Count the rows that two codes have in common; those of a variable's first code are the ones that are left."""
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        common: cython.longlong
        first: cython.Py_ssize_t = self.first_codes[u]
        other: cython.Py_ssize_t = self.first_codes[v]
        # If no row lacks the variable, the next code is the first.
        row: cython.p_longlong = table if self.totals[first] else table + n_columns
        column: cython.Py_ssize_t = 0 if self.totals[other] else 1
        for b in range(column, n_columns):
            row[b] += sign * self.totals[other + b]
        for a in range(1 if self.totals[first] else 2, n_codes):
            own = table + a * n_columns
            own[column] += sign * self.totals[first + a]
            row[column] -= sign * self.totals[first + a]
            for b in range(column + 1, n_columns):
                common = sign * count_common(
                    cython.address(self.bits[first + a, 0]), cython.address(self.bits[other + b, 0]), _WORDS
                )
                own[b] += common
                own[column] -= common
                row[b] -= common
                row[column] += common


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _count_table(
    left: cython.p_const_uchar,
    right: cython.p_const_uchar,
    number: cython.Py_ssize_t,
    n_columns: cython.Py_ssize_t,
    table: cython.p_longlong,
    sign: cython.longlong,
) -> cython.void:
    """Count the codes of two variables."""
    i: cython.Py_ssize_t
    for i in range(number):
        table[left[i] * n_columns + right[i]] += sign


def associate(table: npt.NDArray[np.int64]) -> tuple[int, int, int]:
    """Return G/2 of a table with 24 fractional bits, its degrees of freedom, and its sum, without missing codes."""
    cells: cython.longlong[:, ::1] = table
    found: Association
    if cells.shape[0] == 0 or not 0 < cells.shape[1] <= MOST_CODES:
        raise ValueError(f"a table of {cells.shape[0]} by {cells.shape[1]} codes")
    found = g_statistic(cython.address(cells[0, 0]), cells.shape[0], cells.shape[1], tabulated_logs())
    return found.half_g, found.freedom, found.total

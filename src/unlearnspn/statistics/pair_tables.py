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
from cython.cimports.unlearnspn.statistics.g_test import MOST_CODES, Association, g_statistic
from cython.cimports.unlearnspn.statistics.logs import tabulated_logs

#: So many rows' codes of two variables fit into the processor's nearest cache, beside their table.
_ROWS_AT_A_TIME = cython.declare(cython.Py_ssize_t, 512)


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
    n_some: cython.Py_ssize_t
    if scope.shape[0] < 2:
        return
    gathered: cython.uchar[:, ::1] = np.empty((scope.shape[0], min(_ROWS_AT_A_TIME, rows.shape[0])), np.uint8)
    with cython.nogil:
        while first < rows.shape[0]:
            n_some = min(_ROWS_AT_A_TIME, rows.shape[0] - first)
            _gather(coded, rows[first : first + n_some], scope, gathered)
            _count_gathered(coded, scope, gathered, n_some, tables, sign)
            first += n_some


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _gather(
    coded: CodedRows, rows: const_int64[::1], scope: const_int64[::1], gathered: cython.uchar[:, ::1]
) -> cython.void:
    """Bring the codes of some rows together, [variable, row]."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    codes: cython.uchar[:, ::1] = coded.codes
    for i in range(rows.shape[0]):
        for j in range(scope.shape[0]):
            gathered[j, i] = codes[rows[i], scope[j]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_gathered(
    coded: CodedRows,
    scope: const_int64[::1],
    gathered: cython.uchar[:, ::1],
    n_some: cython.Py_ssize_t,
    tables: cython.longlong[::1],
    sign: cython.longlong,
) -> cython.void:
    u: cython.Py_ssize_t
    v: cython.Py_ssize_t
    n_columns: cython.Py_ssize_t
    table: cython.p_longlong = cython.address(tables[0])
    for u in range(scope.shape[0] - 1):
        for v in range(u + 1, scope.shape[0]):
            n_columns = coded.sizes[scope[v]]
            _count_table(cython.address(gathered[u, 0]), cython.address(gathered[v, 0]), n_some, n_columns, table, sign)
            table += coded.sizes[scope[u]] * n_columns


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

"""Pair tables: how many records have each pair of codes of two variables, counted when somebody asks."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.string import memset
from cython.cimports.unlearnspn.statistics.bits import count_common
from cython.cimports.unlearnspn.statistics.g_test import MOST_CODES, Association, Logs, g_statistic
from cython.cimports.unlearnspn.statistics.logs import tabulated_logs

Codes = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int64]

#: So many cells are counted by bits sooner than record by record.
_MOST_CELLS = cython.declare(cython.longlong, 30)


@cython.final
@cython.cclass
class PairTables:
    """The tables of pairs of some variables, [code, code]; a missing value has the first code.

    `codes` are those of the records, [variable, record], `sizes` the numbers of codes. One table is kept at a time.
    """

    def __init__(self, codes: Codes, sizes: Counts) -> None:
        starts = np.concatenate([[0], np.cumsum(np.where(sizes - 1 <= _MOST_CELLS, sizes, 0))])
        n_codes = starts[sizes.size]
        self.codes, self.sizes, self.first_codes = codes, sizes, starts
        self.n_words = -(-codes.shape[1] // 64)
        self.bits, self.totals = np.zeros((n_codes, self.n_words), np.uint64), np.zeros(n_codes, np.int64)
        self.cells = np.zeros(int(sizes.max()) ** 2, np.int64)
        self._set_bits()

    @cython.cfunc
    def _set_bits(self) -> cython.void:
        """Note which records have each code, where there are few."""
        v: cython.Py_ssize_t
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t
        one: cython.ulonglong = 1
        with cython.nogil:
            for v in range(self.codes.shape[0]):
                if self.first_codes[v] == self.first_codes[v + 1]:
                    continue
                for i in range(self.codes.shape[1]):
                    at = self.first_codes[v] + self.codes[v, i]
                    self.totals[at] += 1
                    self.bits[at, i >> 6] |= one << (i & 63)

    def table(self, u: int, v: int) -> Counts:
        """Return the table of two variables."""
        self.count(u, v)
        shape = self.sizes[u], self.sizes[v]
        return np.array(self.cells)[: shape[0] * shape[1]].reshape(shape)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def associate(self, u: cython.Py_ssize_t, v: cython.Py_ssize_t, logs: Logs) -> Association:
        """Return what the table of two variables says of them."""
        self.count(u, v)
        return g_statistic(cython.address(self.cells[0]), self.sizes[u], self.sizes[v], logs)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def count(self, u: cython.Py_ssize_t, v: cython.Py_ssize_t) -> cython.void:
        """Write the table of two variables."""
        i: cython.Py_ssize_t
        n_columns: cython.longlong = self.sizes[v]
        table = cython.address(self.cells[0])
        memset(table, 0, 8 * self.sizes[u] * n_columns)
        if (self.sizes[u] - 1) * (n_columns - 1) <= _MOST_CELLS:
            self.count_bits(u, v)
        elif self.codes.shape[1]:
            left, right = cython.address(self.codes[u, 0]), cython.address(self.codes[v, 0])
            for i in range(self.codes.shape[1]):
                table[left[i] * n_columns + right[i]] += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def count_bits(self, u: cython.Py_ssize_t, v: cython.Py_ssize_t) -> cython.void:
        """Count the records that two codes have in common; those of a variable's first code are what is left."""
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        common: cython.longlong
        first: cython.Py_ssize_t = self.first_codes[u]
        other: cython.Py_ssize_t = self.first_codes[v]
        n_columns: cython.Py_ssize_t = self.sizes[v]
        table = cython.address(self.cells[0])
        # If no record lacks the variable, the next code is the first.
        row = table if self.totals[first] else table + n_columns
        column: cython.Py_ssize_t = 0 if self.totals[other] else 1
        for b in range(column, n_columns):
            row[b] = self.totals[other + b]
        for a in range(1 if self.totals[first] else 2, self.sizes[u]):
            own = table + a * n_columns
            own[column] = self.totals[first + a]
            row[column] -= self.totals[first + a]
            for b in range(column + 1, n_columns):
                if self.totals[first + a] == 0 or self.totals[other + b] == 0:
                    continue
                common = count_common(
                    cython.address(self.bits[first + a, 0]), cython.address(self.bits[other + b, 0]), self.n_words
                )
                own[b] = common
                own[column] -= common
                row[b] -= common
                row[column] += common


def associate(table: npt.NDArray[np.int64]) -> tuple[int, int, int]:
    """Return G/2 of a table with 24 fractional bits, its degrees of freedom, and its sum, without missing codes."""
    cells: cython.longlong[:, ::1] = table
    found: Association
    if cells.shape[0] == 0 or not 0 < cells.shape[1] <= MOST_CODES:
        raise ValueError(f"a table of {cells.shape[0]} by {cells.shape[1]} codes")
    found = g_statistic(cython.address(cells[0, 0]), cells.shape[0], cells.shape[1], tabulated_logs())
    return found.half_g, found.freedom, found.total

"""Pair tables: for each pair of variables, how many records have each pair of codes.

The tables of a node lie one after another in a single array, pairs (0, 1), (0, 2), … in the order of its scope. A
record changes one cell of each, so a revision costs the number of pairs, whatever the number of records.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from unlearnspn.coding import Codes
from unlearnspn.hashing import Keys, mix64
from unlearnspn.portable_math import x_log_x
from unlearnspn.slices import Counts, Rows, Scope, Slice


class PairTables(NamedTuple):
    """The tables of all pairs, one after another, and a hash of them that is kept up to date."""

    cells: Counts
    hashes: Keys

    @classmethod
    def learn(cls, data: Slice, rows: Rows) -> PairTables:
        """Count the tables of all pairs."""
        scope, sizes = data.scope, data.encoding.sizes
        cells = np.zeros(pair_cells(scope, sizes), np.int64)
        count_pairs(data.records.codes, rows, scope, sizes, cells)
        return cls(cells, hash_tables(cells, scope, sizes, data.encoding.prints))

    def revise(self, data: Slice, minus: Rows, plus: Rows) -> PairTables:
        """Change one cell of each pair for each row."""
        revised = PairTables(self.cells.copy(), self.hashes.copy())
        codes, encoding = data.records.codes, data.encoding
        for changed, sign in ((minus, -1), (plus, 1)):
            if changed.size:
                shift_pairs(codes, changed, data.scope, encoding.sizes, encoding.prints, *revised, sign)
        return revised

    def fingerprint(self) -> bytes:
        """Return the hash of all cells."""
        return self.hashes.tobytes()


@njit(cache=True, nogil=True)
def cell_hash(first: np.uint64, second: np.uint64) -> np.uint64:
    """Hash a pair of codes by their fingerprints."""
    return mix64(first ^ mix64(second))


@njit(cache=True, nogil=True)
def count_pairs(codes: Codes, rows: Rows, scope: Scope, sizes: Counts, tables: Counts) -> None:
    """Count every row in the table of every pair."""
    width = scope.size
    for row in rows:
        start = 0
        for i in range(width - 1):
            u = scope[i]
            code = np.int64(codes[row, u])
            for j in range(i + 1, width):
                v = scope[j]
                tables[start + code * sizes[v] + np.int64(codes[row, v])] += 1
                start += sizes[u] * sizes[v]


@njit(cache=True, nogil=True)
def shift_pairs(
    codes: Codes,
    rows: Rows,
    scope: Scope,
    sizes: Counts,
    prints: Keys,
    tables: Counts,
    hashes: Keys,
    sign: int,
) -> None:
    """Count every row in, or out, and keep the tables' hash up to date."""
    width = scope.size
    for row in rows:
        start = 0
        for i in range(width - 1):
            u = scope[i]
            code = np.int64(codes[row, u])
            for j in range(i + 1, width):
                v = scope[j]
                other = np.int64(codes[row, v])
                tables[start + code * sizes[v] + other] += sign
                cell = cell_hash(prints[u, code], prints[v, other])
                hashes[0] += np.uint64(sign) * cell
                hashes[1] += np.uint64(sign) * mix64(cell)
                start += sizes[u] * sizes[v]


@njit(cache=True, nogil=True)
def pair_cells(scope: Scope, sizes: Counts) -> int:
    """Return the number of cells of all pairs' tables."""
    total, squares = 0, 0
    for v in scope:
        total += sizes[v]
        squares += sizes[v] * sizes[v]
    return (total * total - squares) // 2


@njit(cache=True, nogil=True)
def lookup(count: int, table: Counts) -> int:
    """Return count·ln(count) as an integer, from a table as far as it goes."""
    return table[count] if count < table.size else x_log_x(count)


@njit(cache=True, nogil=True)
def g_statistic(cells: Counts, n_rows: int, n_columns: int, logs: Counts) -> tuple[int, int]:
    """Return G/2 as a fixed-point integer, and the degrees of freedom, of a table without its missing codes.

    G/2 is the number of records that have both variables times their mutual information.
    """
    total, half_g, filled_rows, filled_columns = 0, 0, 0, 0
    columns = np.zeros(n_columns, np.int64)
    for a in range(1, n_rows):
        in_row = 0
        for b in range(1, n_columns):
            count = cells[a * n_columns + b]
            if count:
                in_row += count
                columns[b] += count
                half_g += lookup(count, logs)
        if in_row:
            filled_rows += 1
            total += in_row
            half_g -= lookup(in_row, logs)
    for b in range(1, n_columns):
        if columns[b]:
            filled_columns += 1
            half_g -= lookup(columns[b], logs)
    half_g += lookup(total, logs)
    return half_g, max(filled_rows - 1, 0) * max(filled_columns - 1, 0)


@njit(cache=True, nogil=True)
def hash_tables(tables: Counts, scope: Scope, sizes: Counts, prints: Keys) -> Keys:
    """Sum count·hash over all cells: independent of the codes' order and of codes that nobody has."""
    width = scope.size
    hashes = np.zeros(2, np.uint64)
    start = 0
    for i in range(width - 1):
        u = scope[i]
        for j in range(i + 1, width):
            v = scope[j]
            for a in range(sizes[u]):
                for b in range(sizes[v]):
                    count = np.uint64(tables[start + a * sizes[v] + b])
                    if count:
                        cell = cell_hash(prints[u, a], prints[v, b])
                        hashes[0] += count * cell
                        hashes[1] += count * mix64(cell)
            start += sizes[u] * sizes[v]
    return hashes

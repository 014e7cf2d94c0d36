"""Pair tables: for each pair of variables, how many records have each pair of codes.

The tables of all pairs of some variables lie one after another in a single array, pairs (0, 1), (0, 2), … in the order
of the scope. Where only their hash is kept, a record changes it in as many steps as there are variables; the numbers
that stand behind codes have a hash of their own.
"""

from __future__ import annotations

import numpy as np

from unlearnspn.coding import Codes
from unlearnspn.compiling import inner_kernel, kernel, per_element
from unlearnspn.exact_sum import Bits, Words
from unlearnspn.hashing import Keys, mix64, unsigned
from unlearnspn.portable_math import x_log_x
from unlearnspn.slices import Counts, Flags, Rows, Scope

#: So many rows' codes of two variables fit into the processor's nearest cache, beside their table.
_ROWS_AT_A_TIME = 512


@kernel
def cell_hash(first: np.uint64, second: np.uint64) -> np.uint64:
    """Hash a pair of codes by their fingerprints."""
    return mix64(first ^ mix64(second))


@inner_kernel(per_element(1, 1, 2, 2))
def count_pairs(codes: Codes, rows: Rows, scope: Scope, sizes: Counts, tables: Counts, sign: int) -> None:
    """Count every row in, or out, in the table of every pair: one table at a time, for some rows."""
    gathered = np.empty((scope.size, min(_ROWS_AT_A_TIME, rows.size)), np.int64)
    for first in range(0, rows.size, _ROWS_AT_A_TIME):
        some = rows[first : first + _ROWS_AT_A_TIME]
        for i in range(some.size):
            for j in range(scope.size):
                gathered[j, i] = codes[some[i], scope[j]]
        start = 0
        for u in range(scope.size - 1):
            for v in range(u + 1, scope.size):
                n_codes = sizes[scope[v]]
                table = tables[start : start + sizes[scope[u]] * n_codes]
                left, right = gathered[u], gathered[v]
                for i in range(some.size):
                    table[np.uint64(left[i] * n_codes + right[i])] += sign
                start += table.size


@inner_kernel(per_element(4, 3, 4))
def shift_pairs_hash(hashes: Words, at: int, codes: Codes, rows: Rows, scope: Scope, prints: Keys, sign: int) -> None:
    """Count rows in, or out, in a hash of the tables of all pairs, without the tables.

    The hash is the sum of count·h(a)·h(b) over all cells, twice. What a record adds to it is the sum of h(a)·h(b) over
    the pairs of its codes: half of (Σh)² - Σh², which takes no more steps than there are variables. It is left doubled.
    """
    low, high = np.uint64(hashes[at]), np.uint64(hashes[at + 1])
    factor = unsigned(sign)
    for row in rows:
        sum_low, squares_low, sum_high, squares_high = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
        for v in scope:
            first = mix64(prints[v, codes[row, v]])
            second = mix64(first)
            sum_low += first
            squares_low += first * first
            sum_high += second
            squares_high += second * second
        low += factor * (sum_low * sum_low - squares_low)
        high += factor * (sum_high * sum_high - squares_high)
    hashes[at], hashes[at + 1] = np.int64(low), np.int64(high)


@inner_kernel(per_element(3, 4, 5))
def shift_values_hash(
    hashes: Words,
    at: int,
    codes: Codes,
    bits: Bits,
    rows: Rows,
    scope: Scope,
    prints: Keys,
    is_numeric: Flags,
    place: Counts,
    sign: int,
) -> None:
    """Count rows in, or out, in a hash of the numbers that some variables have with each code, twice."""
    low, high = np.uint64(hashes[at]), np.uint64(hashes[at + 1])
    factor = unsigned(sign)
    for v in scope:
        if not is_numeric[v]:
            continue
        for row in rows:
            code = codes[row, v]
            if code:
                value = np.uint64(bits[row, place[v]])
                if value << np.uint64(1) == 0:  # zeros of either sign are equal
                    value = np.uint64(0)
                name = mix64(prints[v, code] ^ mix64(value))
                low += factor * name
                high += factor * mix64(name)
    hashes[at], hashes[at + 1] = np.int64(low), np.int64(high)


@kernel
def pair_cells(scope: Scope, sizes: Counts) -> int:
    """Return the number of cells of all pairs' tables."""
    total, squares = 0, 0
    for v in scope:
        total += sizes[v]
        squares += sizes[v] * sizes[v]
    return (total * total - squares) // 2


@kernel
def lookup(count: int, table: Counts) -> int:
    """Return count·ln(count) as an integer, from a table as far as it goes."""
    return table[count] if count < table.size else x_log_x(count)


@kernel
def g_statistic(cells: Counts, n_rows: int, n_columns: int, logs: Counts) -> tuple[int, int, int]:
    """Return G/2 as a fixed-point integer, the degrees of freedom, and the sum of a table without its missing codes.

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
    return half_g, max(filled_rows - 1, 0) * max(filled_columns - 1, 0), total

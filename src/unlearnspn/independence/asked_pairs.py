"""Which variables depend on each other, asking for no more pairs than the answer needs; plain words that a walk shifts.

The search is breadth-first: the first variable asks all others, those that depend on it join its group and ask the
ones that are left, and so on; then the next group starts. So a group of many variables takes little more than one
question for each, and a record changes one cell of the table of each pair that was asked.

Words of an answer: the number of pairs; two words of hash; for each pair its variables' places in the scope, whether
they depend on each other, G/2, its degrees of freedom, and how many rows have both; then the tables of all pairs, one
after another. G/2 is a sum of integers, so what one row changes in it can be added or taken out exactly.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from unlearnspn.coding import Codes
from unlearnspn.exact_sum import Words
from unlearnspn.hashing import Keys, mix64
from unlearnspn.independence.components import find, join
from unlearnspn.pair_tables import cell_hash, g_statistic, lookup
from unlearnspn.portable_math import X_LOG_X_BITS
from unlearnspn.slices import Counts, Rows, Scope

HEAD, PER_PAIR = 3, 6
#: Where things are among the words of a pair.
HUB, OTHER, DEPENDS, HALF_G, FREEDOM, TOTAL = range(6)


@njit(cache=True, nogil=True)
def _depend(half_g: int, freedom: int, cut: float) -> bool:
    """Tell whether G exceeds 2·cut·degrees of freedom."""
    return freedom > 0 and half_g > cut * freedom * (1 << X_LOG_X_BITS)


@njit(cache=True, nogil=True)
def _change(count: int, sign: int, logs: Counts) -> int:
    """Return by how much count·log(count) changes if one comes or goes."""
    return lookup(count + sign, logs) - lookup(count, logs)


@njit(cache=True, nogil=True)
def _shift_statistic(
    words: Words, pair: int, cells: Counts, a: int, b: int, n_rows: int, n_columns: int, sign: int, logs: Counts
) -> None:
    """Bring G/2 up to date for a row with these codes, which is not in the table yet, or still is."""
    in_row, in_column = 0, 0
    for k in range(1, n_columns):
        in_row += cells[a * n_columns + k]
    for k in range(1, n_rows):
        in_column += cells[k * n_columns + b]
    cell, total = cells[a * n_columns + b], words[pair + TOTAL]
    cells[a * n_columns + b] += sign
    words[pair + TOTAL] += sign
    if min(in_row, in_row + sign) == 0 or min(in_column, in_column + sign) == 0:
        half_g, freedom = g_statistic(cells, n_rows, n_columns, logs)
        words[pair + HALF_G], words[pair + FREEDOM] = half_g, freedom
        return
    words[pair + HALF_G] += (
        _change(cell, sign, logs)
        - _change(in_row, sign, logs)
        - _change(in_column, sign, logs)
        + _change(total, sign, logs)
    )


@njit(cache=True, nogil=True)
def _starts_of_known(known: Words, scope: Scope, sizes: Counts) -> Counts:
    """Return where the table of each pair starts in the words of an earlier answer; -1 if it is not there."""
    starts = np.full((scope.size, scope.size), -1)
    at = HEAD + PER_PAIR * known[0]
    for k in range(known[0]):
        hub, other = known[HEAD + PER_PAIR * k], known[HEAD + PER_PAIR * k + 1]
        starts[hub, other] = at
        at += sizes[scope[hub]] * sizes[scope[other]]
    return starts


@njit(cache=True, nogil=True)
def _count_against(codes: Codes, rows: Rows, hub: int, others: Scope, sizes: Counts) -> Counts:
    """Count the tables of one variable with some others, one table after another."""
    starts = np.zeros(others.size + 1, np.int64)
    for k in range(others.size):
        starts[k + 1] = starts[k] + sizes[hub] * sizes[others[k]]
    cells = np.zeros(starts[-1], np.int64)
    widths = sizes[others]
    for row in rows:
        code = np.int64(codes[row, hub])
        for k in range(others.size):
            cells[starts[k] + code * widths[k] + np.int64(codes[row, others[k]])] += 1
    return cells


@njit(cache=True, nogil=True)
def _tables_against(
    codes: Codes, rows: Rows, scope: Scope, sizes: Counts, hub: int, others: Counts, known: Words, starts: Counts
) -> Counts:
    """Return the tables of one variable with some others; those that are known are not counted again."""
    if known.size == 0:
        return _count_against(codes, rows, scope[hub], scope[others], sizes)
    new = others[starts[hub][others] < 0]
    counted = _count_against(codes, rows, scope[hub], scope[new], sizes)
    cells = np.empty(sizes[scope[hub]] * sizes[scope[others]].sum(), np.int64)
    at, read = 0, 0
    for other in others:
        length, start = sizes[scope[hub]] * sizes[scope[other]], starts[hub, other]
        if start >= 0:
            cells[at : at + length] = known[start : start + length]
        else:
            cells[at : at + length] = counted[read : read + length]
            read += length
        at += length
    return cells


@njit(cache=True, nogil=True)
def ask_pairs(
    codes: Codes, rows: Rows, scope: Scope, sizes: Counts, prints: Keys, cut: float, logs: Counts, known: Words
) -> Words:
    """Search for the groups of some variables, and return the words of the answer.

    `known` are the words of an earlier answer, brought up to date, or nothing.
    """
    width = scope.size
    starts = _starts_of_known(known, scope, sizes) if known.size else np.zeros((0, 0), np.int64)
    waiting = np.ones(width, np.bool_)
    pairs = np.empty((width * (width - 1) // 2, PER_PAIR), np.int64)
    tables = np.empty(0, np.int64)
    n_asked, n_cells = 0, 0
    queue = np.empty(width, np.int64)
    for first in range(width):
        if not waiting[first]:
            continue
        waiting[first] = False
        queue[0] = first
        head, tail = 0, 1
        while head < tail:
            hub = queue[head]
            head += 1
            others = np.flatnonzero(waiting)
            if others.size == 0:
                break
            cells = _tables_against(codes, rows, scope, sizes, hub, others, known, starts)
            if n_cells + cells.size > tables.size:
                grown = np.empty(max(2 * tables.size, n_cells + cells.size), np.int64)
                grown[:n_cells] = tables[:n_cells]
                tables = grown
            tables[n_cells : n_cells + cells.size] = cells
            n_cells += cells.size
            start = 0
            for other in others:
                n_rows, n_columns = sizes[scope[hub]], sizes[scope[other]]
                table = cells[start : start + n_rows * n_columns]
                half_g, freedom = g_statistic(table, n_rows, n_columns, logs)
                depends = _depend(half_g, freedom, cut)
                start += n_rows * n_columns
                pair = pairs[n_asked]
                pair[HUB], pair[OTHER], pair[DEPENDS], pair[HALF_G] = hub, other, depends, half_g
                pair[FREEDOM], pair[TOTAL] = freedom, table.reshape(n_rows, n_columns)[1:, 1:].sum()
                n_asked += 1
                if depends:
                    waiting[other] = False
                    queue[tail] = other
                    tail += 1
    words = np.empty(HEAD + PER_PAIR * n_asked + n_cells, np.int64)
    words[0] = n_asked
    for k in range(n_asked):
        for part in range(PER_PAIR):
            words[HEAD + PER_PAIR * k + part] = pairs[k, part]
    words[HEAD + PER_PAIR * n_asked :] = tables[:n_cells]
    _hash_tables(words, scope, sizes, prints)
    return words


@njit(cache=True, nogil=True)
def length_of_answer(words: Words, start: int, scope: Scope, sizes: Counts) -> int:
    """Return how many words an answer takes that starts somewhere."""
    length = HEAD + PER_PAIR * words[start]
    for k in range(words[start]):
        pair = start + HEAD + PER_PAIR * k
        length += sizes[scope[words[pair]]] * sizes[scope[words[pair + 1]]]
    return int(length)


@njit(cache=True, nogil=True)
def _hash_tables(words: Words, scope: Scope, sizes: Counts, prints: Keys) -> None:
    """Sum count·hash over all cells: independent of the codes' order and of codes that nobody has."""
    low, high = np.uint64(0), np.uint64(0)
    at = HEAD + PER_PAIR * words[0]
    for k in range(words[0]):
        u, v = scope[words[HEAD + PER_PAIR * k]], scope[words[HEAD + PER_PAIR * k + 1]]
        for a in range(sizes[u]):
            for b in range(sizes[v]):
                count = np.uint64(words[at])
                if count:
                    cell = cell_hash(prints[u, a], prints[v, b])
                    low += count * cell
                    high += count * mix64(cell)
                at += 1
    words[1], words[2] = np.int64(low), np.int64(high)


@njit(cache=True, nogil=True)
def shift_pairs(
    words: Words,
    start: int,
    codes: Codes,
    rows: Rows,
    scope: Scope,
    sizes: Counts,
    prints: Keys,
    logs: Counts,
    sign: int,
) -> None:
    """Count rows in, or out, in the words of an answer that starts somewhere."""
    factor = np.uint64(sign)
    low, high = np.uint64(words[start + 1]), np.uint64(words[start + 2])
    at = start + HEAD + PER_PAIR * words[start]
    for k in range(words[start]):
        pair = start + HEAD + PER_PAIR * k
        u, v = scope[words[pair]], scope[words[pair + 1]]
        n_rows, n_columns = sizes[u], sizes[v]
        cells = words[at : at + n_rows * n_columns]
        for row in rows:
            a, b = int(codes[row, u]), int(codes[row, v])
            if a > 0 and b > 0:
                _shift_statistic(words, pair, cells, a, b, n_rows, n_columns, sign, logs)
            else:
                cells[a * n_columns + b] += sign
            cell = cell_hash(prints[u, a], prints[v, b])
            low += factor * cell
            high += factor * mix64(cell)
        at += n_rows * n_columns
    words[start + 1], words[start + 2] = np.int64(low), np.int64(high)


@njit(cache=True, nogil=True)
def answers_hold(words: Words, start: int, cut: float) -> bool:
    """Tell whether every pair that was asked still gives the same answer: then the same pairs would be asked."""
    for k in range(words[start]):
        pair = start + HEAD + PER_PAIR * k
        if _depend(words[pair + HALF_G], words[pair + FREEDOM], cut) != (words[pair + DEPENDS] == 1):
            return False
    return True


@njit(cache=True, nogil=True)
def answered_groups(words: Words, width: int) -> Counts:
    """Return for each variable the first of its group."""
    parents = np.arange(width)
    for k in range(words[0]):
        pair = HEAD + PER_PAIR * k
        if words[pair + DEPENDS]:
            join(parents, words[pair], words[pair + 1])
    return np.array([find(parents, i) for i in range(width)])

"""Which rows a node has: kept at the node, at one above it, or at those below it; before a change and after it."""

from __future__ import annotations

import numpy as np

from unlearnspn.arrays import in_order, merged, places_of, put, with_room
from unlearnspn.blocks import N_RECORDS, OPERATION, PARENT, ROWS, SPLIT_DATA, numbers_at, parts_at, rows_at
from unlearnspn.compiling import elements, inner_kernel, kernel, late_kernel, per_element, per_row
from unlearnspn.exact_sum import Rows, Words
from unlearnspn.ground import Ground, among
from unlearnspn.slices import Counts


@late_kernel(per_row(0))
def holder_of_rows(words: Words, node: int) -> int:
    """Return the node that keeps a node's rows, or has those below it that do; -1 if they are all there are."""
    while words[node + ROWS] < 0 and words[node + OPERATION] != SPLIT_DATA:
        node = words[node + PARENT]
        if node < 0:
            return -1
    return node


@kernel
def gather(words: Words, node: int) -> Rows:
    """Return the rows that are kept at a node or below it, those of one node after another."""
    rows, n_rows = np.empty(words[node + N_RECORDS], np.int64), 0
    pending = [node]
    while pending:
        part = pending.pop()
        if words[part + ROWS] >= 0:
            own = rows_at(words, part)
            rows = with_room(rows, n_rows, own.size)
            put(rows, n_rows, own)
            n_rows += own.size
        else:
            for child in parts_at(words, part):
                pending.append(child)
    return rows[:n_rows].copy()


@inner_kernel(per_element(4, 0))
def difference(rows: Rows, others: Rows) -> Rows:
    """Return the rows that are not among the others; both are sorted."""
    missing = np.empty(rows.size, np.int64)
    number, other = 0, 0
    for row in rows:
        while other < others.size and others[other] < row:
            other += 1
        if other == others.size or others[other] != row:
            missing[number] = row
            number += 1
    return missing[:number].copy()


@inner_kernel(per_element(10, 0))
def without(rows: Rows, others: Rows) -> Rows:
    """Return the rows that are not among the others, which are sorted."""
    staying, number = np.empty(rows.size, np.int64), 0
    for row in rows:
        if not (row == others[0] if others.size == 1 else among(others, row)):
            staying[number] = row
            number += 1
    return staying[:number]


@late_kernel(elements)
def rows_after(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows) -> Rows:
    """Return a node's rows after a change, sorted; those above it may have gone through the change already."""
    holder = holder_of_rows(words, node)
    rows = places_of(ground.live, True) if holder < 0 else in_order(gather(words, holder))
    rest = difference(rows, minus)
    return merged(rest, difference(plus, rest))


@kernel
def rows_by_cluster(words: Words, node: int, n_clusters: int, minus: Rows, plus: Rows) -> tuple[Rows, Counts]:
    """Return the rows of a split of the data after a change, those of each cluster sorted, and those that come last.

    The second array tells where each of these starts and ends.
    """
    rows, ends = np.empty(words[node + N_RECORDS] + plus.size, np.int64), np.zeros(n_clusters + 2, np.int64)
    parts, numbers = parts_at(words, node), numbers_at(words, node)
    for number in range(n_clusters):
        ends[number + 1] = ends[number]
        for k in places_of(numbers, number):
            staying = difference(in_order(gather(words, parts[k])), minus)
            put(rows, ends[number], staying)
            ends[number + 1] += staying.size
    put(rows, ends[n_clusters], plus)
    ends[n_clusters + 1] = ends[n_clusters] + plus.size
    return rows[: ends[n_clusters + 1]], ends


@kernel
def rows_staying(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows) -> Rows:
    """Return those of a node's rows that a change does not concern, whether or not it was made here or elsewhere."""
    holder = holder_of_rows(words, node)
    rows = places_of(ground.live, True) if holder < 0 else gather(words, holder)
    return without(rows, merged(minus, plus))

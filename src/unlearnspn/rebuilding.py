"""A node whose decisions change, rebuilt by compiled code: what can be kept below it is kept.

The node is asked anew on the rows that it has after the change. If it is another operation now, it is grown anew with
all below it. Otherwise it gets a new block, and the parts that are still there get their share of the change: rows that
leave or come, and at a split of the data rows that change sides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from unlearnspn import blocks
from unlearnspn.blocks import (
    CONNECTED,
    KEY,
    N_RECORDS,
    OPERATION,
    PARENT,
    ROWS,
    SPLIT_DATA,
    numbers_at,
    parts_at,
    rows_at,
    scope_at,
)
from unlearnspn.exact_sum import Rows, Words
from unlearnspn.ground import Ground
from unlearnspn.hashing import key_of_cluster, key_of_scope
from unlearnspn.growing import Answer, Plot, ask, divide, firsts_of_groups, grow, leaves_of, sort_by_label, write

#: If more than this share of a node changes, it is grown anew, so that a large change is not walked in vain.
LARGE_SHARE = 0.25


class Rebuilt(NamedTuple):
    """The words with a new node in an old one's place, and what is left to do."""

    words: Words
    used: int
    node: int
    #: Whether it was grown anew, how many sub-networks were, and how many rows changed sides.
    anew: bool
    n_grown: int
    n_moved: int
    #: Nodes that have open leaves, and those that are not needed any more.
    opened: Words
    dropped: Words
    #: [part, start of minus, start of plus, end of plus]: which rows leave and come at parts that were kept.
    visits: Words
    rows: Rows


@njit(cache=True, nogil=True)
def gather(words: Words, node: int) -> Rows:
    """Return the rows that are kept at a node or below it, in no particular order."""
    rows, n_rows = np.empty(words[node + N_RECORDS], np.int64), 0
    pending = [node]
    while pending:
        part = pending.pop()
        if words[part + ROWS] >= 0:
            own = rows_at(words, part)
            if n_rows + own.size > rows.size:
                rows = np.concatenate((rows, np.empty(own.size, np.int64)))
            rows[n_rows : n_rows + own.size] = own
            n_rows += own.size
        else:
            for child in parts_at(words, part):
                pending.append(child)
    return rows[:n_rows].copy()


@njit(cache=True, nogil=True)
def all_below(words: Words, node: int) -> Words:
    """Return a node and all below it."""
    nodes, n_nodes = np.empty(16, np.int64), 0
    pending = [node]
    while pending:
        part = pending.pop()
        if n_nodes == nodes.size:
            nodes = np.concatenate((nodes, nodes))
        nodes[n_nodes] = part
        n_nodes += 1
        for child in parts_at(words, part):
            pending.append(child)
    return nodes[:n_nodes].copy()


@njit(cache=True, nogil=True)
def holder_of_rows(words: Words, node: int) -> int:
    """Return the node that keeps a node's rows, or has those below it that do; -1 if they are all there are."""
    while words[node + ROWS] < 0 and words[node + OPERATION] != SPLIT_DATA:
        node = words[node + PARENT]
        if node < 0:
            return -1
    return node


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def rows_after(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows) -> Rows:
    """Return a node's rows after a change, sorted; those above it may have gone through the change already."""
    holder = holder_of_rows(words, node)
    rows = np.flatnonzero(ground.live) if holder < 0 else np.sort(gather(words, holder))
    rest = difference(rows, minus)
    return np.sort(np.concatenate((rest, difference(plus, rest))))


@njit(cache=True, nogil=True)
def _plot(words: Words, node: int, n_rows: int) -> Plot:
    parent = words[node + PARENT]
    is_cluster = parent >= 0 and words[parent + OPERATION] == SPLIT_DATA
    scope, key = scope_at(words, node).copy(), np.uint64(words[node + KEY])
    return Plot(parent, 0, scope, key, words[node + CONNECTED] == 1, is_cluster, 0, n_rows)


@njit(cache=True, nogil=True)
def _grow(words: Words, used: int, ground: Ground, plot: Plot, rows: Rows) -> tuple[Words, int, int, Words]:
    """Grow a sub-network below a parent; return the words, where they end, where it starts, and open nodes."""
    flags = (plot.connected, plot.keeps_rows)
    growth = grow(words, used, ground, plot.scope, plot.key, flags, rows.copy())
    growth.words[growth.root + PARENT] = plot.parent
    return growth.words, growth.used, growth.root, growth.opened


@njit(cache=True, nogil=True)
def rebuild(words: Words, used: int, ground: Ground, node: int, minus: Rows, plus: Rows) -> Rebuilt:
    """Put a new node in the place of one whose decisions change."""
    nothing = np.zeros(0, np.int64)
    rows = rows_after(words, ground, node, minus, plus)
    plot = _plot(words, node, rows.size)
    operation = words[node + OPERATION]
    large = minus.size + plus.size > max(LARGE_SHARE * rows.size, 1)
    if not large:
        answer = ask(ground, plot, rows)
        if answer.operation == operation:
            if operation == SPLIT_DATA:
                return _rebuild_split(words, used, ground, node, plot, answer, rows, plus)
            return _rebuild_product(words, used, ground, node, plot, answer, rows, minus, plus)
    dropped = all_below(words, node)
    words, used, fresh, opened = _grow(words, used, ground, plot, rows)
    return Rebuilt(words, used, fresh, True, 1, 0, opened, dropped, nothing, nothing)


@njit(cache=True, nogil=True)
def _rebuild_product(
    words: Words,
    used: int,
    ground: Ground,
    node: int,
    plot: Plot,
    answer: Answer,
    rows: Rows,
    minus: Rows,
    plus: Rows,
) -> Rebuilt:
    """Match the parts by scope: those still there are kept, only new scopes are grown."""
    known = parts_at(words, node).copy()
    owners = divide(ground, plot, answer)
    leaves, firsts = leaves_of(ground, plot, owners), firsts_of_groups(owners)
    fresh = used
    words, used = write(words, used, ground, plot, answer, firsts.size, leaves, rows)
    opened = np.full(1 if (leaves[1::2] < 0).any() else 0, fresh)
    visits, n_visits, n_grown = np.empty(4 * firsts.size, np.int64), 0, 0
    connected = answer.operation == blocks.SPLIT_VARIABLES
    for i in range(firsts.size):
        scope = plot.scope[owners == firsts[i]]
        part = -1
        for k in range(known.size):
            if known[k] >= 0 and np.array_equal(scope_at(words, known[k]), scope):
                part, known[k] = known[k], -1
        if part < 0:
            key = key_of_scope(plot.key, scope)
            place = Plot(fresh, i, scope, key, connected, False, 0, rows.size)
            words, used, part, more = _grow(words, used, ground, place, rows)
            opened = np.concatenate((opened, more))
            n_grown += 1
        else:
            at = 4 * n_visits
            visits[at], visits[at + 1], visits[at + 2] = part, 0, minus.size
            visits[at + 3] = minus.size + plus.size
            n_visits += 1
        parts_at(words, fresh)[i] = part
        words[part + PARENT] = fresh
    dropped = np.full(1, node)
    for part in known:
        if part >= 0:
            dropped = np.concatenate((dropped, all_below(words, part)))
    changed = np.concatenate((minus, plus))
    return Rebuilt(words, used, fresh, False, n_grown, 0, opened, dropped, visits[: 4 * n_visits], changed)


@njit(cache=True, nogil=True)
def _rebuild_split(
    words: Words, used: int, ground: Ground, node: int, plot: Plot, answer: Answer, rows: Rows, plus: Rows
) -> Rebuilt:
    """Hand every change to the cluster it concerns, and rows that change sides from one to the other."""
    known, known_numbers = parts_at(words, node).copy(), numbers_at(words, node).copy()
    ends = sort_by_label(rows, answer.labels, ground.n_clusters)
    numbers = np.flatnonzero(np.diff(ends))
    nothing, fresh = np.zeros(0, np.int64), used
    words, used = write(words, used, ground, plot, answer, numbers.size, nothing, rows)
    opened, changed = nothing, nothing
    visits, n_visits, n_grown, n_moved = np.empty(4 * numbers.size, np.int64), 0, 0, 0
    for i in range(numbers.size):
        number = numbers[i]
        own = rows[ends[number] : ends[number + 1]]
        part = -1
        for k in range(known.size):
            if known[k] >= 0 and known_numbers[k] == number:
                part, known[k] = known[k], -1
        if part < 0:
            key = key_of_cluster(plot.key, number)
            place = Plot(fresh, i, plot.scope, key, False, True, 0, own.size)
            words, used, part, more = _grow(words, used, ground, place, own)
            opened = np.concatenate((opened, more))
            n_grown += 1
            n_moved += difference(own, plus).size
        else:
            before = np.sort(gather(words, part))
            left, came = difference(before, own), difference(own, before)
            n_moved += difference(came, plus).size
            if left.size + came.size:
                at, start = 4 * n_visits, changed.size
                visits[at], visits[at + 1] = part, start
                visits[at + 2], visits[at + 3] = start + left.size, start + left.size + came.size
                changed = np.concatenate((changed, left, came))
                n_visits += 1
        parts_at(words, fresh)[i], numbers_at(words, fresh)[i] = part, number
        words[part + PARENT] = fresh
    dropped = np.full(1, node)
    for part in known:
        if part >= 0:
            dropped = np.concatenate((dropped, all_below(words, part)))
    return Rebuilt(words, used, fresh, False, n_grown, n_moved, opened, dropped, visits[: 4 * n_visits], changed)

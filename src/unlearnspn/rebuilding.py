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
    CLUSTERING,
    CONNECTED,
    INDEPENDENCE,
    KEY,
    MARGINALS,
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
from unlearnspn.clustering.lloyd import (
    go_on,
    label,
    learn_rounds,
    length_of_rounds,
    next_centroids,
    pick_seeds,
    rounds_at,
    rounds_that_hold,
    shift_rounds,
)
from unlearnspn.exact_sum import Rows, Words
from unlearnspn.ground import Ground, space_of
from unlearnspn.growing import (
    Answer,
    Plot,
    divide,
    find_informative,
    firsts_of_groups,
    grow,
    leaves_of,
    sort_by_label,
    write,
)
from unlearnspn.hashing import key_of_cluster, key_of_scope
from unlearnspn.independence.asked_pairs import (
    answered_groups,
    answers_hold,
    ask_pairs,
    length_of_answer,
    shift_pairs,
)
from unlearnspn.marginals import add_codes
from unlearnspn.slices import Counts, Scope

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
def _ask_independence_again(
    words: Words, ground: Ground, node: int, scope: Scope, rows: Rows, minus: Rows, plus: Rows
) -> Words:
    """Bring what was asked up to date, and ask for pairs that have to be asked now."""
    if words[node + INDEPENDENCE] == 0:
        known = np.zeros(0, np.int64)
    else:
        start = node + words[node + INDEPENDENCE]
        known = words[start : start + length_of_answer(words, start, scope, ground.sizes)].copy()
        for changed, sign in ((minus, -1), (plus, 1)):
            shift_pairs(known, 0, ground.codes, changed, scope, ground.sizes, ground.prints, ground.logs, sign)
        if answers_hold(known, 0, ground.cut):
            return known
    return ask_pairs(ground.codes, rows, scope, ground.sizes, ground.prints, ground.cut, ground.logs, known)


@njit(cache=True, nogil=True)
def _cluster_again(
    words: Words, ground: Ground, node: int, plot: Plot, rows: Rows, minus: Rows, plus: Rows
) -> tuple[Words, Counts]:
    """Bring clusters up to date; the labels of all rows are empty if none but those that come have another."""
    space = space_of(ground, plot.scope, plot.key)
    if words[node + CLUSTERING] == 0:
        return learn_rounds(space, pick_seeds(space, rows), rows, ground.max_rounds)
    start, width = node + words[node + CLUSTERING], space.offsets[-1]
    revised = words[start : start + length_of_rounds(words, start, width)].copy()
    rounds = rounds_at(revised, 0, width)
    shift_rounds(space, rounds, minus, -1)
    shift_rounds(space, rounds, plus, 1)
    holding = rounds_that_hold(space, rounds, minus, plus)
    if holding < 0:
        return learn_rounds(space, pick_seeds(space, rows), rows, ground.max_rounds)
    if holding == len(rounds.sums):
        return revised, np.zeros(0, np.int64)
    known = holding + 1
    centroids = rounds.centroids[: known + 1].copy()
    centroids[known] = next_centroids(space, rounds, holding)
    counts, sums = rounds.counts[:known].copy(), rounds.sums[:known].copy()
    return go_on(space, rounds.seeds, centroids, counts, sums, rows, ground.max_rounds)


@njit(cache=True, nogil=True)
def _ask_again(words: Words, ground: Ground, node: int, plot: Plot, rows: Rows, minus: Rows, plus: Rows) -> Answer:
    """Ask the questions of Algorithm 1 again, with the help of what was answered before; as `ask` would."""
    scope, nothing = plot.scope, np.zeros(0, np.int64)
    start, n_codes = node + words[node + MARGINALS], 0
    for v in scope:
        n_codes += ground.sizes[v]
    marginals = words[start : start + n_codes].copy()
    add_codes(ground.codes, minus, scope, ground.sizes, marginals, -1)
    add_codes(ground.codes, plus, scope, ground.sizes, marginals, 1)
    informative = find_informative(ground, scope, marginals, rows)
    if not informative.all():
        operation = blocks.SPLIT_UNINFORMATIVE if informative.any() else blocks.NAIVE_FACTORIZATION
        return Answer(operation, marginals, informative, nothing, nothing, nothing, nothing)
    if rows.size <= ground.min_rows:
        return Answer(blocks.NAIVE_FACTORIZATION, marginals, informative, nothing, nothing, nothing, nothing)
    independence, groups = nothing, nothing
    if not plot.connected:
        independence = _ask_independence_again(words, ground, node, scope, rows, minus, plus)
        groups = answered_groups(independence, scope.size)
        if groups.any():
            return Answer(blocks.SPLIT_VARIABLES, marginals, informative, independence, groups, nothing, nothing)
    clustering, labels = _cluster_again(words, ground, node, plot, rows, minus, plus)
    split = np.count_nonzero(rounds_at(clustering, 0, 0).sizes) > 1
    operation = SPLIT_DATA if split else blocks.NAIVE_FACTORIZATION
    return Answer(operation, marginals, informative, independence, groups, clustering, labels)


@njit(cache=True, nogil=True)
def rebuild(words: Words, used: int, ground: Ground, node: int, minus: Rows, plus: Rows) -> Rebuilt:
    """Put a new node in the place of one whose decisions change."""
    nothing = np.zeros(0, np.int64)
    rows = rows_after(words, ground, node, minus, plus)
    plot = _plot(words, node, rows.size)
    operation = words[node + OPERATION]
    large = minus.size + plus.size > max(LARGE_SHARE * rows.size, 1)
    if not large:
        answer = _ask_again(words, ground, node, plot, rows, minus, plus)
        if answer.operation == operation:
            if operation == SPLIT_DATA and answer.labels.size == 0:
                return _rebuild_split_in_place(words, used, ground, node, plot, answer, rows, minus, plus)
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
def _rebuild_split_in_place(
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
    """Sort the change by cluster: all other rows stay where they are."""
    space = space_of(ground, plot.scope, plot.key)
    rounds = rounds_at(answer.clustering, 0, space.offsets[-1])
    left, came = label(space, minus, rounds.centroids[-1]), label(space, plus, rounds.centroids[-1])
    # Only what changes is given; a cluster that was empty has no more rows than those.
    changes = [(minus[left == number], plus[came == number]) for number in range(rounds.sizes.size)]
    numbers = np.flatnonzero(rounds.sizes)
    return _rebuild_clusters(words, used, ground, node, plot, answer, rows, numbers, changes, 0)


@njit(cache=True, nogil=True)
def _rebuild_split(
    words: Words, used: int, ground: Ground, node: int, plot: Plot, answer: Answer, rows: Rows, plus: Rows
) -> Rebuilt:
    """Find the rows that change sides."""
    known, known_numbers = parts_at(words, node), numbers_at(words, node)
    ends = sort_by_label(rows, answer.labels, ground.n_clusters)
    changes, n_moved = [(rows[:0], rows[:0]) for _ in range(0)], 0
    for number in range(ground.n_clusters):
        own, before = rows[ends[number] : ends[number + 1]], rows[:0]
        for k in range(known.size):
            if known_numbers[k] == number:
                before = np.sort(gather(words, known[k]))
        came = difference(own, before)
        n_moved += difference(came, plus).size
        changes.append((difference(before, own), came))
    numbers = np.flatnonzero(np.diff(ends))
    return _rebuild_clusters(words, used, ground, node, plot, answer, rows, numbers, changes, n_moved)


@njit(cache=True, nogil=True)
def _rebuild_clusters(
    words: Words,
    used: int,
    ground: Ground,
    node: int,
    plot: Plot,
    answer: Answer,
    rows: Rows,
    numbers: Counts,
    changes: list[tuple[Rows, Rows]],
    n_moved: int,
) -> Rebuilt:
    """Hand every change to the cluster it concerns; clusters that were empty are grown from the rows that come."""
    known, known_numbers = parts_at(words, node).copy(), numbers_at(words, node).copy()
    nothing, fresh = np.zeros(0, np.int64), used
    words, used = write(words, used, ground, plot, answer, numbers.size, nothing, rows)
    opened, changed = nothing, nothing
    visits, n_visits, n_grown = np.empty(4 * numbers.size, np.int64), 0, 0
    for i in range(numbers.size):
        number = numbers[i]
        left, came = changes[number]
        part = -1
        for k in range(known.size):
            if known[k] >= 0 and known_numbers[k] == number:
                part, known[k] = known[k], -1
        if part < 0:
            key = key_of_cluster(plot.key, number)
            place = Plot(fresh, i, plot.scope, key, False, True, 0, came.size)
            words, used, part, more = _grow(words, used, ground, place, came)
            opened = np.concatenate((opened, more))
            n_grown += 1
        elif left.size + came.size:
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

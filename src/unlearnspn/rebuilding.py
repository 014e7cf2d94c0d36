"""A node whose decisions change, rebuilt by compiled code: what can be kept below it is kept.

The node is asked anew on the rows that it has after the change. If it is another operation now, it is grown anew with
all below it. Otherwise it gets a new block, and the parts that are still there get their share of the change: rows that
leave or come, and at a split of the data rows that change sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from unlearnspn.arrays import count_of, equal, in_order, joined, merged, places_of, put
from unlearnspn.blocks import (
    CLUSTERING,
    CONNECTED,
    INDEPENDENCE,
    KEY,
    MARGINALS,
    N_RECORDS,
    OPERATION,
    PARENT,
    SPLIT_DATA,
    numbers_at,
    parts_at,
    scope_at,
)
from unlearnspn.clustering.columns import label
from unlearnspn.clustering.lloyd import revise_rounds
from unlearnspn.clustering.rounds import length_of_rounds, rounds_at
from unlearnspn.compiling import IN, OUT, as_written, kernel, late_kernel
from unlearnspn.exact_sum import Rows, Words
from unlearnspn.ground import Ground, space_of
from unlearnspn.growing import (
    OPEN,
    Answer,
    Before,
    Known,
    Plot,
    ask,
    divide,
    firsts_of_groups,
    leaves_of,
    steps_of_learning,
    write,
)
from unlearnspn.independence.asked_pairs import (
    answers_hold,
    keeps_tables,
    shift_pairs,
    wants_tables,
)
from unlearnspn.marginals import add_codes
from unlearnspn.node_rows import rows_after, rows_by_cluster, without
from unlearnspn.shifting import pairs_of
from unlearnspn.slices import Counts, Scope
from unlearnspn.traversal import all_below

_read_scope = as_written(scope_at)

#: If more than this share of a node changes, it is grown anew, so that a large change is not walked in vain.
LARGE_SHARE = 0.25

#: Why a node is to be grown anew, in place of the number of a part.
CHANGED_OPERATION, CHANGED_MUCH = -1, -2


class Rebuilt(NamedTuple):
    """What is to take a node's place, and what is left to do."""

    #: The block of the new node, with the rows that it keeps behind it; nothing if all is to be grown anew.
    block: Words
    n_moved: int
    #: Whether the new node has open leaves.
    is_open: bool
    #: Nodes that are not needed any more.
    dropped: Words
    #: [part, start of minus, start of plus, end of plus]: which rows leave and come at parts that were kept.
    visits: Words
    rows: Rows
    #: What is to be grown, see `want`.
    wanted: Words


@kernel
def want(number: int, scope: Scope, rows: Rows) -> Words:
    """Ask for a sub-network of some variables and rows: to be a part of the new node, or to stand in its place."""
    words = np.empty(3 + scope.size + rows.size, np.int64)
    words[0], words[1], words[2] = number, scope.size, rows.size
    put(words, 3, scope)
    put(words, 3 + scope.size, rows)
    return words


def read_wanted(words: Words) -> Iterator[tuple[int, Scope, Rows]]:
    """Yield all that was asked for: number, scope and rows."""
    at = 0
    while at < words.size:
        number, n_scope, n_rows = words[at : at + 3].tolist()
        middle, end = at + 3 + n_scope, at + 3 + n_scope + n_rows
        yield number, words[at + 3 : middle], words[middle:end]
        at = end


@kernel
def _not_needed(words: Words, node: int, parts: Words) -> Words:
    """Return a node that has been replaced, and all below those of its parts that were not kept; -1 for kept ones."""
    nodes = np.full(1, node)
    for part in parts:
        if part >= 0:
            nodes = joined(nodes, all_below(words, part))
    return nodes


@kernel
def _plot(words: Words, node: int, n_rows: int) -> Plot:
    parent = words[node + PARENT]
    is_cluster = parent >= 0 and words[parent + OPERATION] == SPLIT_DATA
    scope, key = scope_at(words, node).copy(), np.uint64(words[node + KEY])
    return Plot(parent, 0, scope, key, words[node + CONNECTED] == 1, is_cluster, 0, n_rows)


@kernel
def _rows_now(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows) -> tuple[Rows, Counts]:
    """Return a node's rows after a change; of a split of the data by cluster, see `rows_by_cluster`."""
    if words[node + OPERATION] == SPLIT_DATA:
        return rows_by_cluster(words, node, ground.n_clusters, minus, plus)
    return rows_after(words, ground, node, minus, plus), np.zeros(0, np.int64)


@kernel
def _marginals_now(words: Words, ground: Ground, node: int, scope: Scope, minus: Rows, plus: Rows) -> Counts:
    start, n_codes = node + words[node + MARGINALS], 0
    for v in scope:
        n_codes += ground.sizes[v]
    marginals = words[start : start + n_codes].copy()
    add_codes(ground.codes, minus, scope, ground.sizes, marginals, OUT)
    add_codes(ground.codes, plus, scope, ground.sizes, marginals, IN)
    return marginals


@kernel
def _pairs_now(
    words: Words, ground: Ground, node: int, scope: Scope, pairs: Words, rows: Rows, minus: Rows, plus: Rows
) -> tuple[Words, bool]:
    """Bring the pairs that were asked up to date, and tell whether the same would be asked and answer alike."""
    if words[node + INDEPENDENCE] <= 0:
        return np.zeros(0, np.int64), False
    if pairs.size == 0:
        pairs = pairs_of(words, node).copy()
        staying, sizes, prints = without(rows, plus), ground.sizes, ground.prints
        shift_pairs(pairs, 0, ground.codes, staying, minus, plus, scope, sizes, prints, ground.logs, staying[:0])
    kept_alike = keeps_tables(pairs, 0) == wants_tables(rows.size, scope.size, ground.tables_above)
    return pairs, kept_alike and answers_hold(pairs, 0, ground.cut)


@kernel
def _rounds_now(words: Words, ground: Ground, node: int, plot: Plot, minus: Rows, plus: Rows) -> tuple[Words, int]:
    """Bring the rounds of k-means up to date, and tell how many lead to the same centroids."""
    if words[node + CLUSTERING] == 0:
        return np.zeros(0, np.int64), -1
    space = space_of(ground, plot.scope, plot.key)
    start, width = node + words[node + CLUSTERING], space.offsets[-1]
    revised = words[start : start + length_of_rounds(words, start, width)].copy()
    return revised, revise_rounds(space, rounds_at(revised, 0, width), minus, plus)


@kernel
def _know(
    words: Words,
    ground: Ground,
    node: int,
    plot: Plot,
    pairs: Words,
    rows: Rows,
    ends: Counts,
    minus: Rows,
    plus: Rows,
) -> Known:
    """Bring what a node knows up to date."""
    marginals = _marginals_now(words, ground, node, plot.scope, minus, plus)
    pairs, same_pairs = _pairs_now(words, ground, node, plot.scope, pairs, rows, minus, plus)
    rounds, n_rounds = _rounds_now(words, ground, node, plot, minus, plus)
    return Known(marginals, words[node + INDEPENDENCE] < 0, pairs, same_pairs, rounds, n_rounds, ends)


def _steps_of_rebuilding(words: Words, ground: Ground, node: int, pairs: Words, minus: Rows, plus: Rows) -> int:
    n_records = int(words[node + N_RECORDS])
    if minus.size + plus.size > max(LARGE_SHARE * (n_records + plus.size - minus.size), 1):
        return n_records
    return steps_of_learning(ground, _read_scope(words, node), n_records, n_asked=1)


@late_kernel(_steps_of_rebuilding)
def rebuild(words: Words, ground: Ground, node: int, pairs: Words, minus: Rows, plus: Rows) -> Rebuilt:
    """Make a node to be put in the place of one whose decisions change; the words stay as they are.

    `pairs` are those that were asked, if somebody has brought them up to date already. If independence lies outside,
    Python has found that all variables belong together, and has yet to say so in the new node.
    """
    nothing = np.zeros(0, np.int64)
    operation = words[node + OPERATION]
    rows, ends = _rows_now(words, ground, node, minus, plus)
    plot = _plot(words, node, rows.size)
    large = minus.size + plus.size > max(LARGE_SHARE * rows.size, 1)
    if not large:
        answer = ask(ground, plot, rows, _know(words, ground, node, plot, pairs, rows, ends, minus, plus))
        if answer.operation == operation:
            if operation == SPLIT_DATA:
                return _rebuild_split(words, ground, node, plot, answer, rows, ends, minus, plus)
            return _rebuild_product(words, ground, node, plot, answer, rows, minus, plus)
    wanted = want(CHANGED_MUCH if large else CHANGED_OPERATION, plot.scope, in_order(rows))
    return Rebuilt(nothing, 0, False, nothing, nothing, nothing, wanted)


@kernel
def _rebuild_product(
    words: Words,
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
    before, wanted = Before(words, node, minus, plus), np.zeros(0, np.int64)
    block, _ = write(wanted, 0, ground, plot, answer, firsts.size, leaves, rows, before)
    visits, n_visits = np.empty(4 * firsts.size, np.int64), 0
    for i in range(firsts.size):
        scope = plot.scope[places_of(owners, firsts[i])]
        part = -1
        for k in range(known.size):
            if known[k] >= 0 and equal(scope_at(words, known[k]), scope):
                part, known[k] = known[k], -1
        parts_at(block, 0)[i] = part
        if part < 0:
            wanted = joined(wanted, want(i, scope, rows))
            continue
        at = 4 * n_visits
        visits[at], visits[at + 1], visits[at + 2] = part, 0, minus.size
        visits[at + 3] = minus.size + plus.size
        n_visits += 1
    dropped = _not_needed(words, node, known)
    changed, is_open = joined(minus, plus), count_of(leaves, OPEN) > 0
    return Rebuilt(block, 0, is_open, dropped, visits[: 4 * n_visits], changed, wanted)


@kernel
def _clusters_at(words: Words, start: int, ground: Ground, plot: Plot, rows: Rows) -> Counts:
    """Return the clusters of some rows, by a clustering that starts somewhere."""
    space = space_of(ground, plot.scope, plot.key)
    return label(space, rows, rounds_at(words, start, space.offsets[-1]).centroids[-1])


@kernel
def _changes_in_place(
    ground: Ground, plot: Plot, clustering: Words, minus: Rows, plus: Rows
) -> list[tuple[Rows, Rows]]:
    """Sort the change by cluster: all other rows stay where they are."""
    left, came = _clusters_at(clustering, 0, ground, plot, minus), _clusters_at(clustering, 0, ground, plot, plus)
    return [(minus[places_of(left, k)], plus[places_of(came, k)]) for k in range(ground.n_clusters)]


@kernel
def _elsewhere(rows: Rows, labels: Counts, start: int, end: int, number: int) -> Rows:
    """Return the rows of a cluster that were not in it, sorted."""
    before, after = places_of(labels[:start], number), places_of(labels[end:], number)
    return in_order(joined(rows[:start][before], rows[end:][after]))


@kernel
def _changes_by_moving(rows: Rows, labels: Counts, ends: Counts, minus: Rows, left: Counts) -> list[tuple[Rows, Rows]]:
    """Find the rows that change sides; `ends` tells where those start and end that were in the same cluster."""
    changes = []
    for k in range(ends.size - 2):
        start, end = ends[k], ends[k + 1]
        moved = rows[start:end][places_of(labels[start:end] != k, True)]
        changes.append((merged(minus[places_of(left, k)], moved), _elsewhere(rows, labels, start, end, k)))
    return changes


@kernel
def _rebuild_split(
    words: Words,
    ground: Ground,
    node: int,
    plot: Plot,
    answer: Answer,
    rows: Rows,
    ends: Counts,
    minus: Rows,
    plus: Rows,
) -> Rebuilt:
    """Hand every change to the cluster it concerns; clusters that were empty are grown from the rows that come."""
    if answer.labels.size:
        left = _clusters_at(words, node + words[node + CLUSTERING], ground, plot, minus)
        changes = _changes_by_moving(rows, answer.labels, ends, minus, left)
    else:
        changes = _changes_in_place(ground, plot, answer.clustering, minus, plus)
    n_moved = -plus.size
    for _, came in changes:
        n_moved += came.size
    numbers = places_of(rounds_at(answer.clustering, 0, 0).sizes > 0, True)
    known, known_numbers = parts_at(words, node).copy(), numbers_at(words, node).copy()
    nothing, before = np.zeros(0, np.int64), Before(words, node, minus, plus)
    block, _ = write(nothing, 0, ground, plot, answer, numbers.size, nothing, rows, before)
    changed, wanted = nothing, nothing
    visits, n_visits = np.empty(4 * numbers.size, np.int64), 0
    for i in range(numbers.size):
        number = numbers[i]
        left, came = changes[number]
        part = -1
        for k in range(known.size):
            if known[k] >= 0 and known_numbers[k] == number:
                part, known[k] = known[k], -1
        parts_at(block, 0)[i], numbers_at(block, 0)[i] = part, number
        if part < 0:
            wanted = joined(wanted, want(i, plot.scope, came))
        elif left.size + came.size:
            at, start = 4 * n_visits, changed.size
            visits[at], visits[at + 1] = part, start
            visits[at + 2], visits[at + 3] = start + left.size, start + left.size + came.size
            changed = joined(joined(changed, left), came)
            n_visits += 1
    dropped = _not_needed(words, node, known)
    return Rebuilt(block, n_moved, False, dropped, visits[: 4 * n_visits], changed, wanted)

"""LearnSPN, compiled: grow a sub-network of some rows, block after block.

It asks and answers what `Learner` does, in the same order, and comes to the same network, for independence by the
G-test and clusters by Q-k-means. Leaves whose statistics lie outside are left open, for Python to learn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn import blocks
from unlearnspn.arrays import count_of, in_order, places_of, put, tally, with_room
from unlearnspn.blocks import (
    CLUSTERING,
    CONNECTED,
    HEAD,
    INDEPENDENCE,
    KEY,
    LENGTH,
    MARGINALS,
    MARGINALS_HASH,
    MEMBERS,
    MOMENTS,
    N_LEAVES,
    N_PARTS,
    N_RECORDS,
    N_ROWS,
    OPERATION,
    OUTSIDE,
    PARENT,
    ROOM,
    ROWS,
    TREE,
    TREE_WORDS,
    WIDTH,
    leaves_at,
    parts_at,
    room_for,
)
from unlearnspn.clustering.lloyd import go_on, learn_rounds, seed_anew
from unlearnspn.clustering.rounds import rounds_at, seeds_at
from unlearnspn.clustering.seeding import pick_seeds
from unlearnspn.clustering.space import Space
from unlearnspn.compiling import IN, OUT, inner_kernel, kernel, late_kernel, per_row
from unlearnspn.exact_sum import Rows, Words, add_values
from unlearnspn.ground import Ground, look_for_another, shift_tree, space_of, tree_scope
from unlearnspn.hashing import key_of_cluster, key_of_scope, mix_members
from unlearnspn.independence.asked_pairs import answered_groups, ask_pairs, wants_tables
from unlearnspn.marginals import add_codes, hash_marginals
from unlearnspn.packing import spare_words
from unlearnspn.slices import Counts, Scope

#: In place of where the statistics of a leaf start: Python has yet to learn them.
OPEN = -(1 << 62)


class Plot(NamedTuple):
    """What a node is grown from: its place, and which part of all rows are its."""

    parent: int
    number: int
    scope: Scope
    key: np.uint64
    connected: bool
    keeps_rows: bool
    start: int
    end: int


class Answer(NamedTuple):
    """What was asked of a node: as in `Decision`, and the cluster of each row if it is these that are split.

    There are no clusters of rows if those that were there before have all kept theirs.
    """

    operation: int
    marginals: Counts
    informative: npt.NDArray[np.bool_]
    independence: Words
    groups: Counts
    clustering: Words
    labels: Counts


class Known(NamedTuple):
    """What is known of a node from before, brought up to date; empty where nothing is."""

    marginals: Counts
    #: Whether all variables belong together, as Python has found.
    in_one_group: bool
    independence: Words
    #: Whether the same pairs would be asked and give the same answers.
    same_pairs: bool
    clustering: Words
    #: How many rounds lead to the same centroids; -1 if there are other seeds.
    n_rounds: int
    #: Where the rows of each cluster start and end, which follow each other, and after them those that have come.
    ends: Counts


class Before(NamedTuple):
    """The node that was in a node's place, and which rows have left and come since; -1 if there was none."""

    words: Words
    node: int
    minus: Rows
    plus: Rows


class Growth(NamedTuple):
    """The words with what has grown: where it starts and ends, and the nodes that have open leaves."""

    words: Words
    used: int
    root: int
    opened: Words


@kernel
def find_informative(ground: Ground, scope: Scope, marginals: Counts, rows: Rows) -> npt.NDArray[np.bool_]:
    """Tell which variables have two different values, from the codes if they suffice, else from the values."""
    informative = np.empty(scope.size, np.bool_)
    at = 0
    for i in range(scope.size):
        v, occurring = scope[i], 0
        for code in range(1, ground.sizes[v]):
            if marginals[at + code]:
                occurring += 1
        at += ground.sizes[v]
        informative[i] = occurring > 1
        if occurring == 1 and ground.hides[v]:
            informative[i] = look_for_another(ground, rows, rows[:0], v, -1)[1]
    return informative


@kernel
def _count_marginals(ground: Ground, scope: Scope, rows: Rows) -> Counts:
    n_codes = 0
    for v in scope:
        n_codes += ground.sizes[v]
    marginals = np.zeros(n_codes, np.int64)
    add_codes(ground.codes, rows, scope, ground.sizes, marginals, IN)
    return marginals


@kernel
def _ask_independence(ground: Ground, scope: Scope, rows: Rows, known: Known) -> Words:
    if known.same_pairs:
        return known.independence
    sizes, prints, with_tables = ground.sizes, ground.prints, wants_tables(rows.size, scope.size, ground.tables_above)
    pairs = known.independence
    return ask_pairs(ground.codes, rows, scope, sizes, prints, ground.cut, ground.logs, pairs, with_tables)


@kernel
def _cluster_anew(space: Space, rows: Rows, known: Known, max_rounds: int | None) -> tuple[Words, Counts]:
    """Find clusters around other seeds than before, if there were some."""
    if max_rounds is None and known.ends.size:
        return seed_anew(space, seeds_at(known.clustering, 0), rows, known.ends)
    return learn_rounds(space, pick_seeds(space, rows), rows)


@kernel
def _cluster(ground: Ground, plot: Plot, rows: Rows, known: Known) -> tuple[Words, Counts]:
    space = space_of(ground, plot.scope, plot.key)
    if known.n_rounds < 0:
        return _cluster_anew(space, rows, known, space.max_rounds)
    rounds = rounds_at(known.clustering, 0, space.offsets[-1])
    if known.n_rounds == len(rounds.sums):
        return known.clustering, np.zeros(0, np.int64)
    return go_on(space, rounds, known.n_rounds, rows)


@kernel
def ask(ground: Ground, plot: Plot, rows: Rows, known: Known) -> Answer:
    """Ask the questions of Algorithm 1 in its order, with the help of what is known."""
    scope, nothing, marginals = plot.scope, np.zeros(0, np.int64), known.marginals
    if marginals.size == 0:
        marginals = _count_marginals(ground, scope, rows)
    if scope.size == 1:
        return Answer(blocks.CREATE_LEAF, marginals, np.ones(1, np.bool_), nothing, nothing, nothing, nothing)
    informative = find_informative(ground, scope, marginals, rows)
    n_informative = count_of(informative, True)
    if n_informative < scope.size:
        operation = blocks.SPLIT_UNINFORMATIVE if n_informative else blocks.NAIVE_FACTORIZATION
        return Answer(operation, marginals, informative, nothing, nothing, nothing, nothing)
    if rows.size <= ground.min_rows:
        return Answer(blocks.NAIVE_FACTORIZATION, marginals, informative, nothing, nothing, nothing, nothing)
    independence, groups = nothing, nothing
    if not (plot.connected or known.in_one_group):
        independence = _ask_independence(ground, scope, rows, known)
        groups = answered_groups(independence, scope.size)
        if count_of(groups, 0) < groups.size:
            return Answer(blocks.SPLIT_VARIABLES, marginals, informative, independence, groups, nothing, nothing)
    clustering, labels = _cluster(ground, plot, rows, known)
    sizes = rounds_at(clustering, 0, 0).sizes
    split = count_of(sizes, 0) < sizes.size - 1
    operation = blocks.SPLIT_DATA if split else blocks.NAIVE_FACTORIZATION
    return Answer(operation, marginals, informative, independence, groups, clustering, labels)


@kernel
def divide(ground: Ground, plot: Plot, answer: Answer) -> Counts:
    """Return to which factor of a product each variable belongs: by its first variable, or `TREE`."""
    scope = plot.scope
    owners = np.arange(scope.size)
    if answer.operation == blocks.SPLIT_VARIABLES:
        return answer.groups
    if answer.operation == blocks.SPLIT_UNINFORMATIVE:
        first = places_of(answer.informative, True)[0]
        for i in range(scope.size):
            if answer.informative[i]:
                owners[i] = first
        return owners
    joining, n_joining = np.empty(scope.size, np.int64), 0
    for i in range(scope.size):
        if ground.joins_tree[scope[i]] and answer.informative[i]:
            joining[n_joining] = i
            n_joining += 1
    if n_joining > 1:
        owners[joining[:n_joining]] = TREE
    return owners


@kernel
def leaves_of(ground: Ground, plot: Plot, owners: Counts) -> Words:
    """Return the leaves of a product, with the lengths of their statistics: first a tree, then single variables."""
    scope = plot.scope
    leaves, n_leaves = np.empty(2 * scope.size, np.int64), 0
    if count_of(owners, TREE):
        leaves[0], leaves[1] = TREE, TREE_WORDS
        n_leaves = 1
    for i in range(scope.size):
        if owners[i] < 0 or count_of(owners, owners[i]) > 1:
            continue
        v = scope[i]
        kind, length = ground.leaf_kinds[v], 0
        if kind == OUTSIDE:
            length = OPEN
        elif kind == MOMENTS:
            length = 1 + ground.windows[v, 1] + ground.windows[v, 2]
        leaves[2 * n_leaves], leaves[2 * n_leaves + 1] = v, length
        n_leaves += 1
    return leaves[: 2 * n_leaves]


@kernel
def _with_room(words: Words, used: int, number: int) -> Words:
    if used + number <= words.size:
        return words
    grown = np.zeros(used + max(number, spare_words(used)), np.int64)
    put(grown, 0, words[:used])
    return grown


@kernel
def _write_rows(words: Words, used: int, ground: Ground, node: int, rows: Rows) -> int:
    """Write the rows that a node keeps, in order, and their fingerprint; return where the next words go."""
    rows = in_order(rows)
    words[node + ROWS], words[node + N_ROWS] = used, rows.size
    words[node + ROOM] = room_for(rows.size)
    put(words, used, rows)
    members = mix_members(ground.keys, rows)
    words[node + MEMBERS], words[node + MEMBERS + 1] = np.int64(members[0]), np.int64(members[1])
    return int(used + words[node + ROOM])


@kernel
def _write_moments(words: Words, at: int, ground: Ground, v: int, rows: Rows, before: Before) -> None:
    """Write the moments of a variable: those of the node before if it had them, brought up to date."""
    window = (ground.windows[v, 0], ground.windows[v, 1], ground.windows[v, 2])
    column = ground.place[v]
    if before.node >= 0:
        known = leaves_at(before.words, before.node)
        for i in range(0, known.size, 2):
            if known[i] == v and known[i + 1] > 0:
                start = before.node + known[i + 1]
                length = 1 + window[1] + window[2]
                put(words, at, before.words[start : start + length])
                add_values(words, at, ground.bits, before.minus, column, window, OUT)
                add_values(words, at, ground.bits, before.plus, column, window, IN)
                return
    add_values(words, at, ground.bits, rows, column, window, IN)


@kernel
def write(
    words: Words,
    used: int,
    ground: Ground,
    plot: Plot,
    answer: Answer,
    n_parts: int,
    leaves: Words,
    rows: Rows,
    before: Before,
) -> tuple[Words, int]:
    """Write a node whose parts are yet to come; return the words, and where the next ones go."""
    scope, independence, clustering = plot.scope, answer.independence, answer.clustering
    if not ground.keeps_answers:
        independence, clustering = independence[:0], clustering[:0]
    length = HEAD + 2 * scope.size + 2 * n_parts + leaves.size
    length += answer.marginals.size + independence.size + clustering.size
    for i in range(1, leaves.size, 2):
        length += max(leaves[i], 0)
    keeps = plot.keeps_rows and answer.operation != blocks.SPLIT_DATA
    room = room_for(rows.size) if keeps else 0
    words = _with_room(words, used, length + room)
    node, at = used, used + HEAD
    words[node + OPERATION], words[node + KEY], words[node + N_RECORDS] = (
        answer.operation,
        np.int64(plot.key),
        rows.size,
    )
    words[node + PARENT], words[node + CONNECTED], words[node + LENGTH] = plot.parent, plot.connected, length
    words[node + WIDTH], words[node + N_PARTS], words[node + N_LEAVES] = scope.size, n_parts, leaves.size // 2
    words[node + ROWS] = -1
    put(words, at, scope)
    for i in range(scope.size):
        words[at + scope.size + i] = answer.informative[i]
    at += 2 * scope.size + 2 * n_parts + leaves.size
    for head, statistics in (
        (MARGINALS, answer.marginals),
        (INDEPENDENCE, independence),
        (CLUSTERING, clustering),
    ):
        words[node + head] = at - node if statistics.size else 0
        put(words, at, statistics)
        at += statistics.size
    hashes = hash_marginals(answer.marginals, scope, ground.sizes, ground.prints)
    words[node + MARGINALS_HASH], words[node + MARGINALS_HASH + 1] = np.int64(hashes[0]), np.int64(hashes[1])
    kept = leaves_at(words, node)
    for i in range(0, leaves.size, 2):
        v, number = leaves[i], leaves[i + 1]
        kept[i], kept[i + 1] = v, at - node if number > 0 else number
        if v == TREE:
            tree = tree_scope(ground, scope, answer.informative)
            shift_tree(ground, words, at, tree, rows, IN)
        elif number > 0:
            _write_moments(words, at, ground, v, rows, before)
        at += max(number, 0)
    used = node + length
    return words, _write_rows(words, used, ground, node, rows) if keeps else used


@inner_kernel(per_row(4))
def sort_by_label(rows: Rows, labels: Counts, n_clusters: int) -> Counts:
    """Bring the rows of each cluster together, in their order; return where each cluster starts and ends."""
    ends, sizes = np.zeros(n_clusters + 1, np.int64), tally(labels, n_clusters)
    for k in range(n_clusters):
        ends[k + 1] = ends[k] + sizes[k]
    places, sorted_rows = ends.copy(), np.empty(rows.size, np.int64)
    for i in range(rows.size):
        sorted_rows[places[labels[i]]] = rows[i]
        places[labels[i]] += 1
    put(rows, 0, sorted_rows)
    return ends


def steps_of_learning(ground: Ground, scope: Scope, n_rows: int, n_asked: int) -> int:
    """Return about how many steps the interpreter takes to learn from some rows, apart from inner kernels.

    It is slow with nodes that are large enough to be asked, above all with their codes and pairs of variables, and with
    all values of a row in rounds of k-means.
    """
    width, n_codes, n_rounds = int(scope.size), int(ground.sizes[scope].sum()), ground.max_rounds or 0
    n_asking = 60 * width + 6 * n_codes + 10 * width**2
    return n_rows * (5 + 3 * n_rounds * ground.n_clusters * width) + n_asked * n_asking


def _steps_of_growth(
    words: Words, used: int, ground: Ground, scope: Scope, key: np.uint64, flags: tuple[bool, bool], rows: Rows
) -> int:
    return steps_of_learning(ground, scope, rows.size, rows.size // ground.min_rows)


@late_kernel(_steps_of_growth)
def grow(
    words: Words, used: int, ground: Ground, scope: Scope, key: np.uint64, flags: tuple[bool, bool], rows: Rows
) -> Growth:
    """Grow the sub-network of some rows, which are put into another order; `flags`: connected, keeps rows."""
    root, nothing = used, np.zeros(0, np.int64)
    opened, n_opened = np.empty(16, np.int64), 0
    unknown, nobody = Known(nothing, False, nothing, False, nothing, -1, nothing), Before(nothing, -1, nothing, nothing)
    pending = [Plot(-1, 0, scope, key, flags[0], flags[1], 0, rows.size)]
    while pending:
        plot = pending.pop()
        own, node = rows[plot.start : plot.end], used
        answer = ask(ground, plot, own, unknown)
        if plot.parent >= 0:
            parts_at(words, plot.parent)[plot.number] = node
        if answer.operation == blocks.SPLIT_DATA:
            ends = sort_by_label(own, answer.labels, ground.n_clusters)
            numbers = clusters_with_rows(ends)
            words, used = write(words, used, ground, plot, answer, numbers.size, nothing, own, nobody)
            for i in range(numbers.size):
                k = numbers[i]
                blocks.numbers_at(words, node)[i] = k
                start, end = plot.start + ends[k], plot.start + ends[k + 1]
                pending.append(Plot(node, i, plot.scope, key_of_cluster(plot.key, k), False, True, start, end))
            continue
        owners = divide(ground, plot, answer)
        leaves = leaves_of(ground, plot, owners)
        firsts = firsts_of_groups(owners)
        words, used = write(words, used, ground, plot, answer, firsts.size, leaves, own, nobody)
        connected = answer.operation == blocks.SPLIT_VARIABLES
        for i in range(firsts.size):
            group = plot.scope[places_of(owners, firsts[i])]
            pending.append(Plot(node, i, group, key_of_scope(plot.key, group), connected, False, plot.start, plot.end))
        if count_of(leaves, OPEN):
            opened = with_room(opened, n_opened, 1)
            opened[n_opened] = node
            n_opened += 1
    return Growth(words, used, root, opened[:n_opened])


@kernel
def clusters_with_rows(ends: Counts) -> Counts:
    """Return the clusters that have rows, given where each starts and ends."""
    has_rows = np.empty(ends.size - 1, np.bool_)
    for k in range(has_rows.size):
        has_rows[k] = ends[k + 1] > ends[k]
    return places_of(has_rows, True)


@kernel
def firsts_of_groups(owners: Counts) -> Counts:
    """Return the first variables of the groups that have several."""
    has_several = np.zeros(owners.size, np.bool_)
    for i in range(owners.size):
        if owners[i] >= 0 and owners[i] != i:
            has_several[owners[i]] = True
    return places_of(has_several, True)

"""Rows taken out of all that one node knows, or put in, in place: marginals, pairs, clusters, leaves, rows.

All statistics are integers, so the opposite change restores every bit.
"""

from __future__ import annotations

import numpy as np

from unlearnspn.arrays import first_reaching, put
from unlearnspn.blocks import (
    CLUSTERING,
    DIGESTED,
    INDEPENDENCE,
    KEY,
    MARGINALS,
    MARGINALS_HASH,
    MEMBERS,
    N_RECORDS,
    N_ROWS,
    ROWS,
    TREE,
    informative_at,
    leaves_at,
    scope_at,
)
from unlearnspn.clustering.lloyd import shift_rounds
from unlearnspn.clustering.rounds import Rounds, rounds_at
from unlearnspn.clustering.space import Space
from unlearnspn.compiling import IN, OUT, inner_kernel, kernel
from unlearnspn.exact_sum import Rows, Words, add_values
from unlearnspn.ground import Ground, shift_tree, space_of, tree_scope
from unlearnspn.hashing import mix_members
from unlearnspn.independence.asked_pairs import keeps_tables, length_of_answer, shift_pairs
from unlearnspn.marginals import shift_marginals
from unlearnspn.node_rows import rows_staying


@kernel
def space_at(ground: Ground, words: Words, node: int) -> Space:
    """Return where the rows of a node lie."""
    return space_of(ground, scope_at(words, node), np.uint64(words[node + KEY]))


@kernel
def rounds_of(words: Words, node: int, space: Space) -> Rounds:
    """Return what is kept of a node's clusters."""
    return rounds_at(words, node + words[node + CLUSTERING], space.offsets[-1])


@kernel
def pairs_of(words: Words, node: int) -> Words:
    """Return what is kept of the pairs that were asked at a node, if that lies inside."""
    if words[node + INDEPENDENCE] <= 0:
        return words[:0]
    start = node + words[node + INDEPENDENCE]
    return words[start : start + length_of_answer(words, start)]


@kernel
def _shift_leaves(words: Words, ground: Ground, node: int, rows: Rows, sign: int) -> None:
    leaves = leaves_at(words, node)
    for i in range(0, leaves.size, 2):
        v, at = leaves[i], leaves[i + 1]
        if at <= 0:
            continue
        if v == TREE:
            tree = tree_scope(ground, scope_at(words, node), informative_at(words, node))
            shift_tree(ground, words, node + at, tree, rows, sign)
            continue
        window = (ground.windows[v, 0], ground.windows[v, 1], ground.windows[v, 2])
        add_values(words, node + at, ground.bits, rows, ground.place[v], window, sign)


def _steps_of_moving(words: Words, start: int, end: int, rows: Rows) -> int:
    return 4 * int(end - start)


@inner_kernel(_steps_of_moving)
def _drop_rows(words: Words, start: int, end: int, rows: Rows) -> None:
    place, gone = start + first_reaching(words[start:end], rows[0]), 0
    for at in range(place, end):
        if gone < rows.size and words[at] == rows[gone]:
            gone += 1
        else:
            words[place] = words[at]
            place += 1
    for at in range(place, end):
        words[at] = 0


@inner_kernel(_steps_of_moving)
def _insert_rows(words: Words, start: int, end: int, rows: Rows) -> None:
    at, coming = end, rows.size
    while coming:
        if at > start and words[at - 1] > rows[coming - 1]:
            words[at - 1 + coming] = words[at - 1]
            at -= 1
        else:
            coming -= 1
            words[at + coming] = rows[coming]


@kernel
def _shift_rows(words: Words, ground: Ground, node: int, rows: Rows, sign: int) -> None:
    """Take rows out of those that a node keeps in increasing order, if it does, or put them in."""
    start, end = words[node + ROWS], words[node + ROWS] + words[node + N_ROWS]
    if start < 0:
        return
    if sign < 0:
        _drop_rows(words, start, end, rows)
    else:
        _insert_rows(words, start, end, rows)
    words[node + N_ROWS] += sign * rows.size
    members = mix_members(ground.keys, rows)
    words[node + MEMBERS] += sign * np.int64(members[0])
    words[node + MEMBERS + 1] += sign * np.int64(members[1])


@kernel
def _shift(words: Words, ground: Ground, node: int, rows: Rows, sign: int) -> None:
    """Take rows out of all that a node knows but for independence, or put them in."""
    if rows.size == 0:
        return
    words[node + N_RECORDS] += sign * rows.size
    words[node + DIGESTED] = 0
    scope, at = scope_at(words, node), node + words[node + MARGINALS]
    shift_marginals(words, at, node + MARGINALS_HASH, ground.codes, rows, scope, ground.sizes, ground.prints, sign)
    if words[node + CLUSTERING] > 0:
        space = space_at(ground, words, node)
        shift_rounds(space, rounds_of(words, node, space), rows, sign)
    _shift_leaves(words, ground, node, rows, sign)
    _shift_rows(words, ground, node, rows, sign)


@kernel
def _count_alike(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows) -> Words:
    """Count for the one row that comes or goes how many others have its codes."""
    scope, at = scope_at(words, node), node + words[node + MARGINALS]
    row = minus[0] if minus.size else plus[0]
    alike = np.empty(scope.size, np.int64)
    for i in range(scope.size):
        alike[i] = words[at + np.int64(ground.codes[row, scope[i]])] - minus.size
        at += ground.sizes[scope[i]]
    return alike


@kernel
def _shift_independence(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows) -> None:
    """Make a change in what is known of pairs, before it is made in the marginals."""
    start, scope = node + words[node + INDEPENDENCE], scope_at(words, node)
    staying, alike = minus[:0].copy(), minus[:0].copy()
    if not keeps_tables(words, start):
        staying = rows_staying(words, ground, node, minus, plus)
    elif minus.size + plus.size == 1:
        alike = _count_alike(words, ground, node, minus, plus)
    sizes, prints = ground.sizes, ground.prints
    shift_pairs(words, start, ground.codes, staying, minus, plus, scope, sizes, prints, ground.logs, alike)


@kernel
def make_change(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows, pairs: Words) -> None:
    """Make a change in all that a node knows; the opposite change takes it back.

    `pairs` is what becomes known of pairs, if somebody knows that already.
    """
    if pairs.size:
        put(pairs_of(words, node), 0, pairs)
    elif words[node + INDEPENDENCE] > 0:
        _shift_independence(words, ground, node, minus, plus)
    # A loop, so that the compiler has one call to work on.
    for sign in (OUT, IN):
        _shift(words, ground, node, minus if sign == OUT else plus, sign)

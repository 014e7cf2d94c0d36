"""Ways through the array of words: down to all nodes, up to the root, and to what lies outside."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unlearnspn.arrays import in_order, put, with_room
from unlearnspn.blocks import (
    CLUSTERING,
    DIGESTED,
    HEAD,
    INDEPENDENCE,
    N_LEAVES,
    N_PARTS,
    PARENT,
    ROWS,
    WIDTH,
    leaves_at,
    parts_at,
    rows_at,
)
from unlearnspn.compiling import kernel, late_kernel, per_row
from unlearnspn.exact_sum import Words


@late_kernel(per_row(0))
def all_below(words: Words, node: int) -> Words:
    """Return a node and all below it."""
    nodes, n_nodes = np.empty(16, np.int64), 0
    pending = [node]
    while pending:
        part = pending.pop()
        nodes = with_room(nodes, n_nodes, 1)
        nodes[n_nodes] = part
        n_nodes += 1
        for child in parts_at(words, part):
            pending.append(child)
    return nodes[:n_nodes].copy()


@late_kernel(per_row(0))
def undigested(words: Words, root: int) -> Words:
    """Return the nodes whose digests are not known, children before their parents."""
    nodes, n_nodes = np.empty(16, np.int64), 0
    pending = [root]
    while pending:
        node = pending.pop()
        if words[node + DIGESTED]:
            continue
        nodes = with_room(nodes, n_nodes, 1)
        nodes[n_nodes] = node
        n_nodes += 1
        for part in parts_at(words, node):
            pending.append(part)
    return nodes[:n_nodes][::-1].copy()


@late_kernel(per_row(1))
def mark_undigested(words: Words, nodes: Words) -> None:
    """Say of some nodes, and of all above them, that their digests do not hold any more."""
    for first in nodes:
        node = first
        while node >= 0 and words[node + DIGESTED]:
            words[node + DIGESTED] = 0
            node = words[node + PARENT]


def mark_all_undigested(words: Words, root: int) -> Words:
    """Say that no digest is known, and return the nodes that have statistics outside."""
    nodes: Words = all_below(words, root)
    words[nodes + DIGESTED] = 0
    return nodes[have_outside(words, nodes)]


@late_kernel(per_row(0))
def link(words: Words, old: int, new: int) -> None:
    """Put a node in another one's place, below the same parent and above its own parts; all above are undigested."""
    parent = words[old + PARENT]
    mark_undigested(words, words[old + PARENT : old + PARENT + 1])
    words[new + PARENT] = parent
    for part in parts_at(words, new):
        if part >= 0:
            words[part + PARENT] = new
    if parent >= 0:
        parts = parts_at(words, parent)
        for i in range(parts.size):
            if parts[i] == old:
                parts[i] = new


@kernel
def has_leaves_outside(words: Words, node: int) -> bool:
    """Tell whether the statistics of some leaves of a node lie outside."""
    leaves = leaves_at(words, node)
    for i in range(1, leaves.size, 2):
        if leaves[i] < 0:
            return True
    return False


@kernel
def has_outside(words: Words, node: int) -> bool:
    """Tell whether some statistics of a node lie outside."""
    asked_outside = words[node + INDEPENDENCE] < 0 or words[node + CLUSTERING] < 0
    return bool(asked_outside or has_leaves_outside(words, node))


@kernel
def have_outside(words: Words, nodes: Words) -> npt.NDArray[np.bool_]:
    """Tell of which nodes some statistics lie outside."""
    return np.array([has_outside(words, node) for node in nodes], np.bool_)


@late_kernel(per_row(10))
def places_outside(words: Words, nodes: Words) -> Words:
    """Return where nodes have numbers of statistics that lie outside in the place of their own."""
    places, n_places = np.empty(16, np.int64), 0
    for node in nodes:
        first = node + HEAD + 2 * words[node + WIDTH] + 2 * words[node + N_PARTS] + 1
        places = with_room(places, n_places, 2 + words[node + N_LEAVES])
        for place in (node + INDEPENDENCE, node + CLUSTERING):
            places[n_places] = place
            n_places += words[place] < 0
        for place in range(first, first + 2 * words[node + N_LEAVES], 2):
            places[n_places] = place
            n_places += words[place] < 0
    return places[:n_places].copy()


@kernel
def order_rows(words: Words, root: int) -> None:
    """Put the rows that nodes keep in increasing order: earlier versions of the library did not."""
    for node in all_below(words, root):
        if words[node + ROWS] >= 0:
            rows = rows_at(words, node)
            put(rows, 0, in_order(rows))

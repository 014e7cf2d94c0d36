"""Room in the array of words: blocks that are not needed any more are wiped, those that are left are moved together."""

from __future__ import annotations

import numpy as np

from unlearnspn.arrays import first_reaching, in_order, put
from unlearnspn.blocks import LENGTH, N_ROWS, PARENT, ROOM, ROWS, parts_at, room_for, rows_at
from unlearnspn.compiling import elements, kernel, late_kernel, per_row
from unlearnspn.exact_sum import Words

#: So many words that it matters if they are not needed, and so few that it does not.
_MUCH_ROOM, _LITTLE_ROOM = 1 << 20, 1 << 16


@late_kernel(elements)
def spare_words(used: int) -> int:
    """Return how much room there should be beyond the words in use, so that it is rarely made and little is wasted."""
    return max(used // 8, min(used // 2, _MUCH_ROOM))


@kernel
def trimmed(used: int) -> Words:
    """Return room for some words, and for as many more as will be needed soon."""
    return np.zeros(used + min(spare_words(used), max(used // 32, _LITTLE_ROOM)), np.int64)


@late_kernel(per_row(10))
def wipe(words: Words, nodes: Words) -> int:
    """Wipe nodes, but not those below them; return how many words that sets free."""
    number = 0
    for node in nodes:
        start, room, length = words[node + ROWS], words[node + ROOM], words[node + LENGTH]
        if start >= 0:
            words[start : start + room] = 0
            number += room
        words[node : node + length] = 0
        number += length
    return number


@late_kernel(per_row(0))
def relocate(words: Words, root: int, distance: int) -> None:
    """Say of a network that was copied from somewhere else where its nodes and rows are now: so much farther."""
    pending = [root]
    while pending:
        node = pending.pop()
        words[node + ROWS] += distance if words[node + ROWS] >= 0 else 0
        parts = parts_at(words, node)
        for k in range(parts.size):
            parts[k] += distance
            words[parts[k] + PARENT] = node
            pending.append(parts[k])


@late_kernel(elements)
def pack(words: Words, nodes: Words) -> tuple[Words, int, Words]:
    """Copy a network whose nodes are given, the root first.

    Return its words, with room for more, how many are in use, and where each node starts in them.
    """
    length = 0
    for node in nodes:
        length += words[node + LENGTH]
        if words[node + ROWS] >= 0:
            length += room_for(words[node + N_ROWS])
    packed, used = trimmed(length), 0
    moved, numbered = np.empty(nodes.size, np.int64), np.empty(nodes.size, np.int64)
    for i in range(nodes.size):
        node, rows_start = nodes[i], words[nodes[i] + ROWS]
        if rows_start >= 0:
            rows = rows_at(words, node)
            put(packed, used, rows)
            rows_start, used = used, used + room_for(rows.size)
        at, end = used, int(used + words[node + LENGTH])
        put(packed, at, words[node : node + words[node + LENGTH]])
        packed[at + ROWS] = rows_start
        if rows_start >= 0:
            packed[at + ROOM] = room_for(packed[at + N_ROWS])
        moved[i], used = at, end
    for i in range(nodes.size):
        numbered[i] = nodes[i] * nodes.size + i
    numbered = in_order(numbered)
    for i in range(nodes.size):
        parts = parts_at(packed, int(moved[i]))
        for k in range(parts.size):
            first = parts[k] * nodes.size
            parts[k] = moved[numbered[first_reaching(numbered, first)] - first]
            packed[parts[k] + PARENT] = moved[i]
    return packed, used, moved

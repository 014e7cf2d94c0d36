"""Room in the array of words: blocks that are not needed any more are wiped, those that are left are moved together."""

from __future__ import annotations

import numpy as np

from unlearnspn.blocks import LENGTH, N_ROWS, PARENT, ROOM, ROWS, parts_at, room_for, rows_at
from unlearnspn.compiling import kernel
from unlearnspn.exact_sum import Words


@kernel
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


@kernel
def pack(words: Words, nodes: Words) -> tuple[Words, Words]:
    """Copy a network whose nodes are given, the root first; return its words, and where each node starts in them."""
    length = 0
    for node in nodes:
        length += words[node + LENGTH]
        if words[node + ROWS] >= 0:
            length += room_for(words[node + N_ROWS])
    packed, used = np.zeros(length, np.int64), 0
    moved = np.empty(nodes.size, np.int64)
    for i in range(nodes.size):
        node, rows_start = nodes[i], words[nodes[i] + ROWS]
        if rows_start >= 0:
            rows = rows_at(words, node)
            packed[used : used + rows.size] = rows
            rows_start, used = used, used + room_for(rows.size)
        at, end = used, int(used + words[node + LENGTH])
        packed[at:end] = words[node : node + words[node + LENGTH]]
        packed[at + ROWS] = rows_start
        if rows_start >= 0:
            packed[at + ROOM] = room_for(packed[at + N_ROWS])
        moved[i], used = at, end
    order = np.argsort(nodes)
    in_order = nodes[order]
    for i in range(nodes.size):
        parts = parts_at(packed, int(moved[i]))
        for k in range(parts.size):
            parts[k] = moved[order[np.searchsorted(in_order, parts[k])]]
            packed[parts[k] + PARENT] = moved[i]
    return packed, moved

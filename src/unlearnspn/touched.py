"""What a request has changed in memory, for whoever keeps a copy elsewhere and must bring it up to date."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unlearnspn.blocks import HEAD, LENGTH, PARENT, ROOM, ROWS, parts_at
from unlearnspn.compiling import elements, late_kernel
from unlearnspn.exact_sum import Words


class Touched(NamedTuple):
    """Stretches of a network's words, [start, end) each; more than necessary perhaps, but never less."""

    stretches: Words
    #: Everything was written anew, in another order.
    everything: bool = False


EVERYTHING = Touched(np.zeros((0, 2), np.int64), everything=True)


@late_kernel(elements)
def stretches_of(words: Words, nodes: Words, replacing: Words) -> Words:
    """Return the stretches of some nodes with their rows, and those that point to nodes in others' places."""
    found, n_found = np.empty((2 * nodes.size + replacing.size, 2), np.int64), 0
    for node in nodes:
        found[n_found, 0], found[n_found, 1] = node, node + words[node + LENGTH]
        n_found += 1
        if words[node + ROWS] >= 0:
            start = words[node + ROWS]
            found[n_found, 0], found[n_found, 1] = start, start + words[node + ROOM]
            n_found += 1
    for node in replacing:
        parent = words[node + PARENT]
        if parent >= 0:
            found[n_found, 0], found[n_found, 1] = parent, parent + words[parent + LENGTH]
            n_found += 1
    found = found[:n_found]
    for node in replacing:
        parts = parts_at(words, node)
        heads = np.empty((parts.size, 2), np.int64)
        heads[:, 0], heads[:, 1] = parts, parts + HEAD
        found = np.concatenate((found, heads))
    return found

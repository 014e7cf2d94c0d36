"""From pair tables to the maximum spanning tree of mutual information."""

from __future__ import annotations

import numpy as np

from unlearnspn.compiling import inner_kernel, kernel
from unlearnspn.leaves.edge_tables import Pairs
from unlearnspn.pair_tables import g_statistic
from unlearnspn.slices import Counts

#: What a position gains that has joined the tree: less than any other.
_INSIDE = np.iinfo(np.int64).min


def _steps_of_gains(pairs: Pairs, logs: Counts) -> int:
    return pairs.cells.size


@inner_kernel(_steps_of_gains)
def pair_gains(pairs: Pairs, logs: Counts) -> Counts:
    """Return by how much the log-likelihood grows when one of two variables is told the other, in fixed point.

    That is their mutual information times the number of records that have both.
    """
    width = pairs.sizes.size
    gains = np.zeros((width, width), np.int64)
    for i in range(width - 1):
        for j in range(i + 1, width):
            n_rows, n_columns = pairs.sizes[i], pairs.sizes[j]
            table = pairs.cells[pairs.starts[i, j] : pairs.starts[i, j] + n_rows * n_columns]
            gains[i, j] = gains[j, i] = g_statistic(table, n_rows, n_columns, logs)[0]
    return gains


@kernel
def maximum_spanning_tree(gains: Counts) -> tuple[Counts, Counts]:
    """Return the parent of each position, -1 for the first, and all positions in the order they joined the tree.

    Of equal gains the first position wins, as the one to join and as the parent.
    """
    width = len(gains)
    parents, order = np.zeros(width, np.int64), np.zeros(width, np.int64)
    parents[0] = -1
    nearest = gains[0].copy()  # what each position gains by joining at its parent
    nearest[0] = _INSIDE
    for step in range(1, width):
        best = 0
        for v in range(width):
            if nearest[v] > nearest[best]:
                best = v
        order[step], nearest[best] = best, _INSIDE
        for v in range(width):
            if nearest[v] != _INSIDE and gains[best, v] > nearest[v]:
                parents[v], nearest[v] = best, gains[best, v]
    return parents, order

"""The search for groups of dependent variables, which asks about few pairs, and what is kept of it.

Breadth first: the variables that are in no group yet are asked against each variable of the group that grows. So no
pair is asked whose variables are joined already, and which pairs are asked is a function of the answers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.coding import Codes
from unlearnspn.compiling import kernel
from unlearnspn.hashing import Keys, mix64
from unlearnspn.independence.canonical_correlation import Whitened, correlated, scratch_for
from unlearnspn.independence.pair_counts import Columns, Table, count_pair
from unlearnspn.slices import Counts, Scope


class Search(NamedTuple):
    """The groups, and the pairs that were asked, in their order, with the answers."""

    groups: Counts
    #: [pair, 2], places in the scope.
    pairs: Counts
    dependent: npt.NDArray[np.bool_]
    #: The pairs' tables, one after another.
    cells: Table


@kernel
def search_groups(columns: Columns, whitened: Whitened, threshold: float) -> Search:
    """Find the groups of variables that dependent pairs link."""
    sizes = columns.sizes
    n_variables = sizes.size
    groups = np.full(n_variables, -1)
    pairs = np.empty((n_variables * (n_variables - 1) // 2, 2), np.int64)
    dependent = np.empty(len(pairs), np.bool_)
    cells = np.empty(64, np.int32)
    waiting = np.empty(n_variables, np.int64)
    scratch = scratch_for(whitened.features.shape[2])
    asked, end = 0, 0
    for first in range(n_variables):
        if groups[first] >= 0:
            continue
        groups[first] = first
        waiting[0] = first
        head, tail = 0, 1
        while head < tail:
            hub = waiting[head]
            head += 1
            for other in range(first + 1, n_variables):
                if groups[other] >= 0:
                    continue
                u, v = min(hub, other), max(hub, other)
                start, end = end, end + sizes[u] * sizes[v]
                if end > cells.size:
                    cells = np.append(cells[:start], np.empty(end, np.int32))
                table = cells[start:end].reshape((sizes[u], sizes[v]))
                count_pair(columns, u, v, table)
                pairs[asked] = u, v
                dependent[asked] = correlated(table, u, v, whitened, threshold, scratch)
                if dependent[asked]:
                    groups[other] = first
                    waiting[tail] = other
                    tail += 1
                asked += 1
    return Search(groups, pairs[:asked].copy(), dependent[:asked].copy(), cells[:end].copy())


@kernel
def shift_tables(codes: Codes, sizes: Counts, counts: Counts, pairs: Counts, cells: Table, sign: int) -> None:
    """Count rows in, or out, by their codes, [variable, row]: one cell of each pair that was asked."""
    for i in range(len(codes)):
        for code in codes[i]:
            counts[i, code] += sign
    start = 0
    for k in range(len(pairs)):
        left, right, n_right = codes[pairs[k, 0]], codes[pairs[k, 1]], sizes[pairs[k, 1]]
        for i in range(left.size):
            cells[start + np.int64(left[i]) * n_right + np.int64(right[i])] += sign
        start += sizes[pairs[k, 0]] * n_right


@kernel
def answers_hold(search: Search, sizes: Counts, whitened: Whitened, threshold: float) -> bool:
    """Tell whether all pairs that were asked still have the same answer: then the search is the same."""
    scratch = scratch_for(whitened.features.shape[2])
    start = 0
    for k in range(len(search.pairs)):
        u, v = search.pairs[k]
        end = start + sizes[u] * sizes[v]
        table = search.cells[start:end].reshape((sizes[u], sizes[v]))
        if correlated(table, u, v, whitened, threshold, scratch) != search.dependent[k]:
            return False
        start = end
    return True


@kernel
def hash_search(search: Search, sizes: Counts, counts: Counts, names: Keys) -> Keys:
    """Sum count·name·name over the cells of all tables: the same whatever codes the categories have."""
    hashes = np.zeros(2, np.uint64)
    start = 0
    for k in range(len(search.pairs)):
        u, v = search.pairs[k]
        for a in range(sizes[u]):
            if counts[u, a]:
                total = np.uint64(0)
                for b in range(sizes[v]):
                    total += np.uint64(search.cells[start + b]) * names[v, b]
                hashes[0] += names[u, a] * total
                hashes[1] += mix64(names[u, a]) * total
            start += sizes[v]
    return hashes


@kernel
def name_codes(scope: Scope, sizes: Counts, is_numeric: npt.NDArray[np.bool_], prints: Keys) -> Keys:
    """Return a hash for each code of each variable: of the level, or of the category's fingerprint."""
    names = np.zeros((scope.size, sizes.max()), np.uint64)
    for i in range(scope.size):
        v = scope[i]
        for code in range(sizes[i]):
            names[i, code] = mix64(np.uint64(256 * v + code) if is_numeric[v] else prints[v, code])
    return names

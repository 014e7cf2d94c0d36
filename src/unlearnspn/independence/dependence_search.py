"""The search for groups of dependent variables, which asks about few pairs, and what is kept of it.

Breadth first: the variables that are in no group yet are asked against each variable of the group that grows. So no
pair is asked whose variables are joined already, and which pairs are asked is a function of the answers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.arrays import largest, places_of, put
from unlearnspn.compiling import IN, OUT, inlined, inner_kernel, kernel, per_element
from unlearnspn.hashing import Keys, mix64, unsigned
from unlearnspn.independence.canonical_correlation import Whitened, binary_correlated, correlated, scratch_for
from unlearnspn.independence.pair_counts import Columns, Table, count_pair
from unlearnspn.independence.random_features import Matrix
from unlearnspn.slices import Counts, Scope


class Search(NamedTuple):
    """The groups, and the pairs that were asked, in their order, with the answers."""

    groups: Counts
    #: [pair, 2], places in the scope.
    pairs: Counts
    dependent: npt.NDArray[np.bool_]
    #: The pairs' tables, one after another.
    cells: Table
    #: Of the tables, see `_hash_table`.
    hashes: Keys


@kernel
def nothing_asked() -> Search:
    """Return what is known if nothing was asked yet."""
    groups, pairs, answers = np.zeros(0, np.int64), np.zeros((0, 2), np.int64), np.zeros(0, np.bool_)
    return Search(groups, pairs, answers, np.zeros(0, np.int32), np.zeros(2, np.uint64))


@kernel
def _places_of_known(known: Search, n_variables: int) -> Counts:
    """Return for each pair of variables which of those that were asked it is; -1 if it was not."""
    places = np.full((n_variables, n_variables), -1)
    for k in range(len(known.pairs)):
        places[known.pairs[k, 0], known.pairs[k, 1]] = k
    return places


def _steps_of_asking(columns: Columns, *others: Any) -> int:
    return 3 * columns.rows.size + 5000


@inner_kernel(_steps_of_asking)
def _ask(
    columns: Columns,
    u: int,
    v: int,
    table: Table,
    names: Keys,
    whitened: Whitened,
    threshold: float,
    scratch: Matrix,
    hashes: Keys,
) -> bool:
    """Count the table of two variables, add it to the hashes, and tell whether they are dependent."""
    count_pair(columns, u, v, table.reshape((columns.sizes[u], columns.sizes[v])))
    _hash_table(hashes, table, 0, columns.sizes, u, v, names, IN)
    return _depend(table, 0, columns.sizes, u, v, whitened, threshold, scratch)


@kernel
def search_groups(columns: Columns, names: Keys, whitened: Whitened, threshold: float, known: Search) -> Search:
    """Find the groups of variables that dependent pairs link.

    `names` are those of codes, see `name_codes`. `known` are pairs that need not be asked again: tables and answers as
    they are now.
    """
    sizes = columns.sizes
    n_variables = sizes.size
    groups = np.full(n_variables, -1)
    pairs = np.empty((n_variables * (n_variables - 1) // 2, 2), np.int64)
    dependent = np.empty(len(pairs), np.bool_)
    cells = np.empty(64, np.int32)
    waiting = np.empty(n_variables, np.int64)
    scratch = scratch_for(whitened.features.shape[2])
    places, starts = _places_of_known(known, n_variables), starts_of_tables(known.pairs, sizes)
    hashes, is_left_out = known.hashes.copy(), np.ones(len(known.pairs), np.bool_)
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
                    roomy = np.empty(2 * end, np.int32)
                    put(roomy, 0, cells[:start])
                    cells = roomy
                pairs[asked, 0], pairs[asked, 1] = u, v
                k = places[u, v]
                if k >= 0:
                    put(cells, start, known.cells[starts[k] : starts[k] + end - start])
                    dependent[asked] = known.dependent[k]
                    is_left_out[k] = False
                else:
                    table = cells[start:end]
                    dependent[asked] = _ask(columns, u, v, table, names, whitened, threshold, scratch, hashes)
                if dependent[asked]:
                    groups[other] = first
                    waiting[tail] = other
                    tail += 1
                asked += 1
    for k in places_of(is_left_out, True):
        _hash_table(hashes, known.cells, starts[k], sizes, known.pairs[k, 0], known.pairs[k, 1], names, OUT)
    return Search(groups, pairs[:asked].copy(), dependent[:asked].copy(), cells[:end].copy(), hashes)


@kernel
def starts_of_tables(pairs: Counts, sizes: Counts) -> Counts:
    """Return where the table of each pair starts."""
    starts = np.zeros(len(pairs), np.int64)
    for k in range(1, len(pairs)):
        starts[k] = starts[k - 1] + sizes[pairs[k - 1, 0]] * sizes[pairs[k - 1, 1]]
    return starts


@kernel
def pairs_with(pairs: Counts, n_variables: int) -> tuple[Counts, Counts]:
    """Return which pairs each variable belongs to, one variable after another, and where each one's start."""
    ends = np.zeros(n_variables + 1, np.int64)
    for k in range(len(pairs)):
        ends[pairs[k, 0] + 1] += 1
        ends[pairs[k, 1] + 1] += 1
    for i in range(n_variables):
        ends[i + 1] += ends[i]
    found, next_ones = np.empty(2 * len(pairs), np.int64), ends.copy()
    for k in range(len(pairs)):
        for i in pairs[k]:
            found[next_ones[i]] = k
            next_ones[i] += 1
    return found, ends


def _steps_of_shifting(search: Search, starts: Counts, sizes: Counts, names: Keys, codes: Counts, sign: int) -> int:
    return 7 * starts.size * len(codes)


@inner_kernel(_steps_of_shifting)
def shift_tables(search: Search, starts: Counts, sizes: Counts, names: Keys, codes: Counts, sign: int) -> None:
    """Count rows in, or out, by their codes, [row, variable]: one cell of each pair that was asked."""
    pairs, cells, hashes, factor = search.pairs, search.cells, search.hashes, unsigned(sign)
    for row in range(len(codes)):
        for k in range(len(pairs)):
            u, v = pairs[k, 0], pairs[k, 1]
            a, b = codes[row, u], codes[row, v]
            cells[starts[k] + a * sizes[v] + b] += sign
            value = factor * names[0, v, b]
            hashes[0] += value * names[0, u, a]
            hashes[1] += value * names[1, u, a]


@inlined
def _depend(
    cells: Table, start: int, sizes: Counts, u: int, v: int, whitened: Whitened, threshold: float, scratch: Matrix
) -> bool:
    """Tell whether two variables, whose table starts somewhere, are dependent."""
    if (
        whitened.occurring[u] == 2
        and whitened.occurring[v] == 2
        and whitened.widths[u] == 1
        and whitened.widths[v] == 1
    ):
        return binary_correlated(cells, start, sizes[v], u, v, whitened, threshold * abs(threshold))
    table = cells[start : start + sizes[u] * sizes[v]]
    if whitened.occurring[u] > whitened.occurring[v]:
        return correlated(table, (1, sizes[v]), v, u, whitened, threshold, scratch)
    return correlated(table, (sizes[v], 1), u, v, whitened, threshold, scratch)


def _steps_of_all(search: Search, *others: Any) -> int:
    return 3000 * len(search.pairs)


@inner_kernel(_steps_of_all)
def ask_again(search: Search, sizes: Counts, whitened: Whitened, threshold: float) -> npt.NDArray[np.bool_]:
    """Return the answers that all pairs that were asked give now: if they are the same, the search is the same."""
    scratch, answers = scratch_for(whitened.features.shape[2]), np.empty(len(search.pairs), np.bool_)
    start = 0
    for k in range(len(search.pairs)):
        u, v = search.pairs[k, 0], search.pairs[k, 1]
        answers[k] = _depend(search.cells, start, sizes, u, v, whitened, threshold, scratch)
        start += sizes[u] * sizes[v]
    return answers


@inner_kernel(per_element(1, 1))
def _hash_table(hashes: Keys, cells: Table, start: int, sizes: Counts, u: int, v: int, names: Keys, sign: int) -> None:
    """Add count·name·name of all cells of a pair's table, or take it away: the same whatever codes categories have."""
    factor = unsigned(sign)
    for a in range(sizes[u]):
        total = np.uint64(0)
        for b in range(sizes[v]):
            total += np.uint64(cells[start + b]) * names[0, v, b]
        hashes[0] += factor * names[0, u, a] * total
        hashes[1] += factor * names[1, u, a] * total
        start += sizes[v]


@inner_kernel(per_element(200, 0))
def name_codes(scope: Scope, sizes: Counts, is_numeric: npt.NDArray[np.bool_], prints: Keys) -> Keys:
    """Return two hashes for each code of each variable: of the level, or of the category's fingerprint."""
    names = np.zeros((2, scope.size, largest(sizes)), np.uint64)
    for i in range(scope.size):
        v = scope[i]
        for code in range(sizes[i]):
            names[0, i, code] = mix64(np.uint64(256 * v + code) if is_numeric[v] else prints[v, code])
            names[1, i, code] = mix64(names[0, i, code])
    return names

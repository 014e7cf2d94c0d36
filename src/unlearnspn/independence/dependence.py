"""What the randomized dependence coefficient says of a node's variables: learned from rows, and revised."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.arrays import equal, first_reaching, in_order, places_of, put
from unlearnspn.coding import Codes
from unlearnspn.compiling import IN, OUT, inner_kernel, kernel, late_kernel
from unlearnspn.hashing import Keys
from unlearnspn.independence.canonical_correlation import Whitened, whiten
from unlearnspn.independence.dependence_search import (
    Search,
    ask_again,
    name_codes,
    nothing_asked,
    pairs_with,
    search_groups,
    shift_tables,
    starts_of_tables,
)
from unlearnspn.independence.levels import Orders, Values, learn_orders, revise_levels
from unlearnspn.independence.pair_counts import Columns, count_columns, counted_columns, gather_codes, set_column
from unlearnspn.independence.random_features import Matrix
from unlearnspn.slices import Counts, Rows, Scope


class Terms(NamedTuple):
    """What the coefficient is asked of: the records, the variables of a node, and the settings."""

    codes: Codes
    values: Values
    #: In which column of `values` a numeric variable stands.
    place: Counts
    is_numeric: npt.NDArray[np.bool_]
    #: How many codes each variable can have.
    sizes: Counts
    prints: Keys
    scope: Scope
    n_levels: int
    #: Random features of levels, [variable, level, feature].
    sines: Matrix
    threshold: float


class Dependence(NamedTuple):
    """The search for groups, and what it takes to revise it."""

    search: Search
    #: How often each level or code occurs, [variable, code].
    counts: Counts
    orders: Orders


@kernel
def _sizes(terms: Terms) -> Counts:
    """Return how many values each variable of the scope can take, missing among them."""
    sizes = np.empty(terms.scope.size, np.int64)
    for i in range(terms.scope.size):
        v = terms.scope[i]
        sizes[i] = terms.n_levels + 1 if terms.is_numeric[v] else terms.sizes[v]
    return sizes


@kernel
def _numeric(terms: Terms) -> tuple[Counts, Counts]:
    """Return which variables of the scope are numeric, and in which columns their values stand."""
    numeric = places_of(terms.is_numeric[terms.scope], True)
    places = np.empty(numeric.size, np.int64)
    for column in range(numeric.size):
        places[column] = terms.place[terms.scope[numeric[column]]]
    return numeric, places


@kernel
def _whiten(terms: Terms, counts: Counts) -> Whitened:
    return whiten(counts, terms.scope, terms.is_numeric, terms.sines, terms.prints, terms.sines.shape[2])


@kernel
def _names(terms: Terms, sizes: Counts) -> Keys:
    return name_codes(terms.scope, sizes, terms.is_numeric, terms.prints)


def _steps_of_learning(terms: Terms, rows: Rows) -> int:
    """Return about how many steps the interpreter takes, apart from inner kernels: to go through the pairs."""
    return 200 + 10 * int(terms.scope.size) ** 2


@late_kernel(_steps_of_learning)
def learn_dependence(terms: Terms, rows: Rows) -> Dependence:
    """Search for groups of dependent variables."""
    numeric, places = _numeric(terms)
    rows, sizes = in_order(rows), _sizes(terms)
    codes = gather_codes(terms.codes, rows, terms.scope)
    orders = learn_orders(terms.values, rows, places, terms.n_levels, numeric, codes)
    columns = count_columns(terms.codes, rows, terms.scope, codes, sizes)
    whitened, known = _whiten(terms, columns.counts), nothing_asked()
    search = search_groups(columns, _names(terms, sizes), whitened, terms.threshold, known)
    return Dependence(search, columns.counts, orders)


@kernel
def _columns_now(terms: Terms, sizes: Counts, numeric: Counts, counts: Counts, orders: Orders) -> Columns:
    columns = counted_columns(terms.codes, orders.members, terms.scope, sizes, counts)
    for column in range(numeric.size):
        set_column(columns, numeric[column], orders.levels[column])
    return columns


@kernel
def _codes_of(terms: Terms, orders: Orders, rows: Rows) -> Counts:
    """Return the levels of rows' numeric variables and the codes of their categorical ones, [row, variable]."""
    codes = np.empty((rows.size, terms.scope.size), np.int64)
    for r in range(rows.size):
        place, number = first_reaching(orders.members, rows[r]), 0
        for i in range(terms.scope.size):
            v = terms.scope[i]
            if terms.is_numeric[v]:
                codes[r, i] = orders.levels[number, place]
                number += 1
            else:
                codes[r, i] = terms.codes[rows[r], v]
    return codes


@kernel
def _shift_counts(counts: Counts, codes: Counts, sign: int) -> None:
    for r in range(len(codes)):
        for i in range(codes.shape[1]):
            counts[i, codes[r, i]] += sign


def _steps_of_moves(terms: Terms, orders: Orders, moves: Counts, *others: Any) -> int:
    return 15 * len(moves) * int(terms.scope.size)


@inner_kernel(_steps_of_moves)
def _apply_moves(
    terms: Terms,
    orders: Orders,
    moves: Counts,
    numeric: Counts,
    sizes: Counts,
    starts: Counts,
    names: Keys,
    counts: Counts,
    search: Search,
) -> None:
    """Move rows to other levels, one variable at a time, in the tables that the variable has a part in.

    All in one loop: to call something for each move takes longer than the move.
    """
    pairs, cells, hashes, levels = search.pairs, search.cells, search.hashes, orders.levels
    concerned, ends = pairs_with(pairs, sizes.size)
    columns = np.full(sizes.size, -1)
    for column in range(numeric.size):
        columns[numeric[column]] = column
    for m in range(len(moves)):
        place, column, after = moves[m, 0], moves[m, 1], moves[m, 2]
        i, row, before = numeric[column], orders.members[place], np.int64(levels[column, place])
        for k in concerned[ends[i] : ends[i + 1]]:
            u, v = pairs[k, 0], pairs[k, 1]
            left = u == i
            other = v if left else u
            at = columns[other]
            code = np.int64(levels[at, place] if at >= 0 else terms.codes[row, terms.scope[other]])
            first, step = (starts[k] + code, sizes[v]) if left else (starts[k] + code * sizes[v], 1)
            cells[first + before * step] -= 1
            cells[first + after * step] += 1
            own = int(left)  # of the left variable the second names count, too
            hashes[0] += names[0, other, code] * (names[0, i, after] - names[0, i, before])
            hashes[1] += names[1 - own, other, code] * (names[own, i, after] - names[own, i, before])
        counts[i, before] -= 1
        counts[i, after] += 1
        levels[column, place] = after


def _steps_of_revising(known: Dependence, terms: Terms, minus: Rows, plus: Rows) -> int:
    """Return about how many steps it takes to go through the pairs, quantiles of all variables, and changed rows."""
    n_changed, width = minus.size + plus.size, int(terms.scope.size)
    return 5 * len(known.search.pairs) + (30 * n_changed + 5 * terms.n_levels) * width


@late_kernel(_steps_of_revising)
def revise_dependence(known: Dependence, terms: Terms, minus: Rows, plus: Rows) -> Dependence:
    """Move rows from cell to cell of each pair asked; if an answer is another one, ask what has not been asked yet."""
    sizes, (numeric, places), minus, plus = _sizes(terms), _numeric(terms), in_order(minus), in_order(plus)
    groups, pairs, dependent, cells, hashes = known.search
    own_cells, counts = np.empty(cells.size, np.int32), known.counts.copy()
    put(own_cells, 0, cells)
    search = Search(groups, pairs, dependent, own_cells, hashes.copy())
    starts, names = starts_of_tables(pairs, sizes), _names(terms, sizes)
    orders, moves = revise_levels(known.orders, terms.values, places, minus, plus, terms.n_levels)
    for rows, held_by, sign in ((minus, known.orders, OUT), (plus, orders, IN)):
        codes = _codes_of(terms, held_by, rows)
        _shift_counts(counts, codes, sign)
        shift_tables(search, starts, sizes, names, codes, sign)
    _apply_moves(terms, orders, moves, numeric, sizes, starts, names, counts, search)
    whitened = _whiten(terms, counts)
    answers = ask_again(search, sizes, whitened, terms.threshold)
    search = Search(groups, pairs, answers, search.cells, search.hashes)
    if not equal(answers, dependent):
        columns = _columns_now(terms, sizes, numeric, counts, orders)
        search = search_groups(columns, names, whitened, terms.threshold, search)
    return Dependence(search, counts, orders)

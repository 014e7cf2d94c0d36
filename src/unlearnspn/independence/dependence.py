"""What the randomized dependence coefficient says of a node's variables: learned from rows, and revised."""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
from cython.cimports.unlearnspn.independence.canonical_correlation import Whitened, whiten
from cython.cimports.unlearnspn.independence.dependence_search import ask_again, name_codes, starts_of_tables
from cython.cimports.unlearnspn.independence.level_change import LevelChange
from cython.cimports.unlearnspn.independence.variables import Variables
from cython.cimports.unlearnspn.rows.sorted_rows import place_of

from unlearnspn.hashing import Keys
from unlearnspn.independence.dependence_search import NOTHING_ASKED, Search, search_groups
from unlearnspn.independence.levels import Orders, learn_orders
from unlearnspn.independence.pair_counts import Columns, Table
from unlearnspn.rows.sorted_rows import in_order
from unlearnspn.slices import Counts, Rows


class Dependence(NamedTuple):
    """The search for groups, and what it takes to revise it.

    Ranks are among all rows of a node, so what is known of parts does not merge: it has to be learned in one place.
    """

    search: Search
    #: How often each level or code occurs, [variable, code].
    counts: Counts
    orders: Orders


def learn_dependence(variables: Variables, rows: Rows, threshold: float) -> Dependence:
    """Search for groups of dependent variables."""
    orders = learn_orders(variables, in_order(rows))
    counts = np.zeros((variables.scope.shape[0], variables.most_codes), np.int64)
    columns = Columns(variables, orders.members, orders.levels, counts)
    columns.count_codes()
    whitened: Whitened = whiten(variables, counts)
    search = search_groups(columns, name_codes(variables), whitened, threshold, NOTHING_ASKED)
    return Dependence(search, counts, orders)


def revise_dependence(known: Dependence, variables: Variables, minus: Rows, plus: Rows, threshold: float) -> Dependence:
    """Move rows from cell to cell of each pair asked; if an answer is another one, ask what has not been asked yet."""
    minus, plus = in_order(minus), in_order(plus)
    groups, pairs, dependent, cells, hashes = known.search
    cells, hashes, counts, names = cells.copy(), hashes.copy(), known.counts.copy(), name_codes(variables)
    change: LevelChange = LevelChange(variables, known.orders, minus, plus)
    orders = change.orders
    tables: _Tables = _Tables(variables, pairs, cells, hashes, names, counts)
    tables.revise(change)
    whitened: Whitened = whiten(variables, tables.counts)
    answers = ask_again(tables.pairs, tables.cells, variables.sizes, whitened, threshold)
    search = Search(groups, pairs, answers, cells, hashes)
    if answers.tobytes() != dependent.tobytes():
        columns = Columns(variables, orders.members, orders.levels, counts)
        search = search_groups(columns, names, whitened, threshold, search)
    return Dependence(search, counts, orders)


@cython.cclass
class _Tables:
    """The tables of the pairs that were asked, while rows are counted in and out, and moved to other levels."""

    variables: Variables
    pairs: cython.longlong[:, ::1]
    cells: cython.int[::1]
    hashes: cython.ulonglong[::1]
    names: cython.ulonglong[:, :, ::1]
    counts: cython.longlong[:, ::1]
    #: Where each pair's table starts.
    starts: cython.longlong[::1]
    #: Those of one row.
    codes: cython.longlong[::1]

    def __init__(
        self, variables: Variables, pairs: Counts, cells: Table, hashes: Keys, names: Keys, counts: Counts
    ) -> None:
        self.variables, self.pairs, self.cells, self.hashes = variables, pairs, cells, hashes
        self.names, self.counts = names, counts
        self.starts = starts_of_tables(self.pairs, variables.sizes)
        self.codes = np.empty(len(counts), np.int64)

    @cython.cfunc
    def revise(self, change: LevelChange) -> object:
        """Count rows out and in, and move those that stay to other levels."""
        firsts: cython.longlong[::1] = np.zeros(self.codes.shape[0] + 1, np.int64)
        concerned: cython.longlong[::1] = np.empty(2 * self.pairs.shape[0], np.int64)
        with cython.nogil:
            self._shift(change.minus, change.members, change.levels, -1)
            self._shift(change.plus, change.new_members, change.new_levels, 1)
            _write_pairs_with(self.pairs, concerned, firsts)
            self._move(change, concerned, firsts)
        return None

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _shift(
        self,
        rows: cython.longlong[::1],
        members: cython.longlong[::1],
        levels: cython.uchar[:, ::1],
        sign: cython.int,
    ) -> cython.void:
        """Count rows in, or out: one cell of each pair."""
        r: cython.Py_ssize_t
        for r in range(rows.shape[0]):
            self._read_codes(rows[r], levels, place_of(members, rows[r]))
            self._shift_row(sign)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _read_codes(
        self, row: cython.Py_ssize_t, levels: cython.uchar[:, ::1], place: cython.Py_ssize_t
    ) -> cython.void:
        """Write the levels of a row's numeric variables and the codes of its categorical ones."""
        i: cython.Py_ssize_t
        codes: cython.longlong[::1] = self.codes
        for i in range(codes.shape[0]):
            if self.variables.columns[i] >= 0:
                codes[i] = levels[self.variables.columns[i], place]
            else:
                codes[i] = self.variables.codes[row, self.variables.scope[i]]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _shift_row(self, sign: cython.int) -> cython.void:
        codes: cython.longlong[::1] = self.codes
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        u: cython.Py_ssize_t
        v: cython.Py_ssize_t
        value: cython.ulonglong
        first: cython.ulonglong = 0
        second: cython.ulonglong = 0
        pairs: cython.longlong[:, ::1] = self.pairs
        cells: cython.int[::1] = self.cells
        starts: cython.longlong[::1] = self.starts
        sizes: cython.longlong[::1] = self.variables.sizes
        names: cython.ulonglong[:, :, ::1] = self.names
        for i in range(codes.shape[0]):
            self.counts[i, codes[i]] += sign
        for k in range(pairs.shape[0]):
            u, v = pairs[k, 0], pairs[k, 1]
            cells[starts[k] + codes[u] * sizes[v] + codes[v]] += sign
            value = names[0, v, codes[v]]
            first += value * names[0, u, codes[u]]
            second += value * names[1, u, codes[u]]
        self.hashes[0] += cython.cast(cython.ulonglong, sign) * first
        self.hashes[1] += cython.cast(cython.ulonglong, sign) * second

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _move(self, change: LevelChange, concerned: cython.longlong[::1], firsts: cython.longlong[::1]) -> cython.void:
        """Move rows to other levels, one variable at a time, in the tables that the variable has a part in."""
        m: cython.Py_ssize_t
        for m in range(change.n_moves):
            self._move_row(
                change.new_members,
                change.new_levels,
                change.moves[m, 0],
                change.moves[m, 1],
                change.moves[m, 2],
                concerned,
                firsts,
            )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _move_row(
        self,
        members: cython.longlong[::1],
        levels: cython.uchar[:, ::1],
        place: cython.Py_ssize_t,
        column: cython.Py_ssize_t,
        after: cython.Py_ssize_t,
        concerned: cython.longlong[::1],
        firsts: cython.longlong[::1],
    ) -> cython.void:
        cells: cython.int[::1] = self.cells
        names: cython.ulonglong[:, :, ::1] = self.names
        i: cython.Py_ssize_t = self.variables.numeric[column]
        row: cython.Py_ssize_t = members[place]
        before: cython.Py_ssize_t = levels[column, place]
        at: cython.Py_ssize_t
        k: cython.Py_ssize_t
        other: cython.Py_ssize_t
        code: cython.Py_ssize_t
        first: cython.Py_ssize_t
        step: cython.Py_ssize_t
        is_left: cython.bint
        for at in range(firsts[i], firsts[i + 1]):
            k = concerned[at]
            is_left = self.pairs[k, 0] == i
            other = self.pairs[k, 1] if is_left else self.pairs[k, 0]
            if self.variables.columns[other] >= 0:
                code = levels[self.variables.columns[other], place]
            else:
                code = self.variables.codes[row, self.variables.scope[other]]
            step = self.variables.sizes[other] if is_left else 1
            first = self.starts[k] + (code if is_left else code * self.variables.sizes[i])
            cells[first + before * step] -= 1
            cells[first + after * step] += 1
            # Of the left variable the second names count, too.
            self.hashes[0] += names[0, other, code] * (names[0, i, after] - names[0, i, before])
            if is_left:
                self.hashes[1] += names[0, other, code] * (names[1, i, after] - names[1, i, before])
            else:
                self.hashes[1] += names[1, other, code] * (names[0, i, after] - names[0, i, before])
        self.counts[i, before] -= 1
        self.counts[i, after] += 1
        levels[column, place] = after


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write_pairs_with(
    pairs: cython.longlong[:, ::1], found: cython.longlong[::1], starts: cython.longlong[::1]
) -> cython.void:
    """Write which pairs each variable belongs to, one variable after another, and where each one's start."""
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    side: cython.Py_ssize_t
    for k in range(pairs.shape[0]):
        starts[pairs[k, 0]] += 1
        starts[pairs[k, 1]] += 1
    for i in range(1, starts.shape[0]):
        starts[i] += starts[i - 1]
    # These are ends: each pair is written before the last one that was, until they are starts.
    for k in range(pairs.shape[0] - 1, -1, -1):
        for side in range(2):
            i = pairs[k, side]
            starts[i] -= 1
            found[starts[i]] = k

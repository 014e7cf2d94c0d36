"""The search for groups of dependent variables, asking for no more pairs than the answer needs.

It is breadth-first: the first variable asks all others, those that depend on it join its group and ask the ones that
are left, and so on; then the next group starts. So a group of many variables takes little more than one question for
each, and the pairs that one variable asks follow each other.
"""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.string import memcpy, memmove, memset
from cython.cimports.unlearnspn.prefetching import ROWS_AHEAD, prefetch
from cython.cimports.unlearnspn.rows.array_data import data_of
from cython.cimports.unlearnspn.rows.coded import CodedRows
from cython.cimports.unlearnspn.statistics.asked_pair import (
    WORDS_OF_PAIR,
    PairPointer,
    is_dependent,
    pair_at,
    set_association,
)
from cython.cimports.unlearnspn.statistics.g_test import Association, Logs, g_statistic
from cython.cimports.unlearnspn.statistics.logs import tabulated_logs

Words = npt.NDArray[np.int64]

_NO_CELLS = np.empty(0, np.int64)
#: So many cells, of eight bytes each, fit into the cache of a core beside the codes of the rows.
_CELLS_AT_A_TIME = cython.declare(cython.longlong, 1 << 15)


@cython.final
@cython.cclass
class Hub:
    """A variable that asks others, and its tables with these, one after another."""

    def __init__(self, coded: CodedRows, rows: cython.longlong[::1], most_others: cython.Py_ssize_t) -> None:
        self.coded = coded
        self.rows = rows
        self._layout = np.empty(3 * (most_others + 1), np.int64)
        self.others = cython.address(self._layout[0])
        self.starts = self.others + most_others + 1
        self.widths = self.starts + most_others + 1
        self.cells = self._layout[:0]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def begin(self, variable: cython.Py_ssize_t) -> cython.void:
        """Choose the variable that asks; it asks nobody yet."""
        self.variable = variable
        self.n_codes = self.coded.sizes[variable]
        self.n_others = 0
        self.starts[0] = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add(self, other: cython.Py_ssize_t) -> cython.void:
        """Have it ask another one."""
        k: cython.Py_ssize_t = self.n_others
        self.others[k] = other
        self.widths[k] = self.coded.sizes[other]
        self.starts[k + 1] = self.starts[k] + self.n_codes * self.widths[k]
        self.n_others = k + 1

    @cython.cfunc
    def count(self) -> cython.void:
        """Count the tables."""
        n_cells: cython.Py_ssize_t = self.starts[self.n_others]
        if self.n_others == 0:
            return
        if self.cells.shape[0] < n_cells:
            self.cells = np.empty(n_cells, np.int64)
        with cython.nogil:
            memset(cython.address(self.cells[0]), 0, n_cells * cython.sizeof(cython.longlong))
            self._count_rows()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _count_rows(self) -> cython.void:
        """Count some tables after others, so that those which are being counted stay in the processor's cache."""
        start: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t
        while start < self.n_others:
            end = start + 1
            while end < self.n_others and self.starts[end + 1] - self.starts[start] <= _CELLS_AT_A_TIME:
                end += 1
            self._count_tables(start, end)
            start = end

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _count_tables(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        row: cython.Py_ssize_t
        code: cython.Py_ssize_t
        variable: cython.Py_ssize_t = self.variable
        first: cython.Py_ssize_t = self.others[start]
        codes: cython.uchar[:, ::1] = self.coded.codes
        rows: cython.longlong[::1] = self.rows
        others: cython.p_longlong = self.others
        starts: cython.p_longlong = self.starts
        widths: cython.p_longlong = self.widths
        cells: cython.longlong[::1] = self.cells
        for i in range(rows.shape[0]):
            if i + ROWS_AHEAD < rows.shape[0]:
                prefetch(cython.address(codes[rows[i + ROWS_AHEAD], first]))
            row = rows[i]
            code = codes[row, variable]
            for k in range(start, end):
                cells[starts[k] + code * widths[k] + codes[row, others[k]]] += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def associate(self, k: cython.Py_ssize_t, logs: Logs) -> Association:
        """Associate the variable with one of the others, by their table."""
        return g_statistic(cython.address(self.cells[self.starts[k]]), self.n_codes, self.widths[k], logs)


@cython.final
@cython.cclass
class _Search:
    """A search that is under way."""

    coded: CodedRows
    scope: cython.longlong[::1]
    width: cython.Py_ssize_t
    cut: cython.double
    with_tables: cython.bint
    logs: Logs
    hub: Hub
    scratch: Words
    #: The variables that are in no group yet, in order, and those of a group in the order in which they ask.
    waiting: cython.p_longlong
    n_waiting: cython.Py_ssize_t
    queue: cython.p_longlong
    queued: cython.Py_ssize_t
    #: What is known already. The pairs that one variable asked follow each other, by the other variable; here is, by
    #: variable, where they start, where they end, and where their tables start.
    known: cython.p_longlong
    known_cells: cython.p_longlong
    starts: cython.p_longlong
    ends: cython.p_longlong
    table_starts: cython.p_longlong
    #: For each variable that is asked, where the pair is known, and where its table is; -1 if it is not known.
    places: cython.p_longlong
    tables: cython.p_longlong
    #: What was found so far.
    pairs: Words
    pairs_found: cython.p_longlong
    n_pairs: cython.Py_ssize_t
    cells: Words
    cells_found: cython.p_longlong
    n_cells: cython.Py_ssize_t

    def __init__(
        self,
        coded: CodedRows,
        rows: cython.longlong[::1],
        scope: cython.longlong[::1],
        cut: cython.double,
        with_tables: cython.bint,
    ) -> None:
        width: cython.Py_ssize_t = scope.shape[0]
        i: cython.Py_ssize_t
        self.coded = coded
        self.scope = scope
        self.width = width
        self.cut = cut
        self.with_tables = with_tables
        self.logs = tabulated_logs()
        self.hub = Hub(coded, rows, width)
        self.scratch = np.zeros(7 * width + 1, np.int64)
        self.waiting = data_of(self.scratch)
        self.queue = self.waiting + width
        self.starts = self.queue + width
        self.ends = self.starts + width
        self.table_starts = self.ends + width
        self.places = self.table_starts + width
        self.tables = self.places + width
        self.n_waiting = width
        for i in range(width):
            self.waiting[i] = i
        self.pairs = np.empty(WORDS_OF_PAIR * 2 * width, np.int64)
        self.pairs_found = data_of(self.pairs)
        self.n_pairs = 0
        self.cells = _NO_CELLS
        self.cells_found = data_of(self.cells)
        self.n_cells = 0

    @cython.cfunc
    def learn_known(self, pairs: Words, cells: Words) -> cython.void:
        """Note where things are in an earlier answer."""
        k: cython.Py_ssize_t
        pair: PairPointer
        start: cython.longlong = 0
        self.known = data_of(pairs)
        self.known_cells = data_of(cells)
        for k in range(pairs.size // WORDS_OF_PAIR):
            pair = pair_at(self.known, k)
            if self.ends[pair.hub] == 0:
                self.starts[pair.hub] = k
                self.table_starts[pair.hub] = start
            self.ends[pair.hub] = k + 1
            start += self.table_size(pair.hub, pair.other)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def table_size(self, hub: cython.Py_ssize_t, other: cython.Py_ssize_t) -> cython.longlong:
        return self.coded.sizes[self.scope[hub]] * self.coded.sizes[self.scope[other]]

    @cython.cfunc
    def run(self) -> cython.void:
        asking: cython.Py_ssize_t
        while self.n_waiting:
            self.queue[0] = self.waiting[0]
            self.queued = 1
            self.n_waiting -= 1
            memmove(self.waiting, self.waiting + 1, self.n_waiting * cython.sizeof(cython.longlong))
            asking = 0
            while asking < self.queued and self.n_waiting:
                self.ask_all(self.queue[asking])
                asking += 1

    @cython.cfunc
    def ask_all(self, hub: cython.Py_ssize_t) -> cython.void:
        """Have a variable ask all that are in no group yet."""
        i: cython.Py_ssize_t
        n_cells: cython.Py_ssize_t = 0
        self.find_known(hub)
        self.hub.begin(self.scope[hub])
        for i in range(self.n_waiting):
            n_cells += self.table_size(hub, self.waiting[i])
            if self.places[i] < 0:
                self.hub.add(self.scope[self.waiting[i]])
        self.make_room(self.n_waiting, n_cells if self.with_tables else 0)
        self.hub.count()
        with cython.nogil:
            self.take_answers(hub)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def find_known(self, hub: cython.Py_ssize_t) -> cython.void:
        """Find what is known of a variable's pairs with those that are in no group yet; both are in order."""
        i: cython.Py_ssize_t
        place: cython.longlong = self.starts[hub]
        table: cython.longlong = self.table_starts[hub]
        for i in range(self.n_waiting):
            while place < self.ends[hub] and pair_at(self.known, place).other < self.waiting[i]:
                table += self.table_size(hub, pair_at(self.known, place).other)
                place += 1
            self.tables[i] = table
            if place < self.ends[hub] and pair_at(self.known, place).other == self.waiting[i]:
                self.places[i] = place
            else:
                self.places[i] = -1

    @cython.cfunc
    def make_room(self, n_pairs: cython.Py_ssize_t, n_cells: cython.Py_ssize_t) -> cython.void:
        if WORDS_OF_PAIR * (self.n_pairs + n_pairs) > self.pairs.size:
            self.pairs = _grown(self.pairs, WORDS_OF_PAIR * self.n_pairs, WORDS_OF_PAIR * n_pairs)
            self.pairs_found = data_of(self.pairs)
        if self.n_cells + n_cells > self.cells.size:
            self.cells = _grown(self.cells, self.n_cells, n_cells)
            self.cells_found = data_of(self.cells)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def take_answers(self, hub: cython.Py_ssize_t) -> cython.void:
        """Write down what is known of a variable's pairs with others; those that depend on it join its group."""
        i: cython.Py_ssize_t
        other: cython.Py_ssize_t
        pair: PairPointer
        n_counted: cython.Py_ssize_t = 0
        n_left: cython.Py_ssize_t = 0
        for i in range(self.n_waiting):
            other = self.waiting[i]
            pair = pair_at(self.pairs_found, self.n_pairs)
            if self.places[i] >= 0:
                pair[0] = pair_at(self.known, self.places[i])[0]
                if self.with_tables:
                    self.keep_table(self.known_cells + self.tables[i], hub, other)
            else:
                pair.hub, pair.other = hub, other
                set_association(pair, self.hub.associate(n_counted, self.logs))
                if self.with_tables:
                    self.keep_table(cython.address(self.hub.cells[self.hub.starts[n_counted]]), hub, other)
                n_counted += 1
            pair.depends = is_dependent(pair.half_g, pair.freedom, self.cut)
            self.n_pairs += 1
            if pair.depends:
                self.queue[self.queued] = other
                self.queued += 1
            else:
                self.waiting[n_left] = other
                n_left += 1
        self.n_waiting = n_left

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def keep_table(self, table: cython.p_longlong, hub: cython.Py_ssize_t, other: cython.Py_ssize_t) -> cython.void:
        size: cython.Py_ssize_t = self.table_size(hub, other)
        memcpy(cython.address(self.cells_found[self.n_cells]), table, size * cython.sizeof(cython.longlong))
        self.n_cells += size


def count_hub(
    coded: CodedRows, rows: cython.longlong[::1], variable: cython.Py_ssize_t, others: cython.longlong[::1]
) -> Words:
    """Count the tables of a variable with others, one after another."""
    k: cython.Py_ssize_t
    hub: Hub = Hub(coded, rows, others.shape[0])
    hub.begin(variable)
    for k in range(others.shape[0]):
        hub.add(others[k])
    hub.count()
    return np.asarray(hub.cells)


def _grown(words: Words, used: int, more: int) -> Words:
    """Return the words in use with room for more, at least twice as large."""
    grown = np.empty(max(2 * words.size, used + more), np.int64)
    grown[:used] = words[:used]
    return grown


def search(
    coded: CodedRows,
    rows: cython.longlong[::1],
    scope: cython.longlong[::1],
    cut: cython.double,
    with_tables: cython.bint,
    known: tuple[Words, Words] | None,
) -> tuple[Words, Words]:
    """Search for the groups of some variables: return the pairs asked, and their tables one after another if wanted.

    `known` are the pairs of an earlier answer, brought up to date, and their tables if it has any: if these suffice,
    they are not counted again.
    """
    search: _Search = _Search(coded, rows, scope, cut, with_tables)
    if known is not None and (known[1].size or not with_tables):
        search.learn_known(known[0], known[1])
    search.run()
    return search.pairs[: WORDS_OF_PAIR * search.n_pairs].copy(), search.cells[: search.n_cells].copy()

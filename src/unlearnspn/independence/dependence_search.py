"""The search for groups of dependent variables, which asks about few pairs, and what is kept of it.

Breadth first: the variables that are in no group yet are asked against each variable of the group that grows. So no
pair is asked whose variables are joined already, and which pairs are asked is a function of the answers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cython
import numpy as np
from cython.cimports.unlearnspn.independence.canonical_correlation import Whitened, are_correlated
from cython.cimports.unlearnspn.independence.pair_counts import Columns
from cython.cimports.unlearnspn.independence.variables import Variables
from cython.cimports.unlearnspn.mixing import mix64

from unlearnspn.hashing import Keys
from unlearnspn.independence.pair_counts import Table
from unlearnspn.slices import Counts, Flags


class Search(NamedTuple):
    """The groups, and the pairs that were asked, in their order, with the answers."""

    groups: Counts
    #: [pair, 2], places in the scope.
    pairs: Counts
    dependent: Flags
    #: The pairs' tables, one after another.
    cells: Table
    #: Of the tables, see `_hash_table`.
    hashes: Keys


#: What is known if nothing was asked yet.
NOTHING_ASKED = Search(
    np.zeros(0, np.int64),
    np.zeros((0, 2), np.int64),
    np.zeros(0, np.bool_),
    np.zeros(0, np.int32),
    np.zeros(2, np.uint64),
)


def search_groups(columns: Columns, names: Keys, whitened: Whitened, threshold: float, known: Search) -> Search:
    """Find the groups of variables that dependent pairs link.

    `names` are those of codes, see `name_codes`. `known` are pairs that need not be asked again: tables and answers as
    they are now.
    """
    questions: _Questions = _Questions(columns, names, whitened, threshold, known)
    n_variables: cython.Py_ssize_t = columns.variables.scope.shape[0]
    group_of = np.full(n_variables, -1)
    groups: cython.longlong[::1] = group_of
    waiting: cython.longlong[::1] = np.empty(n_variables, np.int64)
    first: cython.Py_ssize_t
    other: cython.Py_ssize_t
    hub: cython.Py_ssize_t
    head: cython.Py_ssize_t
    tail: cython.Py_ssize_t
    with cython.nogil:
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
                    if groups[other] < 0 and questions.ask(min(hub, other), max(hub, other)):
                        groups[other] = first
                        waiting[tail] = other
                        tail += 1
    found: Search = questions.answered(group_of)
    return found


@cython.cclass
class _Questions:
    """The pairs that a search has asked so far, and what was known before it."""

    columns: Columns
    names: cython.ulonglong[:, :, ::1]
    whitened: Whitened
    threshold: cython.double
    sizes: cython.longlong[::1]
    #: The pairs asked, their answers and tables, and where the last table ends.
    pairs: cython.longlong[:, ::1]
    dependent: cython.uchar[::1]
    cells: cython.int[::1]
    n_asked: cython.Py_ssize_t
    end: cython.Py_ssize_t
    hashes: cython.ulonglong[::1]
    #: The same as arrays.
    all_pairs: Any
    all_answers: Any
    all_cells: Any
    new_hashes: Any
    #: What was known, where its tables start, which of it each pair of variables is (or -1), and what was not asked.
    known_pairs: cython.longlong[:, ::1]
    known_answers: cython.uchar[::1]
    known_cells: cython.int[::1]
    starts: cython.longlong[::1]
    known: cython.longlong[:, ::1]
    is_left_out: cython.uchar[::1]

    def __init__(self, columns: Columns, names: Keys, whitened: Whitened, threshold: float, known: Search) -> None:
        n_variables: cython.Py_ssize_t = columns.variables.scope.shape[0]
        n_pairs = n_variables * (n_variables - 1) // 2
        self.columns, self.names, self.whitened, self.threshold = columns, names, whitened, threshold
        self.sizes = columns.variables.sizes
        self.all_pairs = np.empty((n_pairs, 2), np.int64)
        self.all_answers = np.empty(n_pairs, np.uint8)
        self.all_cells = np.empty(4096, np.int32)
        self.new_hashes = known.hashes.copy()
        self.pairs, self.dependent = self.all_pairs, self.all_answers
        self.cells, self.hashes = self.all_cells, self.new_hashes
        self.n_asked, self.end = 0, 0
        self.known_pairs, self.known_cells = known.pairs, known.cells
        self.known_answers = known.dependent.view(np.uint8)
        self.starts = starts_of_tables(self.known_pairs, self.sizes)
        self.known = np.full((n_variables, n_variables), -1)
        self.is_left_out = np.ones(self.known_pairs.shape[0], np.uint8)
        k: cython.Py_ssize_t
        for k in range(self.known_pairs.shape[0]):
            self.known[self.known_pairs[k, 0], self.known_pairs[k, 1]] = k

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def ask(self, u: cython.Py_ssize_t, v: cython.Py_ssize_t) -> cython.int:
        """Tell whether two variables are dependent, unless that is known by counting their table, and keep it."""
        k: cython.Py_ssize_t = self.known[u, v]
        start: cython.Py_ssize_t = self.end
        n_cells: cython.Py_ssize_t = self.sizes[u] * self.sizes[v]
        answer: cython.bint
        i: cython.Py_ssize_t
        if start + n_cells > self.cells.shape[0]:
            with cython.gil:
                self._make_room(n_cells)
        if k >= 0:
            for i in range(n_cells):
                self.cells[start + i] = self.known_cells[self.starts[k] + i]
            answer = self.known_answers[k]
            self.is_left_out[k] = False
        else:
            self.columns.write_pair(u, v, self.cells, start)
            _hash_table(self.hashes, self.cells, start, self.sizes, u, v, self.names, 1)
            answer = are_correlated(self.whitened, self.cells, start, self.sizes[v], u, v, self.threshold)
        self.pairs[self.n_asked, 0], self.pairs[self.n_asked, 1] = u, v
        self.dependent[self.n_asked] = answer
        self.n_asked += 1
        self.end += n_cells
        return answer

    @cython.cfunc
    def _make_room(self, n_cells: cython.Py_ssize_t) -> object:
        roomy = np.empty(2 * (self.end + n_cells), np.int32)
        roomy[: self.end] = self.all_cells[: self.end]
        self.all_cells = self.cells = roomy
        return None

    def answered(self, groups: Counts) -> Search:
        """Return the groups with the pairs that were asked; hashes without what was known, but not asked."""
        k: cython.Py_ssize_t
        for k in range(self.is_left_out.shape[0]):
            if self.is_left_out[k]:
                u, v = self.known_pairs[k, 0], self.known_pairs[k, 1]
                _hash_table(self.hashes, self.known_cells, self.starts[k], self.sizes, u, v, self.names, -1)
        return Search(
            groups,
            self.all_pairs[: self.n_asked].copy(),
            self.all_answers[: self.n_asked].copy().view(np.bool_),
            self.all_cells[: self.end].copy(),
            self.new_hashes,
        )


@cython.ccall
def starts_of_tables(pairs: cython.longlong[:, ::1], sizes: cython.longlong[::1]) -> Counts:
    """Return where the table of each pair starts."""
    starts = np.empty(pairs.shape[0], np.int64)
    own: cython.longlong[::1] = starts
    k: cython.Py_ssize_t
    start: cython.longlong = 0
    for k in range(pairs.shape[0]):
        own[k] = start
        start += sizes[pairs[k, 0]] * sizes[pairs[k, 1]]
    return starts


@cython.ccall
def ask_again(
    pairs: cython.longlong[:, ::1],
    cells: cython.int[::1],
    sizes: cython.longlong[::1],
    whitened: Whitened,
    threshold: cython.double,
) -> Flags:
    """Return the answers that all pairs that were asked give now: if they are the same, the search is the same."""
    answers = np.empty(pairs.shape[0], np.bool_)
    own: cython.uchar[::1] = answers.view(np.uint8)
    k: cython.Py_ssize_t
    u: cython.Py_ssize_t
    v: cython.Py_ssize_t
    start: cython.Py_ssize_t = 0
    with cython.nogil:
        for k in range(pairs.shape[0]):
            u, v = pairs[k, 0], pairs[k, 1]
            own[k] = are_correlated(whitened, cells, start, sizes[v], u, v, threshold)
            start += sizes[u] * sizes[v]
    return answers


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hash_table(
    hashes: cython.ulonglong[::1],
    cells: cython.int[::1],
    start: cython.Py_ssize_t,
    sizes: cython.longlong[::1],
    u: cython.Py_ssize_t,
    v: cython.Py_ssize_t,
    names: cython.ulonglong[:, :, ::1],
    sign: cython.longlong,
) -> cython.void:
    """Add count·name·name of all cells of a pair's table, or take it away: the same whatever codes categories have."""
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    total: cython.ulonglong
    factor: cython.ulonglong = cython.cast(cython.ulonglong, sign)
    for a in range(sizes[u]):
        total = 0
        for b in range(sizes[v]):
            total += cython.cast(cython.ulonglong, cells[start + b]) * names[0, v, b]
        hashes[0] += factor * names[0, u, a] * total
        hashes[1] += factor * names[1, u, a] * total
        start += sizes[v]


@cython.ccall
def name_codes(variables: Variables) -> Keys:
    """Return two hashes for each code of each variable: of the level, or of the category's fingerprint."""
    names = np.zeros((2, variables.scope.shape[0], variables.most_codes), np.uint64)
    own: cython.ulonglong[:, :, ::1] = names
    i: cython.Py_ssize_t
    v: cython.Py_ssize_t
    code: cython.Py_ssize_t
    for i in range(variables.scope.shape[0]):
        v = variables.scope[i]
        for code in range(variables.sizes[i]):
            if variables.columns[i] >= 0:
                own[0, i, code] = mix64(256 * v + code)
            else:
                own[0, i, code] = mix64(variables.prints[v, code])
            own[1, i, code] = mix64(own[0, i, code])
    return names

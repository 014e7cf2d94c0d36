"""Which ancestors the variables of a tree depend on, and the contexts that records have of them.

In a Chow-Liu tree a variable depends on its parent. Here a category may depend on further ancestors: on its parent, the
parent's parent and so on, if these are categories, too. A *context* of a variable is a value of its own with values of
its nearest ancestors, which some record has; its length is the number of these values. What follows a variable depends
on its context, as far as there is one: the longest that some record has.

A category starts at its parent in the tree. Ancestors are added one at a time: the next one above those that it depends
on, or a sibling, which becomes its parent. The one wins with which the log-likelihood grows most, after a penalty for
each degree of freedom; without any growth the search ends.
"""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.string import memset
from cython.cimports.unlearnspn.const_types import const_int64, const_uint8
from cython.cimports.unlearnspn.statistics.g_test import degrees_of_freedom, log_of
from cython.cimports.unlearnspn.statistics.logs import tabulated_logs

from unlearnspn.slices import Counts, Flags

Codes = npt.NDArray[np.uint8]

#: No more contexts of one variable and length are told apart, so that their tables stay small.
_MOST_CONTEXTS = cython.declare(cython.Py_ssize_t, 128)
#: So many siblings are tried, those that tell most of the variable by themselves.
_MOST_SIBLINGS = cython.declare(cython.Py_ssize_t, 8)
#: What `sizes` says of contexts that were not listed yet, and of those that there are none of, or too many.
_NOT_LISTED = cython.declare(cython.longlong, -1)
_NONE = cython.declare(cython.longlong, 0)
#: One more than the number of contexts, as 0 stands for none.
_ROOM = cython.declare(cython.Py_ssize_t, 256)
#: How many fractional bits log-likelihoods have; nothing grows by as much as the largest penalty.
_FRACTION, _MOST_PENALTY = 24, 2.0**50


def find_contexts(
    codes: Codes,
    starts: Counts,
    outcomes: Counts,
    is_numeric: Flags,
    parents: Counts,
    joined: Counts,
    gains: Counts,
    order: int,
    penalty: float,
) -> Contexts:
    """Find out which ancestors each variable of a tree depends on.

    `codes` are those of the records, [variable, record]; `outcomes` the codes of each variable's outcomes, which start
    at `starts`; `parents`, `joined` and `gains` the tree, the order in which it grew, and what variables tell of each
    other.
    """
    contexts: Contexts = Contexts(codes, outcomes.size, is_numeric, parents, order, penalty)
    contexts.search(codes, starts, outcomes, joined, gains)
    return contexts


@cython.final
@cython.cclass
class Contexts:
    """The tree that the search has led to, with the contexts of its variables."""

    def __init__(
        self, codes: Codes, n_outcomes: int, is_numeric: Flags, parents: Counts, order: int, penalty: float
    ) -> None:
        n_variables, n_records = codes.shape
        self.order, self.n_records = order, n_records
        self.counts, self.parents = np.zeros(n_outcomes, np.int64), parents.copy()
        self.lengths, self.kept = np.where(parents < 0, 0, 1), np.ones(n_variables, np.int64)
        self.sizes = np.full((n_variables, order + 1), _NOT_LISTED)
        self.ids = np.empty((n_variables, order + 1, n_records), np.uint8)
        self.owns, self.tails, self.prefixes = np.zeros((3, n_variables, order + 1, _ROOM), np.uint8)
        self.is_numeric = is_numeric.view(np.uint8)
        self.marks, self.cells = np.empty(_ROOM * _ROOM, np.uint8), np.empty(_ROOM * _ROOM, np.int64)
        self.columns, self.filled = np.empty(_ROOM * _ROOM, np.int64), np.empty(_ROOM, np.int64)
        self.siblings = np.empty(_MOST_SIBLINGS, np.int64)
        self.logs = tabulated_logs()
        self.penalty = int(min(penalty * (1 << _FRACTION) + 0.5, _MOST_PENALTY))

    def ancestors(self, v: int) -> list[int]:
        """Return the ancestors that a variable depends on, the nearest first."""
        found: list[int] = []
        for _ in range(self.lengths[v]):
            v = self.parents[v]
            found.append(v)
        return found

    def states(self, v: int) -> list[tuple[int, ...]]:
        """Return the contexts that are states of a variable, in order: ranks of values among those that records have.

        The variable's own comes first, then its parent's and so on.
        """
        lengths = range(1, self.kept[v] + 1)
        return [self._ranks(v, length, k) for length in lengths for k in range(1, self.sizes[v, length] + 1)]

    def _ranks(self, v: int, length: int, context: int) -> tuple[int, ...]:
        own = self.owns[v, length, context] - 1
        if length == 1:
            return (own,)
        return own, *self._ranks(self.parents[v], length - 1, self.tails[v, length, context])

    @cython.cfunc
    def search(
        self,
        codes: const_uint8[:, ::1],
        starts: const_int64[::1],
        outcomes: const_int64[::1],
        joined: const_int64[::1],
        gains: const_int64[:, ::1],
    ) -> cython.void:
        """Find out what each variable depends on, parents before children; then how long contexts matter to others."""
        rank: cython.Py_ssize_t
        v: cython.Py_ssize_t
        parent: cython.Py_ssize_t
        with cython.nogil:
            for v in range(codes.shape[0]):
                self.number_values(v, codes[v], starts[v], starts[v + 1], outcomes)
            for rank in range(1, joined.shape[0]):
                self.depend(joined[rank], joined, rank, gains)
            for rank in range(joined.shape[0] - 1, 0, -1):
                v = joined[rank]
                parent = self.parents[v]
                self.kept[parent] = max(self.kept[parent], self.lengths[v], self.kept[v] - 1)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def number_values(
        self,
        v: cython.Py_ssize_t,
        codes: const_uint8[::1],
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        outcomes: const_int64[::1],
    ) -> cython.void:
        """Count each outcome, and list the contexts of length one: the outcomes that some record has, in order."""
        n: cython.Py_ssize_t = 0
        k: cython.Py_ssize_t
        r: cython.Py_ssize_t
        memset(cython.address(self.cells[0]), 0, 8 * _ROOM)
        for r in range(codes.shape[0]):
            self.cells[codes[r]] += 1
        self.cells[0] = self.marks[0] = 0
        for k in range(start, end):
            self.counts[k] = self.cells[outcomes[k]]
            if self.counts[k]:
                n += 1
                self.marks[outcomes[k]] = self.owns[v, 1, n] = cython.cast(cython.uchar, n)
        self.sizes[v, 1] = n
        for r in range(codes.shape[0]):
            self.ids[v, 1, r] = self.marks[codes[r]]

    # -- what a variable depends on ------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def depend(
        self,
        v: cython.Py_ssize_t,
        joined: const_int64[::1],
        rank: cython.Py_ssize_t,
        gains: const_int64[:, ::1],
    ) -> cython.void:
        """Let a variable depend on one ancestor more as long as that pays."""
        k: cython.Py_ssize_t
        best: cython.Py_ssize_t
        score: cython.longlong
        best_score: cython.longlong
        if self.is_numeric[v]:
            return
        while self.lengths[v] < self.order:
            best, best_score = -1, 0
            score = self.score(v, self.parents[v])
            if score > best_score:
                best, best_score = self.parents[v], score
            for k in range(self.list_siblings(v, joined, rank, gains[v])):
                score = self.score(v, self.siblings[k])
                if score > best_score:
                    best, best_score = self.siblings[k], score
            if best < 0:
                return
            self.parents[v] = best
            self.lengths[v] += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def list_siblings(
        self, v: cython.Py_ssize_t, joined: const_int64[::1], rank: cython.Py_ssize_t, gains: const_int64[::1]
    ) -> cython.Py_ssize_t:
        """List the siblings that tell most of a variable, best first, of equals those that joined first."""
        n: cython.Py_ssize_t = 0
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        sibling: cython.Py_ssize_t
        for i in range(1, rank):
            sibling = joined[i]
            if self.parents[sibling] != self.parents[v]:
                continue
            k = n
            while k > 0 and gains[sibling] > gains[self.siblings[k - 1]]:
                if k < _MOST_SIBLINGS:
                    self.siblings[k] = self.siblings[k - 1]
                k -= 1
            if k < _MOST_SIBLINGS:
                self.siblings[k] = sibling
                n = min(n + 1, _MOST_SIBLINGS)
        return n

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def score(self, v: cython.Py_ssize_t, candidate: cython.Py_ssize_t) -> cython.longlong:
        """Return by how much the log-likelihood grows, less the penalty, if a variable depends on one ancestor more.

        Its parent is the candidate then: the parent that it has, or a sibling. The growth is that of G/2 given what it
        depends on already, among the records that have all of it.
        """
        length: cython.Py_ssize_t = self.lengths[v]
        width: cython.Py_ssize_t = self.sizes[v, 1] + 1
        is_parent: cython.bint = candidate == self.parents[v]
        context: cython.Py_ssize_t
        given: cython.Py_ssize_t
        b: cython.Py_ssize_t
        growth: cython.longlong = 0
        in_row: cython.longlong
        n_columns: cython.longlong
        total: cython.longlong
        count: cython.longlong
        if self.is_numeric[candidate] or not self.extend(candidate, length + 1):
            return 0
        n_given: cython.Py_ssize_t = self.sizes[self.parents[v], length]
        self.count(v, candidate, length + 1)
        memset(cython.address(self.columns[0]), 0, 8 * (n_given + 1) * width)
        memset(cython.address(self.filled[0]), 0, 8 * (n_given + 1))
        for context in range(1, self.sizes[candidate, length + 1] + 1):
            if is_parent:
                given = self.prefixes[candidate, length + 1, context]
            else:
                given = self.tails[candidate, length + 1, context]
            in_row = 0
            for b in range(1, width):
                count = self.cells[context * width + b]
                if count:
                    in_row += count
                    self.columns[given * width + b] += count
                    growth += log_of(count, self.logs)
            if in_row:
                self.filled[given] += 1
                growth -= log_of(in_row, self.logs)
        for given in range(1, n_given + 1):
            total = n_columns = 0
            for b in range(1, width):
                count = self.columns[given * width + b]
                if count:
                    n_columns += 1
                    total += count
                    growth -= log_of(count, self.logs)
            growth += log_of(total, self.logs) - self.penalty * degrees_of_freedom(self.filled[given], n_columns)
        return growth

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def count(self, v: cython.Py_ssize_t, node: cython.Py_ssize_t, length: cython.Py_ssize_t) -> cython.void:
        """Count the records with each value of a variable, given their contexts at a node."""
        width: cython.Py_ssize_t = self.sizes[v, 1] + 1
        r: cython.Py_ssize_t
        values, contexts = cython.address(self.ids[v, 1, 0]), cython.address(self.ids[node, length, 0])
        memset(cython.address(self.cells[0]), 0, 8 * (self.sizes[node, length] + 1) * width)
        for r in range(self.n_records):
            self.cells[contexts[r] * width + values[r]] += 1

    # -- contexts ------------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def extend(self, v: cython.Py_ssize_t, length: cython.Py_ssize_t) -> cython.bint:
        """List the contexts of a variable that have some length; return whether there are any, and not too many."""
        if self.sizes[v, length] == _NOT_LISTED:
            parent: cython.Py_ssize_t = self.parents[v]
            self.sizes[v, length] = _NONE
            if parent < 0 or self.is_numeric[v] or self.is_numeric[parent]:
                return False
            if not self.extend(v, length - 1) or not self.extend(parent, length - 1):
                return False
            if self.list_contexts(v, length):
                return True
            self.sizes[v, length] = _NONE
        return self.sizes[v, length] > 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def list_contexts(self, v: cython.Py_ssize_t, length: cython.Py_ssize_t) -> cython.bint:
        """Number the contexts of some length, by the variable's value, then by the context of its parent."""
        parent: cython.Py_ssize_t = self.parents[v]
        width: cython.Py_ssize_t = self.sizes[parent, length - 1] + 1
        own: cython.Py_ssize_t
        tail: cython.Py_ssize_t
        r: cython.Py_ssize_t
        n: cython.Py_ssize_t = 0
        values, tails = cython.address(self.ids[v, 1, 0]), cython.address(self.ids[parent, length - 1, 0])
        memset(cython.address(self.marks[0]), 0, (self.sizes[v, 1] + 1) * width)
        for r in range(self.n_records):
            self.marks[values[r] * width + tails[r]] = 1
        for tail in range(width):
            self.marks[tail] = 0
        for own in range(1, self.sizes[v, 1] + 1):
            self.marks[own * width] = 0
            for tail in range(1, width):
                if self.marks[own * width + tail]:
                    n += 1
                    if n > _MOST_CONTEXTS:
                        return False
                    self.marks[own * width + tail] = cython.cast(cython.uchar, n)
                    self.owns[v, length, n] = cython.cast(cython.uchar, own)
                    self.tails[v, length, n] = cython.cast(cython.uchar, tail)
                    shorter: cython.Py_ssize_t = self.prefixes[parent, length - 1, tail] if length > 2 else 0
                    self.prefixes[v, length, n] = cython.cast(cython.uchar, self.find(v, length - 1, own, shorter))
        self.sizes[v, length] = n
        for r in range(self.n_records):
            self.ids[v, length, r] = self.marks[values[r] * width + tails[r]]
        return n > 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def find(
        self, v: cython.Py_ssize_t, length: cython.Py_ssize_t, own: cython.Py_ssize_t, tail: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Return the context with a value of the variable and a context of its parent; 0 if no record has it."""
        low: cython.Py_ssize_t = 1
        high: cython.Py_ssize_t = self.sizes[v, length] + 1
        middle: cython.Py_ssize_t
        wanted: cython.Py_ssize_t = own * _ROOM + tail
        if length == 1:
            return own
        while low < high:
            middle = (low + high) // 2
            if self.owns[v, length, middle] * _ROOM + self.tails[v, length, middle] < wanted:
                low = middle + 1
            else:
                high = middle
        if low <= self.sizes[v, length] and self.owns[v, length, low] == own and self.tails[v, length, low] == tail:
            return low
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def shorten(
        self, v: cython.Py_ssize_t, length: cython.Py_ssize_t, context: cython.Py_ssize_t, to: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Return what a context is without its farthest ancestors."""
        while length > to:
            context = self.prefixes[v, length, context]
            length -= 1
        return context

    # -- states --------------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def n_contexts(self, v: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return how many contexts of all lengths that matter a variable has: they are its states, in this order."""
        n: cython.Py_ssize_t = 0
        length: cython.Py_ssize_t
        for length in range(1, self.kept[v] + 1):
            n += self.sizes[v, length]
        return n

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def state_of(
        self, v: cython.Py_ssize_t, own: cython.Py_ssize_t, length: cython.Py_ssize_t, context: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Return the state of a variable with some value whose parent is in some context, of length 0 if in none."""
        longest: cython.Py_ssize_t = min(self.kept[v], length + 1)
        found: cython.Py_ssize_t = own
        k: cython.Py_ssize_t
        parent: cython.Py_ssize_t = self.parents[v]
        while longest > 1:
            found = self.find(v, longest, own, self.shorten(parent, length, context, longest - 1))
            if found:
                break
            found = own
            longest -= 1
        for k in range(1, longest):
            found += self.sizes[v, k]
        return found - 1

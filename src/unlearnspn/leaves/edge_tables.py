"""The probabilities along the edges of a tree, from how often values occur in each context."""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import INFINITY
from cython.cimports.unlearnspn.const_types import const_float64, const_int64
from cython.cimports.unlearnspn.leaves.contexts import Contexts
from cython.cimports.unlearnspn.portable_math import log

from unlearnspn.slices import Counts, Scope

Floats = npt.NDArray[np.float64]


class Alphabets(NamedTuple):
    """The outcomes of some variables."""

    #: Where the outcomes of each variable start, and at the end how many there are in all.
    starts: Counts
    #: The code of each outcome; 0 for one that nobody has.
    codes: Counts
    #: For each variable, the share of one outcome's smoothing that all outcomes never seen get together.
    unseen: Floats


def alphabets_of(scope: Scope, of_all: Alphabets) -> Alphabets:
    """Return the outcomes of some variables, given those of all."""
    starts = np.zeros(scope.size + 1, np.int64)
    codes = np.empty(_write_outcomes(scope, of_all.starts, starts), np.int64)
    _write_codes(scope, of_all.starts, of_all.codes, codes)
    return Alphabets(starts, codes, of_all.unseen[scope])


@cython.cfunc
def _write_outcomes(
    scope: const_int64[::1], all_starts: const_int64[::1], starts: cython.longlong[::1]
) -> cython.longlong:
    """Write where the outcomes of each variable start, and return how many there are."""
    i: cython.Py_ssize_t
    for i in range(scope.shape[0]):
        starts[i + 1] = starts[i] + all_starts[scope[i] + 1] - all_starts[scope[i]]
    return starts[scope.shape[0]]


@cython.cfunc
def _write_codes(
    scope: const_int64[::1], all_starts: const_int64[::1], all_codes: const_int64[::1], codes: cython.longlong[::1]
) -> cython.void:
    """Write the code of each outcome."""
    end: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for i in range(scope.shape[0]):
        for k in range(all_starts[scope[i]], all_starts[scope[i] + 1]):
            codes[end] = all_codes[k]
            end += 1


class EdgeTables(NamedTuple):
    """The log-probabilities of each variable given the states of its parent.

    The states of a variable are its contexts, in order, and one for all outcomes together that no record has, if there
    are any. There is a line for each state of the parent; without a parent there is one line. A line has the
    log-probability of each outcome, of what was never seen, and of all those together that no record has.
    """

    #: How many records have each outcome, variable after variable.
    counts: Counts
    #: How many states each variable has.
    n_states: Counts
    #: Where the lines of each variable start, and at the end how many numbers there are.
    starts: Counts
    logs: Floats

    def seen(self, alphabets: Alphabets, v: int) -> list[int]:
        """Return which outcomes of a variable some record has."""
        return np.flatnonzero(self.counts[alphabets.starts[v] : alphabets.starts[v + 1]]).tolist()

    def table(self, alphabets: Alphabets, v: int) -> Floats:
        """Return the lines of a variable."""
        width = int(alphabets.starts[v + 1] - alphabets.starts[v]) + 2
        return self.logs[self.starts[v] : self.starts[v + 1]].reshape(-1, width)


def edge_tables(contexts: Contexts, alphabets: Alphabets, alpha: float, beta: float) -> EdgeTables:
    """Return the log-probabilities along the edges of a tree."""
    writer: _Writer = _Writer(contexts, alphabets, alpha, beta)
    n_variables = alphabets.starts.size - 1
    n_states, starts = np.zeros(n_variables, np.int64), np.zeros(n_variables + 1, np.int64)
    writer.measure(n_states, starts)
    logs = np.empty(starts[n_variables])
    writer.write(logs)
    return EdgeTables(np.asarray(contexts.counts), n_states, starts, logs)


@cython.cclass
class _Writer:
    """Writes the tables of a tree."""

    contexts: Contexts
    counts: const_int64[::1]
    outcomes: const_int64[::1]
    unseen: const_float64[::1]
    parents: const_int64[::1]
    alpha: cython.double
    beta: cython.double
    # Of one variable at a time: its counts in one context, and its probabilities, [length, context of its parent,
    # outcome]; by itself they stand at 0, 0.
    joint: cython.longlong[::1]
    probabilities: cython.double[:, :, ::1]
    # What is written.
    n_states: cython.longlong[::1]
    starts: cython.longlong[::1]
    logs: cython.double[::1]

    def __init__(self, contexts: Contexts, alphabets: Alphabets, alpha: float, beta: float) -> None:
        most: cython.Py_ssize_t = 0
        most_contexts: cython.Py_ssize_t = 0
        longest: cython.Py_ssize_t = 1
        v: cython.Py_ssize_t
        length: cython.Py_ssize_t
        self.contexts, self.counts, self.parents = contexts, contexts.counts, contexts.parents
        self.outcomes, self.unseen = alphabets.starts, alphabets.unseen
        self.alpha, self.beta = alpha, beta
        for v in range(self.parents.shape[0]):
            most = max(most, self.outcomes[v + 1] - self.outcomes[v])
            longest = max(longest, contexts.lengths[v])
            for length in range(1, contexts.order + 1):
                most_contexts = max(most_contexts, contexts.sizes[v, length])
        self.probabilities = np.zeros((longest + 1, most_contexts + 1, most + 1))
        self.joint = np.zeros(most, np.int64)

    @cython.cfunc
    def measure(self, n_states: cython.longlong[::1], starts: cython.longlong[::1]) -> cython.void:
        """Find out how many states there are, and how large tables are."""
        v: cython.Py_ssize_t
        parent: cython.Py_ssize_t
        width: cython.longlong
        self.n_states, self.starts = n_states, starts
        with cython.nogil:
            for v in range(self.parents.shape[0]):
                width = self.outcomes[v + 1] - self.outcomes[v]
                others: cython.bint = self.unseen[v] > 0.0 or self.contexts.sizes[v, 1] < width
                self.n_states[v] = self.contexts.n_contexts(v) + others
            for v in range(self.parents.shape[0]):
                width = self.outcomes[v + 1] - self.outcomes[v] + 2
                parent = self.parents[v]
                self.starts[v + 1] = self.starts[v] + width * (self.n_states[parent] if parent >= 0 else 1)

    @cython.cfunc
    def write(self, logs: cython.double[::1]) -> cython.void:
        """Write the tables."""
        v: cython.Py_ssize_t
        length: cython.Py_ssize_t
        self.logs = logs
        with cython.nogil:
            for v in range(self.parents.shape[0]):
                self.smooth_alone(v)
                for length in range(1, self.contexts.lengths[v] + 1):
                    self.smooth_given(v, length)
                self.write_table(v)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def smooth_alone(self, v: cython.Py_ssize_t) -> cython.void:
        """Find the probabilities of a variable by itself."""
        first: cython.Py_ssize_t = self.outcomes[v]
        k: cython.Py_ssize_t
        for k in range(self.outcomes[v + 1] - first):
            self.joint[k] = self.counts[first + k]
        self.smooth(v, self.alpha, 0.0, self.probabilities[0, 0], self.probabilities[0, 0])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def smooth_given(self, v: cython.Py_ssize_t, length: cython.Py_ssize_t) -> cython.void:
        """Find the probabilities of a variable in each context of its parent that has some length."""
        parent: cython.Py_ssize_t = self.parents[v]
        first: cython.Py_ssize_t = self.outcomes[v]
        context: cython.Py_ssize_t
        own: cython.Py_ssize_t
        k: cython.Py_ssize_t
        self.contexts.count(v, parent, length)
        for context in range(1, self.contexts.sizes[parent, length] + 1):
            own = context * (self.contexts.sizes[v, 1] + 1)
            for k in range(self.outcomes[v + 1] - first):
                self.joint[k] = 0
                if self.counts[first + k]:
                    own += 1
                    self.joint[k] = self.contexts.cells[own]
            shorter: cython.Py_ssize_t = self.contexts.prefixes[parent, length, context] if length > 1 else 0
            self.smooth(
                v,
                self.alpha if length == 1 else 0.0,
                self.beta,
                self.probabilities[length - 1, shorter],
                self.probabilities[length, context],
            )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.cdivision(True)
    def smooth(
        self,
        v: cython.Py_ssize_t,
        alpha: cython.double,
        beta: cython.double,
        otherwise: cython.double[::1],
        probabilities: cython.double[::1],
    ) -> cython.void:
        """Write the probability of each outcome, of which there are joint counts, then of what was never seen."""
        size: cython.Py_ssize_t = self.outcomes[v + 1] - self.outcomes[v]
        total: cython.longlong = 0
        k: cython.Py_ssize_t
        mass: cython.double
        for k in range(size):
            total += self.joint[k]
        mass = total + alpha * (size + self.unseen[v]) + beta
        for k in range(size):
            probabilities[k] = (self.joint[k] + alpha + beta * otherwise[k]) / mass
        probabilities[size] = (alpha * self.unseen[v] + beta * otherwise[size]) / mass

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_table(self, v: cython.Py_ssize_t) -> cython.void:
        """Write the lines of a variable."""
        parent: cython.Py_ssize_t = self.parents[v]
        at: cython.Py_ssize_t = self.starts[v]
        width: cython.Py_ssize_t = self.outcomes[v + 1] - self.outcomes[v] + 2
        length: cython.Py_ssize_t
        context: cython.Py_ssize_t
        known: cython.Py_ssize_t
        if parent >= 0:
            for length in range(1, self.contexts.kept[parent] + 1):
                known = min(length, self.contexts.lengths[v])
                for context in range(1, self.contexts.sizes[parent, length] + 1):
                    given: cython.Py_ssize_t = self.contexts.shorten(parent, length, context, known)
                    self.write_logs(v, self.probabilities[known, given], at)
                    at += width
        if at < self.starts[v + 1]:
            self.write_logs(v, self.probabilities[0, 0], at)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_logs(self, v: cython.Py_ssize_t, probabilities: cython.double[::1], at: cython.Py_ssize_t) -> cython.void:
        """Write logarithms, and that of the sum over the outcomes that no record has."""
        first: cython.Py_ssize_t = self.outcomes[v]
        size: cython.Py_ssize_t = self.outcomes[v + 1] - first
        rest: cython.double = 0.0
        k: cython.Py_ssize_t
        for k in range(size + 1):
            self.logs[at + k] = _log_or_nothing(probabilities[k])
            if k == size or self.counts[first + k] == 0:
                rest += probabilities[k]
        self.logs[at + size + 1] = _log_or_nothing(rest)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _log_or_nothing(x: cython.double) -> cython.double:
    return log(x) if x > 0.0 else -INFINITY

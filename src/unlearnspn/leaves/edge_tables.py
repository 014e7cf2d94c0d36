"""The probabilities along the edges of a Chow-Liu tree, from pair tables."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import INFINITY
from cython.cimports.unlearnspn.const_types import const_float64, const_int64
from cython.cimports.unlearnspn.portable_math import log

from unlearnspn.hashing import Keys
from unlearnspn.mixing import mix_keys
from unlearnspn.slices import Counts, Scope

Floats = npt.NDArray[np.float64]


class Pairs(NamedTuple):
    """The tables of all pairs of some variables."""

    cells: Counts
    sizes: Counts
    #: Where the table of each pair of positions starts, [smaller, larger].
    starts: Counts

    def table(self, u: int, v: int) -> Counts:
        """Return the table of two variables, [code of u, code of v], for u before v."""
        start, shape = self.starts[u, v], (self.sizes[u], self.sizes[v])
        return self.cells[start : start + shape[0] * shape[1]].reshape(shape)

    def hashes(self, prints: Keys) -> Keys:
        """Return the sum of count·hash over the cells of each pair, given the fingerprints of all codes."""
        names = [mix_keys(prints[v, :size], np.uint64(v)) for v, size in enumerate(self.sizes.tolist())]
        pairs = combinations(range(len(names)), 2)
        return np.array([(self.table(u, v).astype(np.uint64) * np.outer(names[u], names[v])).sum() for u, v in pairs])


def find_pairs(cells: Counts, scope: Scope, sizes: Counts) -> Pairs:
    """Find the tables of all pairs among their cells."""
    own, starts = sizes[scope], np.zeros((scope.size, scope.size), np.int64)
    _write_starts(own, starts)
    return Pairs(cells, own, starts)


@cython.cfunc
def _write_starts(sizes: const_int64[::1], starts: cython.longlong[:, ::1]) -> cython.void:
    end: cython.longlong = 0
    u: cython.Py_ssize_t
    v: cython.Py_ssize_t
    for u in range(sizes.shape[0] - 1):
        for v in range(u + 1, sizes.shape[0]):
            starts[u, v] = end
            end += sizes[u] * sizes[v]


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
    """The log-probabilities of each variable given its parent.

    There is a line for each outcome of the parent that some record has, in order, and one for all others if there are
    any; without a parent there is one line. A line has the log-probability of each outcome, of what was never seen, and
    of all those together that no record has.
    """

    #: How many records have each outcome, variable after variable.
    counts: Counts
    #: How many lines the table of a variable has whose parent this is.
    n_lines: Counts
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


def edge_tables(pairs: Pairs, alphabets: Alphabets, parents: Counts, alpha: float, beta: float) -> EdgeTables:
    """Return the log-probabilities along the edges of a tree; the parent of the first variable is -1."""
    writer: _Writer = _Writer(pairs, alphabets, parents, alpha, beta)
    counts, n_lines = np.zeros(alphabets.codes.size, np.int64), np.zeros(parents.size, np.int64)
    starts = np.zeros(parents.size + 1, np.int64)
    writer.count(counts, n_lines, starts)
    logs = np.empty(starts[parents.size])
    writer.write(logs)
    return EdgeTables(counts, n_lines, starts, logs)


@cython.cclass
class _Writer:
    """Writes the tables of a tree."""

    cells: const_int64[::1]
    sizes: const_int64[::1]
    pair_starts: const_int64[:, ::1]
    outcomes: const_int64[::1]
    codes: const_int64[::1]
    unseen: const_float64[::1]
    parents: const_int64[::1]
    alpha: cython.double
    beta: cython.double
    # Of one variable at a time: zeros, its probabilities by itself and given its parent, and its counts given that.
    nothing: cython.double[::1]
    alone: cython.double[::1]
    probabilities: cython.double[::1]
    joint: cython.longlong[::1]
    # What is written.
    counts: cython.longlong[::1]
    n_lines: cython.longlong[::1]
    starts: cython.longlong[::1]
    logs: cython.double[::1]

    def __init__(
        self,
        pairs: Pairs,
        alphabets: Alphabets,
        parents: Counts,
        alpha: float,
        beta: float,
    ) -> None:
        most: cython.Py_ssize_t = 0
        v: cython.Py_ssize_t
        numbers: cython.double[:, ::1]
        self.cells, self.sizes, self.pair_starts = pairs.cells, pairs.sizes, pairs.starts
        self.outcomes, self.codes, self.unseen = alphabets.starts, alphabets.codes, alphabets.unseen
        self.parents, self.alpha, self.beta = parents, alpha, beta
        for v in range(self.parents.shape[0]):
            most = max(most, self.outcomes[v + 1] - self.outcomes[v])
        numbers = np.zeros((3, most + 1))
        self.nothing, self.alone, self.probabilities = numbers[0], numbers[1], numbers[2]
        self.joint = np.zeros(most, np.int64)

    @cython.cfunc
    def count(
        self, counts: cython.longlong[::1], n_lines: cython.longlong[::1], starts: cython.longlong[::1]
    ) -> cython.void:
        """Count outcomes, and find out how large tables are."""
        v: cython.Py_ssize_t
        k: cython.Py_ssize_t
        n_seen: cython.longlong
        width: cython.longlong
        self.counts, self.n_lines, self.starts = counts, n_lines, starts
        with cython.nogil:
            self.count_outcomes()
            for v in range(self.parents.shape[0]):
                n_seen = 0
                for k in range(self.outcomes[v], self.outcomes[v + 1]):
                    n_seen += self.counts[k] > 0
                width = self.outcomes[v + 1] - self.outcomes[v]
                self.n_lines[v] = n_seen + (self.unseen[v] > 0.0 or n_seen < width)
            for v in range(self.parents.shape[0]):
                width = self.outcomes[v + 1] - self.outcomes[v] + 2
                k = self.parents[v]
                self.starts[v + 1] = self.starts[v] + width * (self.n_lines[k] if k >= 0 else 1)

    @cython.cfunc
    def write(self, logs: cython.double[::1]) -> cython.void:
        """Write the tables."""
        v: cython.Py_ssize_t
        self.logs = logs
        with cython.nogil:
            for v in range(self.parents.shape[0]):
                self.write_table(v)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def joint_count(
        self, u: cython.Py_ssize_t, a: cython.Py_ssize_t, v: cython.Py_ssize_t, b: cython.Py_ssize_t
    ) -> cython.longlong:
        """Return how many records have a code of one variable and a code of another."""
        if u < v:
            return self.cells[self.pair_starts[u, v] + a * self.sizes[v] + b]
        return self.cells[self.pair_starts[v, u] + b * self.sizes[u] + a]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def count_outcomes(self) -> cython.void:
        v: cython.Py_ssize_t
        k: cython.Py_ssize_t
        a: cython.Py_ssize_t
        other: cython.Py_ssize_t
        for v in range(self.parents.shape[0]):
            other = 1 if v == 0 else 0
            for k in range(self.outcomes[v], self.outcomes[v + 1]):
                if self.codes[k]:
                    for a in range(self.sizes[other]):
                        self.counts[k] += self.joint_count(other, a, v, self.codes[k])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_table(self, v: cython.Py_ssize_t) -> cython.void:
        """Write the lines of a variable."""
        first: cython.Py_ssize_t = self.outcomes[v]
        size: cython.Py_ssize_t = self.outcomes[v + 1] - first
        parent: cython.Py_ssize_t = self.parents[v]
        at: cython.Py_ssize_t = self.starts[v]
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        for i in range(size):
            self.joint[i] = self.counts[first + i]
        self.smooth(size, self.unseen[v], 0.0, self.nothing, self.alone)
        if parent >= 0:
            for k in range(self.outcomes[parent], self.outcomes[parent + 1]):
                if self.counts[k] == 0:
                    continue
                for i in range(size):
                    self.joint[i] = 0
                    if self.codes[first + i]:
                        self.joint[i] = self.joint_count(parent, self.codes[k], v, self.codes[first + i])
                self.smooth(size, self.unseen[v], self.beta, self.alone, self.probabilities)
                self.write_logs(first, size, self.probabilities, at)
                at += size + 2
        if at < self.starts[v + 1]:
            self.write_logs(first, size, self.alone, at)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.cdivision(True)
    def smooth(
        self,
        size: cython.Py_ssize_t,
        unseen: cython.double,
        beta: cython.double,
        alone: cython.double[::1],
        probabilities: cython.double[::1],
    ) -> cython.void:
        """Write the probability of each outcome, of which there are joint counts, then of what was never seen."""
        total: cython.longlong = 0
        k: cython.Py_ssize_t
        mass: cython.double
        for k in range(size):
            total += self.joint[k]
        mass = total + self.alpha * (size + unseen) + beta
        for k in range(size):
            probabilities[k] = (self.joint[k] + self.alpha + beta * alone[k]) / mass
        probabilities[size] = (self.alpha * unseen + beta * alone[size]) / mass

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_logs(
        self,
        first: cython.Py_ssize_t,
        size: cython.Py_ssize_t,
        probabilities: cython.double[::1],
        at: cython.Py_ssize_t,
    ) -> cython.void:
        """Write logarithms, and that of the sum over the outcomes that no record has."""
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

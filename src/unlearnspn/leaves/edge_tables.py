"""The probabilities along the edges of a Chow-Liu tree, from pair tables."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.arrays import put
from unlearnspn.compiling import inlined, inner_kernel, kernel, per_element
from unlearnspn.hashing import Keys, mix_keys
from unlearnspn.portable_math import log
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


@kernel
def find_pairs(cells: Counts, scope: Scope, sizes: Counts) -> Pairs:
    """Find the tables of all pairs among their cells."""
    own, starts, end = sizes[scope], np.zeros((scope.size, scope.size), np.int64), 0
    for u in range(scope.size - 1):
        for v in range(u + 1, scope.size):
            starts[u, v] = end
            end += own[u] * own[v]
    return Pairs(cells, own, starts)


class Alphabets(NamedTuple):
    """The outcomes of some variables."""

    #: Where the outcomes of each variable start, and at the end how many there are in all.
    starts: Counts
    #: The code of each outcome; 0 for one that nobody has.
    codes: Counts
    #: For each variable, the share of one outcome's smoothing that all outcomes never seen get together.
    unseen: Floats


@kernel
def alphabets_of(scope: Scope, of_all: Alphabets) -> Alphabets:
    """Return the outcomes of some variables, given those of all."""
    starts, n_codes = np.zeros(scope.size + 1, np.int64), 0
    for i in range(scope.size):
        n_codes += of_all.starts[scope[i] + 1] - of_all.starts[scope[i]]
        starts[i + 1] = n_codes
    codes = np.empty(n_codes, np.int64)
    for i in range(scope.size):
        put(codes, starts[i], of_all.codes[of_all.starts[scope[i]] : of_all.starts[scope[i] + 1]])
    return Alphabets(starts, codes, of_all.unseen[scope])


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


@kernel
def edge_tables(pairs: Pairs, alphabets: Alphabets, parents: Counts, alpha: float, beta: float) -> EdgeTables:
    """Return the log-probabilities along the edges of a tree; the parent of the first variable is -1."""
    counts = _count_outcomes(pairs, alphabets)
    n_lines, starts = np.zeros(parents.size, np.int64), np.zeros(parents.size + 1, np.int64)
    for v in range(parents.size):
        first, end = alphabets.starts[v], alphabets.starts[v + 1]
        for k in range(first, end):
            n_lines[v] += counts[k] > 0
        n_lines[v] += alphabets.unseen[v] > 0.0 or n_lines[v] < end - first
    for v in range(parents.size):
        width = alphabets.starts[v + 1] - alphabets.starts[v] + 2
        starts[v + 1] = starts[v] + width * (n_lines[parents[v]] if parents[v] >= 0 else 1)
    logs = np.empty(starts[-1])
    for v in range(parents.size):
        first, end = alphabets.starts[v], alphabets.starts[v + 1]
        table = logs[starts[v] : starts[v + 1]].reshape(-1, end - first + 2)
        own = alphabets.codes[first:end]
        _write_table(pairs, alphabets, counts, v, own, parents[v], alpha, beta, table)
    return EdgeTables(counts, n_lines, starts, logs)


@inlined
def _joint_count(pairs: Pairs, u: int, a: int, v: int, b: int) -> int:
    """Return how many records have a code of one variable and a code of another."""
    if u < v:
        return int(pairs.cells[pairs.starts[u, v] + a * pairs.sizes[v] + b])
    return int(pairs.cells[pairs.starts[v, u] + b * pairs.sizes[u] + a])


@kernel
def _count_outcomes(pairs: Pairs, alphabets: Alphabets) -> Counts:
    counts = np.zeros(alphabets.codes.size, np.int64)
    for v in range(alphabets.unseen.size):
        other = 1 if v == 0 else 0
        for k in range(alphabets.starts[v], alphabets.starts[v + 1]):
            if alphabets.codes[k]:
                for a in range(pairs.sizes[other]):
                    counts[k] += _joint_count(pairs, other, a, v, alphabets.codes[k])
    return counts


@inner_kernel(per_element(8, 8))
def _write_table(
    pairs: Pairs,
    alphabets: Alphabets,
    counts: Counts,
    v: int,
    codes: Counts,
    parent: int,
    alpha: float,
    beta: float,
    table: Floats,
) -> None:
    """Write the lines of a variable with so many codes."""
    unseen, own = alphabets.unseen[v], counts[alphabets.starts[v] : alphabets.starts[v + 1]]
    alone = np.zeros(codes.size + 1)
    _smooth(own, alpha, unseen, 0.0, alone.copy(), alone)
    line, joint, probabilities = 0, np.zeros(codes.size, np.int64), np.zeros(codes.size + 1)
    if parent >= 0:
        for k in range(alphabets.starts[parent], alphabets.starts[parent + 1]):
            if counts[k] == 0:
                continue
            for i in range(codes.size):
                joint[i] = _joint_count(pairs, parent, alphabets.codes[k], v, codes[i]) if codes[i] else 0
            _smooth(joint, alpha, unseen, beta, alone, probabilities)
            _write_logs(probabilities, own, table[line])
            line += 1
    if line < len(table):
        _write_logs(alone, own, table[line])


@kernel
def _smooth(counts: Counts, alpha: float, unseen: float, beta: float, alone: Floats, probabilities: Floats) -> None:
    """Write the probability of each outcome, then of what was never seen."""
    total = 0
    for count in counts:
        total += count
    mass = total + alpha * (counts.size + unseen) + beta
    for k in range(counts.size):
        probabilities[k] = (counts[k] + alpha + beta * alone[k]) / mass
    probabilities[counts.size] = (alpha * unseen + beta * alone[counts.size]) / mass


@kernel
def _write_logs(probabilities: Floats, counts: Counts, line: Floats) -> None:
    """Write logarithms, and that of the sum over the outcomes that no record has."""
    rest = 0.0
    for k in range(probabilities.size):
        line[k] = _log_or_nothing(probabilities[k])
        if k == counts.size or counts[k] == 0:
            rest += probabilities[k]
    line[probabilities.size] = _log_or_nothing(rest)


@kernel
def _log_or_nothing(x: float) -> float:
    return log(x) if x > 0.0 else -np.inf

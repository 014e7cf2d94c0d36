"""Kernels of Chow-Liu trees: from pair tables to a tree, and to the probabilities along its edges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.compiling import kernel
from unlearnspn.pair_tables import g_statistic
from unlearnspn.portable_math import log
from unlearnspn.slices import Counts, Scope

Floats = npt.NDArray[np.float64]


@kernel
def pair_starts(scope: Scope, sizes: Counts) -> Counts:
    """Return where the table of each pair of positions starts, [smaller, larger]."""
    width = scope.size
    starts = np.zeros((width, width), np.int64)
    start = 0
    for i in range(width - 1):
        for j in range(i + 1, width):
            starts[i, j] = start
            start += sizes[scope[i]] * sizes[scope[j]]
    return starts


@kernel
def pair_gains(cells: Counts, scope: Scope, sizes: Counts, starts: Counts, logs: Counts) -> Counts:
    """Return by how much the log-likelihood grows when one of two variables is told the other, in fixed point.

    That is their mutual information times the number of records that have both.
    """
    width = scope.size
    gains = np.zeros((width, width), np.int64)
    for i in range(width - 1):
        for j in range(i + 1, width):
            n_rows, n_columns = sizes[scope[i]], sizes[scope[j]]
            table = cells[starts[i, j] : starts[i, j] + n_rows * n_columns]
            gains[i, j] = gains[j, i] = g_statistic(table, n_rows, n_columns, logs)[0]
    return gains


@kernel
def maximum_spanning_tree(gains: Counts) -> tuple[Counts, Counts]:
    """Return the parent of each position, -1 for the first, and all positions in the order they joined the tree.

    Of equal gains the first position wins, as the one to join and as the parent.
    """
    width = gains.shape[0]
    parents, order = np.full(width, -1), np.zeros(width, np.int64)
    joined = np.zeros(width, np.bool_)
    joined[0] = True
    for v in range(1, width):
        parents[v] = 0
    for step in range(1, width):
        best = -1
        for v in range(width):
            if not joined[v] and (best < 0 or gains[v, parents[v]] > gains[best, parents[best]]):
                best = v
        joined[best] = True
        order[step] = best
        for v in range(width):
            if not joined[v] and gains[v, best] > gains[v, parents[v]]:
                parents[v] = best
    return parents, order


class Alphabet(NamedTuple):
    """The outcomes of all variables of a scope, one variable after another."""

    #: The code of each outcome; 0 for one that nobody has.
    codes: Counts
    #: Where the outcomes of each variable start, and their number at the end.
    starts: Counts
    #: The share of one outcome's smoothing that all outcomes never seen get together, for each variable.
    unseen: Floats


@kernel
def count_outcomes(cells: Counts, scope: Scope, sizes: Counts, starts: Counts, alphabet: Alphabet) -> Counts:
    """Return how many records have each outcome, laid out like the alphabet."""
    counts = np.zeros(alphabet.codes.size, np.int64)
    for v in range(scope.size):
        i, j = (0, v) if v > 0 else (0, 1)
        n_columns = sizes[scope[j]]
        for k in range(alphabet.starts[v], alphabet.starts[v + 1]):
            code = alphabet.codes[k]
            if code > 0:
                for other in range(sizes[scope[0]] if v > 0 else n_columns):
                    a, b = (other, code) if v > 0 else (code, other)
                    counts[k] += cells[starts[i, j] + a * n_columns + b]
    return counts


@kernel
def edge_tables(
    cells: Counts,
    scope: Scope,
    sizes: Counts,
    starts: Counts,
    parents: Counts,
    alphabet: Alphabet,
    counts: Counts,
    alpha: float,
    beta: float,
) -> tuple[Floats, Counts]:
    """Return the log-probabilities of each variable given its parent, and where each variable's table starts.

    A table has a line for each outcome of the parent that some record has, in order, and one for all others if there
    are any; the table of the first variable has one line. A line has the log-probability of each outcome, of what was
    never seen, and of all those together that no record has.
    """
    width = scope.size
    table_starts = _table_starts(parents, alphabet, counts)
    tables = np.empty(table_starts[width])
    for v in range(width):
        first, end = alphabet.starts[v], alphabet.starts[v + 1]
        own = _smoothed(counts[first:end], alpha, alphabet.unseen[v])
        lines = tables[table_starts[v] : table_starts[v + 1]].reshape(-1, end - first + 2)
        written, u = 0, parents[v]
        if u >= 0:
            i, j = min(u, v), max(u, v)
            n_columns = sizes[scope[j]]
            table = cells[starts[i, j] : starts[i, j] + sizes[scope[i]] * n_columns].reshape(-1, n_columns)
            by_parent = table if u < v else table.T
            for k in range(alphabet.starts[u], alphabet.starts[u + 1]):
                if counts[k] > 0:
                    joint = by_parent[alphabet.codes[k]]
                    given = _given(joint, alphabet.codes[first:end], own, alpha, alphabet.unseen[v], beta)
                    _write_line(given, counts[first:end], lines[written])
                    written += 1
        if written < len(lines):
            _write_line(own, counts[first:end], lines[written])
    return tables, table_starts


@kernel
def _table_starts(parents: Counts, alphabet: Alphabet, counts: Counts) -> Counts:
    """Return where each variable's table starts, and the size of all at the end."""
    starts = np.zeros(parents.size + 1, np.int64)
    for v in range(parents.size):
        u, n_lines = parents[v], 1
        if u >= 0:
            outcomes = counts[alphabet.starts[u] : alphabet.starts[u + 1]]
            n_seen = int(np.count_nonzero(outcomes))
            n_lines = n_seen + int(n_seen < outcomes.size or alphabet.unseen[u] > 0.0)
        starts[v + 1] = starts[v] + n_lines * (alphabet.starts[v + 1] - alphabet.starts[v] + 2)
    return starts


@kernel
def _smoothed(counts: Counts, alpha: float, unseen: float) -> Floats:
    """Return the probability of each outcome, then of what was never seen, with additive smoothing."""
    total = counts.sum() + alpha * (counts.size + unseen)
    probabilities = np.empty(counts.size + 1)
    for k in range(counts.size):
        probabilities[k] = (counts[k] + alpha) / total
    probabilities[counts.size] = alpha * unseen / total
    return probabilities


@kernel
def _given(joint: Counts, codes: Counts, own: Floats, alpha: float, unseen: float, beta: float) -> Floats:
    """Return the same from the counts of one line of a pair table, with `beta` records more that follow `own`."""
    n_records = 0
    for code in codes:
        n_records += joint[code] if code > 0 else 0
    total = n_records + alpha * (codes.size + unseen) + beta
    probabilities = np.empty(own.size)
    for k in range(codes.size):
        count = joint[codes[k]] if codes[k] > 0 else 0
        probabilities[k] = (count + alpha + beta * own[k]) / total
    probabilities[codes.size] = (alpha * unseen + beta * own[codes.size]) / total
    return probabilities


@kernel
def _write_line(probabilities: Floats, counts: Counts, line: Floats) -> None:
    """Write logarithms, and that of the sum over the outcomes that no record has."""
    rest = 0.0
    for k in range(probabilities.size):
        line[k] = _log(probabilities[k])
        if k == counts.size or counts[k] == 0:
            rest += probabilities[k]
    line[probabilities.size] = _log(rest)


@kernel
def _log(probability: float) -> float:
    return log(probability) if probability > 0.0 else -np.inf

"""The probabilities along the edges of a Chow-Liu tree, from pair tables: in NumPy, which need not be compiled."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.hashing import Keys, mix_keys
from unlearnspn.portable_math import logs
from unlearnspn.slices import Counts, Scope

Floats = npt.NDArray[np.float64]


def pair_starts(scope: Scope, sizes: Counts) -> Counts:
    """Return where the table of each pair of positions starts, [smaller, larger]."""
    firsts, seconds = np.triu_indices(scope.size, 1)
    starts = np.zeros((scope.size, scope.size), np.int64)
    lengths = sizes[scope[firsts]] * sizes[scope[seconds]]
    starts[firsts, seconds] = np.cumsum(lengths) - lengths
    return starts


class Alphabet(NamedTuple):
    """The outcomes of a variable."""

    #: The code of each outcome; 0 for one that nobody has.
    codes: Counts
    #: The share of one outcome's smoothing that all outcomes never seen get together.
    unseen: float

    def counts(self, by_code: Counts) -> Counts:
        """Return the counts of outcomes, from those of codes along the last axis."""
        return np.where(self.codes > 0, by_code[..., self.codes], 0)


class Pairs(NamedTuple):
    """The tables of all pairs of some variables."""

    cells: Counts
    sizes: Counts
    starts: Counts

    @classmethod
    def of(cls, cells: Counts, scope: Scope, sizes: Counts) -> Pairs:
        """Find the tables among their cells."""
        return cls(cells, sizes[scope], pair_starts(scope, sizes))

    def table(self, u: int, v: int) -> Counts:
        """Return the table of two variables, [code of u, code of v]."""
        i, j = min(u, v), max(u, v)
        start, shape = self.starts[i, j], (self.sizes[i], self.sizes[j])
        table = self.cells[start : start + shape[0] * shape[1]].reshape(shape)
        return table if u < v else table.T

    def marginal(self, v: int) -> Counts:
        """Return how many records have each code of a variable."""
        return np.asarray(self.table(1 if v == 0 else 0, v).sum(axis=0))

    def hashes(self, prints: Keys) -> Keys:
        """Return the sum of count·hash over the cells of each pair, given the fingerprints of all codes."""
        names = [mix_keys(prints[v, :size], np.uint64(v)) for v, size in enumerate(self.sizes.tolist())]
        pairs = combinations(range(len(names)), 2)
        return np.array([(self.table(u, v).astype(np.uint64) * np.outer(names[u], names[v])).sum() for u, v in pairs])


def edge_table(pairs: Pairs, alphabets: list[Alphabet], v: int, parent: int, alpha: float, beta: float) -> Floats:
    """Return the log-probabilities of a variable given its parent, which is -1 if it has none.

    There is a line for each outcome of the parent that some record has, in order, and one for all others if there are
    any; without a parent there is one line. A line has the log-probability of each outcome, of what was never seen, and
    of all those together that no record has.
    """
    own = alphabets[v]
    counts = own.counts(pairs.marginal(v))
    alone = _smoothed(counts[np.newaxis], alpha, own.unseen)
    if parent < 0:
        return _logs_with_rest(alone, counts)
    above = alphabets[parent]
    occurring = above.counts(pairs.marginal(parent)) > 0
    joint = own.counts(pairs.table(parent, v)[above.codes[occurring]])
    lines = _smoothed(joint, alpha, own.unseen, beta * alone, beta)
    has_others = above.unseen > 0.0 or not occurring.all()
    return _logs_with_rest(np.concatenate([lines, alone]) if has_others else lines, counts)


def _smoothed(counts: Counts, alpha: float, unseen: float, more: Floats | float = 0.0, n_more: float = 0.0) -> Floats:
    """Return the probability of each outcome, then of what was never seen; a line for each line of counts."""
    totals = counts.sum(axis=1) + alpha * (counts.shape[1] + unseen) + n_more
    smoothed = np.column_stack([counts + alpha, np.full(len(counts), alpha * unseen)]) + more
    return np.asarray(smoothed / totals[:, np.newaxis])


def _logs_with_rest(lines: Floats, counts: Counts) -> Floats:
    """Return logarithms, and that of the sum over the outcomes that no record has."""
    # One after another: NumPy's own sums go by what the processor can do.
    rest = reduce(np.add, lines.T[np.append(counts == 0, True)])
    return logs(np.ascontiguousarray(np.column_stack([lines, rest])))

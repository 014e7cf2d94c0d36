"""The randomized dependence coefficient (Lopez-Paz et al.), the paper's test of independence.

Numeric variables enter by sines of random projections of their ranks, categorical ones by indicators of their codes,
and the coefficient is the largest canonical correlation of two variables' features. For two categorical variables with
few codes that is the maximal correlation of their table, and |φ| for two binary ones: no projection is needed.

Ranks of all records change with each one, so a revision computes the coefficients again; the random projections belong
to the variable and the seed, hence they are the same ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unlearnspn.hashing import derive_key
from unlearnspn.independence.base import Groups
from unlearnspn.independence.random_features import (
    CHUNK,
    UNIT,
    Matrix,
    coded_features,
    correlated_groups,
    projected_ranks,
)
from unlearnspn.slices import Rows, Slice

#: Against directions without variance: sines of ranks are nearly collinear, indicators are not.
_RIDGE_RANKS = 1e-6 * UNIT * UNIT
_RIDGE_CODES = 1e-9 * UNIT * UNIT


@dataclass(frozen=True)
class RDC:
    """Two variables are dependent if their randomized dependence coefficient exceeds `threshold`.

    `n_features` is the paper's k, `width` the deviation of the random slopes.
    """

    threshold: float = 0.3
    n_features: int = 10
    width: float = 1.0

    def learn(self, data: Slice, rows: Rows) -> Groups:
        """Compute the coefficients and join dependent variables."""
        blocks = [self._features(data, int(v), rows) for v in data.scope]
        starts = np.cumsum([0, *(block.shape[1] for block in blocks)])
        ridges = np.where(data.records.is_numeric[data.scope], _RIDGE_RANKS, _RIDGE_CODES)
        return correlated_groups(_sums(np.concatenate(blocks, axis=1)), starts, ridges, float(self.threshold))

    def revise(self, statistics: Groups, data: Slice, minus: Rows, plus: Rows, rows: Callable[[], Rows]) -> Groups:
        """Compute everything again, with the same random projections."""
        return self.learn(data, rows())

    def groups(self, statistics: Groups, data: Slice) -> Groups:
        """Return the groups found."""
        return statistics

    def fingerprint(self, statistics: Groups, data: Slice) -> bytes:
        """Return the groups themselves."""
        return statistics.tobytes()

    def _features(self, data: Slice, variable: int, rows: Rows) -> Matrix:
        """Return whether each row's value is observed, and its features: zeros where it is not."""
        records = data.records
        if records.is_numeric[variable]:
            ranks = _ranks(records.values[rows, records.place[variable]])
            key = derive_key(records.seed, "projection", variable.to_bytes(4, "little"))
            return projected_ranks(ranks, np.uint64(key), self.n_features, self.width)
        codes = records.codes[rows, variable]
        names = data.encoding.prints[variable, : data.encoding.sizes[variable]].copy()
        names[np.bincount(codes, minlength=names.size) == 0] = 0
        names[0] = 0
        return coded_features(codes, names, self.n_features)


def _ranks(values: Matrix) -> Matrix:
    """Return the share of observed values that are at most each value; NaN where missing."""
    observed = ~np.isnan(values)
    ordered = np.sort(values[observed])
    ranks = np.full(values.size, np.nan)
    ranks[observed] = np.searchsorted(ordered, values[observed], side="right") / max(ordered.size, 1)
    return ranks


def _sums(features: Matrix) -> Matrix:
    """Return the sums of all products of two features: integers below 2**53 by chunk, hence exact in any order."""
    total = np.zeros((features.shape[1], features.shape[1]), np.int64)
    for first in range(0, features.shape[0], CHUNK):
        chunk = features[first : first + CHUNK]
        total += (chunk.T @ chunk).astype(np.int64)
    return total.astype(np.float64)

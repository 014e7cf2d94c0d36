"""What is missing of many rows under a joint normal, given the rest of each row; no row depends on others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.distributions.standard_normal import LOG_SQRT_TWO_PI, special_functions
from unlearnspn.circuit.expressions import Normal
from unlearnspn.circuit.inputs import Floats
from unlearnspn.circuit.normal_algebra import shifted, solved, triangles

Positions = npt.NDArray[np.intp]

#: About how many numbers of factors are held at a time.
_CELLS = 1 << 22


def conditionals(normal: Normal, values: Floats) -> tuple[Floats, Floats]:
    """Return mean and deviation of each variable given what is known of its row, [variable, row]; NaN is missing.

    >>> normal = Normal(np.array([0, 1], np.int32), np.zeros(2), np.array([[1.0, 0.0], [0.6, 0.8]]))
    >>> means, deviations = conditionals(normal, np.array([[2.0], [np.nan]]))
    >>> means.round(6).tolist(), deviations.round(6).tolist()
    ([[2.0], [1.2]], [[0.0], [0.8]])
    """
    means, deviations = values.copy(), np.zeros_like(values)
    for rows, left in _left_of(normal, values):
        missing = np.isnan(values[:, rows])
        means[:, rows] = np.where(missing, left.in_place(left.means), values[:, rows])
        deviations[:, rows] = np.where(missing, left.in_place(left.deviations()), 0.0)
    return means, deviations


def log_peaks(normal: Normal, values: Floats) -> Floats:
    """Return the log of the largest density that what is missing can have given the rest of each row.

    >>> normal = Normal(np.array([0, 1], np.int32), np.zeros(2), np.array([[1.0, 0.0], [0.6, 0.8]]))
    >>> log_peaks(normal, np.array([[2.0, 0.0], [np.nan, 0.0]])).round(6).tolist()  # 0.8 deviates less than 1
    [-0.695795, 0.0]
    """
    peaks = np.zeros(values.shape[1])
    for rows, left in _left_of(normal, values):
        logs = np.log(np.diagonal(left.factors, axis1=1, axis2=2))[left.pattern].T + LOG_SQRT_TWO_PI
        peaks[rows] = -np.where(left.is_missing, logs, 0.0).sum(axis=0)
    return peaks


def draw_missing(normal: Normal, values: Floats, shares: Floats) -> Floats:
    """Fill in what is missing by a draw given the rest; `shares` are uniform random numbers, all [variable, row]."""
    drawn, scores = values.copy(), special_functions().ndtri(shares)
    for rows, left in _left_of(normal, values):
        drawn[:, rows] = np.where(
            np.isnan(values[:, rows]), left.in_place(left.drawn(scores[:, rows])), values[:, rows]
        )
    return drawn


class _Left(NamedTuple):
    """What is left of a normal in some rows, the variables of each row in an order of its own: what is known first."""

    #: The variables in their order, and how many are known, [place, row] and [row].
    order: Positions
    n_known: Positions
    #: The factors of all patterns, [pattern, place, place], and the pattern of each row.
    factors: Floats
    pattern: Positions
    #: The means given what is known, [place, row]; of what is missing.
    means: Floats

    @property
    def is_missing(self) -> npt.NDArray[np.bool_]:
        """Which are missing, [place, row]."""
        return np.asarray(np.arange(len(self.order))[:, None] >= self.n_known)

    def in_place(self, numbers: Floats) -> Floats:
        """Return numbers by variable."""
        result = np.empty_like(numbers)
        np.put_along_axis(result, self.order, numbers, axis=0)
        return result

    def deviations(self) -> Floats:
        """Return the deviations of what is missing."""
        places = np.arange(len(self.order))
        counts = np.zeros(len(self.factors), np.intp)
        counts[self.pattern] = self.n_known
        lines = np.where(places >= counts[:, None, None], self.factors, 0.0)
        largest = np.maximum(np.abs(lines).max(axis=2), np.finfo(np.float64).tiny)
        squares = ((lines / largest[:, :, None]) ** 2).sum(axis=2)
        return np.asarray((np.sqrt(squares) * largest)[self.pattern].T)

    def drawn(self, scores: Floats) -> Floats:
        """Return draws of what is missing from standard normal numbers, which are by variable."""
        scores = np.take_along_axis(scores, self.order, axis=0)
        scores[~self.is_missing] = 0.0
        return shifted(self.means, self.factors, scores, np.ones(len(self.pattern)), self.pattern)


def _left_of(normal: Normal, values: Floats) -> Iterator[tuple[Positions, _Left]]:
    """Yield rows that lack something, and what is left of the normal in them."""
    missing = np.isnan(values)
    some, width = np.flatnonzero(missing.any(axis=0)), len(values)
    size = max(1, _CELLS // (width * width))
    for start in range(0, some.size, size):
        rows = some[start : start + size]
        patterns, owners = np.unique(missing[:, rows], axis=1, return_inverse=True)
        orders = np.argsort(patterns, axis=0, kind="stable")
        pattern = owners.ravel()
        order, n_known = orders[:, pattern], (width - patterns.sum(axis=0))[pattern]
        factors = triangles(normal.factor[orders.T])
        own_means, own_values = normal.mean[order], np.take_along_axis(values[:, rows], order, axis=0)
        scores, scale = _scores(factors, pattern, n_known, own_means, own_values)
        yield rows, _Left(order, n_known, factors, pattern, shifted(own_means, factors, scores, scale, pattern))


def _scores(
    factors: Floats, pattern: Positions, n_known: Positions, means: Floats, values: Floats
) -> tuple[Floats, Floats]:
    """Return what standard normal numbers give the values that are known, 0 for others, and a scale for each row."""
    is_known, most = np.arange(len(values))[:, None] < n_known, n_known.max()
    # What is at its mean tells nothing of others.
    values = np.where(is_known, values, means)
    scores, scale = solved(factors[:, :most, :most], means[:most], values[:most], pattern)
    known = np.zeros_like(values)
    known[:most] = np.where(is_known[:most], scores, 0.0)
    return known, scale

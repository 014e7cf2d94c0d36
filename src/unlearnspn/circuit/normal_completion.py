"""What is missing of many rows under a joint normal, given the rest of each row; no row depends on others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.distributions.standard_normal import special_functions
from unlearnspn.circuit.expressions import Normal
from unlearnspn.circuit.inputs import Floats
from unlearnspn.circuit.joint_normals import shifted, solved, triangle

Positions = npt.NDArray[np.intp]


def conditionals(normal: Normal, values: Floats) -> tuple[Floats, Floats]:
    """Return mean and deviation of each variable given what is known of its row, [variable, row]; NaN is missing.

    >>> normal = Normal(np.array([0, 1], np.int32), np.zeros(2), np.array([[1.0, 0.0], [0.6, 0.8]]))
    >>> means, deviations = conditionals(normal, np.array([[2.0], [np.nan]]))
    >>> means.round(6).tolist(), deviations.round(6).tolist()
    ([[2.0], [1.2]], [[0.0], [0.8]])
    """
    means, deviations = values.copy(), np.zeros_like(values)
    for rows, unknown, own_means, factor in _left_of(normal, values):
        here = np.ix_(unknown, rows)
        means[here] = own_means
        largest = np.abs(factor).max(axis=1)
        deviations[here] = (np.sqrt(((factor / largest[:, None]) ** 2).sum(axis=1)) * largest)[:, None]
    return means, deviations


def draw_missing(normal: Normal, values: Floats, shares: Floats) -> Floats:
    """Fill in what is missing by a draw given the rest; `shares` are uniform random numbers, all [variable, row]."""
    drawn, scores = values.copy(), special_functions().ndtri(shares)
    for rows, unknown, own_means, factor in _left_of(normal, values):
        here = np.ix_(unknown, rows)
        drawn[here] = shifted(own_means, factor, scores[here], np.ones(1))
    return drawn


def _left_of(normal: Normal, values: Floats) -> Iterator[tuple[Positions, Positions, Floats, Floats]]:
    """Yield rows that lack the same variables, which these are, their means in each of the rows, and their factor."""
    for rows, known, unknown in _by_pattern(values):
        factor, count = triangle(normal.factor[np.concatenate([known, unknown])]), len(known)
        scores, scale = solved(factor[:count, :count], normal.mean[known], values[np.ix_(known, rows)])
        means = shifted(normal.mean[unknown, None], factor[count:, :count], scores, scale)
        yield rows, unknown, means, factor[count:, count:]


def _by_pattern(values: Floats) -> Iterator[tuple[Positions, Positions, Positions]]:
    """Yield the rows that lack the same variables, which of these they have, and which not; none that lack nothing."""
    missing = np.isnan(values)
    patterns, owners = np.unique(missing, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        if pattern.any():
            yield np.flatnonzero(owners.ravel() == number), np.flatnonzero(~pattern), np.flatnonzero(pattern)

"""What is missing of many rows under a joint normal, given the rest of each row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.distributions.standard_normal import special_functions
from unlearnspn.circuit.expressions import Normal
from unlearnspn.circuit.inputs import Floats

Positions = npt.NDArray[np.intp]


def conditionals(normal: Normal, values: Floats) -> tuple[Floats, Floats]:
    """Return mean and deviation of each variable given what is known of its row, [variable, row]; NaN is missing.

    >>> normal = Normal(np.array([0, 1], np.int32), np.zeros(2), np.array([[1.0, 0.0], [0.6, 0.8]]))
    >>> means, deviations = conditionals(normal, np.array([[2.0], [np.nan]]))
    >>> means.round(6).tolist(), deviations.round(6).tolist()
    ([[2.0], [1.2]], [[0.0], [0.8]])
    """
    means, deviations = values.copy(), np.zeros_like(values)
    for rows, known, unknown in _by_pattern(values):
        # The factor with what is known first: rotations leave covariances as they are.
        lines = normal.factor[np.concatenate([known, unknown])]
        factor = np.linalg.qr(lines.T, mode="r").T
        n, here = len(known), np.ix_(unknown, rows)
        distances = values[np.ix_(known, rows)] - normal.mean[known, None]
        scores = np.linalg.solve(factor[:n, :n], distances) if n else distances
        means[here] = normal.mean[unknown, None] + factor[n:, :n] @ scores
        deviations[here] = np.sqrt((factor[n:, n:] ** 2).sum(axis=1))[:, None]
    return means, deviations


def draw_missing(normal: Normal, values: Floats, shares: Floats) -> Floats:
    """Fill in what is missing by a draw given the rest; `shares` are uniform random numbers, all [variable, row].

    A whole row is drawn, and moved by how far the known values are from those drawn for them.
    """
    drawn = normal.mean[:, None] + normal.factor @ special_functions().ndtri(shares)
    apart = np.where(np.isnan(values), np.nan, drawn)
    return np.asarray(conditionals(normal, values)[0] + drawn - conditionals(normal, apart)[0])


def _by_pattern(values: Floats) -> Iterator[tuple[Positions, Positions, Positions]]:
    """Yield the rows that lack the same variables, which of these they have, and which not; none that lack nothing."""
    missing = np.isnan(values)
    patterns, owners = np.unique(missing, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        if pattern.any():
            yield np.flatnonzero(owners.ravel() == number), np.flatnonzero(~pattern), np.flatnonzero(pattern)

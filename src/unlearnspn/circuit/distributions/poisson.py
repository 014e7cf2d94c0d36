"""Poisson distributions, of counts: whole numbers from 0 up."""

from __future__ import annotations

import numpy as np

from unlearnspn.circuit.distributions.base import Floats, keep_within
from unlearnspn.circuit.distributions.poisson_moments import moments
from unlearnspn.circuit.distributions.poisson_quantiles import quantiles
from unlearnspn.circuit.distributions.poisson_tails import log_ranges, log_shares
from unlearnspn.circuit.expressions import HIGH, LOW, OWN


class Poisson:
    """The rate."""

    discrete = True

    def raw_log_mass(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log-probability between closed bounds, as if nothing had been cut off."""
        return log_ranges(parameters[:, OWN], *_counts(low, high))

    def log_share(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log of the share of what is left that is between closed bounds."""
        own = _counts(parameters[:, LOW], parameters[:, HIGH])
        return log_shares(parameters[:, OWN], *own, *_counts(low, high))

    def quantile(self, parameters: Floats, shares: Floats) -> Floats:
        """Return the inverse of the CDF, of what is left."""
        first, last = _counts(parameters[:, LOW], parameters[:, HIGH])
        return keep_within(quantiles(parameters[:, OWN], first, last, shares), shares, first, last)

    def moment(self, parameters: Floats, order: int, centre: Floats) -> Floats:
        """Return the expectation of (x - centre)**order."""
        first, last = _counts(parameters[:, LOW], parameters[:, HIGH])
        return moments(parameters[:, OWN], first, last, order, centre)

    def mode(self, parameters: Floats) -> Floats:
        """Return the most probable count; of two, the larger."""
        first, last = _counts(parameters[:, LOW], parameters[:, HIGH])
        return np.clip(np.floor(parameters[:, OWN]), first, last)


def _counts(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the first and the last count between bounds."""
    return np.ceil(np.maximum(low, 0.0)), np.floor(high)

"""Histograms with bins of one width; the last bin includes its upper edge.

Bins with a log-density of minus infinity may be added at the end of a line, to stack histograms of several lengths.
"""

from __future__ import annotations

import numpy as np

from unlearnspn.circuit.distributions.base import Floats, keep_within
from unlearnspn.circuit.distributions.histogram_bins import log_masses, modes, moments, quantiles
from unlearnspn.circuit.expressions import HIGH, LOG_MASS, LOW


class Histogram:
    """Where the first bin starts, how wide bins are, and the log-density in each."""

    discrete = False

    def raw_log_mass(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log-probability between closed bounds, as if nothing had been cut off."""
        return log_masses(parameters, low, high)

    def log_share(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log of the share of what is left that is between closed bounds."""
        return self.raw_log_mass(parameters, low, high) - parameters[:, LOG_MASS]

    def quantile(self, parameters: Floats, shares: Floats) -> Floats:
        """Return the inverse of the CDF, of what is left."""
        return keep_within(quantiles(parameters, shares), shares, parameters[:, LOW], parameters[:, HIGH])

    def moment(self, parameters: Floats, order: int, centre: Floats) -> Floats:
        """Return the expectation of (x - centre)**order."""
        return moments(parameters, order, centre)

    def mode(self, parameters: Floats) -> Floats:
        """Return the middle of what is left of the first among the densest bins."""
        return np.clip(modes(parameters), parameters[:, LOW], parameters[:, HIGH])

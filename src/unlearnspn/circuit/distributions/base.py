"""What a distribution of numbers must offer to a circuit.

Functions take many inputs at once: `parameters` has one line for each, laid out as `expressions.Unit` says, bounds
and log-mass first. An input may be cut off: then everything here is about what is left between its bounds.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import HIGH, LOG_MASS, LOW

Floats = npt.NDArray[np.float64]


class Distribution(Protocol):
    """A family of distributions of numbers."""

    #: Whether single numbers have a probability, not just a density.
    discrete: bool

    def raw_log_mass(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log-probability between closed bounds, as if nothing had been cut off."""

    def quantile(self, parameters: Floats, shares: Floats) -> Floats:
        """Return the least numbers that these shares of the probability do not exceed: the inverse of the CDF."""

    def moment(self, parameters: Floats, order: int, centre: Floats) -> Floats:
        """Return the expectation of (x - centre)**order."""

    def mode(self, parameters: Floats) -> Floats:
        """Return where the density is largest."""


def log_mass(distribution: Distribution, parameters: Floats, low: Floats, high: Floats) -> Floats:
    """Return the log-probability between closed bounds, of what is left of each input."""
    low, high = np.maximum(low, parameters[:, LOW]), np.minimum(high, parameters[:, HIGH])
    mass = np.full(len(parameters), -np.inf)
    possible = low <= high
    raw = distribution.raw_log_mass(parameters[possible], low[possible], high[possible])
    mass[possible] = np.minimum(raw - parameters[possible, LOG_MASS], 0.0)
    return mass


def cut_off(distribution: Distribution, parameters: Floats, low: Floats, high: Floats) -> Floats:
    """Return the parameters of what is left between closed bounds; there must be something."""
    left = parameters.copy()
    left[:, LOW] = np.maximum(low, parameters[:, LOW])
    left[:, HIGH] = np.minimum(high, parameters[:, HIGH])
    left[:, LOG_MASS] = distribution.raw_log_mass(parameters, left[:, LOW], left[:, HIGH])
    return left

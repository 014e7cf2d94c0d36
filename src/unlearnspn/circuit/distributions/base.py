"""What a distribution of numbers must offer to a circuit.

Functions take many inputs at once: `parameters` has one line for each, laid out as `expressions.Unit` says, bounds
and log-mass first. An input may be cut off: then everything here is about what is left between its bounds.

Log-densities are apart, in `log_densities`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import HIGH, LOG_MASS, LOW

Floats = npt.NDArray[np.float64]

#: The largest number there is.
LARGEST = 1.7976931348623157e308


class Distribution(Protocol):
    """A family of distributions of numbers."""

    #: Whether single numbers have a probability, not just a density.
    discrete: bool

    def raw_log_mass(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log-probability between closed bounds, as if nothing had been cut off; low ≤ high."""

    def log_share(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log of the share that is between closed bounds, which are not outside of the input's own.

        Far from the mean it has many more digits than a difference of log-probabilities.
        """

    def quantile(self, parameters: Floats, shares: Floats) -> Floats:
        """Return the least numbers that these shares of the probability do not exceed: the inverse of the CDF.

        Shares above 0 and below 1 give finite numbers within the bounds.
        """

    def moment(self, parameters: Floats, order: int, centre: Floats) -> Floats:
        """Return the expectation of (x - centre)**order; one that is too large for a number is infinite."""

    def mode(self, parameters: Floats) -> Floats:
        """Return where the density is largest."""


def log_mass(distribution: Distribution, parameters: Floats, low: Floats, high: Floats) -> Floats:
    """Return the log-probability between closed bounds, of what is left of each input; low > high has none.

    >>> from unlearnspn.circuit.distributions import NUMERIC
    >>> from unlearnspn.circuit.expressions import Unit, numeric
    >>> x = numeric(Unit.EXPONENTIAL, 0, 2.0).parameters[None]
    >>> log_mass(NUMERIC[Unit.EXPONENTIAL], x, np.array([4.0]), np.array([np.inf]))
    array([-2.])
    """
    low, high = np.maximum(low, parameters[:, LOW]), np.minimum(high, parameters[:, HIGH])
    mass = np.full(len(parameters), -np.inf)
    possible = (low <= high) & (parameters[:, LOG_MASS] > -np.inf)
    mass[possible] = distribution.raw_log_mass(parameters[possible], low[possible], high[possible])
    cut = (mass > -np.inf) & ((parameters[:, LOW] > -np.inf) | (parameters[:, HIGH] < np.inf))
    mass[cut] = distribution.log_share(parameters[cut], low[cut], high[cut])
    return np.asarray(np.minimum(mass, 0.0))


def cut_off(distribution: Distribution, parameters: Floats, low: Floats, high: Floats) -> Floats:
    """Return the parameters of what is left between closed bounds; `log_mass` must say that there is something.

    >>> from unlearnspn.circuit.distributions import NUMERIC
    >>> from unlearnspn.circuit.expressions import Unit, numeric
    >>> x = numeric(Unit.EXPONENTIAL, 0, 2.0).parameters[None]
    >>> cut_off(NUMERIC[Unit.EXPONENTIAL], x, np.array([4.0]), np.array([np.inf]))
    array([[ 4., inf, -2.,  2.]])
    """
    left = parameters.copy()
    left[:, LOW] = np.maximum(low, parameters[:, LOW])
    left[:, HIGH] = np.minimum(high, parameters[:, HIGH])
    left[:, LOG_MASS] = distribution.raw_log_mass(parameters, left[:, LOW], left[:, HIGH])
    return left


def keep_within(numbers: Floats, shares: Floats, low: Floats, high: Floats) -> Floats:
    """Return quantiles moved into the bounds, finite ones unless all or nothing is asked for."""
    inner = (shares > 0.0) & (shares < 1.0)
    numbers = np.where(inner, np.clip(numbers, -LARGEST, LARGEST), numbers)
    return np.minimum(np.maximum(numbers, low), high)

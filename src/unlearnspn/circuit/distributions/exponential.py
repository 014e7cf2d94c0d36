"""Exponential distributions, of numbers from 0 up."""

from __future__ import annotations

import math

import numpy as np

from unlearnspn.circuit.distributions.base import Floats, keep_within
from unlearnspn.circuit.distributions.quadrature import expected_power, shifted_moment, unit_interval_rule
from unlearnspn.circuit.expressions import HIGH, LOW, OWN

_N_POINTS = 64


class Exponential:
    """The mean."""

    discrete = False

    def raw_log_mass(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log-probability between closed bounds, as if nothing had been cut off."""
        start, width = _in_means(parameters, low, high)
        return _log_of_steps(width) - start

    def log_share(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log of the share of what is left that is between closed bounds."""
        start, _ = _in_means(parameters, low - np.maximum(parameters[:, LOW], 0.0), high)
        _, own_width = _in_means(parameters, parameters[:, LOW], parameters[:, HIGH])
        _, width = _in_means(parameters, low, high)
        return _log_of_steps(width) - _log_of_steps(own_width) - start

    def quantile(self, parameters: Floats, shares: Floats) -> Floats:
        """Return the inverse of the CDF, of what is left: it has no memory of what is below."""
        low, high = np.maximum(parameters[:, LOW], 0.0), parameters[:, HIGH]
        _, width = _in_means(parameters, low, high)
        with np.errstate(over="ignore", divide="ignore"):
            steps = -np.log1p(shares * np.expm1(-width))
            return keep_within(low + parameters[:, OWN] * steps, shares, low, high)

    def moment(self, parameters: Floats, order: int, centre: Floats) -> Floats:
        """Return the expectation of (x - centre)**order."""
        result = np.empty(len(parameters))
        endless = np.isinf(parameters[:, HIGH])
        low, mean = np.maximum(parameters[endless, LOW], 0.0), parameters[endless, OWN]
        factorials = [float(math.factorial(k)) for k in range(order + 1)]
        result[endless] = shifted_moment(low, centre[endless], mean, factorials, order)
        result[~endless] = _cut_moment(parameters[~endless], order, centre[~endless])
        return result

    def mode(self, parameters: Floats) -> Floats:
        """Return where the density is largest."""
        return np.maximum(parameters[:, LOW], 0.0)


def _in_means(parameters: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return where the part of the interval above 0 starts and how long it is, in means."""
    low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        return low / parameters[:, OWN], np.where(high == low, 0.0, (high - low) / parameters[:, OWN])


def _log_of_steps(width: Floats) -> Floats:
    """Return the log-probability of so many means from 0 on."""
    with np.errstate(divide="ignore"):
        return np.where(width < 1.0, np.log(-np.expm1(-width)), np.log1p(-np.exp(-width)))


def _cut_moment(parameters: Floats, order: int, centre: Floats) -> Floats:
    """Integrate over what matters: recursion over the orders would cancel between close bounds."""
    low = np.maximum(parameters[:, LOW], 0.0)
    _, width = _in_means(parameters, low, parameters[:, HIGH])
    points, weights = unit_interval_rule(_N_POINTS)
    steps = np.minimum(width, 60.0 + 4.0 * order)[:, None] * points
    return expected_power(low, centre, parameters[:, OWN], steps, weights * np.exp(-steps), order)

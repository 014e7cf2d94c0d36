"""Normal distributions."""

from __future__ import annotations

import math

import numpy as np

from unlearnspn.circuit.distributions import standard_normal
from unlearnspn.circuit.distributions.base import Floats, keep_within
from unlearnspn.circuit.distributions.quadrature import expected_power, shifted_moment, unit_interval_rule
from unlearnspn.circuit.expressions import HIGH, LOW, OWN

_N_POINTS = 64


class Gaussian:
    """Mean and standard deviation."""

    discrete = False

    def raw_log_mass(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log-probability between closed bounds, as if nothing had been cut off."""
        return standard_normal.log_mass(*_scores(parameters, low, high))

    def log_share(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log of the share of what is left that is between closed bounds."""
        std = parameters[:, OWN + 1]
        from_low, from_high = _in_units(low, parameters[:, LOW], std), _in_units(high, parameters[:, HIGH], std)
        own = _scores(parameters, parameters[:, LOW], parameters[:, HIGH])
        return standard_normal.log_share(own, _scores(parameters, low, high), from_low, from_high)

    def quantile(self, parameters: Floats, shares: Floats) -> Floats:
        """Return the inverse of the CDF, of what is left."""
        low, high, std = parameters[:, LOW], parameters[:, HIGH], parameters[:, OWN + 1]
        steps, sides = standard_normal.quantile(*_scores(parameters, low, high), shares)
        start = np.select([sides < 0.0, sides > 0.0], [low, high], parameters[:, OWN])
        with np.errstate(over="ignore"):
            return keep_within(start + std * steps, shares, low, high)

    def moment(self, parameters: Floats, order: int, centre: Floats) -> Floats:
        """Return the expectation of (x - centre)**order."""
        result = np.empty(len(parameters))
        uncut = np.isinf(parameters[:, LOW]) & np.isinf(parameters[:, HIGH])
        mean, std = parameters[uncut, OWN], parameters[uncut, OWN + 1]
        result[uncut] = shifted_moment(mean, centre[uncut], std, _standard_moments(order), order)
        result[~uncut] = _cut_moment(parameters[~uncut], order, centre[~uncut])
        return result

    def mode(self, parameters: Floats) -> Floats:
        """Return where the density is largest."""
        return np.clip(parameters[:, OWN], parameters[:, LOW], parameters[:, HIGH])


def _scores(parameters: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return how many standard deviations the bounds are from the mean, and from each other."""
    mean, std = parameters[:, OWN], parameters[:, OWN + 1]
    return _in_units(low, mean, std), _in_units(high, mean, std), _in_units(high, low, std)


def _in_units(end: Floats, start: Floats, unit: Floats) -> Floats:
    """Return (end - start) / unit, without overflow on the way, and 0 between equal infinities."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(end == start, 0.0, (0.5 * end - 0.5 * start) / unit * 2.0)


def _standard_moments(order: int) -> list[float]:
    """Return the moments of the standard normal distribution: products of odd numbers.

    >>> _standard_moments(4)
    [1.0, 0.0, 1.0, 0.0, 3.0]
    """
    return [0.0 if k % 2 else float(math.prod(range(1, k, 2))) for k in range(order + 1)]


def _cut_moment(parameters: Floats, order: int, centre: Floats) -> Floats:
    """Integrate over what matters around the mode: recursion over the orders would cancel in the tails."""
    mean, std = parameters[:, OWN], parameters[:, OWN + 1]
    mode = np.clip(mean, parameters[:, LOW], parameters[:, HIGH])
    score = _in_units(mode, mean, std)
    reach = standard_normal.reach(score, 60.0 + 4.0 * order)
    first = -np.minimum(_in_units(mode, parameters[:, LOW], std), reach)
    last = np.minimum(_in_units(parameters[:, HIGH], mode, std), reach)
    points, weights = unit_interval_rule(_N_POINTS)
    steps = first[:, None] + (last - first)[:, None] * points
    weights = weights * np.exp(-steps * (score[:, None] + 0.5 * steps))
    return expected_power(mode, centre, std, steps, weights, order)

"""Normal distributions."""

from __future__ import annotations

import math

import numpy as np

from unlearnspn.circuit.distributions import standard_normal
from unlearnspn.circuit.distributions.base import LARGEST, Floats, keep_within
from unlearnspn.circuit.distributions.quadrature import expected_power, shifted_moment, unit_interval_rule
from unlearnspn.circuit.expressions import HIGH, LOW, OWN
from unlearnspn.compiling import kernel
from unlearnspn.portable_math import log

_LOG_SQRT_TWO_PI = standard_normal.LOG_SQRT_TWO_PI
_SQRT_HALF = math.sqrt(0.5)
#: Between these a difference of values overflows only if it is impossible, and the inverse of a scale does not.
LEAST_STD, LARGEST_STD = 1e-300, 1e150
_POINTS, _WEIGHTS = unit_interval_rule(64)


@kernel
def add_log_density(parameters: Floats, values: Floats, total: Floats) -> None:
    """Add the log-density of every value, before anything was cut off; nothing for missing ones."""
    mean, std = parameters[OWN], parameters[OWN + 1]
    constant = -(log(std) + _LOG_SQRT_TWO_PI)
    if std < LEAST_STD or std > LARGEST_STD:
        _add_at_extreme_scales(mean, std, constant, values, total)
        return
    # A difference that overflows is impossible at these scales, as its square says.
    factor = _SQRT_HALF / std
    for r in range(total.size):
        value = values[r]
        score = (value - mean) * factor
        density = constant - score * score
        total[r] += density if value == value else 0.0


@kernel
def _add_at_extreme_scales(mean: float, std: float, constant: float, values: Floats, total: Floats) -> None:
    """Do the same where a difference of values or the inverse of the scale may overflow."""
    before = 0.5 if std > 1.0 else 1.0
    # The inverse of the least scale is too large for a number: in two steps.
    first = 1.0 if std > 1.0 else 2.0**100
    second = _SQRT_HALF / before / (std * first)
    for r in range(total.size):
        value = values[r]
        score = min(abs(value * before - mean * before) * first, LARGEST) * second
        density = constant - score * score
        total[r] += density if value == value else 0.0


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
    steps = first[:, None] + (last - first)[:, None] * _POINTS
    weights = _WEIGHTS * np.exp(-steps * (score[:, None] + 0.5 * steps))
    return expected_power(mode, centre, std, steps, weights, order)

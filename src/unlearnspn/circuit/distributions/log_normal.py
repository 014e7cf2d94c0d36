"""Log-normal distributions, of numbers above 0."""

from __future__ import annotations

import math

import numpy as np

from unlearnspn.circuit.distributions import standard_normal
from unlearnspn.circuit.distributions.base import LARGEST, Floats, keep_within
from unlearnspn.circuit.distributions.quadrature import unit_interval_rule
from unlearnspn.circuit.expressions import HIGH, LOW, OWN

_LOG_LARGEST = math.log(LARGEST)
#: The least number above 0.
_LEAST = 5e-324
_N_POINTS = 128


class LogNormal:
    """Mean and standard deviation of the logarithm."""

    discrete = False

    def raw_log_mass(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log-probability between closed bounds, as if nothing had been cut off."""
        return standard_normal.log_mass(*_scores(parameters, low, high))

    def log_share(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log of the share of what is left that is between closed bounds."""
        std = parameters[:, OWN + 1]
        from_low, from_high = _log_ratio(parameters[:, LOW], low) / std, -_log_ratio(high, parameters[:, HIGH]) / std
        own = _scores(parameters, parameters[:, LOW], parameters[:, HIGH])
        return standard_normal.log_share(own, _scores(parameters, low, high), from_low, from_high)

    def quantile(self, parameters: Floats, shares: Floats) -> Floats:
        """Return the inverse of the CDF, of what is left."""
        low, high = np.maximum(parameters[:, LOW], _LEAST), parameters[:, HIGH]
        mean, std = parameters[:, OWN], parameters[:, OWN + 1]
        steps, sides = standard_normal.quantile(*_scores(parameters, parameters[:, LOW], high), shares)
        with np.errstate(over="ignore", invalid="ignore"):
            from_bound = np.where(sides < 0.0, low, high) * np.exp(std * steps)
            return keep_within(np.where(sides == 0.0, np.exp(mean + std * steps), from_bound), shares, low, high)

    def moment(self, parameters: Floats, order: int, centre: Floats) -> Floats:
        """Return the expectation of (x - centre)**order."""
        if order == 0:
            return np.ones(len(parameters))
        tilt = order * parameters[:, OWN + 1]
        with np.errstate(over="ignore"):
            too_large = np.isinf(parameters[:, HIGH]) & (order * parameters[:, OWN] + 0.5 * tilt * tilt > _LOG_LARGEST)
        result = np.full(len(parameters), np.inf)
        result[~too_large] = _finite_moment(parameters[~too_large], order, centre[~too_large])
        return result

    def mode(self, parameters: Floats) -> Floats:
        """Return where the density is largest."""
        with np.errstate(over="ignore", under="ignore"):
            peak: Floats = np.exp(parameters[:, OWN] - parameters[:, OWN + 1] ** 2)
        return np.clip(peak, np.maximum(parameters[:, LOW], _LEAST), np.minimum(parameters[:, HIGH], LARGEST))


def _scores(parameters: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return how many standard deviations the bounds' logarithms are from the mean, and from each other."""
    mean, std = parameters[:, OWN], parameters[:, OWN + 1]
    low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
    with np.errstate(over="ignore", divide="ignore"):
        return (np.log(low) - mean) / std, (np.log(high) - mean) / std, _log_ratio(low, high) / std


def _log_ratio(low: Floats, high: Floats) -> Floats:
    """Return log(high / low) of the parts above 0, to all digits if they are close; 0 if they are the same."""
    low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        growth = (high - low) / low
        ratio = np.where(growth < 1.0, np.log1p(growth), np.log(high) - np.log(low))
    return np.where(low == high, 0.0, ratio)


def _finite_moment(parameters: Floats, order: int, centre: Floats) -> Floats:
    """Integrate over the logarithm of x: binomial sums of raw moments would cancel.

    Powers are logarithms until the end: they may overflow where their product with the density does not.
    """
    points, weights = unit_interval_rule(_N_POINTS)
    std = parameters[:, OWN + 1]
    low, high, width = _scores(parameters, parameters[:, LOW], parameters[:, HIGH])
    start = standard_normal.nearest_to_mean(low, high)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        first, last = _window(low, high, width, order * std, 60.0 + 4.0 * order)
        steps = first[:, None] + (last - first)[:, None] * points
        peak = std * (np.clip(order * std, low, high) - start)
        log_unit, distances = _distances(parameters, centre, std[:, None] * steps, peak)
        exponents = order * np.log(np.abs(distances)) - steps * (start[:, None] + 0.5 * steps)
        largest = np.maximum(exponents.max(axis=1), -LARGEST)
        terms = np.where(distances < 0.0, -1.0, 1.0) ** order * np.exp(exponents - largest[:, None])
        total = (terms * weights).sum(axis=1)
        log_factor = largest + order * log_unit - standard_normal.log_mass_ratio(low, high, width)
        result: Floats = np.sign(total) * np.exp(log_factor + np.log(np.abs(total) * (last - first)))
    return result


def _window(low: Floats, high: Floats, width: Floats, tilt: Floats, negligible: float) -> tuple[Floats, Floats]:
    """Return the first and the last step from the most probable score that count.

    That is where the probability is and, further up, where its product with x**order is: `tilt` scores above the mean.
    """
    start, peak = standard_normal.nearest_to_mean(low, high), np.clip(tilt, low, high)
    back = standard_normal.reach(np.minimum(start, 0.0), negligible)
    ahead = peak - start + standard_normal.reach(np.maximum(peak - tilt, 0.0), negligible)
    at_low, at_high = low >= 0.0, high <= 0.0
    first = -np.minimum(np.select([at_low, at_high], [0.0, width], -low), back)
    last = np.minimum(np.select([at_low, at_high], [width, 0.0], high), ahead)
    return first, last


def _distances(parameters: Floats, centre: Floats, log_steps: Floats, peak: Floats) -> tuple[Floats, Floats]:
    """Return x - centre for x as far from the most probable number as `log_steps` says, after the log of their unit.

    The unit is the number at `peak`, or the centre if that is larger.
    """
    mean = parameters[:, OWN]
    low, high = np.maximum(parameters[:, LOW], 0.0), parameters[:, HIGH]
    log_start, log_centre = np.clip(mean, np.log(low), np.log(high)), np.log(np.abs(centre))
    log_unit = np.maximum(log_start + peak, log_centre)
    start = np.exp(log_start - log_unit)[:, None]
    offset = np.where(
        np.abs(log_unit) < 700.0,
        (np.clip(np.exp(mean), low, high) - centre) / np.exp(log_unit),
        start[:, 0] - np.sign(centre) * np.exp(log_centre - log_unit),
    )
    near = start * np.expm1(np.minimum(log_steps, 1.0))
    far = np.exp((log_start - log_unit)[:, None] + log_steps) - start
    return log_unit, offset[:, None] + np.where(log_steps < 1.0, near, far)

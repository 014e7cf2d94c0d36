"""Normal distributions."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from scipy.special import log_ndtr, ndtri_exp

from unlearnspn.circuit.distributions.base import Floats
from unlearnspn.circuit.expressions import HIGH, LOG_MASS, LOW, OWN

_LOG_SQRT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_LARGEST = 1.7976931348623157e308


@njit(cache=True, nogil=True)
def add_log_density(parameters: Floats, values: Floats, total: Floats) -> None:
    """Add the log-density of every value, before anything was cut off; nothing for missing ones."""
    mean, std = parameters[OWN], parameters[OWN + 1]
    constant = -(math.log(std) + _LOG_SQRT_TWO_PI)
    # Halved first, so that the difference of two huge values of opposite sign stays finite.
    half_mean = 0.5 * mean
    precision = min(2.0 / std, _LARGEST) if std > 1e-308 else _LARGEST
    for r in range(total.size):
        value = values[r]
        score = (0.5 * value - half_mean) * precision
        density = constant - 0.5 * score * score
        total[r] += density if value == value else 0.0


class Gaussian:
    """Mean and standard deviation."""

    discrete = False

    def raw_log_mass(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log-probability between closed bounds, as if nothing had been cut off."""
        return log_normal_mass(*_scores(parameters, low, high))

    def quantile(self, parameters: Floats, shares: Floats) -> Floats:
        """Return the inverse of the CDF, of what is left."""
        low, high = parameters[:, LOW], parameters[:, HIGH]
        scores = normal_quantile(*_scores(parameters, low, high), parameters[:, LOG_MASS], shares)
        return np.clip(parameters[:, OWN] + parameters[:, OWN + 1] * scores, low, high)

    def moment(self, parameters: Floats, order: int, centre: Floats) -> Floats:
        """Return the expectation of (x - centre)**order, by recursion over the orders."""
        mean, std, log_mass = parameters[:, OWN], parameters[:, OWN + 1], parameters[:, LOG_MASS]
        bounds = [
            (bound - centre, std * np.exp(_log_normal_density((bound - mean) / std) - log_mass))
            for bound in (parameters[:, LOW], parameters[:, HIGH])
        ]
        before, now = np.zeros(len(parameters)), np.ones(len(parameters))
        for k in range(1, order + 1):
            low, high = (_edge(distance, density, k - 1) for distance, density in bounds)
            before, now = now, (mean - centre) * now + (k - 1) * std * std * before - (high - low)
        return now

    def mode(self, parameters: Floats) -> Floats:
        """Return where the density is largest."""
        return np.clip(parameters[:, OWN], parameters[:, LOW], parameters[:, HIGH])


def log_normal_mass(low: Floats, high: Floats) -> Floats:
    """Return the log of Φ(high) - Φ(low), accurate in both tails."""
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    larger = log_ndtr(high)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(larger == -np.inf, -np.inf, larger + np.log1p(-np.exp(log_ndtr(low) - larger)))


def normal_quantile(low: Floats, high: Floats, log_mass: Floats, shares: Floats) -> Floats:
    """Return the inverse of the CDF of a standard normal distribution cut off at `low` and `high`."""
    flip = low > 0
    start = log_ndtr(np.where(flip, -high, low))
    with np.errstate(divide="ignore"):
        reached = np.logaddexp(start, np.log(np.where(flip, 1.0 - shares, shares)) + log_mass)
    score = ndtri_exp(np.minimum(reached, 0.0))
    return np.where(flip, -score, score)


def _scores(parameters: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    mean, std = parameters[:, OWN], parameters[:, OWN + 1]
    with np.errstate(over="ignore"):
        return (0.5 * low - 0.5 * mean) / std * 2.0, (0.5 * high - 0.5 * mean) / std * 2.0


def _log_normal_density(scores: Floats) -> Floats:
    return -0.5 * scores * scores - _LOG_SQRT_TWO_PI


def _edge(distance: Floats, density: Floats, power: int) -> Floats:
    """Return distance**power·density, 0 at an infinite bound."""
    return np.where(np.isinf(distance), 0.0, np.where(np.isinf(distance), 0.0, distance) ** power * density)

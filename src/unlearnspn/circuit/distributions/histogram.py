"""Histograms with bins of one width; the last bin includes its upper edge.

Bins with a log-density of minus infinity may be added at the end of a line, to stack histograms of several lengths.
"""

from __future__ import annotations

import math

import numpy as np

from unlearnspn.circuit.distributions.base import LARGEST, Floats, keep_within
from unlearnspn.circuit.expressions import HIGH, LOG_MASS, LOW, OWN
from unlearnspn.compiling import kernel

_BINS = OWN + 2


@kernel
def add_log_density(parameters: Floats, values: Floats, total: Floats) -> None:
    """Add the log-density of every value, before anything was cut off; nothing for missing ones."""
    start, width, log_densities = parameters[OWN], parameters[OWN + 1], parameters[_BINS:]
    end, last = _edge(start, width, log_densities.size), log_densities.size - 1.0
    # Halves do not overflow. The steps of the loop are choices, not branches, which values would make hard to predict.
    half_start = 0.5 * start
    for r in range(total.size):
        value = values[r]
        within = (start <= value) & (value <= end)
        place = (0.5 * value - half_start) / width * 2.0
        place = place if place < last else last
        density = log_densities[np.uint64(place if within else 0.0)]
        outside = -math.inf if value == value else 0.0
        total[r] += density if within else outside


class Histogram:
    """Where the first bin starts, how wide bins are, and the log-density in each."""

    discrete = False

    def raw_log_mass(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log-probability between closed bounds, as if nothing had been cut off."""
        result = np.empty(len(parameters))
        _log_masses(parameters, low, high, result)
        return result

    def log_share(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log of the share of what is left that is between closed bounds."""
        return self.raw_log_mass(parameters, low, high) - parameters[:, LOG_MASS]

    def quantile(self, parameters: Floats, shares: Floats) -> Floats:
        """Return the inverse of the CDF, of what is left."""
        result = np.empty(len(parameters))
        _quantiles(parameters, shares, result)
        return keep_within(result, shares, parameters[:, LOW], parameters[:, HIGH])

    def moment(self, parameters: Floats, order: int, centre: Floats) -> Floats:
        """Return the expectation of (x - centre)**order."""
        result = np.empty(len(parameters))
        _moments(parameters, order, centre, result)
        return result

    def mode(self, parameters: Floats) -> Floats:
        """Return the middle of what is left of the first among the densest bins."""
        result = np.empty(len(parameters))
        _modes(parameters, result)
        return np.clip(result, parameters[:, LOW], parameters[:, HIGH])


@kernel
def _edge(start: float, width: float, index: int) -> float:
    return min(start + width * index, LARGEST)


@kernel
def _overlap(line: Floats, index: int, low: float, high: float) -> tuple[float, float]:
    """Return the part of a bin that is between bounds."""
    start, width = line[OWN], line[OWN + 1]
    return max(low, _edge(start, width, index)), min(high, _edge(start, width, index + 1))


@kernel
def _log_length(left: float, right: float) -> float:
    if not left < right:
        return -math.inf
    length = right - left
    return math.log(length) if length <= LARGEST else math.log(0.5 * right - 0.5 * left) + math.log(2.0)


@kernel
def _weigh(line: Floats, low: float, high: float, weights: Floats) -> float:
    """Write the probabilities of the bins between bounds, relative to the largest, and return its logarithm."""
    largest = -math.inf
    for index in range(weights.size):
        left, right = _overlap(line, index, low, high)
        weights[index] = line[_BINS + index] + _log_length(left, right)
        largest = max(largest, weights[index])
    for index in range(weights.size):
        weights[index] = math.exp(weights[index] - largest) if weights[index] > -math.inf else 0.0
    return largest


@kernel
def _log_masses(parameters: Floats, low: Floats, high: Floats, result: Floats) -> None:
    weights = np.empty(parameters.shape[1] - _BINS)
    for i in range(result.size):
        largest = _weigh(parameters[i], low[i], high[i], weights)
        result[i] = largest + math.log(weights.sum()) if largest > -math.inf else -math.inf


@kernel
def _quantiles(parameters: Floats, shares: Floats, result: Floats) -> None:
    weights = np.empty(parameters.shape[1] - _BINS)
    for i in range(result.size):
        line = parameters[i]
        _weigh(line, line[LOW], line[HIGH], weights)
        missing = shares[i] * weights.sum()
        result[i] = line[LOW]
        for index in range(weights.size):
            if weights[index] == 0.0:
                continue
            left, right = _overlap(line, index, line[LOW], line[HIGH])
            result[i] = _between(left, right, min(missing / weights[index], 1.0))
            missing -= weights[index]
            if missing <= 0.0:
                break


@kernel
def _between(left: float, right: float, part: float) -> float:
    length = right - left
    return min(left + part * length, right) if length <= LARGEST else (1.0 - part) * left + part * right


@kernel
def _moments(parameters: Floats, order: int, centre: Floats, result: Floats) -> None:
    weights = np.empty(parameters.shape[1] - _BINS)
    for i in range(result.size):
        line = parameters[i]
        _weigh(line, line[LOW], line[HIGH], weights)
        unit = _largest_half_distance(line, weights, centre[i])
        total = 0.0
        for index in range(weights.size):
            if weights[index] > 0.0:
                left, right = _overlap(line, index, line[LOW], line[HIGH])
                left, right = (0.5 * left - 0.5 * centre[i]) / unit, (0.5 * right - 0.5 * centre[i]) / unit
                total += weights[index] * _uniform_moment(left, right, order)
        result[i] = total / weights.sum()
        for _ in range(order):
            result[i] *= unit * 2.0


@kernel
def _largest_half_distance(line: Floats, weights: Floats, centre: float) -> float:
    """Return half of the largest distance from the centre that matters, which does not overflow; 1 if it is 0."""
    largest = 0.0
    for index in range(weights.size):
        if weights[index] > 0.0:
            left, right = _overlap(line, index, line[LOW], line[HIGH])
            largest = max(largest, abs(0.5 * left - 0.5 * centre), abs(0.5 * right - 0.5 * centre))
    return largest if largest > 0.0 else 1.0


@kernel
def _uniform_moment(left: float, right: float, order: int) -> float:
    """Return the expectation of x**order between two numbers, all alike.

    From the middle, only even powers of the distance to it count, and nothing cancels.
    """
    middle, half = 0.5 * left + 0.5 * right, 0.5 * right - 0.5 * left
    moment, choices = 0.0, 1.0
    for power in range(order + 1):
        if power % 2 == 0:
            moment += choices * middle ** (order - power) * half**power / (power + 1)
        choices = choices * (order - power) / (power + 1)
    return moment


@kernel
def _modes(parameters: Floats, result: Floats) -> None:
    for i in range(result.size):
        line = parameters[i]
        result[i], largest = line[LOW], -math.inf
        for index in range(line.size - _BINS):
            left, right = _overlap(line, index, line[LOW], line[HIGH])
            if left < right and line[_BINS + index] > largest:
                result[i], largest = 0.5 * left + 0.5 * right, line[_BINS + index]

"""Gauss-Legendre quadrature, and expectations of powers by it: positive weights, so that nothing cancels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@cache
def unit_interval_rule(points: int) -> tuple[Floats, Floats]:
    """Return the points in [0, 1] and the weights that integrate polynomials of degree 2·points - 1.

    >>> points, weights = unit_interval_rule(3)
    >>> round(float(weights @ points**5), 15) == round(1 / 6, 15)
    True
    """
    count = (points + 1) // 2
    angles = math.pi * (np.arange(count, dtype=np.float64) + 0.75) / (points + 0.5)
    for _ in range(5):
        value, slope = _legendre(points, angles)
        angles = angles - value / slope
    if points % 2:
        angles[-1] = 0.5 * math.pi
    _, slope = _legendre(points, angles)
    near, weights = np.sin(0.5 * angles) ** 2, 1.0 / slope**2
    half = points // 2
    rule = np.append(near, 1.0 - near[:half][::-1]), np.append(weights, weights[:half][::-1])
    for array in rule:
        array.flags.writeable = False
    return rule


def _legendre(degree: int, angles: Floats) -> tuple[Floats, Floats]:
    """Return the Legendre polynomial of the angles' cosines, and its derivative by the angle.

    The recurrence is one for differences, with 1 - cosine as it is: near the ends that saves half of the digits.
    """
    distance = 2.0 * np.sin(0.5 * angles) ** 2
    value, difference = 1.0 - distance, -distance
    for k in range(1, degree):
        difference = (k * difference - (2 * k + 1) * distance * value) / (k + 1)
        value = value + difference
    return value, degree * (difference - distance * value) / np.sin(angles)


def expected_power(origin: Floats, centre: Floats, unit: Floats, steps: Floats, weights: Floats, order: int) -> Floats:
    """Return the mean of (origin + unit·step - centre)**order over each line's weighted steps, ±inf if it overflows.

    >>> steps, weights = np.array([[0.0, 1.0]]), np.array([[1.0, 3.0]])
    >>> expected_power(np.array([10.0]), np.array([14.0]), np.array([5.0]), steps, weights, 2)
    array([4.75])
    """
    shrink = _shrink(origin, centre, unit)
    distances = (shrink * origin - shrink * centre)[:, None] + (shrink * unit)[:, None] * steps
    scale = _positive(np.abs(distances).max(axis=1))
    powers = (distances / scale[:, None]) ** order
    return _rescale((powers * weights).sum(axis=1) / weights.sum(axis=1), scale, shrink, order)


def shifted_moment(origin: Floats, centre: Floats, unit: Floats, moments: Sequence[float], order: int) -> Floats:
    """Return the expectation of (origin + unit·U - centre)**order where U has the given moments, from order 0 up.

    >>> uniform = [1, 1 / 2, 1 / 3]
    >>> shifted_moment(np.array([10.0]), np.array([10.5]), np.array([1.0]), uniform, 2).round(15) * 12
    array([1.])
    """
    shrink = _shrink(origin, centre, unit)
    distance, unit = shrink * origin - shrink * centre, shrink * unit
    scale = _positive(np.maximum(np.abs(distance), unit))
    distance, unit = distance / scale, unit / scale
    total = np.zeros(len(distance))
    for power, moment in zip(range(order + 1), moments, strict=True):
        total += math.comb(order, power) * moment * distance ** (order - power) * unit**power
    return _rescale(total, scale, shrink, order)


def _shrink(*numbers: Floats) -> Floats:
    """Return factors that keep sums and small multiples of the numbers finite."""
    largest = np.max(np.abs(numbers), axis=0)
    return np.where(largest > 1e300, 2.0**-10, 1.0)


def _positive(scale: Floats) -> Floats:
    return np.where(scale > 0.0, scale, 1.0)


def _rescale(value: Floats, scale: Floats, shrink: Floats, order: int) -> Floats:
    """Return value·(scale / shrink)**order, one factor at a time: a power that overflows alone may be made up for."""
    with np.errstate(over="ignore", under="ignore"):
        for _ in range(order):
            value = value * scale / shrink
    return value

"""Gauss-Legendre quadrature, and expectations of powers by it: positive weights, so that nothing cancels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import roots_legendre  # type: ignore[import-untyped]

Floats = npt.NDArray[np.float64]


def unit_interval_rule(points: int) -> tuple[Floats, Floats]:
    """Return the points in [0, 1] and the weights that integrate polynomials of degree 2·points - 1.

    >>> points, weights = unit_interval_rule(3)
    >>> round(float(weights @ points**5), 15) == round(1 / 6, 15)
    True
    """
    points_, weights = roots_legendre(points)
    return 0.5 * points_ + 0.5, 0.5 * weights


def expected_power(origin: Floats, centre: Floats, steps: Floats, weights: Floats, order: int) -> Floats:
    """Return the mean of (origin + step - centre)**order over each line's weighted steps; it may overflow, to ±inf.

    >>> expected_power(np.array([10.0]), np.array([11.0]), np.array([[0.0, 1.0]]), np.array([[1.0, 3.0]]), 2)
    array([0.25])
    """
    distances = _half_distance(origin, centre)[:, None] + 0.5 * steps
    scale = _scale(np.abs(distances).max(axis=1))
    powers = (distances / scale[:, None]) ** order
    return rescale((powers * weights).sum(axis=1) / weights.sum(axis=1), 2.0 * scale, order)


def shifted_moment(origin: Floats, centre: Floats, step: Floats, moments: Sequence[float], order: int) -> Floats:
    """Return the expectation of (origin + step·U - centre)**order where U has the given moments, from order 0 up.

    >>> uniform = [1, 1 / 2, 1 / 3]
    >>> shifted_moment(np.array([10.0]), np.array([10.5]), np.array([1.0]), uniform, 2).round(15) * 12
    array([1.])
    """
    distance, half_step = _half_distance(origin, centre), 0.5 * step
    scale = _scale(np.maximum(np.abs(distance), half_step))
    distance, half_step = distance / scale, half_step / scale
    total = np.zeros(len(distance))
    for power, moment in zip(range(order + 1), moments, strict=True):
        total += math.comb(order, power) * moment * distance ** (order - power) * half_step**power
    return rescale(total, 2.0 * scale, order)


def rescale(units: Floats, scale: Floats, order: int) -> Floats:
    """Return units·scale**order, one factor at a time: a power that overflows alone may be made up for."""
    result = np.where(units == 0.0, 0.0, units)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for _ in range(order):
            result = result * scale
    return np.where(units == 0.0, 0.0, result)


def _half_distance(origin: Floats, centre: Floats) -> Floats:
    """Halved, so that the difference of two huge numbers of opposite signs stays finite."""
    return 0.5 * origin - 0.5 * centre


def _scale(largest: Floats) -> Floats:
    return np.where(largest > 0.0, largest, 1.0)

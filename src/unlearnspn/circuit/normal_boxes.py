"""Probabilities of boxes under joint normals, and of the cells of grids.

Everything is in logarithms, and conditional intervals are relative to their nearer ends: improbable boxes keep their
digits. Results depend on nothing but the normal and the box.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.distributions import standard_normal
from unlearnspn.circuit.distributions.gaussian import Gaussian
from unlearnspn.circuit.distributions.quadrature import unit_interval_rule
from unlearnspn.circuit.expressions import Normal
from unlearnspn.circuit.normal_algebra import triangle

Floats = npt.NDArray[np.float64]

#: Up to so many numbers, an integral goes over one number after the other.
_MOST_NESTED = 3
_N_POINTS = 32
#: What is exp(-50) times as dense as the densest is left out.
_NEGLIGIBLE = 50.0
#: Looks at where the integrand matters go on until it does so at that many points; each is 32 times as close.
_ENOUGH = 8
_N_LOOKS = 12
#: So many deviations around its middle a step of the normal CDF gets panels of its own.
_STEP = 7.0
#: Korobov's lattice, with the generator whose worst error (P₂, the j-th of nine numbers weighted 1/j²) is the least.
_N_LATTICE, _GENERATOR = 8191, 3788
#: Cells leave out what is more deviations away: 2e-19.
_FARTHEST_CELL = 9.0


def log_probability(normal: Normal, low: Floats, high: Floats) -> float:
    """Return the log-probability that each number is within its closed bounds, which may be infinite.

    >>> pair = Normal(np.array([3, 7], np.int32), np.zeros(2), np.array([[1.0, 0.0], [0.6, 0.8]]))
    >>> round(log_probability(pair, np.array([40.0, -np.inf]), np.array([np.inf, np.inf])), 9)
    -804.608442014
    >>> round(math.exp(log_probability(pair, np.zeros(2), np.full(2, np.inf))), 9)  # 1/4 + asin(0.6) / 2π
    0.352416382
    """
    if not (low < high).all():
        return -math.inf
    bounded = np.flatnonzero((low > -np.inf) | (high < np.inf))
    if not bounded.size:
        return 0.0
    mean, low, high = normal.mean[bounded], low[bounded], high[bounded]
    factor = triangle(normal.factor[bounded])
    # Lines in units of their own deviations.
    units = np.sqrt(np.square(factor / np.abs(factor).max(axis=1)[:, None]).sum(axis=1)) * np.abs(factor).max(axis=1)
    box = tuple(_in_units(end, start, units) for end, start in ((low, mean), (high, mean), (high, low)))
    if not ((box[0] < np.inf) & (box[1] > -np.inf)).all():
        return -math.inf
    with np.errstate(over="ignore", under="ignore"):
        order, factor = _ordered(factor / units[:, None], *box)
        integral = _nested if len(bounded) <= _MOST_NESTED else _by_lattice
        result = integral(factor, *(scores[order, None] for scores in box))[0]
    return min(float(result), 0.0)


def cell_probabilities(normal: Normal, edges_a: Floats, edges_b: Floats) -> Floats:
    """Return the probabilities of the cells between edges, in increasing order, of a normal of two numbers.

    The lines are those of the first number, from below its first edge to above its last.

    >>> pair = Normal(np.array([3, 7], np.int32), np.zeros(2), np.array([[1.0, 0.0], [0.6, 0.8]]))
    >>> cell_probabilities(pair, np.array([0.0]), np.array([0.0])).round(9)
    array([[0.35241638, 0.14758362],
           [0.14758362, 0.35241638]])
    """
    mean, factor = normal.mean, normal.factor
    rows = np.clip((edges_a - mean[0]) / factor[0, 0], -_FARTHEST_CELL, _FARTHEST_CELL)
    columns, slope = (edges_b - mean[1]) / factor[1, 1], factor[1, 0] / factor[1, 1]
    points, weights = unit_interval_rule(_N_POINTS)
    cells = np.zeros((len(rows) + 1, len(columns) + 1))
    for start, end in _cell_panels(rows, columns, slope):
        nodes = start + (end - start) * points
        masses = (end - start) * weights * np.exp(-0.5 * nodes**2 - standard_normal.LOG_SQRT_TWO_PI)
        below = (_normal_cdf(columns[:, None] - slope * nodes) * masses).sum(axis=1)
        cells[np.searchsorted(rows, start, side="right")] += np.diff(below, prepend=0.0, append=masses.sum())
    return cells


def _normal_cdf(scores: Floats) -> Floats:
    from scipy import special  # noqa: PLC0415

    return np.asarray(special.ndtr(scores))


def _cell_panels(rows: Floats, columns: Floats, slope: float) -> list[tuple[float, float]]:
    """Return the ends of panels in each of which the columns' conditional probabilities are smooth."""
    ends = [np.linspace(-_FARTHEST_CELL, _FARTHEST_CELL, 7), rows]
    if slope != 0.0:
        with np.errstate(over="ignore"):
            ends += [(columns + step) / slope for step in (-_STEP, _STEP)]
    breaks = np.unique(np.clip(np.concatenate(ends), -_FARTHEST_CELL, _FARTHEST_CELL))
    return list(pairwise(breaks.tolist()))


def _in_units(end: Floats, start: Floats, unit: Floats) -> Floats:
    """Return (end - start) / unit, without overflow on the way."""
    with np.errstate(over="ignore"):
        return (0.5 * end - 0.5 * start) / unit * 2.0


def _ordered(factor: Floats, low: Floats, high: Floats, width: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
    """Put the positions in order, each time the least probable given those before, and return the factor for that.

    Those before are taken to be at their means within their intervals.
    """
    if len(factor) == 1:
        return np.zeros(1, np.intp), factor
    order: list[int] = []
    rest, likely = list(range(len(factor))), np.zeros(0)
    while rest:
        done = len(order)
        turned = triangle(factor[[*order, *rest]])
        stds = np.sqrt(np.square(turned[done:, done:]).sum(axis=1))
        shifts = (turned[done:, :done] * likely).sum(axis=1)
        ends = (low[rest] - shifts) / stds, (high[rest] - shifts) / stds
        log_masses = standard_normal.log_mass(*ends, width[rest] / stds)
        chosen = int(np.argmin(log_masses))
        cut = np.array([[ends[0][chosen], ends[1][chosen], log_masses[chosen], 0.0, 1.0]])
        likely = np.append(likely, Gaussian().moment(np.clip(cut, -1e300, 1e300), 1, np.zeros(1)))
        order.append(rest.pop(chosen))
    return np.array(order), triangle(factor[order])


def _nested(factor: Floats, low: Floats, high: Floats, width: Floats) -> Floats:
    """Return the log-probabilities of boxes, which are columns, by integrals over one number after the other."""
    std = factor[0, 0]
    if len(factor) == 1:
        return standard_normal.log_mass(low[0] / std, high[0] / std, np.broadcast_to(width[0] / std, low[0].shape))
    first, last = low[0] / std, high[0] / std
    start = standard_normal.nearest_to_mean(first, last)
    steps, log_widths = _panels(factor, low, high, width, start)
    integrand = _log_integrand(factor, low, high, width, start, steps)
    fall = -0.5 * start**2 - standard_normal.LOG_SQRT_TWO_PI
    return fall + _log_sum(integrand + log_widths)


def _log_integrand(factor: Floats, low: Floats, high: Floats, width: Floats, start: Floats, steps: Floats) -> Floats:
    """Return the log of the density at steps from where they start, relative to there, times that of all the rest."""
    shape = steps.shape
    shifts = factor[1:, 0, None, None] * (start[:, None] + steps)
    lows, highs = low[1:, :, None] - shifts, high[1:, :, None] - shifts
    count = len(factor) - 1
    rest = _nested(factor[1:, 1:], lows.reshape(count, -1), highs.reshape(count, -1), width[1:])
    return np.asarray(rest.reshape(shape) - steps * (start[:, None] + 0.5 * steps))


def _panels(factor: Floats, low: Floats, high: Floats, width: Floats, start: Floats) -> tuple[Floats, Floats]:
    """Return for each box the nodes of panels that make the integrand smooth, and the logs of their weights."""
    points, weights = unit_interval_rule(_N_POINTS)
    least, most, densest = _matters(factor, low, high, width, start)
    breaks = [least, most, densest]
    for line in range(1, len(factor)):
        slope, std = factor[line, 0], math.sqrt(np.square(factor[line, 1:]).sum())
        if slope == 0.0:
            continue
        for end in (low[line], high[line]):
            if np.isfinite(end).all():
                with np.errstate(over="ignore"):
                    breaks += [(end + step * std) / slope - start for step in (-_STEP, _STEP)]
    ends = np.sort(np.clip(np.array(breaks), least, most), axis=0).T
    widths = np.diff(ends, axis=1)
    steps = ends[:, :-1, None] + widths[:, :, None] * points
    with np.errstate(divide="ignore"):
        log_weights = np.log(widths)[:, :, None] + np.log(weights)
    return steps.reshape(len(start), -1), log_weights.reshape(len(start), -1)


def _matters(factor: Floats, low: Floats, high: Floats, width: Floats, start: Floats) -> tuple[Floats, Floats, Floats]:
    """Return how far from the start the integrand matters, and where it is largest.

    The density alone falls by as much as the integrand can have lost at the start. That may be too wide by far; as the
    logarithm of the integrand is concave, a few looks at it find out.
    """
    std = factor[0, 0]
    at_start = _log_integrand(factor, low, high, width, start, np.zeros((len(start), 1)))[:, 0]
    reach = standard_normal.reach(start, _NEGLIGIBLE + np.minimum(-at_start, 1e300))
    with np.errstate(over="ignore"):
        first = np.select([start > 0.0, start < 0.0], [np.zeros(1), -width[0] / std], low[0] / std)
        last = np.select([start < 0.0, start > 0.0], [np.zeros(1), width[0] / std], high[0] / std)
    first, last = np.maximum(first, -reach), np.minimum(last, reach)
    grid, lines = np.linspace(0.0, 1.0, _N_POINTS + 1), np.arange(len(start))
    for _ in range(_N_LOOKS):
        steps = first[:, None] + (last - first)[:, None] * grid
        heights = _log_integrand(factor, low, high, width, start, steps)
        counts = heights > heights.max(axis=1, keepdims=True) - _NEGLIGIBLE
        from_here = np.maximum(counts.argmax(axis=1) - 1, 0)
        to_here = np.minimum(_N_POINTS + 1 - counts[:, ::-1].argmax(axis=1), _N_POINTS)
        densest = steps[lines, heights.argmax(axis=1)]
        first, last = steps[lines, from_here], steps[lines, to_here]
        if counts.sum(axis=1).min() >= _ENOUGH:
            break
    return first, last, densest


def _log_sum(logs: Floats) -> Floats:
    """Return the log of the sum over each line."""
    largest = logs.max(axis=1)
    largest = np.where(largest > -np.inf, largest, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(largest + np.log(np.exp(logs - largest[:, None]).sum(axis=1)))


def _by_lattice(factor: Floats, low: Floats, high: Floats, width: Floats) -> Floats:
    """Return the log of the mean product of conditional probabilities over a lattice of shares (Genz)."""
    shares = _lattice(len(factor) - 1)
    scores = np.zeros((len(factor), shares.shape[1]))
    logs = np.zeros(shares.shape[1])
    for line, std in enumerate(factor.diagonal()):
        shift = np.zeros(shares.shape[1])
        for earlier in range(line):
            shift += factor[line, earlier] * scores[earlier]
        first, last = (low[line] - shift) / std, (high[line] - shift) / std
        widths = np.full(len(logs), width[line] / std)
        logs += standard_normal.log_mass(first, last, widths)
        if line < len(shares):
            steps, sides = standard_normal.quantile(first, last, widths, shares[line])
            scores[line] = np.select([sides < 0.0, sides > 0.0], [first, last], 0.0) + steps
    return _log_sum(logs[None]) - math.log(shares.shape[1])


@cache
def _lattice(dimensions: int) -> Floats:
    """Return the points of the lattice, with the tent transform, inside of the unit cube."""
    generators, generator = [], 1
    for _ in range(dimensions):
        generators.append(generator)
        generator = generator * _GENERATOR % _N_LATTICE
    # Half a step away from 0, so that no share is 0 or 1.
    turns = (np.outer(generators, np.arange(_N_LATTICE)) % _N_LATTICE + 0.25) / _N_LATTICE
    points = 1.0 - np.abs(2.0 * turns - 1.0)
    points.flags.writeable = False
    return points

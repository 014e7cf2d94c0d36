"""Evidence on joint normals: how probable it is, and what is left of them once it is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from unlearnspn.circuit.distributions import NUMERIC, cut_off
from unlearnspn.circuit.evidence import Between, Constraint, Equals
from unlearnspn.circuit.expressions import (
    ONE,
    Expression,
    Input,
    Normal,
    Unit,
    mixture,
    numeric,
    numeric_parameters,
    numeric_point,
    product,
)
from unlearnspn.circuit.inputs import Floats
from unlearnspn.circuit.normal_algebra import given_values, marginal, slices
from unlearnspn.circuit.normal_boxes import log_probability

#: A range is cut into so many pieces at most, several ranges together into so many, and none into narrower ones than
#: this share of a deviation.
_MOST_PIECES, _MOST_TOGETHER, _NARROW = 64, 512, 1.0 / 32.0


class _Known(NamedTuple):
    """What is known of the variables of a joint normal, by position."""

    places: list[int]
    values: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, normal: Normal, constraints: Mapping[int, Constraint], events: bool) -> _Known:
        """Divide constraints into values and ranges; in events, values are ranges without a width."""
        n, places, values = len(normal.mean), [], []
        low, high = np.full(n, -math.inf), np.full(n, math.inf)
        for place, variable in enumerate(normal.variables.tolist()):
            constraint = constraints.get(variable)
            if isinstance(constraint, Equals) and not events:
                places.append(place)
                values.append(constraint.value)
            elif isinstance(constraint, Equals):
                low[place] = high[place] = constraint.value
            elif isinstance(constraint, Between):
                low[place], high[place] = constraint.low, constraint.high
        return cls(places, np.array(values), low, high)

    @property
    def has_range(self) -> bool:
        return bool((np.isfinite(self.low) | np.isfinite(self.high) | (self.low > self.high)).any())


def log_value(normal: Normal, constraints: Mapping[int, Constraint], events: bool) -> float:
    """Return the log-probability of constraints: for events a single number has that of its mass, else its density."""
    known = _Known.of(normal, constraints, events)
    density, rest = given_values(normal, known.places, known.values)
    if not known.has_range or rest is None:
        return density
    others = np.delete(np.arange(len(normal.mean)), known.places)
    return density + log_probability(rest, known.low[others], known.high[others])


def given(normal: Normal, constraints: Mapping[int, Constraint]) -> Expression:
    """Return what is left of a normal once constraints are known, which are possible; it still has all variables.

    A range is cut into pieces, in each of which the other variables are jointly normal: with the mean and the deviation
    that they have there.
    """
    known = _Known.of(normal, constraints, events=False)
    points = [_point(normal, place, value) for place, value in zip(known.places, known.values.tolist(), strict=True)]
    rest = given_values(normal, known.places, known.values)[1]
    if rest is None:
        return product(points)
    others = np.delete(np.arange(len(normal.mean)), known.places)
    ranges = {
        int(normal.variables[place]): (float(known.low[place]), float(known.high[place]))
        for place in others.tolist()
        if math.isfinite(known.low[place]) or math.isfinite(known.high[place])
    }
    return product([*points, _within(rest, ranges)])


def restricted(normal: Normal, places: Mapping[int, int]) -> Expression:
    """Return the distribution of some of the variables, numbered anew."""
    kept = [(places[v], position) for position, v in enumerate(normal.variables.tolist()) if v in places]
    if not kept:
        return ONE
    kept.sort()
    numbers, positions = (list(each) for each in zip(*kept, strict=True))
    alone = marginal(normal, positions)
    return single(Normal(np.array(numbers, np.int32), alone.mean, alone.factor))


def single(normal: Normal) -> Expression:
    """Return a normal; of a single variable as an input."""
    if len(normal.mean) > 1:
        return normal
    return numeric(Unit.GAUSSIAN, int(normal.variables[0]), float(normal.mean[0]), float(normal.factor[0, 0]))


def _point(normal: Normal, place: int, value: float) -> Expression:
    return Input(Unit.POINT, int(normal.variables[place]), numeric_point(value))


def _within(normal: Normal, ranges: Mapping[int, tuple[float, float]]) -> Expression:
    """Return a normal given ranges of some variables."""
    if not ranges:
        return single(normal)
    each = max(1, int(_MOST_TOGETHER ** (1.0 / len(ranges)) + 1e-9))
    parts, log_weights = [], []
    for inputs, rest, log_weight in _pieces(normal, dict(ranges), min(each, _MOST_PIECES)):
        parts.append(product([*inputs, *([] if rest is None else [single(rest)])]))
        log_weights.append(log_weight)
    # They may be far below zero: then they are known well beside each other only.
    weights = np.array(log_weights) - max(log_weights)
    return mixture(parts, (weights - np.log(np.exp(weights).sum())).tolist())


def _pieces(
    normal: Normal, ranges: dict[int, tuple[float, float]], most: int
) -> list[tuple[list[Input], Normal | None, float]]:
    """Cut ranges into pieces: the inputs of their variables, what the others are like, and the log-weight of each."""
    variable, (low, high) = next(iter(ranges.items()))
    others = {v: bounds for v, bounds in ranges.items() if v != variable}
    position = normal.variables.tolist().index(variable)
    alone = marginal(normal, [position])
    mean, std = float(alone.mean[0]), float(alone.factor[0, 0])
    own = np.array([numeric_parameters(mean, std)])
    gaussian = NUMERIC[Unit.GAUSSIAN]
    mass = float(gaussian.raw_log_mass(own, np.array([low]), np.array([high]))[0])
    n = max(1, math.ceil(min((0.5 * high - 0.5 * low) / std * (2.0 / _NARROW), float(most))))
    log_shares, lows, highs, rests = slices(normal, position, low, high, n)
    cut = cut_off(gaussian, np.repeat(own, len(lows), axis=0), lows, highs)
    found: list[tuple[list[Input], Normal | None, float]] = []
    for number, line in enumerate(cut):
        part, weight = Input(Unit.GAUSSIAN, variable, line), mass + float(log_shares[number])
        rest = rests[number] if rests else None
        if not others or rest is None:
            found.append(([part], rest, weight))
            continue
        found += [([part, *more], left, weight + below) for more, left, below in _pieces(rest, others, most)]
    return found

"""What the parameters of inputs must be like to make a distribution, for each kind of input.

Rules look at many inputs of one kind at once, a line of parameters for each, and tell for which of them they hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.distributions import NUMERIC
from unlearnspn.circuit.expressions import HIGH, LOG_MASS, LOW, OWN, Unit

#: How far sums of probabilities may be from 1, and logarithms from what they should be: conditioning rounds.
TOLERANCE = 1e-6

_FIRST_BIN = OWN + 2

Lines = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class Rule(NamedTuple):
    """A rule, and what is wrong with an input that breaks it."""

    holds: Callable[[Lines], Mask]
    fault: str


def own_parameters(unit: Unit) -> int:
    """Return how many parameters a numeric input has besides its bounds and its mass; a histogram may have more."""
    return {Unit.GAUSSIAN: 2, Unit.LOG_NORMAL: 2, Unit.EXPONENTIAL: 1, Unit.POISSON: 1, Unit.HISTOGRAM: 3}.get(unit, 0)


def rules(unit: Unit) -> list[Rule]:
    """Return the rules for a kind of input."""
    if unit is Unit.CATEGORICAL:
        return _CATEGORICAL
    return [*_BOUNDS, *_OWN_RULES[unit], Rule(_mass_fits(unit), "its mass is not that between its bounds")]


def _normalised(log_probabilities: Lines) -> Mask:
    return np.asarray(np.abs(np.exp(log_probabilities).sum(axis=1) - 1.0) <= TOLERANCE)


def _logarithms(lines: Lines) -> Mask:
    return np.asarray((lines <= TOLERANCE).all(axis=1))


def _finite(column: int) -> Callable[[Lines], Mask]:
    return lambda lines: np.isfinite(lines[:, column])


def _positive(column: int) -> Callable[[Lines], Mask]:
    return lambda lines: (lines[:, column] > 0.0) & (lines[:, column] < np.inf)


def _in_order(lines: Lines) -> Mask:
    low, high = lines[:, LOW], lines[:, HIGH]
    return np.asarray((low <= high) & (low < np.inf) & (high > -np.inf))


def _is_point(lines: Lines) -> Mask:
    return np.asarray((lines[:, LOW] == lines[:, HIGH]) & (lines[:, LOG_MASS] == 0.0))


def _bins_end(lines: Lines) -> Mask:
    return np.asarray(np.isfinite(lines[:, OWN] + lines[:, OWN + 1] * (lines.shape[1] - _FIRST_BIN)))


def _bins_normalised(lines: Lines) -> Mask:
    return _normalised(lines[:, _FIRST_BIN:] + np.log(lines[:, OWN + 1])[:, None])


def _mass_fits(unit: Unit) -> Callable[[Lines], Mask]:
    """Compare the log-mass with the one that the distribution has between the bounds: all of it if there are none."""

    def holds(lines: Lines) -> Mask:
        low, high, mass = lines[:, LOW], lines[:, HIGH], np.zeros(len(lines))
        cut = (low > -np.inf) | (high < np.inf)
        mass[cut] = NUMERIC[unit].raw_log_mass(lines[cut], low[cut], high[cut])
        difference = np.abs(mass - lines[:, LOG_MASS])
        return np.asarray(difference <= TOLERANCE * np.maximum(1.0, np.abs(mass)))

    return holds


_CATEGORICAL = [
    Rule(_logarithms, "a parameter is no logarithm of a probability"),
    Rule(_normalised, "its probabilities do not sum to 1 (not normalised)"),
]
_BOUNDS = [
    Rule(_in_order, "its bounds are not in order"),
    Rule(_finite(LOG_MASS), "there is nothing between its bounds"),
]
_NORMAL = [
    Rule(_finite(OWN), "its mean is not finite"),
    Rule(_positive(OWN + 1), "its standard deviation is not positive"),
]
_OWN_RULES = {
    Unit.GAUSSIAN: _NORMAL,
    Unit.LOG_NORMAL: _NORMAL,
    Unit.EXPONENTIAL: [Rule(_positive(OWN), "its mean is not positive")],
    Unit.POISSON: [Rule(_positive(OWN), "its rate is not positive")],
    Unit.HISTOGRAM: [
        Rule(_positive(OWN + 1), "its bins have no width"),
        Rule(_bins_end, "its bins do not end"),
        Rule(_bins_normalised, "its probabilities do not sum to 1 (not normalised)"),
    ],
    Unit.POINT: [Rule(_is_point, "its bounds are not one number")],
}

"""Log-densities by NumPy, one unit after another for many rows: what is done until it pays to compile `log_density`.

Bit for bit the same: on every number the same operations are done in the same order. Left to compiled code are inputs
that a model does not have by default, and numbers so extreme that they need more care.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from unlearnspn.circuit.distributions.gaussian import LARGEST_STD, LEAST_STD
from unlearnspn.circuit.distributions.standard_normal import LOG_SQRT_TWO_PI
from unlearnspn.circuit.exponentials import LEAST_DENSITY, exponentials_by_numpy, logarithms_by_numpy
from unlearnspn.circuit.expressions import HIGH, LOG_MASS, LOW, OWN, Unit
from unlearnspn.circuit.inputs import Floats, Places
from unlearnspn.circuit.layout import Indices, Starts, Units
from unlearnspn.circuit.schedule import Schedule
from unlearnspn.compiling import as_written
from unlearnspn.portable_math import log

_log = as_written(log)
#: About how many numbers the values of a block of rows may take.
_BLOCK_CELLS = 1 << 21


class _Rows(NamedTuple):
    """Some rows, and the inputs that they are put into."""

    units: list[int]
    slots: list[int]
    parameter_starts: list[int]
    parameters: Floats
    numbers: Floats
    places: Places

    def add(self, u: int, total: Floats) -> None:
        """Add the log-density of each row under an input."""
        own = self.parameters[self.parameter_starts[u] : self.parameter_starts[u + 1]]
        if self.units[u] == Unit.CATEGORICAL:
            _add_categorical(own, self.places[self.slots[u]], total)
        else:
            _add_number(self.units[u], own, self.numbers[self.slots[u]], total)


def log_density_by_numpy(
    units: Units,
    slots: Indices,
    child_starts: Starts,
    children: Indices,
    log_weights: Floats,
    parameter_starts: Starts,
    parameters: Floats,
    schedule: Schedule,
    numbers: Floats,
    places: Places,
    first_row: int,
    densities: Floats,
) -> None:
    """Write the log-density of each row from the first on, as `log_density` does."""
    size = max(_BLOCK_CELLS // schedule.n_lines, 1)
    inputs = units.tolist(), slots.tolist(), parameter_starts.tolist(), parameters
    with np.errstate(all="ignore"):
        for place in range(0, densities.size, size):
            own = slice(first_row + place, first_row + min(place + size, densities.size))
            rows = _Rows(*inputs, numbers[:, own], places[:, own])
            densities[place : place + size] = _evaluate(rows, child_starts, children, schedule)


def steps_of_numpy(*arguments: Any) -> int:
    """Return about how many steps that takes: some for each unit, and one for some numbers."""
    units, children, densities = arguments[0], arguments[3], arguments[-1]
    return int(20 * units.size + children.size * densities.size // 100)


def _evaluate(rows: _Rows, child_starts: Starts, children: Indices, schedule: Schedule) -> Floats:
    """Return the log-density of each row."""
    kept = np.empty((schedule.n_lines, rows.numbers.shape[1]))
    lines, ends, member_ends = schedule.lines.tolist(), child_starts.tolist(), schedule.member_starts.tolist()
    for u, unit in enumerate(rows.units):
        members = schedule.members[member_ends[u] : member_ends[u + 1]]
        if lines[u] < 0 or members.size == 0:
            continue
        if unit == Unit.SUM:
            _mix(kept, schedule, members, child_starts, children[ends[u] : ends[u + 1]])
            continue
        total = kept[lines[u]]
        total[:] = 0.0
        if unit > Unit.PRODUCT:
            rows.add(u, total)
        for child in children[ends[u] : ends[u + 1]].tolist():
            if lines[child] < 0:
                rows.add(child, total)
            else:
                total += kept[lines[child]]
    root: Floats = kept[lines[-1]]
    return root


def _mix(kept: Floats, schedule: Schedule, sums: Starts, child_starts: Starts, parts: Indices) -> None:
    """Add up the same parts by the weights of some sums: densities are relative to that of the likeliest part."""
    values = kept[schedule.lines[parts]]
    highest = values.max(axis=0)
    densities = exponentials_by_numpy(np.where(highest > -math.inf, values - highest, 0.0))
    mixed = np.zeros((sums.size, values.shape[1]))
    for i in range(parts.size):
        mixed += schedule.weights[child_starts[sums] + i][:, None] * densities[i]
    if (mixed < LEAST_DENSITY).any():
        raise NotImplementedError("rows of which the likeliest part has next to no weight")
    kept[schedule.lines[sums]] = highest + logarithms_by_numpy(mixed)


def _add_categorical(log_probabilities: Floats, places: Places, total: Floats) -> None:
    total += np.append(log_probabilities, 0.0)[places]  # the place of what is missing is -1: the last


def _add_number(unit: int, parameters: Floats, numbers: Floats, total: Floats) -> None:
    low, high, log_mass = parameters[LOW], parameters[HIGH], parameters[LOG_MASS]
    missing = numbers != numbers
    if unit == Unit.GAUSSIAN:
        total += np.where(missing, 0.0, _gaussian(float(parameters[OWN]), float(parameters[OWN + 1]), numbers))
    elif unit != Unit.POINT:  # of which the bounds say all
        raise NotImplementedError(f"inputs of kind {Unit(unit).name}")
    if low > -math.inf or high < math.inf:
        total -= np.where(missing, 0.0, log_mass)
        total[(numbers < low) | (numbers > high)] = -math.inf


def _gaussian(mean: float, std: float, numbers: Floats) -> Floats:
    if std < LEAST_STD or std > LARGEST_STD:
        raise NotImplementedError("differences or inverse scales that overflow")
    constant = -(_log(std) + LOG_SQRT_TWO_PI)
    scores = (numbers - mean) * (math.sqrt(0.5) / std)
    return constant - scores * scores

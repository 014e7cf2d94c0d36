"""Kernels that evaluate a circuit for many rows, a block of them at a time.

Every operation is done row by row, so that a row's result depends neither on the others nor on the blocks.
"""

from __future__ import annotations

import math

import numpy as np

from unlearnspn.arrays import put
from unlearnspn.circuit.density_by_numpy import log_density_by_numpy, steps_of_numpy
from unlearnspn.circuit.exponentials import LEAST_DENSITY, exponentials, logarithms
from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.inputs import Floats, Places, add_input
from unlearnspn.circuit.layout import Indices, Starts, Units
from unlearnspn.circuit.schedule import Schedule
from unlearnspn.compiling import kernel, late_kernel

_SUM, _PRODUCT, _CATEGORICAL = int(Unit.SUM), int(Unit.PRODUCT), int(Unit.CATEGORICAL)
#: About how many numbers the values of a block may take: they should stay in the processor's cache.
_BLOCK_CELLS = 1 << 15
_SMALLEST_BLOCK, _LARGEST_BLOCK = 16, 512


@late_kernel(steps_of_numpy, meanwhile=log_density_by_numpy)
def log_density(
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
    """Write the log-density of each row from the first on; inputs are added straight into their products.

    The rows are not cut out of their arrays for this, because lines that do not lie side by side are read slower.
    """
    root, lines = units.size - 1, schedule.lines
    size = min(max(_BLOCK_CELLS // schedule.n_lines, _SMALLEST_BLOCK), _LARGEST_BLOCK)
    kept = np.empty((schedule.n_lines, size))
    for place in range(0, densities.size, size):
        length = min(size, densities.size - place)
        start, end = first_row + place, first_row + place + length
        for u in range(units.size):
            members = schedule.members[schedule.member_starts[u] : schedule.member_starts[u + 1]]
            if lines[u] < 0 or members.size == 0:
                continue
            if units[u] == _SUM:
                _mix(kept, lines, members, child_starts, children, log_weights, schedule.weights, length)
                continue
            total = kept[lines[u], :length]
            first, last = child_starts[u], child_starts[u + 1]
            total[:] = 0.0
            if units[u] > _PRODUCT:
                _add(u, units, slots, parameter_starts, parameters, numbers, places, start, end, total)
                continue
            for i in range(first, last):
                child = int(np.int64(children[i]))  # of the type that `u` has: else there would be two parts
                if lines[child] < 0:
                    _add(child, units, slots, parameter_starts, parameters, numbers, places, start, end, total)
                else:
                    values = kept[lines[child]]
                    for r in range(length):
                        total[r] += values[r]
        put(densities, place, kept[lines[root], :length])


@kernel
def unit_values(
    units: Units,
    slots: Indices,
    child_starts: Starts,
    children: Indices,
    log_weights: Floats,
    parameter_starts: Starts,
    parameters: Floats,
    numbers: Floats,
    places: Places,
    absent: Floats,
    maximise: bool,
    values: Floats,
) -> None:
    """Write the value of every unit for each row, [unit, row]; `absent` is that of an input whose value is missing.

    Values are relative to the largest that any input of the same number has: all parts of a sum have one such input,
    so they compare as they would, and log-densities far from the data do not outweigh everything else.
    Where a sum is to `maximise`, its value is that of the best part.
    """
    lines, weights, n_rows = np.arange(units.size), log_weights.copy(), values.shape[1]
    exponentials(weights)
    for u in range(units.size):
        if units[u] > _PRODUCT:
            values[u] = 0.0
            _add(u, units, slots, parameter_starts, parameters, numbers, places, 0, n_rows, values[u])
            _fill_absent(units[u], numbers, places, slots[u], absent[u], values[u])
    _compare_with_largest(units, slots, numbers, values)
    for u in range(units.size):
        total = values[u]
        first, last = child_starts[u], child_starts[u + 1]
        if units[u] == _SUM and maximise:
            _pick(values, children[first:last], log_weights[first:last], total)
        elif units[u] == _SUM:
            _mix(values, lines, lines[u : u + 1], child_starts, children, log_weights, weights, n_rows)
        elif units[u] == _PRODUCT:
            total[:] = 0.0
            for child in children[first:last]:
                total += values[child]


@kernel
def _compare_with_largest(units: Units, slots: Indices, numbers: Floats, values: Floats) -> None:
    """Subtract from the values of inputs over a number that is known the largest of them, if there is one."""
    largest = np.full(numbers.shape, -math.inf)
    for u in range(units.size):
        if units[u] > _CATEGORICAL:
            for r in range(values.shape[1]):
                largest[slots[u], r] = max(largest[slots[u], r], values[u, r])
    for u in range(units.size):
        if units[u] > _CATEGORICAL:
            for r in range(values.shape[1]):
                if largest[slots[u], r] > -math.inf and not math.isnan(numbers[slots[u], r]):
                    values[u, r] -= largest[slots[u], r]


def _steps_of_combining(
    units: Units, child_starts: Starts, children: Indices, log_weights: Floats, values: Floats
) -> int:
    return int(50 * children.size * values.shape[1])


@late_kernel(_steps_of_combining)
def combine(units: Units, child_starts: Starts, children: Indices, log_weights: Floats, values: Floats) -> None:
    """Write the values of sums and products, [unit, case], from those of the inputs."""
    lines, weights = np.arange(units.size), log_weights.copy()
    exponentials(weights)
    for u in range(units.size):
        first, last = child_starts[u], child_starts[u + 1]
        if units[u] == _SUM:
            _mix(values, lines, lines[u : u + 1], child_starts, children, log_weights, weights, values.shape[1])
        elif units[u] == _PRODUCT:
            values[u] = 0.0
            for child in children[first:last]:
                values[u] += values[child]


@kernel
def _add(
    u: int,
    units: Units,
    slots: Indices,
    parameter_starts: Starts,
    parameters: Floats,
    numbers: Floats,
    places: Places,
    start: int,
    end: int,
    total: Floats,
) -> None:
    own = parameters[parameter_starts[u] : parameter_starts[u + 1]]
    categorical = units[u] == _CATEGORICAL
    number_line = numbers[0 if categorical else slots[u], start:end]
    place_line = places[slots[u] if categorical else 0, start:end]
    add_input(units[u], own, number_line, place_line, total)


@kernel
def _fill_absent(unit: int, numbers: Floats, places: Places, slot: int, absent: float, total: Floats) -> None:
    for r in range(total.size):
        missing = places[slot, r] < 0 if unit == _CATEGORICAL else math.isnan(numbers[slot, r])
        if missing:
            total[r] = absent


@kernel
def _mix(
    kept: Floats,
    lines: Starts,
    sums: Starts,
    child_starts: Starts,
    children: Indices,
    log_weights: Floats,
    weights: Floats,
    length: int,
) -> None:
    """Add up the same parts by the weights of some sums: densities are relative to that of the likeliest part."""
    parts = children[child_starts[sums[0]] : child_starts[sums[0] + 1]]
    highest, densities = np.full(length, -math.inf), np.empty((parts.size, length))
    mixed = np.zeros((sums.size, length))
    for i in range(parts.size):
        values = kept[lines[parts[i]]]
        for r in range(length):
            highest[r] = max(highest[r], values[r])
    for i in range(parts.size):
        values = kept[lines[parts[i]]]
        for r in range(length):
            densities[i, r] = values[r] - highest[r] if highest[r] > -math.inf else 0.0
    exponentials(densities.reshape(-1))
    for s in range(sums.size):
        for i in range(parts.size):
            weight = weights[child_starts[sums[s]] + i]
            for r in range(length):
                mixed[s, r] += weight * densities[i, r]
    logs = logarithms(mixed.reshape(-1)).reshape(mixed.shape)
    for s in range(sums.size):
        total, first = kept[lines[sums[s]]], child_starts[sums[s]]
        for r in range(length):
            total[r] = highest[r] + logs[s, r]
        for r in range(length):
            if mixed[s, r] < LEAST_DENSITY:
                # The likeliest part has next to no weight here, and others have got lost beside it.
                total[r] = _mix_row(kept, lines, parts, log_weights[first : first + parts.size], r)


@kernel
def _mix_row(kept: Floats, lines: Starts, parts: Indices, weights: Floats, r: int) -> float:
    """Add up the parts of one row, each by its weight."""
    highest, total = -math.inf, 0.0
    for i in range(parts.size):
        highest = max(highest, kept[lines[parts[i]], r] + weights[i])
    if highest == -math.inf:
        return highest
    for i in range(parts.size):
        total += math.exp(kept[lines[parts[i]], r] + weights[i] - highest)
    return highest + math.log(total)


@kernel
def _pick(values: Floats, parts: Indices, weights: Floats, total: Floats) -> None:
    total[:] = -math.inf
    for i in range(parts.size):
        for r in range(total.size):
            total[r] = max(total[r], values[parts[i], r] + weights[i])

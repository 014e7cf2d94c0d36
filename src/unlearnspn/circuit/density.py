# cython: cdivision=True
"""The values of a circuit's units for many rows, a block of them at a time.

Every operation is done row by row, so that a row's result depends neither on the others nor on the blocks.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, exp, isnan, log
from cython.cimports.libc.string import memcpy
from cython.cimports.unlearnspn.circuit.density import Block, Rows, Sums
from cython.cimports.unlearnspn.circuit.exponentials import exponential, logarithm
from cython.cimports.unlearnspn.circuit.inputs import add_to_rows
from cython.cimports.unlearnspn.circuit.log_densities import Numbers
from cython.cimports.unlearnspn.const_types import const_float64, const_int32

from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.inputs import Floats, Places
from unlearnspn.circuit.layout import Indices, Layout
from unlearnspn.circuit.schedule import Schedule

_SUM = cython.declare(cython.int, int(Unit.SUM))
_PRODUCT = cython.declare(cython.int, int(Unit.PRODUCT))
_CATEGORICAL = cython.declare(cython.int, int(Unit.CATEGORICAL))
#: Below this a sum of densities has lost bits.
_LEAST_DENSITY = cython.declare(cython.double, 1e-280)
#: About how many numbers the values of a block may take: they should stay in the processor's cache.
_BLOCK_CELLS = cython.declare(cython.Py_ssize_t, 1 << 15)
_SMALLEST_BLOCK = cython.declare(cython.Py_ssize_t, 16)
_LARGEST_BLOCK = cython.declare(cython.Py_ssize_t, 512)


@cython.final
@cython.cclass
class Evaluator:
    """A circuit prepared for the evaluation of its units, as a schedule says.

    `slots` has the line of each input's variable among the columns of its kind.
    """

    def __init__(self, layout: Layout, slots: Indices, schedule: Schedule) -> None:
        self.units = layout.units
        self.slots = slots
        self.child_starts = layout.child_starts
        self.children = layout.children
        self.log_weights = layout.log_weights
        self.weights = schedule.weights
        self.parameter_starts = layout.parameter_starts
        self.parameters = layout.parameters
        self.member_starts = schedule.member_starts
        self.members = schedule.members
        self.lines = schedule.lines
        self.n_lines = schedule.n_lines
        self.room = 2 + np.diff(layout.child_starts).max()

    def log_density(self, numbers: Floats, places: Places, first_row: int, densities: Floats) -> None:
        """Write the log-density of as many rows as there is room for, from the first on.

        The rows are not cut out of their arrays for this, because lines that do not lie side by side are read slower.
        """
        number_lines: const_float64[:, ::1] = numbers
        place_lines: const_int32[:, ::1] = places
        result: cython.double[::1] = densities
        n_rows: cython.Py_ssize_t = result.shape[0]
        if n_rows == 0:
            return
        rows: Rows = Rows(cython.address(number_lines[0, 0]), cython.address(place_lines[0, 0]), number_lines.shape[1])
        width: cython.Py_ssize_t = min(max(_BLOCK_CELLS // self.n_lines, _SMALLEST_BLOCK), _LARGEST_BLOCK, n_rows)
        memory: cython.double[::1] = np.empty((self.n_lines + self.room) * width)
        values = cython.address(memory[0])
        block: Block = Block(values, width, first_row, width, values + self.n_lines * width)
        done: cython.Py_ssize_t = 0
        with cython.nogil:
            while done < n_rows:
                block.n_rows = min(width, n_rows - done)
                self.evaluate(rows, block)
                memcpy(cython.address(result[done]), self.line(self.units.shape[0] - 1, block), 8 * block.n_rows)
                done += block.n_rows
                block.start += block.n_rows

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def line(self, unit: cython.Py_ssize_t, block: Block) -> cython.p_double:
        """Return where the values of a unit are kept."""
        return block.values + self.lines[unit] * block.width

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def evaluate(self, rows: Rows, block: Block) -> cython.void:
        """Write the values of all units that are kept; other inputs are added straight into their products."""
        u: cython.Py_ssize_t
        for u in range(self.units.shape[0]):
            first: cython.Py_ssize_t = self.member_starts[u]
            n_members: cython.Py_ssize_t = self.member_starts[u + 1] - first
            if self.lines[u] < 0 or n_members == 0:
                continue
            if self.units[u] == _SUM:
                self.mix(cython.address(self.members[first]), n_members, block)
            elif self.units[u] == _PRODUCT:
                self.multiply(u, rows, block)
            else:
                _fill(self.line(u, block), block.n_rows, 0.0)
                self.add(u, rows, block, self.line(u, block))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add(self, unit: cython.Py_ssize_t, rows: Rows, block: Block, total: cython.p_double) -> cython.void:
        """Add the log-densities under an input."""
        kind: cython.int = self.units[unit]
        first: cython.Py_ssize_t = self.parameter_starts[unit]
        n_parameters: cython.Py_ssize_t = self.parameter_starts[unit + 1] - first
        own = cython.address(self.parameters[first])
        place: cython.Py_ssize_t = self.slots[unit] * rows.n_rows + block.start
        numbers, places = rows.numbers, rows.places
        if kind == _CATEGORICAL:
            places += place
        else:
            numbers += place
        add_to_rows(kind, own, n_parameters, numbers, places, total, block.n_rows)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def multiply(self, unit: cython.Py_ssize_t, rows: Rows, block: Block) -> cython.void:
        """Write the values of a product."""
        edge: cython.Py_ssize_t
        r: cython.Py_ssize_t
        total = self.line(unit, block)
        _fill(total, block.n_rows, 0.0)
        for edge in range(self.child_starts[unit], self.child_starts[unit + 1]):
            child: cython.Py_ssize_t = self.children[edge]
            if self.lines[child] < 0:
                self.add(child, rows, block, total)
            else:
                values = self.line(child, block)
                for r in range(block.n_rows):
                    total[r] += values[r]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def mix(self, sums: Sums, n_sums: cython.Py_ssize_t, block: Block) -> cython.void:
        """Add up the same parts by the weights of some sums: densities are relative to that of the likeliest part."""
        i: cython.Py_ssize_t
        r: cython.Py_ssize_t
        s: cython.Py_ssize_t
        n_rows: cython.Py_ssize_t = block.n_rows
        first: cython.Py_ssize_t = self.child_starts[sums[0]]
        n_parts: cython.Py_ssize_t = self.child_starts[sums[0] + 1] - first
        highest, mixed, densities = block.room, block.room + n_rows, block.room + 2 * n_rows
        _fill(highest, n_rows, -INFINITY)
        for i in range(n_parts):
            values = self.line(self.children[first + i], block)
            for r in range(n_rows):
                highest[r] = values[r] if values[r] > highest[r] else highest[r]
        for i in range(n_parts):
            values = self.line(self.children[first + i], block)
            for r in range(n_rows):
                below = values[r] - highest[r]
                densities[i * n_rows + r] = exponential(below if highest[r] > -INFINITY else 0.0)
        for s in range(n_sums):
            first = self.child_starts[sums[s]]
            _fill(mixed, n_rows, 0.0)
            for i in range(n_parts):
                weight = self.weights[first + i]
                for r in range(n_rows):
                    mixed[r] += weight * densities[i * n_rows + r]
            total = self.line(sums[s], block)
            for r in range(n_rows):
                total[r] = highest[r] + logarithm(mixed[r])
            for r in range(n_rows):
                if mixed[r] < _LEAST_DENSITY:
                    # The likeliest part has next to no weight here, and others have got lost beside it.
                    total[r] = self.mix_row(first, n_parts, block, r)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def mix_row(
        self, first: cython.Py_ssize_t, n_parts: cython.Py_ssize_t, block: Block, row: cython.Py_ssize_t
    ) -> cython.double:
        """Add up the parts of one row, each by its weight."""
        edge: cython.Py_ssize_t
        highest = -INFINITY
        total = 0.0
        for edge in range(first, first + n_parts):
            value = self.line(self.children[edge], block)[row] + self.log_weights[edge]
            highest = value if value > highest else highest
        if highest == -INFINITY:
            return highest
        for edge in range(first, first + n_parts):
            total += exp(self.line(self.children[edge], block)[row] + self.log_weights[edge] - highest)
        return highest + log(total)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pick(self, unit: cython.Py_ssize_t, block: Block) -> cython.void:
        """Write the values that the best part of a sum has."""
        edge: cython.Py_ssize_t
        r: cython.Py_ssize_t
        total = self.line(unit, block)
        _fill(total, block.n_rows, -INFINITY)
        for edge in range(self.child_starts[unit], self.child_starts[unit + 1]):
            values = self.line(self.children[edge], block)
            for r in range(block.n_rows):
                value = values[r] + self.log_weights[edge]
                total[r] = value if value > total[r] else total[r]


def combine(layout: Layout, values: Floats) -> None:
    """Write the values of sums and products, [unit, case], from those of the inputs."""
    evaluator: Evaluator = Evaluator(layout, layout.variables, Schedule.of_every_unit(layout))
    cases: cython.double[:, ::1] = values
    n_cases: cython.Py_ssize_t = cases.shape[1]
    if n_cases == 0:
        return
    width: cython.Py_ssize_t = min(n_cases, _LARGEST_BLOCK)
    room: cython.double[::1] = np.empty(evaluator.room * width)
    nothing: Rows = Rows(cython.NULL, cython.NULL, 0)
    block: Block = Block(cython.address(cases[0, 0]), n_cases, 0, width, cython.address(room[0]))
    with cython.nogil:
        while block.start < n_cases:
            block.n_rows = min(width, n_cases - block.start)
            _combine(evaluator, nothing, block, False)
            block.start += block.n_rows
            block.values += block.n_rows


def unit_values(
    layout: Layout,
    slots: Indices,
    numbers: Floats,
    places: Places,
    absent: Floats,
    maximise: cython.bint,
    values: Floats,
) -> None:
    """Write the value of every unit for each row, [unit, row]; `absent` is that of an input whose value is missing.

    Values are relative to the largest that any input of the same number has: all parts of a sum have one such input,
    so they compare as they would, and log-densities far from the data do not outweigh everything else.
    Where a sum is to `maximise`, its value is that of the best part.
    """
    evaluator: Evaluator = Evaluator(layout, slots, Schedule.of_every_unit(layout))
    number_lines: const_float64[:, ::1] = numbers
    place_lines: const_int32[:, ::1] = places
    missing_values: const_float64[::1] = absent
    result: cython.double[:, ::1] = values
    n_rows: cython.Py_ssize_t = result.shape[1]
    if n_rows == 0:
        return
    rows: Rows = Rows(cython.address(number_lines[0, 0]), cython.address(place_lines[0, 0]), number_lines.shape[1])
    width: cython.Py_ssize_t = min(n_rows, _LARGEST_BLOCK)
    room: cython.double[::1] = np.empty(max(evaluator.room, number_lines.shape[0]) * width)
    block: Block = Block(cython.address(result[0, 0]), n_rows, 0, width, cython.address(room[0]))
    with cython.nogil:
        while block.start < n_rows:
            block.n_rows = min(width, n_rows - block.start)
            _evaluate_inputs(evaluator, rows, block, cython.address(missing_values[0]))
            _compare_with_largest(evaluator, rows, block, number_lines.shape[0])
            _combine(evaluator, rows, block, maximise)
            block.start += block.n_rows
            block.values += block.n_rows


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _combine(evaluator: Evaluator, rows: Rows, block: Block, maximise: cython.bint) -> cython.void:
    """Write the values of sums and products from those of the inputs."""
    u: cython.Py_ssize_t
    for u in range(evaluator.units.shape[0]):
        if evaluator.units[u] == _SUM and maximise:
            evaluator.pick(u, block)
        elif evaluator.units[u] == _SUM:
            evaluator.mix(cython.address(evaluator.members[u]), 1, block)
        elif evaluator.units[u] == _PRODUCT:
            evaluator.multiply(u, rows, block)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _evaluate_inputs(evaluator: Evaluator, rows: Rows, block: Block, absent: Numbers) -> cython.void:
    """Write the values of the inputs."""
    u: cython.Py_ssize_t
    r: cython.Py_ssize_t
    is_missing: cython.bint
    for u in range(evaluator.units.shape[0]):
        if evaluator.units[u] <= _PRODUCT:
            continue
        total = evaluator.line(u, block)
        _fill(total, block.n_rows, 0.0)
        evaluator.add(u, rows, block, total)
        place: cython.Py_ssize_t = evaluator.slots[u] * rows.n_rows + block.start
        for r in range(block.n_rows):
            if evaluator.units[u] == _CATEGORICAL:
                is_missing = rows.places[place + r] < 0
            else:
                is_missing = isnan(rows.numbers[place + r])
            if is_missing:
                total[r] = absent[u]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compare_with_largest(evaluator: Evaluator, rows: Rows, block: Block, n_lines: cython.Py_ssize_t) -> cython.void:
    """Subtract from the values of inputs over a number that is known the largest of them, if there is one."""
    u: cython.Py_ssize_t
    r: cython.Py_ssize_t
    _fill(block.room, n_lines * block.n_rows, -INFINITY)
    for u in range(evaluator.units.shape[0]):
        if evaluator.units[u] > _CATEGORICAL:
            largest = block.room + evaluator.slots[u] * block.n_rows
            values = evaluator.line(u, block)
            for r in range(block.n_rows):
                largest[r] = values[r] if values[r] > largest[r] else largest[r]
    for u in range(evaluator.units.shape[0]):
        if evaluator.units[u] > _CATEGORICAL:
            largest = block.room + evaluator.slots[u] * block.n_rows
            values = evaluator.line(u, block)
            numbers = rows.numbers + evaluator.slots[u] * rows.n_rows + block.start
            for r in range(block.n_rows):
                if largest[r] > -INFINITY and not isnan(numbers[r]):
                    values[r] -= largest[r]


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _fill(line: cython.p_double, n_rows: cython.Py_ssize_t, number: cython.double) -> cython.void:
    r: cython.Py_ssize_t
    for r in range(n_rows):
        line[r] = number

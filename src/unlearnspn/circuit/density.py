# cython: cdivision=True
"""The values of a circuit's units for many rows, a block of them at a time.

Every operation is done row by row, so that a row's result depends neither on the others nor on the blocks.
"""

from __future__ import annotations

from typing import cast

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, isnan
from cython.cimports.libc.string import memcpy
from cython.cimports.unlearnspn.circuit.density import Block
from cython.cimports.unlearnspn.circuit.inputs import Rows, add_to_rows
from cython.cimports.unlearnspn.circuit.log_densities import Numbers
from cython.cimports.unlearnspn.circuit.log_sums import Parts, add_up, compare_parts, pick_best
from cython.cimports.unlearnspn.circuit.normal_densities import NormalDensities
from cython.cimports.unlearnspn.circuit.tree_lookup import Workspace
from cython.cimports.unlearnspn.circuit.tree_lookups import TreeLookups
from cython.cimports.unlearnspn.circuit.tree_messages import Lines, TreeArrays
from cython.cimports.unlearnspn.const_types import const_float64, const_int32, const_int64

from unlearnspn.circuit.expressions import N_STATES, Unit
from unlearnspn.circuit.inputs import Floats, Places
from unlearnspn.circuit.layout import Indices, Layout
from unlearnspn.circuit.schedule import Schedule

_SUM = cython.declare(cython.int, int(Unit.SUM))
_PRODUCT = cython.declare(cython.int, int(Unit.PRODUCT))
_CATEGORICAL = cython.declare(cython.int, int(Unit.CATEGORICAL))
_TREE = cython.declare(cython.int, int(Unit.TREE))
_NORMAL = cython.declare(cython.int, int(Unit.NORMAL))
#: About how many numbers the values of a block may take: they should stay in the processor's cache.
_BLOCK_CELLS = cython.declare(cython.Py_ssize_t, 1 << 16)
_SMALLEST_BLOCK = cython.declare(cython.Py_ssize_t, 16)
_LARGEST_BLOCK = cython.declare(cython.Py_ssize_t, 512)


@cython.final
@cython.cclass
class Evaluator:
    """A circuit prepared for the evaluation of its units, as a schedule says.

    `slots` has the line of each input's variable among the columns of its kind, and the number of each tree and of each
    joint normal. `trees` are what is inside of trees, unless they are evaluated by somebody else; likewise `normals`.
    """

    def __init__(
        self,
        layout: Layout,
        slots: Indices,
        schedule: Schedule,
        trees: TreeArrays | None = None,
        normals: NormalDensities | None = None,
    ) -> None:
        self.units = layout.units
        self.slots = slots
        self.child_starts = layout.child_starts
        self.children = layout.children
        self.log_weights = layout.log_weights
        self.weights = schedule.weights
        self.parameter_starts = layout.parameter_starts
        self.parameters = layout.parameters
        self.lines = schedule.lines
        self.child_lines = schedule.lines[layout.children].astype(np.int32)
        self.n_lines = schedule.n_lines
        self.trees, self.normals = cast(TreeArrays, trees), cast(NormalDensities, normals)
        self.room = max(2 + int(np.diff(layout.child_starts).max()), 0 if trees is None else trees.room)

    def log_density(
        self, lookup: TreeLookups, numbers: Floats, places: Places, first_row: int, densities: Floats
    ) -> None:
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
        n_lines: cython.Py_ssize_t = self.n_lines + lookup.n_lines
        width: cython.Py_ssize_t = min(max(_BLOCK_CELLS // n_lines, _SMALLEST_BLOCK), _LARGEST_BLOCK, n_rows)
        memory: cython.double[::1] = np.empty((self.n_lines + self.room) * width)
        values = cython.address(memory[0])
        for_normals: cython.double[::1] = np.empty(1 if self.normals is None else self.normals.room(width))
        room = values + self.n_lines * width
        block: Block = Block(values, width, first_row, width, room, cython.address(for_normals[0]))
        workspace = cython.declare(Workspace)
        held = lookup.hold(width)
        lookup.point(held, width, cython.address(workspace))
        done: cython.Py_ssize_t = 0
        with cython.nogil:
            while done < n_rows:
                block.n_rows = min(width, n_rows - done)
                self.evaluate(lookup, rows, block, cython.address(workspace))
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
    @cython.inline
    @cython.exceptval(check=False)
    def parts(self, unit: cython.Py_ssize_t, block: Block) -> Parts:
        """Return what a sum mixes."""
        first: cython.Py_ssize_t = self.child_starts[unit]
        n_parts: cython.Py_ssize_t = self.child_starts[unit + 1] - first
        lines = cython.address(self.child_lines[first])
        return Parts(block.values, block.width, lines, n_parts, block.n_rows, block.room)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def evaluate(
        self, lookup: TreeLookups, rows: Rows, block: Block, workspace: cython.pointer[Workspace]
    ) -> cython.void:
        """Write the values of all units that are kept; other inputs are added straight into their products."""
        u: cython.Py_ssize_t
        lookup.begin(rows, block.start, block.n_rows, workspace)
        for u in range(self.units.shape[0]):
            if self.lines[u] < 0:
                continue
            if self.units[u] == _SUM:
                self.mix(u, block)
            elif self.units[u] == _PRODUCT:
                self.multiply(u, rows, block)
            elif self.units[u] == _TREE:
                lookup.evaluate(self.slots[u], self.line(u, block), workspace)
            elif self.units[u] == _NORMAL:
                own = self.line(u, block)
                self.normals.evaluate(self.slots[u], rows, block.start, block.n_rows, own, block.normal_room)
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
    def mix(self, unit: cython.Py_ssize_t, block: Block) -> cython.void:
        """Write the values of a sum."""
        parts: Parts = self.parts(unit, block)
        first: cython.Py_ssize_t = self.child_starts[unit]
        compare_parts(parts)
        weights, log_weights = cython.address(self.weights[first]), cython.address(self.log_weights[first])
        add_up(parts, weights, log_weights, self.line(unit, block))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def combine(self, rows: Rows, block: Block, maximise: cython.bint) -> cython.void:
        """Write the values of all units but inputs from those of the inputs; all values are kept."""
        u: cython.Py_ssize_t
        lines: Lines = Lines(block.values, block.width, block.n_rows, block.room)
        for u in range(self.units.shape[0]):
            if self.units[u] == _SUM and maximise:
                log_weights = cython.address(self.log_weights[self.child_starts[u]])
                pick_best(self.parts(u, block), log_weights, self.line(u, block))
            elif self.units[u] == _SUM:
                self.mix(u, block)
            elif self.units[u] == _PRODUCT:
                self.multiply(u, rows, block)
            elif self.units[u] == _TREE:
                self.trees.evaluate(u, lines, maximise)


def n_value_lines(layout: Layout) -> int:
    """Return how many values a circuit has, given some row: one for each unit, then one for each state of a tree."""
    return len(layout) + int(layout.tree_nodes[:, N_STATES].sum())


def combine(layout: Layout, values: Floats) -> None:
    """Write the values of all units but inputs, and of states of trees, [unit, case], from those of the inputs.

    Joint normals are inputs here.

    There are as many lines as `n_value_lines` says.
    """
    evaluator: Evaluator = Evaluator(layout, layout.variables, Schedule.of_every_unit(layout), TreeArrays(layout))
    cases: cython.double[:, ::1] = values
    n_cases: cython.Py_ssize_t = cases.shape[1]
    if n_cases == 0:
        return
    width: cython.Py_ssize_t = min(n_cases, _LARGEST_BLOCK)
    room: cython.double[::1] = np.empty(evaluator.room * width)
    nothing: Rows = Rows(cython.NULL, cython.NULL, 0)
    block: Block = Block(cython.address(cases[0, 0]), n_cases, 0, width, cython.address(room[0]), cython.NULL)
    with cython.nogil:
        while block.start < n_cases:
            block.n_rows = min(width, n_cases - block.start)
            evaluator.combine(nothing, block, False)
            block.start += block.n_rows
            block.values += block.n_rows


def unit_values(
    layout: Layout,
    slots: Indices,
    normal_slots: Indices,
    numbers: Floats,
    places: Places,
    absent: Floats,
    maximise: cython.bint,
    values: Floats,
) -> None:
    """Write the value of every unit for each row, [unit, row]; `absent` is that of an input whose value is missing.

    There are as many lines as `n_value_lines` says; after those of units come those of states of trees. Those of joint
    normals are there already.

    Values are relative to the largest that any input of the same number has: all parts of a sum have one such input,
    so they compare as they would, and log-densities far from the data do not outweigh everything else.
    Where a sum is to `maximise`, its value is that of the best part.
    """
    evaluator: Evaluator = Evaluator(layout, slots, Schedule.of_every_unit(layout), TreeArrays(layout))
    of_normals: const_int32[::1] = normal_slots
    normal_starts: const_int64[::1] = layout.normal_starts
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
    block: Block = Block(cython.address(result[0, 0]), n_rows, 0, width, cython.address(room[0]), cython.NULL)
    with cython.nogil:
        while block.start < n_rows:
            block.n_rows = min(width, n_rows - block.start)
            _evaluate_inputs(evaluator, rows, block, cython.address(missing_values[0]))
            _compare_with_largest(evaluator, of_normals, normal_starts, rows, block, number_lines.shape[0])
            evaluator.combine(rows, block, maximise)
            block.start += block.n_rows
            block.values += block.n_rows


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _evaluate_inputs(evaluator: Evaluator, rows: Rows, block: Block, absent: Numbers) -> cython.void:
    """Write the values of the inputs."""
    u: cython.Py_ssize_t
    r: cython.Py_ssize_t
    is_missing: cython.bint
    for u in range(evaluator.units.shape[0]):
        if evaluator.units[u] <= _PRODUCT or evaluator.units[u] >= _TREE:
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
def _compare_with_largest(
    evaluator: Evaluator,
    normal_slots: const_int32[::1],
    normal_starts: const_int64[::1],
    rows: Rows,
    block: Block,
    n_lines: cython.Py_ssize_t,
) -> cython.void:
    """Subtract from the values of inputs over a number that is known the largest of them, if there is one.

    Joint normals are over several numbers.
    """
    u: cython.Py_ssize_t
    i: cython.Py_ssize_t
    r: cython.Py_ssize_t
    normal: cython.Py_ssize_t = 0
    _fill(block.room, n_lines * block.n_rows, -INFINITY)
    for u in range(evaluator.units.shape[0]):
        if _CATEGORICAL < evaluator.units[u] < _TREE:
            largest = block.room + evaluator.slots[u] * block.n_rows
            values = evaluator.line(u, block)
            for r in range(block.n_rows):
                largest[r] = values[r] if values[r] > largest[r] else largest[r]
    for u in range(evaluator.units.shape[0]):
        if _CATEGORICAL < evaluator.units[u] < _TREE:
            _subtract(evaluator.line(u, block), evaluator.slots[u], rows, block)
        elif evaluator.units[u] == _NORMAL:
            for i in range(normal_starts[normal], normal_starts[normal + 1]):
                _subtract(evaluator.line(u, block), normal_slots[i], rows, block)
            normal += 1


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _subtract(values: cython.p_double, slot: cython.Py_ssize_t, rows: Rows, block: Block) -> cython.void:
    """Subtract the largest value of an input over a number, where that is known."""
    r: cython.Py_ssize_t
    largest = block.room + slot * block.n_rows
    numbers = rows.numbers + slot * rows.n_rows + block.start
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

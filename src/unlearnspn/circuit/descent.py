# cython: cdivision=True
"""The way down a circuit, given the values of its units for some rows: to the inputs of what a row is missing.

A descent chooses one part of every sum and one state of every node of a tree on the way, at random or the best one, or
follows all of them by their share.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, exp
from cython.cimports.unlearnspn.circuit.bit_generators import BitGenerator, bit_generator, random
from cython.cimports.unlearnspn.circuit.log_sums import LineNumbers, Weights
from cython.cimports.unlearnspn.circuit.tree_messages import TreeArrays
from cython.cimports.unlearnspn.const_types import const_float64, const_int32, const_int64, const_uint8

from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.layout import Indices, Layout

_SUM = cython.declare(cython.int, int(Unit.SUM))
_PRODUCT = cython.declare(cython.int, int(Unit.PRODUCT))
_CATEGORICAL = cython.declare(cython.int, int(Unit.CATEGORICAL))
_TREE = cython.declare(cython.int, int(Unit.TREE))
_NORMAL = cython.declare(cython.int, int(Unit.NORMAL))


@cython.cclass
class Descent:
    """The arrays of a circuit that a way down reads; values are given as [unit, row], see `density.unit_values`."""

    units: const_uint8[::1]
    slots: const_int32[::1]
    child_starts: const_int64[::1]
    children: const_int32[::1]
    log_weights: const_float64[::1]
    parameter_starts: const_int64[::1]
    parameters: const_float64[::1]
    trees: TreeArrays
    most_terms: cython.Py_ssize_t
    # The number of each joint normal, by unit, and the columns of numbers that each is over.
    normal_numbers: const_int64[::1]
    normal_starts: const_int64[::1]
    normal_slots: const_int32[::1]

    def __init__(self, layout: Layout, slots: Indices, normal_slots: Indices) -> None:
        self.units = layout.units
        self.slots = slots
        self.child_starts = layout.child_starts
        self.children = layout.children
        self.log_weights = layout.log_weights
        self.parameter_starts = layout.parameter_starts
        self.parameters = layout.parameters
        self.trees = TreeArrays(layout)
        self.normal_numbers = np.cumsum(layout.units == Unit.NORMAL) - 1
        self.normal_starts, self.normal_slots = layout.normal_starts, normal_slots
        self.most_terms = max(np.diff(layout.child_starts).max(), np.diff(layout.parameter_starts).max())

    def choose_at_random(
        self,
        values: const_float64[:, ::1],
        rng: np.random.Generator,
        chosen: cython.int[:, ::1],
        places: cython.int[:, ::1],
    ) -> None:
        """Choose a part of every sum on the way by its probability given the row; draw categories right away.

        `values` has a column for each row, or a single one that holds for all. Write the inputs chosen for numbers and
        the categories, [slot, row].
        """
        r: cython.Py_ssize_t
        terms: cython.double[::1] = np.empty(self.most_terms)
        pending: cython.longlong[::1] = np.empty(self.units.shape[0], np.int64)
        states: cython.longlong[::1] = np.empty(self.trees.parents.shape[0], np.int64)
        bits: cython.pointer[BitGenerator] = bit_generator(rng)
        with rng.bit_generator.lock, cython.nogil:
            for r in range(chosen.shape[1]):
                self._draw_row(values, r if values.shape[1] > 1 else 0, bits, terms, pending, states, chosen, places, r)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _draw_row(
        self,
        values: const_float64[:, ::1],
        column: cython.Py_ssize_t,
        bits: cython.pointer[BitGenerator],
        terms: cython.double[::1],
        pending: cython.longlong[::1],
        states: cython.longlong[::1],
        chosen: cython.int[:, ::1],
        places: cython.int[:, ::1],
        r: cython.Py_ssize_t,
    ) -> cython.void:
        u: cython.Py_ssize_t
        i: cython.Py_ssize_t
        first: cython.Py_ssize_t
        count: cython.Py_ssize_t
        node: cython.Py_ssize_t
        waiting: cython.Py_ssize_t = 1
        pending[0] = self.units.shape[0] - 1
        while waiting:
            waiting -= 1
            u = pending[waiting]
            first, count = self.child_starts[u], self.child_starts[u + 1] - self.child_starts[u]
            if self.units[u] == _SUM:
                self._compare_parts(u, values, column, terms)
                # A row without a possible part misses nothing, so that any part will do.
                pending[waiting] = self.children[first + max(_draw(terms, count, random(bits)), 0)]
                waiting += 1
            elif self.units[u] == _PRODUCT:
                for i in range(first, first + count):
                    pending[waiting] = self.children[i]
                    waiting += 1
            elif self.units[u] == _TREE:
                i = self.trees.numbers[u]
                for node in range(self.trees.starts[i], self.trees.starts[i + 1]):
                    if self.trees.n_states[node]:
                        self._compare_states(node, self._given(node, states), values, column, terms)
                        states[node] = max(_draw(terms, self.trees.n_states[node], random(bits)), 0)
                    if self.trees.n_inputs[node]:
                        pending[waiting] = self._input(node, states)
                        waiting += 1
            elif self.units[u] == _CATEGORICAL:
                first, count = self.parameter_starts[u], self.parameter_starts[u + 1] - self.parameter_starts[u] - 1
                for i in range(count):
                    terms[i] = self.parameters[first + i]
                places[self.slots[u], r] = _draw(terms, count, random(bits))
            elif self.units[u] == _NORMAL:
                self._choose_normal(u, chosen, r)
            else:
                chosen[self.slots[u], r] = u

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def _choose_normal(self, u: cython.Py_ssize_t, chosen: cython.int[:, ::1], r: cython.Py_ssize_t) -> cython.void:
        """Choose a joint normal for all of its columns."""
        i: cython.Py_ssize_t
        normal: cython.Py_ssize_t = self.normal_numbers[u]
        for i in range(self.normal_starts[normal], self.normal_starts[normal + 1]):
            chosen[self.normal_slots[i], r] = u

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def _given(self, node: cython.Py_ssize_t, states: cython.longlong[::1]) -> cython.Py_ssize_t:
        """Return the state that has been chosen for a node's parent."""
        return states[self.trees.parents[node]] if self.trees.parents[node] >= 0 else 0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def _input(self, node: cython.Py_ssize_t, states: cython.longlong[::1]) -> cython.Py_ssize_t:
        """Return the input of a node in the state that has been chosen for it, or for its parent if it has none."""
        own: cython.Py_ssize_t = states[node] if self.trees.n_states[node] else self._given(node, states)
        return self.children[self.trees.first_inputs[node] + own]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _compare_parts(
        self,
        u: cython.Py_ssize_t,
        values: const_float64[:, ::1],
        column: cython.Py_ssize_t,
        terms: cython.double[::1],
    ) -> cython.void:
        """Write how probable the parts of a sum are given a row, see `_compare`."""
        first: cython.Py_ssize_t = self.child_starts[u]
        count: cython.Py_ssize_t = self.child_starts[u + 1] - first
        log_weights = cython.address(self.log_weights[first])
        _compare(cython.address(self.children[first]), log_weights, count, values, column, terms)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _compare_states(
        self,
        node: cython.Py_ssize_t,
        given: cython.Py_ssize_t,
        values: const_float64[:, ::1],
        column: cython.Py_ssize_t,
        terms: cython.double[::1],
    ) -> cython.void:
        """Write how probable the states of a node are given a row and a state of its parent, see `_compare`."""
        count: cython.Py_ssize_t = self.trees.n_states[node]
        lines = cython.address(self.trees.every_line[self.trees.state_lines[node]])
        log_weights = cython.address(self.trees.log_weights[self.trees.tables[node] + given * count])
        _compare(lines, log_weights, count, values, column, terms)

    def choose_best(self, values: const_float64[:, ::1], chosen: cython.int[:, ::1], best: cython.int[:, ::1]) -> None:
        """Choose the best part of every sum and the best states of trees on the way; ties go to the first.

        Write the inputs chosen for numbers and for categories, [slot, row].
        """
        r: cython.Py_ssize_t
        pending: cython.longlong[::1] = np.empty(self.units.shape[0], np.int64)
        states: cython.longlong[::1] = np.empty(self.trees.parents.shape[0], np.int64)
        with cython.nogil:
            for r in range(chosen.shape[1]):
                self._choose_best_of_row(values, pending, states, chosen, best, r)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _choose_best_of_row(
        self,
        values: const_float64[:, ::1],
        pending: cython.longlong[::1],
        states: cython.longlong[::1],
        chosen: cython.int[:, ::1],
        best: cython.int[:, ::1],
        r: cython.Py_ssize_t,
    ) -> cython.void:
        u: cython.Py_ssize_t
        edge: cython.Py_ssize_t
        node: cython.Py_ssize_t
        waiting: cython.Py_ssize_t = 1
        pending[0] = self.units.shape[0] - 1
        while waiting:
            waiting -= 1
            u = pending[waiting]
            edge = self.child_starts[u]
            if self.units[u] == _SUM:
                lines, log_weights = cython.address(self.children[edge]), cython.address(self.log_weights[edge])
                edge += _best(lines, log_weights, self.child_starts[u + 1] - edge, values, r)
                pending[waiting] = self.children[edge]
                waiting += 1
            elif self.units[u] == _PRODUCT:
                for edge in range(self.child_starts[u], self.child_starts[u + 1]):
                    pending[waiting] = self.children[edge]
                    waiting += 1
            elif self.units[u] == _TREE:
                edge = self.trees.numbers[u]
                for node in range(self.trees.starts[edge], self.trees.starts[edge + 1]):
                    if self.trees.n_states[node]:
                        states[node] = self._best_state(node, self._given(node, states), values, r)
                    if self.trees.n_inputs[node]:
                        pending[waiting] = self._input(node, states)
                        waiting += 1
            elif self.units[u] == _CATEGORICAL:
                best[self.slots[u], r] = u
            elif self.units[u] == _NORMAL:
                self._choose_normal(u, chosen, r)
            else:
                chosen[self.slots[u], r] = u

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _best_state(
        self, node: cython.Py_ssize_t, given: cython.Py_ssize_t, values: const_float64[:, ::1], r: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Return the best state of a node, given a state of its parent."""
        count: cython.Py_ssize_t = self.trees.n_states[node]
        lines = cython.address(self.trees.every_line[self.trees.state_lines[node]])
        log_weights = cython.address(self.trees.log_weights[self.trees.tables[node] + given * count])
        return _best(lines, log_weights, count, values, r)

    def follow_all(
        self,
        values: const_float64[:, ::1],
        means: const_float64[::1],
        category_starts: const_int64[::1],
        numbers: cython.double[:, ::1],
        shares: cython.double[:, ::1],
        of_normals: cython.double[:, ::1],
    ) -> None:
        """Sum up means and probabilities of categories over all inputs, each by its share given the row.

        `numbers` are [slot, row], `shares` [category, row]: those of a slot start where `category_starts` says. Of each
        joint normal write its share, [normal, row].
        """
        r: cython.Py_ssize_t
        terms: cython.double[::1] = np.empty(self.most_terms)
        flows: cython.double[::1] = np.empty(self.trees.n_lines)
        with cython.nogil:
            for r in range(values.shape[1]):
                self._follow_row(values, means, category_starts, numbers, shares, of_normals, terms, flows, r)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _follow_row(
        self,
        values: const_float64[:, ::1],
        means: const_float64[::1],
        category_starts: const_int64[::1],
        numbers: cython.double[:, ::1],
        shares: cython.double[:, ::1],
        of_normals: cython.double[:, ::1],
        terms: cython.double[::1],
        flows: cython.double[::1],
        r: cython.Py_ssize_t,
    ) -> cython.void:
        u: cython.Py_ssize_t
        i: cython.Py_ssize_t
        first: cython.Py_ssize_t
        count: cython.Py_ssize_t
        start: cython.Py_ssize_t
        flow: cython.double
        flows[:] = 0.0
        flows[self.units.shape[0] - 1] = 1.0
        for u in range(self.units.shape[0] - 1, -1, -1):
            flow = flows[u]
            if flow == 0.0:
                continue
            first, count = self.child_starts[u], self.child_starts[u + 1] - self.child_starts[u]
            if self.units[u] == _SUM:
                self._compare_parts(u, values, r, terms)
                _normalise(terms, count)
                for i in range(count):
                    flows[self.children[first + i]] += flow * terms[i]
            elif self.units[u] == _PRODUCT:
                for i in range(first, first + count):
                    flows[self.children[i]] += flow
            elif self.units[u] == _TREE:
                self._follow_tree(u, values, r, terms, flows)
            elif self.units[u] == _CATEGORICAL:
                start, first = category_starts[self.slots[u]], self.parameter_starts[u]
                for i in range(self.parameter_starts[u + 1] - first - 1):
                    shares[start + i, r] += flow * exp(self.parameters[first + i] - values[u, r])
            elif self.units[u] == _NORMAL:
                of_normals[self.normal_numbers[u], r] = flow
            else:
                numbers[self.slots[u], r] += flow * means[u]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _follow_tree(
        self,
        u: cython.Py_ssize_t,
        values: const_float64[:, ::1],
        r: cython.Py_ssize_t,
        terms: cython.double[::1],
        flows: cython.double[::1],
    ) -> cython.void:
        """Divide what flows into a tree among the inputs of its nodes."""
        tree: cython.Py_ssize_t = self.trees.numbers[u]
        node: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        for node in range(self.trees.starts[tree], self.trees.starts[tree + 1]):
            parent: cython.Py_ssize_t = self.trees.parents[node]
            n_states: cython.Py_ssize_t = self.trees.n_states[node]
            state: cython.Py_ssize_t = self.trees.state_lines[node]
            first: cython.Py_ssize_t = self.trees.first_inputs[node]
            for j in range(self.trees.n_states[parent] if parent >= 0 else 1):
                flow: cython.double = flows[self.trees.state_lines[parent] + j] if parent >= 0 else flows[u]
                if flow == 0.0:
                    continue
                if n_states == 0:
                    flows[self.children[first + j]] += flow
                    continue
                self._compare_states(node, j, values, r, terms)
                _normalise(terms, n_states)
                for i in range(n_states):
                    flows[state + i] += flow * terms[i]
            if self.trees.n_inputs[node]:
                for i in range(n_states):
                    flows[self.children[first + i]] += flows[state + i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compare(
    lines: LineNumbers,
    log_weights: Weights,
    count: cython.Py_ssize_t,
    values: const_float64[:, ::1],
    column: cython.Py_ssize_t,
    terms: cython.double[::1],
) -> cython.void:
    """Write how probable alternatives are given a row, as logarithms that are comparable and at most 0.

    Values are compared with the largest first: far from the data they are so large that weights get lost beside them.
    """
    i: cython.Py_ssize_t
    largest: cython.double = -INFINITY
    top: cython.double = -INFINITY
    for i in range(count):
        if log_weights[i] > -INFINITY:
            largest = max(largest, values[lines[i], column])
    if largest == -INFINITY:
        for i in range(count):
            terms[i] = -INFINITY
        return
    for i in range(count):
        terms[i] = log_weights[i] + (values[lines[i], column] - largest)
        top = max(top, terms[i])
    for i in range(count):
        terms[i] -= top


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _normalise(terms: cython.double[::1], count: cython.Py_ssize_t) -> cython.void:
    """Turn logarithms into probabilities."""
    i: cython.Py_ssize_t
    total: cython.double = 0.0
    for i in range(count):
        terms[i] = exp(terms[i])
        total += terms[i]
    for i in range(count):
        terms[i] /= total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _best(
    lines: LineNumbers,
    log_weights: Weights,
    count: cython.Py_ssize_t,
    values: const_float64[:, ::1],
    column: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return which alternative is best, the first of several."""
    i: cython.Py_ssize_t
    found: cython.Py_ssize_t = 0
    largest: cython.double = log_weights[0] + values[lines[0], column]
    for i in range(1, count):
        value: cython.double = log_weights[i] + values[lines[i], column]
        if value > largest:
            largest, found = value, i
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _draw(terms: cython.double[::1], count: cython.Py_ssize_t, share: cython.double) -> cython.Py_ssize_t:
    """Return the index that a share of the total of exp(terms) falls on; never one of probability 0, -1 if all are.

    The terms are gone afterwards.
    """
    i: cython.Py_ssize_t
    found: cython.Py_ssize_t = 0
    largest: cython.double = -INFINITY
    total: cython.double = 0.0
    reached: cython.double = 0.0
    for i in range(count):
        largest = max(largest, terms[i])
    if largest == -INFINITY:
        return -1
    for i in range(count):
        terms[i] = exp(terms[i] - largest)
        total += terms[i]
    for i in range(count):
        if terms[i] > 0.0:
            found = i
            reached += terms[i]
            if reached > share * total:
                break
    return found

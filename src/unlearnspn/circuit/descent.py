# cython: cdivision=True
"""The way down a circuit, given the values of its units for some rows: to the inputs of what a row is missing.

A descent chooses one part of every sum on the way, at random or the best one, or follows all of them by their share.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, exp
from cython.cimports.unlearnspn.circuit.bit_generators import BitGenerator, bit_generator, random
from cython.cimports.unlearnspn.const_types import const_float64, const_int32, const_int64, const_uint8

from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.layout import Indices, Layout

_SUM = cython.declare(cython.int, int(Unit.SUM))
_PRODUCT = cython.declare(cython.int, int(Unit.PRODUCT))
_CATEGORICAL = cython.declare(cython.int, int(Unit.CATEGORICAL))


@cython.cclass
class Descent:
    """The arrays of a circuit that a way down reads; values are given as [unit, row]."""

    units: const_uint8[::1]
    slots: const_int32[::1]
    child_starts: const_int64[::1]
    children: const_int32[::1]
    log_weights: const_float64[::1]
    parameter_starts: const_int64[::1]
    parameters: const_float64[::1]
    most_terms: cython.Py_ssize_t

    def __init__(self, layout: Layout, slots: Indices) -> None:
        self.units = layout.units
        self.slots = slots
        self.child_starts = layout.child_starts
        self.children = layout.children
        self.log_weights = layout.log_weights
        self.parameter_starts = layout.parameter_starts
        self.parameters = layout.parameters
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
        bits: cython.pointer[BitGenerator] = bit_generator(rng)
        with rng.bit_generator.lock, cython.nogil:
            for r in range(chosen.shape[1]):
                self._draw_row(values, r if values.shape[1] > 1 else 0, bits, terms, pending, chosen, places, r)

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
        chosen: cython.int[:, ::1],
        places: cython.int[:, ::1],
        r: cython.Py_ssize_t,
    ) -> cython.void:
        u: cython.Py_ssize_t
        i: cython.Py_ssize_t
        first: cython.Py_ssize_t
        count: cython.Py_ssize_t
        waiting: cython.Py_ssize_t = 1
        pending[0] = self.units.shape[0] - 1
        while waiting:
            waiting -= 1
            u = pending[waiting]
            first, count = self.child_starts[u], self.child_starts[u + 1] - self.child_starts[u]
            if self.units[u] == _SUM:
                self._compare(u, values, column, terms)
                # A row without a possible part misses nothing, so that any part will do.
                pending[waiting] = self.children[first + max(_draw(terms, count, random(bits)), 0)]
                waiting += 1
            elif self.units[u] == _PRODUCT:
                for i in range(first, first + count):
                    pending[waiting] = self.children[i]
                    waiting += 1
            elif self.units[u] == _CATEGORICAL:
                first, count = self.parameter_starts[u], self.parameter_starts[u + 1] - self.parameter_starts[u] - 1
                for i in range(count):
                    terms[i] = self.parameters[first + i]
                places[self.slots[u], r] = _draw(terms, count, random(bits))
            else:
                chosen[self.slots[u], r] = u

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _compare(
        self,
        u: cython.Py_ssize_t,
        values: const_float64[:, ::1],
        column: cython.Py_ssize_t,
        terms: cython.double[::1],
    ) -> cython.void:
        """Write how probable the parts of a sum are given a row, as logarithms that are comparable and at most 0.

        Values are compared with the largest first: far from the data they are so large that weights get lost beside
        them.
        """
        i: cython.Py_ssize_t
        first: cython.Py_ssize_t = self.child_starts[u]
        count: cython.Py_ssize_t = self.child_starts[u + 1] - first
        largest: cython.double = -INFINITY
        top: cython.double = -INFINITY
        for i in range(count):
            if self.log_weights[first + i] > -INFINITY:
                largest = max(largest, values[self.children[first + i], column])
        if largest == -INFINITY:
            for i in range(count):
                terms[i] = -INFINITY
            return
        for i in range(count):
            terms[i] = self.log_weights[first + i] + (values[self.children[first + i], column] - largest)
            top = max(top, terms[i])
        for i in range(count):
            terms[i] -= top

    def choose_best(self, values: const_float64[:, ::1], chosen: cython.int[:, ::1], best: cython.int[:, ::1]) -> None:
        """Choose the best part of every sum on the way; ties go to the first.

        Write the inputs chosen for numbers and for categories, [slot, row].
        """
        r: cython.Py_ssize_t
        pending: cython.longlong[::1] = np.empty(self.units.shape[0], np.int64)
        with cython.nogil:
            for r in range(chosen.shape[1]):
                self._choose_best_of_row(values, pending, chosen, best, r)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _choose_best_of_row(
        self,
        values: const_float64[:, ::1],
        pending: cython.longlong[::1],
        chosen: cython.int[:, ::1],
        best: cython.int[:, ::1],
        r: cython.Py_ssize_t,
    ) -> cython.void:
        u: cython.Py_ssize_t
        edge: cython.Py_ssize_t
        waiting: cython.Py_ssize_t = 1
        value: cython.double
        largest: cython.double
        pending[0] = self.units.shape[0] - 1
        while waiting:
            waiting -= 1
            u = pending[waiting]
            if self.units[u] == _SUM:
                edge = self.child_starts[u]
                largest = self.log_weights[edge] + values[self.children[edge], r]
                pending[waiting] = self.children[edge]
                for edge in range(self.child_starts[u] + 1, self.child_starts[u + 1]):
                    value = self.log_weights[edge] + values[self.children[edge], r]
                    if value > largest:
                        largest = value
                        pending[waiting] = self.children[edge]
                waiting += 1
            elif self.units[u] == _PRODUCT:
                for edge in range(self.child_starts[u], self.child_starts[u + 1]):
                    pending[waiting] = self.children[edge]
                    waiting += 1
            elif self.units[u] == _CATEGORICAL:
                best[self.slots[u], r] = u
            else:
                chosen[self.slots[u], r] = u

    def follow_all(
        self,
        values: const_float64[:, ::1],
        means: const_float64[::1],
        category_starts: const_int64[::1],
        numbers: cython.double[:, ::1],
        shares: cython.double[:, ::1],
    ) -> None:
        """Sum up means and probabilities of categories over all inputs, each by its share given the row.

        `numbers` are [slot, row], `shares` [category, row]: those of a slot start where `category_starts` says.
        """
        r: cython.Py_ssize_t
        terms: cython.double[::1] = np.empty(self.most_terms)
        flows: cython.double[::1] = np.empty(self.units.shape[0])
        with cython.nogil:
            for r in range(values.shape[1]):
                self._follow_row(values, means, category_starts, numbers, shares, terms, flows, r)

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
        total: cython.double
        flows[:] = 0.0
        flows[flows.shape[0] - 1] = 1.0
        for u in range(self.units.shape[0] - 1, -1, -1):
            flow = flows[u]
            if flow == 0.0:
                continue
            first, count = self.child_starts[u], self.child_starts[u + 1] - self.child_starts[u]
            if self.units[u] == _SUM:
                self._compare(u, values, r, terms)
                total = 0.0
                for i in range(count):
                    terms[i] = exp(terms[i])
                    total += terms[i]
                for i in range(count):
                    flows[self.children[first + i]] += flow * (terms[i] / total)
            elif self.units[u] == _PRODUCT:
                for i in range(first, first + count):
                    flows[self.children[i]] += flow
            elif self.units[u] == _CATEGORICAL:
                start, first = category_starts[self.slots[u]], self.parameter_starts[u]
                for i in range(self.parameter_starts[u + 1] - first - 1):
                    shares[start + i, r] += flow * exp(self.parameters[first + i] - values[u, r])
            else:
                numbers[self.slots[u], r] += flow * means[u]


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

"""A Chow-Liu tree as units of a circuit: given its outcome, a variable's children are independent.

A variable may be one of several things, on which all that follows depends: every outcome that some record has, and all
others together if there are any. These are its parts. Each is a product of what the variable is then, and of the
sub-tree of each child given that, which is a sum over the child's parts; or of the child's own distribution, if nothing
depends on the child. What follows from an outcome is the same whatever led to it, and one part of the circuit.

Units stand where `lower` would put them: below the first part of a variable the sub-trees of its children, each with
the sum over its parts, then the inputs; below all other parts only sums and inputs of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.unlearnspn.const_types import const_float64, const_int64, const_uint8
from cython.cimports.unlearnspn.portable_math import log

from unlearnspn.circuit.expressions import Expression, Fragment, Inputs, Parameters, Sum, Unit, Within
from unlearnspn.circuit.layout import lift, lower
from unlearnspn.leaves.tree import Tree, TreeData, learn_tree
from unlearnspn.slices import Counts

#: Inner units have no variable.
_NOBODY = cython.declare(cython.int, -1)
_SUM = cython.declare(cython.uchar, int(Unit.SUM))
_PRODUCT = cython.declare(cython.uchar, int(Unit.PRODUCT))
_CATEGORICAL = cython.declare(cython.uchar, int(Unit.CATEGORICAL))
_GAUSSIAN = cython.declare(cython.uchar, int(Unit.GAUSSIAN))


class TreeUnits(NamedTuple):
    """The units of a tree, and where its first variable is among them."""

    fragment: Fragment
    #: The parts of the first variable, with their weights.
    parts: Counts
    log_weights: Parameters
    #: Whether there is a sum of a single part, or a part without any probability.
    needs_pruning: bool


def express_tree(data: TreeData) -> Expression:
    """Return a tree as part of a circuit."""
    fragment, parts, log_weights, needs_pruning = write_tree(data)
    expression = Sum(tuple([Within(fragment, part) for part in parts.tolist()]), tuple(log_weights.tolist()))
    return lift(lower(expression)) if needs_pruning else expression


def write_tree(data: TreeData) -> TreeUnits:
    """Return the units of a tree."""
    tree = learn_tree(data)
    writer: _Writer = _Writer(tree)
    units, variables = np.empty(writer.n_units, np.uint8), np.empty(writer.n_units, np.int32)
    n_parameters, n_children = np.zeros(writer.n_units, np.int64), np.empty(writer.n_inner, np.int64)
    writer.write_kinds(units, variables, n_parameters, n_children)
    parameters = np.empty(writer.n_parameters)
    children, log_weights = np.empty(writer.n_children, np.int32), np.zeros(writer.n_children)
    writer.write_numbers(parameters, children, log_weights)
    parts, root_weights = np.empty(writer.n_parts[0], np.int64), np.empty(writer.n_parts[0])
    writer.write_root(parts, root_weights)
    fragment = Fragment(Inputs(units, variables, n_parameters, parameters), n_children, children, log_weights)
    return TreeUnits(fragment, parts, root_weights, bool(writer.needs_pruning))


@cython.cclass
class _Writer:
    """Writes the units of a tree."""

    # The tree. The parts of a variable are as many as the lines of the tables of those whose parent it is.
    scope: const_int64[::1]
    parents: const_int64[::1]
    order: const_int64[::1]
    is_numeric: const_uint8[::1]
    in_bins: const_float64[:, ::1]
    first_bins: const_int64[::1]
    outcomes: const_int64[::1]
    unseen: const_float64[::1]
    counts: const_int64[::1]
    n_parts: const_int64[::1]
    table_starts: const_int64[::1]
    logs: const_float64[::1]
    # Whether nothing depends on a category: then each part of its parent has its distribution among the inputs.
    is_simple: cython.uchar[::1]
    # How many children a variable has that are not simple, and that are.
    n_sums: cython.longlong[::1]
    n_simple: cython.longlong[::1]
    # The number of a child among those of its parent that are simple, or among those that are not.
    ranks: cython.longlong[::1]
    # Where the inputs of the first part are, and how far from there those of the next.
    inputs: cython.longlong[::1]
    strides: cython.longlong[::1]
    # Where the sum over a variable's parts is that belongs to its parent's first part.
    sums: cython.longlong[::1]
    # How many units there are, those that are no inputs, and all their parameters and children.
    n_units: cython.longlong
    n_inner: cython.longlong
    n_parameters: cython.longlong
    n_children: cython.longlong
    # Where the parameters and children of each unit start.
    parameter_starts: cython.longlong[::1]
    child_starts: cython.longlong[::1]
    # Whether there is a sum of a single part, or a part without any probability.
    needs_pruning: cython.bint

    def __init__(self, tree: Tree) -> None:
        rows: cython.longlong[:, ::1] = np.zeros((7, tree.scope.size), np.int64)
        numbers: cython.longlong[:, ::1]
        self.scope, self.parents, self.order = tree.scope, tree.parents, tree.order
        self.is_numeric = tree.is_numeric.view(np.uint8)
        self.in_bins, self.first_bins = tree.in_bins, tree.first_bins
        self.outcomes, self.unseen = tree.alphabets.starts, tree.alphabets.unseen
        self.counts, self.n_parts = tree.tables.counts, tree.tables.n_lines
        self.table_starts, self.logs = tree.tables.starts, tree.tables.logs
        self.is_simple = np.zeros(tree.scope.size, np.uint8)
        self.n_sums, self.n_simple, self.ranks = rows[0], rows[1], rows[2]
        self.inputs, self.strides, self.sums = rows[3], rows[4], rows[5]
        self.needs_pruning = False
        with cython.nogil:
            self.rank_children()
            self.place_units(rows[6])
        numbers = np.zeros((2, self.n_units + 1), np.int64)
        self.parameter_starts, self.child_starts = numbers[0], numbers[1]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def rank_children(self) -> cython.void:
        """Find out which variables are simple, and number those of each parent."""
        i: cython.Py_ssize_t
        v: cython.Py_ssize_t
        parent: cython.Py_ssize_t
        for v in range(self.scope.shape[0]):
            self.is_simple[v] = not self.is_numeric[v]
        for i in range(1, self.scope.shape[0]):
            self.is_simple[self.parents[self.order[i]]] = False
        for i in range(1, self.scope.shape[0]):
            v = self.order[i]
            parent = self.parents[v]
            if self.is_simple[v]:
                self.ranks[v] = self.n_simple[parent]
                self.n_simple[parent] += 1
            else:
                self.ranks[v] = self.n_sums[parent]
                self.n_sums[parent] += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def place_units(self, lengths: cython.longlong[::1]) -> cython.void:
        """Find out where inputs and sums are; `lengths` becomes how many units each variable has with all below."""
        width: cython.Py_ssize_t = self.scope.shape[0]
        i: cython.Py_ssize_t
        v: cython.Py_ssize_t
        parent: cython.Py_ssize_t
        n_children: cython.longlong
        for i in range(width - 1, -1, -1):  # children before parents
            v = self.order[i]
            n_children = self.n_sums[v] + self.n_simple[v]
            self.strides[v] = n_children + 1 + (n_children > 0)
            lengths[v] += self.n_parts[v] * self.strides[v]
            if n_children > 0:
                self.n_inner += self.n_parts[v]
            if self.n_parts[v] < 2:
                self.needs_pruning = True
            if i > 0 and not self.is_simple[v]:
                lengths[self.parents[v]] += lengths[v]
                self.n_inner += self.n_parts[self.parents[v]]
        self.n_units = lengths[self.order[0]]
        for i in range(1, width):
            v = self.order[i]
            if not self.is_simple[v]:
                # The parent's inputs come after all that is below its first part.
                parent = self.parents[v]
                self.sums[v] = self.inputs[parent] + lengths[v]
                self.inputs[v] = self.inputs[parent]
                self.inputs[parent] = self.sums[v] + 1

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def inputs_of(self, v: cython.Py_ssize_t, j: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return where the inputs of a variable's part start: what it is itself, then its simple children."""
        return self.inputs[v] + j * self.strides[v]

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def part(self, v: cython.Py_ssize_t, j: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return where a variable's part is: its product after the inputs, or its only input."""
        if self.n_sums[v] + self.n_simple[v] > 0:
            return self.inputs_of(v, j) + self.n_simple[v] + 1
        return self.inputs_of(v, j)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def sum_over(self, v: cython.Py_ssize_t, j: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return where the sum over a variable's parts is, given a part of its parent."""
        parent: cython.Py_ssize_t = self.parents[v]
        if j == 0:
            return self.sums[v]
        return self.inputs_of(parent, j) - self.n_sums[parent] + self.ranks[v]

    @cython.cfunc
    def write_kinds(
        self,
        units: cython.uchar[::1],
        variables: cython.int[::1],
        n_parameters: cython.longlong[::1],
        n_children: cython.longlong[::1],
    ) -> cython.void:
        """Write what the units are, and how many parameters and children they have; inputs have no children."""
        at: cython.Py_ssize_t
        v: cython.Py_ssize_t
        inner: cython.Py_ssize_t = 0
        with cython.nogil:
            for v in range(self.scope.shape[0]):
                if self.parents[v] >= 0:
                    self.write_kinds_above(v, units, variables)
                if not self.is_simple[v]:
                    self.write_kinds_of_parts(v, units, variables)
            for at in range(self.n_units):
                n_parameters[at] = self.parameter_starts[at + 1]
                if units[at] <= _PRODUCT:
                    n_children[inner] = self.child_starts[at + 1]
                    inner += 1
                self.parameter_starts[at + 1] += self.parameter_starts[at]
                self.child_starts[at + 1] += self.child_starts[at]
        self.n_parameters, self.n_children = self.parameter_starts[self.n_units], self.child_starts[self.n_units]

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def n_outcomes(self, v: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return how many outcomes a variable has."""
        return self.outcomes[v + 1] - self.outcomes[v]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_kinds_above(
        self, v: cython.Py_ssize_t, units: cython.uchar[::1], variables: cython.int[::1]
    ) -> cython.void:
        """Write what there is of a variable for each part of its parent: its distribution, or a sum over its parts."""
        parent: cython.Py_ssize_t = self.parents[v]
        at: cython.Py_ssize_t
        j: cython.Py_ssize_t
        for j in range(self.n_parts[parent]):
            if self.is_simple[v]:
                at = self.inputs_of(parent, j) + 1 + self.ranks[v]
                units[at], variables[at] = _CATEGORICAL, self.scope[v]
                self.parameter_starts[at + 1] = self.n_outcomes(v) + 1
            else:
                at = self.sum_over(v, j)
                units[at], variables[at] = _SUM, _NOBODY
                self.child_starts[at + 1] = self.n_parts[v]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_kinds_of_parts(
        self, v: cython.Py_ssize_t, units: cython.uchar[::1], variables: cython.int[::1]
    ) -> cython.void:
        """Write what the parts of a variable are: inputs, and products if something depends on the variable."""
        n_factors: cython.longlong = 1 + self.n_simple[v] + self.n_sums[v]
        at: cython.Py_ssize_t
        j: cython.Py_ssize_t
        for j in range(self.n_parts[v]):
            at = self.inputs_of(v, j)
            units[at] = _GAUSSIAN if self.is_numeric[v] else _CATEGORICAL
            variables[at] = self.scope[v]
            self.parameter_starts[at + 1] = self.in_bins.shape[1] if self.is_numeric[v] else self.n_outcomes(v) + 1
            if n_factors > 1:
                at = self.part(v, j)
                units[at], variables[at] = _PRODUCT, _NOBODY
                self.child_starts[at + 1] = n_factors

    @cython.cfunc
    def write_numbers(
        self, parameters: cython.double[::1], children: cython.int[::1], log_weights: cython.double[::1]
    ) -> cython.void:
        """Write the parameters of all inputs, and the children of all other units, with their weights."""
        v: cython.Py_ssize_t
        with cython.nogil:
            for v in range(self.scope.shape[0]):
                if self.is_simple[v]:
                    self.write_distributions(v, parameters)
                    continue
                if self.is_numeric[v]:
                    self.write_gaussians(v, parameters)
                else:
                    self.write_certainties(v, parameters)
                if self.n_sums[v] + self.n_simple[v] > 0:
                    self.write_factors(v, children)
                if self.parents[v] >= 0:
                    self.write_sums(v, children, log_weights)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_distributions(self, v: cython.Py_ssize_t, parameters: cython.double[::1]) -> cython.void:
        """Write the log-probabilities of a simple variable, given each part of its parent."""
        parent: cython.Py_ssize_t = self.parents[v]
        size: cython.Py_ssize_t = self.n_outcomes(v)
        line: cython.Py_ssize_t = self.table_starts[v]
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        start: cython.Py_ssize_t
        for j in range(self.n_parts[parent]):
            start = self.parameter_starts[self.inputs_of(parent, j) + 1 + self.ranks[v]]
            for k in range(size + 1):
                parameters[start + k] = self.logs[line + k]
            line += size + 2

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_gaussians(self, v: cython.Py_ssize_t, parameters: cython.double[::1]) -> cython.void:
        """Write the parameters of a number in each of its parts."""
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        start: cython.Py_ssize_t
        for j in range(self.n_parts[v]):
            start = self.parameter_starts[self.inputs_of(v, j)]
            for k in range(self.in_bins.shape[1]):
                parameters[start + k] = self.in_bins[self.first_bins[v] + j, k]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.cdivision(True)
    def write_certainties(self, v: cython.Py_ssize_t, parameters: cython.double[::1]) -> cython.void:
        """Write the log-probabilities of categories given each part: certainty, or alike among the others."""
        first: cython.Py_ssize_t = self.outcomes[v]
        size: cython.Py_ssize_t = self.n_outcomes(v)
        others: cython.double = self.unseen[v]
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t = 0
        k: cython.Py_ssize_t
        start: cython.Py_ssize_t
        for k in range(size):
            others += self.counts[first + k] == 0
        for k in range(size):
            if self.counts[first + k]:
                start = self.parameter_starts[self.inputs_of(v, j)]
                for i in range(size + 1):
                    parameters[start + i] = -INFINITY
                parameters[start + k] = 0.0
                j += 1
        if j < self.n_parts[v]:
            start = self.parameter_starts[self.inputs_of(v, j)]
            for k in range(size):
                parameters[start + k] = -INFINITY if self.counts[first + k] else log(1.0 / others)
            parameters[start + size] = log(self.unseen[v] / others) if self.unseen[v] > 0.0 else -INFINITY

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_factors(self, v: cython.Py_ssize_t, children: cython.int[::1]) -> cython.void:
        """Write the inputs of a variable's parts."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        start: cython.Py_ssize_t
        for j in range(self.n_parts[v]):
            start = self.child_starts[self.part(v, j)]
            for i in range(1 + self.n_simple[v]):
                children[start + i] = self.inputs_of(v, j) + i

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_sums(
        self, v: cython.Py_ssize_t, children: cython.int[::1], log_weights: cython.double[::1]
    ) -> cython.void:
        """Write the sums over a variable's parts: whose factors they are, and what they mix."""
        parent: cython.Py_ssize_t = self.parents[v]
        width: cython.Py_ssize_t = self.n_outcomes(v) + 2
        rank: cython.Py_ssize_t = 1 + self.n_simple[parent] + self.ranks[v]
        at: cython.Py_ssize_t
        j: cython.Py_ssize_t
        part: cython.Py_ssize_t
        for j in range(self.n_parts[parent]):
            at = self.sum_over(v, j)
            children[self.child_starts[self.part(parent, j)] + rank] = at
            for part in range(self.n_parts[v]):
                children[self.child_starts[at] + part] = self.part(v, part)
            self.write_weights(v, self.table_starts[v] + j * width, log_weights, self.child_starts[at])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_weights(
        self, v: cython.Py_ssize_t, line: cython.Py_ssize_t, log_weights: cython.double[::1], at: cython.Py_ssize_t
    ) -> cython.void:
        """Write the weights of a variable's parts: those of what some record has, and of all else if there is such."""
        first: cython.Py_ssize_t = self.outcomes[v]
        size: cython.Py_ssize_t = self.n_outcomes(v)
        end: cython.Py_ssize_t = at + self.n_parts[v]
        k: cython.Py_ssize_t
        for k in range(size):
            if self.counts[first + k]:
                log_weights[at] = self.logs[line + k]
                at += 1
        if at < end:
            log_weights[at] = self.logs[line + size + 1]
        for at in range(end - self.n_parts[v], end):
            if log_weights[at] == -INFINITY:
                self.needs_pruning = True

    @cython.cfunc
    def write_root(self, parts: cython.longlong[::1], log_weights: cython.double[::1]) -> cython.void:
        """Write where the parts of the first variable are, and their weights."""
        j: cython.Py_ssize_t
        for j in range(parts.shape[0]):
            parts[j] = self.part(0, j)
        self.write_weights(0, self.table_starts[0], log_weights, 0)

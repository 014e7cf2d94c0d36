"""A tree as a unit of a circuit.

The states of a variable are what those that follow depend on: every context that some record has, and all outcomes
together that none has, if there are any. A category on which nothing depends has no states: all that matters is how
likely it is given each state of its parent.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.unlearnspn.const_types import const_float64, const_int64, const_uint8
from cython.cimports.unlearnspn.leaves.contexts import Contexts
from cython.cimports.unlearnspn.portable_math import log

from unlearnspn.circuit.expressions import Expression, Input, Inputs, Tree, Unit
from unlearnspn.circuit.tree_nodes import prune, unpack
from unlearnspn.leaves.tree import Tree as LearnedTree
from unlearnspn.leaves.tree import TreeData, learn_tree

_CATEGORICAL = cython.declare(cython.uchar, int(Unit.CATEGORICAL))
_GAUSSIAN = cython.declare(cython.uchar, int(Unit.GAUSSIAN))


def express_tree(data: TreeData) -> Expression:
    """Return a tree as part of a circuit; one of a single variable is that variable's distribution."""
    writer: _Writer = _Writer(learn_tree(data), False)
    tree = writer.write()
    if tree.inputs.number == 1:
        return tree.inputs.unpack()[0]
    if writer.has_impossible or len(tree.nodes) == 1:
        return prune(unpack(tree.nodes, tree.log_tables, tree.inputs.unpack()))
    return tree


def states_of(data: TreeData) -> tuple[list[Input], list[float]]:
    """Return the states of the only category of a tree: what it is in each, and the log-probability of each."""
    writer: _Writer = _Writer(learn_tree(data), True)
    tree = writer.write()
    return tree.inputs.unpack(), tree.log_tables.tolist()


@cython.cclass
class _Writer:
    """Writes the arrays of a tree, node after node in the order in which variables joined it."""

    # The tree.
    scope: const_int64[::1]
    contexts: Contexts
    parents: const_int64[::1]
    joined: const_int64[::1]
    is_numeric: const_uint8[::1]
    in_bins: const_float64[:, ::1]
    first_bins: const_int64[::1]
    outcomes: const_int64[::1]
    unseen: const_float64[::1]
    counts: const_int64[::1]
    n_states: const_int64[::1]
    table_starts: const_int64[::1]
    logs: const_float64[::1]
    # Whether categories have states even if nothing depends on them.
    keeps_states: cython.bint
    # Whether a category has none, as nothing depends on it.
    is_simple: cython.uchar[::1]
    # How many probabilities, inputs and parameters of these there are.
    n_probabilities: cython.Py_ssize_t
    n_inputs: cython.Py_ssize_t
    n_parameters: cython.Py_ssize_t
    # Whether a state has no probability.
    has_impossible: cython.bint

    def __init__(self, tree: LearnedTree, keeps_states: bool) -> None:
        self.keeps_states = keeps_states
        self.scope, self.contexts, self.joined = tree.scope, tree.contexts, tree.joined
        self.parents = self.contexts.parents
        self.is_numeric = tree.is_numeric.view(np.uint8)
        self.in_bins, self.first_bins = tree.in_bins, tree.first_bins
        self.outcomes, self.unseen = tree.alphabets.starts, tree.alphabets.unseen
        self.counts, self.n_states = tree.tables.counts, tree.tables.n_states
        self.table_starts, self.logs = tree.tables.starts, tree.tables.logs
        self.is_simple = np.zeros(tree.scope.size, np.uint8)
        self.n_probabilities = self.n_inputs = self.n_parameters = 0
        self.has_impossible = False

    def write(self) -> Tree:
        """Return the tree."""
        nodes = np.empty((self.scope.shape[0], 3), np.int32)
        self.write_nodes(nodes)
        log_tables, parameters = np.empty(self.n_probabilities), np.empty(self.n_parameters)
        units, variables = np.empty(self.n_inputs, np.uint8), np.empty(self.n_inputs, np.int32)
        n_parameters = np.empty(self.n_inputs, np.int64)
        self.write_inputs(units, variables, n_parameters)
        self.write_numbers(log_tables, parameters)
        return Tree(nodes, log_tables, Inputs(units, variables, n_parameters, parameters))

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def n_outcomes(self, v: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return how many outcomes a variable has."""
        return self.outcomes[v + 1] - self.outcomes[v]

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def n_given(self, v: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return how many states a variable's parent has."""
        return self.n_states[self.parents[v]] if self.parents[v] >= 0 else 1

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def inputs_of(self, v: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return how many inputs a variable has."""
        return self.n_given(v) if self.is_simple[v] else self.n_states[v]

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def input_size(self, v: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return how many parameters each input of a variable has."""
        return self.in_bins.shape[1] if self.is_numeric[v] else self.n_outcomes(v) + 1

    @cython.cfunc
    def write_nodes(self, nodes: cython.int[:, ::1]) -> cython.void:
        """Write the nodes, and count what they have."""
        ranks: cython.longlong[::1] = np.empty(self.scope.shape[0], np.int64)
        i: cython.Py_ssize_t
        v: cython.Py_ssize_t
        with cython.nogil:
            for v in range(self.scope.shape[0]):
                self.is_simple[v] = not self.is_numeric[v] and not self.keeps_states
            for i in range(1, self.scope.shape[0]):
                self.is_simple[self.parents[self.joined[i]]] = False
            for i in range(self.scope.shape[0]):
                v = self.joined[i]
                ranks[v] = i
                nodes[i, 0] = ranks[self.parents[v]] if i else -1
                nodes[i, 1] = 0 if self.is_simple[v] else self.n_states[v]
                nodes[i, 2] = self.inputs_of(v)
                self.n_probabilities += self.n_given(v) * nodes[i, 1]
                self.n_inputs += nodes[i, 2]
                self.n_parameters += nodes[i, 2] * self.input_size(v)

    @cython.cfunc
    def write_inputs(
        self, units: cython.uchar[::1], variables: cython.int[::1], n_parameters: cython.longlong[::1]
    ) -> cython.void:
        """Write what the inputs are, and how many parameters they have."""
        at: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        v: cython.Py_ssize_t
        with cython.nogil:
            for i in range(self.scope.shape[0]):
                v = self.joined[i]
                for _ in range(self.inputs_of(v)):
                    units[at] = _GAUSSIAN if self.is_numeric[v] else _CATEGORICAL
                    variables[at], n_parameters[at] = self.scope[v], self.input_size(v)
                    at += 1

    @cython.cfunc
    def write_numbers(self, log_tables: cython.double[::1], parameters: cython.double[::1]) -> cython.void:
        """Write the log-probabilities of states, and the parameters of inputs."""
        table: cython.Py_ssize_t = 0
        own: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        v: cython.Py_ssize_t
        with cython.nogil:
            for i in range(self.scope.shape[0]):
                v = self.joined[i]
                if self.is_simple[v]:
                    self.write_distributions(v, parameters, own)
                elif self.is_numeric[v]:
                    self.write_gaussians(v, parameters, own)
                else:
                    self.write_certainties(v, parameters, own)
                if not self.is_simple[v]:
                    self.write_table(v, log_tables, table)
                    table += self.n_given(v) * self.n_states[v]
                own += self.inputs_of(v) * self.input_size(v)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_distributions(
        self, v: cython.Py_ssize_t, parameters: cython.double[::1], at: cython.Py_ssize_t
    ) -> cython.void:
        """Write the log-probabilities of a simple variable, given each state of its parent."""
        size: cython.Py_ssize_t = self.n_outcomes(v)
        line: cython.Py_ssize_t = self.table_starts[v]
        k: cython.Py_ssize_t
        for _ in range(self.n_given(v)):
            for k in range(size + 1):
                parameters[at + k] = self.logs[line + k]
            at += size + 1
            line += size + 2

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_gaussians(
        self, v: cython.Py_ssize_t, parameters: cython.double[::1], at: cython.Py_ssize_t
    ) -> cython.void:
        """Write the parameters of a number in each of its states."""
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        for j in range(self.n_states[v]):
            for k in range(self.in_bins.shape[1]):
                parameters[at] = self.in_bins[self.first_bins[v] + j, k]
                at += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.cdivision(True)
    def write_certainties(
        self, v: cython.Py_ssize_t, parameters: cython.double[::1], at: cython.Py_ssize_t
    ) -> cython.void:
        """Write the log-probabilities of categories given each state: certainty, or alike among the others."""
        first: cython.Py_ssize_t = self.outcomes[v]
        size: cython.Py_ssize_t = self.n_outcomes(v)
        end: cython.Py_ssize_t = at + self.n_states[v] * (size + 1)
        others: cython.double = self.unseen[v]
        length: cython.Py_ssize_t
        context: cython.Py_ssize_t
        k: cython.Py_ssize_t
        own: cython.Py_ssize_t
        for length in range(1, self.contexts.kept[v] + 1):
            for context in range(1, self.contexts.sizes[v, length] + 1):
                own = 0
                for k in range(size + 1):
                    parameters[at + k] = -INFINITY
                    if k < size and self.counts[first + k]:
                        own += 1
                        if own == self.contexts.owns[v, length, context]:
                            parameters[at + k] = 0.0
                at += size + 1
        if at < end:
            for k in range(size):
                others += self.counts[first + k] == 0
            for k in range(size):
                parameters[at + k] = -INFINITY if self.counts[first + k] else log(1.0 / others)
            parameters[at + size] = log(self.unseen[v] / others) if self.unseen[v] > 0.0 else -INFINITY

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_table(self, v: cython.Py_ssize_t, log_tables: cython.double[::1], at: cython.Py_ssize_t) -> cython.void:
        """Write the log-probabilities of a variable's states given each state of its parent."""
        parent: cython.Py_ssize_t = self.parents[v]
        start: cython.Py_ssize_t = at
        line: cython.Py_ssize_t = self.table_starts[v]
        width: cython.Py_ssize_t = self.n_outcomes(v) + 2
        length: cython.Py_ssize_t
        context: cython.Py_ssize_t
        if parent >= 0:
            for length in range(1, self.contexts.kept[parent] + 1):
                for context in range(1, self.contexts.sizes[parent, length] + 1):
                    self.write_line(v, length, context, line, log_tables, at)
                    line += width
                    at += self.n_states[v]
        if line < self.table_starts[v + 1]:
            self.write_line(v, 0, 0, line, log_tables, at)
            at += self.n_states[v]
        self.look_for_impossible(v, log_tables, start, at)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_line(
        self,
        v: cython.Py_ssize_t,
        length: cython.Py_ssize_t,
        context: cython.Py_ssize_t,
        line: cython.Py_ssize_t,
        log_tables: cython.double[::1],
        at: cython.Py_ssize_t,
    ) -> cython.void:
        """Write the log-probabilities of states in a context of the parent: of those that have this context, too."""
        first: cython.Py_ssize_t = self.outcomes[v]
        size: cython.Py_ssize_t = self.n_outcomes(v)
        n_states: cython.Py_ssize_t = self.n_states[v]
        own: cython.Py_ssize_t = 0
        k: cython.Py_ssize_t
        for k in range(n_states):
            log_tables[at + k] = -INFINITY
        for k in range(size):
            if self.counts[first + k]:
                own += 1
                log_tables[at + self.contexts.state_of(v, own, length, context)] = self.logs[line + k]
        if self.contexts.n_contexts(v) < n_states:
            log_tables[at + n_states - 1] = self.logs[line + size + 1]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def look_for_impossible(
        self, v: cython.Py_ssize_t, log_tables: cython.double[::1], start: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.void:
        """Find out whether no state of the parent leads to some state."""
        n_states: cython.Py_ssize_t = self.n_states[v]
        state: cython.Py_ssize_t
        at: cython.Py_ssize_t
        for state in range(n_states):
            at = start + state
            while at < end and log_tables[at] == -INFINITY:
                at += n_states
            if at >= end:
                self.has_impossible = True

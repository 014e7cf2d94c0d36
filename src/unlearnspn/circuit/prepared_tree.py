"""What of a tree can be looked up, prepared once for all rows: states, log-probabilities, and where these get small."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, log2
from cython.cimports.unlearnspn.circuit.exponentials import exponential
from cython.cimports.unlearnspn.circuit.tree_messages import TreeArrays

from unlearnspn.circuit.expressions import N_INPUTS, PARENT, Tree, Unit
from unlearnspn.circuit.layout import Indices, lower, starts_of

#: How a node is evaluated: its category tells its state or is all there is to it; its category and its parent's state
#: tell it; its states are weighed by what its variable is in each; nothing is known of it.
LOOKED_UP, FOLLOWED, WEIGHED, HIDDEN = range(4)
_LOOKED_UP = cython.declare(cython.uchar, LOOKED_UP)
_FOLLOWED = cython.declare(cython.uchar, FOLLOWED)
_WEIGHED = cython.declare(cython.uchar, WEIGHED)
_HIDDEN = cython.declare(cython.uchar, HIDDEN)
#: The states of a parent are looked at after so many factors of a half.
_MOST_HALVES = cython.declare(cython.double, 150.0)


@cython.cclass
class PreparedTree:
    """A tree with what can be looked up in it.

    `slots_by_variable` has the line of each variable among the columns of its kind.
    """

    def __init__(self, tree: Tree, slots_by_variable: Indices) -> None:
        node: cython.Py_ssize_t
        layout = lower(tree)
        nodes, slots = layout.tree_nodes, slots_by_variable[layout.variables].astype(np.int32)
        trees: TreeArrays = TreeArrays(layout)
        self.trees = trees
        self.units, self.slots = layout.units, slots
        self.parameter_starts, self.parameters = layout.parameter_starts, layout.parameters
        n_places, node_slots = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int32)
        emits = nodes[:, N_INPUTS] > 0
        inputs = layout.children[np.asarray(trees.first_inputs)[emits]]
        lengths = layout.parameter_starts[inputs + 1] - layout.parameter_starts[inputs]
        n_places[emits] = np.where(layout.units[inputs] == Unit.CATEGORICAL, lengths, 0)
        node_slots[emits] = slots[inputs]
        of_parents = np.where(nodes[:, PARENT] < 0, 1, np.asarray(trees.n_states)[trees.parents])
        self.n_places, self.node_slots = n_places, node_slots
        self.place_starts, self.table_starts = starts_of(n_places), starts_of(n_places * of_parents)
        self.kinds = np.where(emits, np.where(n_places > 0, _LOOKED_UP, _WEIGHED), _HIDDEN).astype(np.uint8)
        self.states = np.zeros(n_places.sum(), np.int32)
        self.is_same = np.zeros(len(nodes), np.uint8)
        self.log_starts = starts_of(np.where(n_places > 0, (n_places + 1) * (of_parents + 1), 0))
        self.logs = np.zeros(self.log_starts[len(nodes)])
        self.next_states = np.full(self.log_starts[len(nodes)], -1, np.int32)
        self.state_starts = starts_of(n_places * np.asarray(trees.n_states))
        self.in_states = np.zeros(self.state_starts[len(nodes)])
        self.probabilities = np.zeros(self.table_starts[len(nodes)])
        self.n_states = int(np.asarray(trees.n_states).sum())
        self.gets_small = np.zeros(len(nodes), np.uint8)
        halves: cython.double[::1] = np.zeros(len(nodes))
        with cython.nogil:
            for node in range(self.kinds.shape[0]):
                if self.kinds[node] == _LOOKED_UP:
                    self.prepare(node)
            for node in range(self.kinds.shape[0] - 1, -1, -1):
                self.plan_rescaling(node, halves)
            self.is_complete = True
            for node in range(self.kinds.shape[0]):
                if self.kinds[node] > _FOLLOWED:
                    self.is_complete = False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def prepare(self, node: cython.Py_ssize_t) -> cython.void:
        """Write the states of a node's places, and the probability of each given each state of its parent."""
        n_places: cython.Py_ssize_t = self.n_places[node]
        n_states: cython.Py_ssize_t = self.trees.n_states[node]
        start: cython.Py_ssize_t = self.table_starts[node]
        n_lines: cython.Py_ssize_t = (self.table_starts[node + 1] - start) // n_places
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        if n_states and not self.prepare_states(node):
            if not self.prepare_next_states(node, n_lines):
                self.kinds[node] = _WEIGHED
                return
            self.kinds[node] = _FOLLOWED
        for j in range(n_lines):
            at: cython.Py_ssize_t = self.log_starts[node] + (j + 1) * (n_places + 1) + 1
            for k in range(n_places):
                # Of its input for this state of the parent, or for the state that the place is in.
                own: cython.Py_ssize_t = j
                if n_states:
                    is_followed: cython.bint = self.kinds[node] == _FOLLOWED
                    own = self.next_states[at + k] if is_followed else self.states[self.place_starts[node] + k]
                unit: cython.Py_ssize_t = self.trees.children[self.trees.first_inputs[node] + own]
                value: cython.double = self.parameters[self.parameter_starts[unit] + k]
                if n_states:
                    value += self.trees.log_weights[self.trees.tables[node] + j * n_states + own]
                self.logs[at + k] = value
                # Rounding may have made a little more than a probability of it.
                self.probabilities[start + j * n_places + k] = exponential(min(value, 0.0))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def prepare_states(self, node: cython.Py_ssize_t) -> cython.bint:
        """Write the state of each place of a node; return whether no place is possible in several of them."""
        n_places: cython.Py_ssize_t = self.n_places[node]
        start: cython.Py_ssize_t = self.place_starts[node]
        state: cython.Py_ssize_t
        k: cython.Py_ssize_t
        for k in range(n_places):
            self.states[start + k] = -1
        for state in range(self.trees.n_states[node]):
            unit: cython.Py_ssize_t = self.trees.children[self.trees.first_inputs[node] + state]
            for k in range(n_places):
                if self.parameters[self.parameter_starts[unit] + k] > -INFINITY:
                    if self.states[start + k] >= 0:
                        return False
                    self.states[start + k] = state
        self.is_same[node] = True
        for k in range(n_places):
            # What is impossible in all of them may be in any.
            self.states[start + k] = max(self.states[start + k], 0)
            if self.states[start + k] != k:
                self.is_same[node] = False
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def prepare_next_states(self, node: cython.Py_ssize_t, n_lines: cython.Py_ssize_t) -> cython.bint:
        """Write the state of each place of a node given each state of its parent; return whether there is but one."""
        parent: cython.Py_ssize_t = self.trees.parents[node]
        n_places: cython.Py_ssize_t = self.n_places[node]
        n_states: cython.Py_ssize_t = self.trees.n_states[node]
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        state: cython.Py_ssize_t
        if parent < 0 or self.kinds[parent] > _FOLLOWED:
            return False
        for j in range(n_lines):
            at: cython.Py_ssize_t = self.log_starts[node] + (j + 1) * (n_places + 1) + 1
            for state in range(n_states):
                if self.trees.log_weights[self.trees.tables[node] + j * n_states + state] == -INFINITY:
                    continue
                unit: cython.Py_ssize_t = self.trees.children[self.trees.first_inputs[node] + state]
                for k in range(n_places):
                    if self.parameters[self.parameter_starts[unit] + k] > -INFINITY:
                        if self.next_states[at + k] >= 0:
                            return False
                        self.next_states[at + k] = state
            for k in range(n_places):
                # What is impossible in all of them may be in any.
                self.next_states[at + k] = max(self.next_states[at + k], 0)
        for state in range(n_states):
            unit = self.trees.children[self.trees.first_inputs[node] + state]
            for k in range(n_places):
                value: cython.double = exponential(min(self.parameters[self.parameter_starts[unit] + k], 0.0))
                self.in_states[self.state_starts[node] + state * n_places + k] = value
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def plan_rescaling(self, node: cython.Py_ssize_t, halves: cython.double[::1]) -> cython.void:
        """Find out whether the states of a node's parent may have got too small after the message of the node.

        `halves` has how many factors of a half the largest state of each node has got at most, since it was looked at.
        """
        parent: cython.Py_ssize_t = self.trees.parents[node]
        n_given: cython.Py_ssize_t = self.trees.n_states[parent] if parent >= 0 else 1
        k: cython.Py_ssize_t
        least: cython.double = 1.0
        own: cython.double = 0.0
        if parent < 0:
            return
        if self.kinds[node] <= _FOLLOWED:
            for k in range(self.table_starts[node], self.table_starts[node + 1]):
                if 0.0 < self.probabilities[k] < least:
                    least = self.probabilities[k]
            own = -log2(least)
        elif self.trees.n_states[node] == 0:
            own = _MOST_HALVES
        least = 1.0
        for k in range(self.trees.tables[node], self.trees.tables[node] + n_given * self.trees.n_states[node]):
            if 0.0 < self.trees.weights[k] < least:
                least = self.trees.weights[k]
        if self.kinds[node] == _FOLLOWED:
            halves[node] += own
        halves[parent] += max(own, halves[node] - log2(least))
        if halves[parent] > _MOST_HALVES:
            self.gets_small[node] = True
            halves[parent] = 16.0

"""The value of a tree from those of its inputs, for many rows: messages from children to parents, as logarithms.

A state's value is that of what its variable is then, times one message from each child: what the child and all below it
are, given the state. These values are kept, as ways down through the tree need them.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.string import memcpy
from cython.cimports.unlearnspn.circuit.log_sums import Parts, add_up, compare_parts, pick_best
from cython.cimports.unlearnspn.circuit.tree_messages import Lines

from unlearnspn.circuit.exponentials import exponentials
from unlearnspn.circuit.expressions import N_INPUTS, N_STATES, PARENT, Unit
from unlearnspn.circuit.layout import Layout, Starts, starts_of
from unlearnspn.circuit.tree_nodes import table_sizes


@cython.final
@cython.cclass
class TreeArrays:
    """The trees of a circuit, as arrays over all their nodes."""

    def __init__(self, layout: Layout) -> None:
        nodes, units = layout.tree_nodes, layout.trees
        counts = np.diff(layout.tree_starts)
        numbers = np.full(len(layout), -1, np.int32)
        numbers[units] = np.arange(len(units))
        firsts = np.repeat(layout.tree_starts[:-1], counts)
        states, inputs = nodes[:, N_STATES].astype(np.int64), nodes[:, N_INPUTS].astype(np.int64)
        self.numbers = numbers
        self.starts = layout.tree_starts
        self.parents = np.where(nodes[:, PARENT] < 0, -1, firsts + nodes[:, PARENT])
        self.n_states = states
        self.n_inputs = inputs
        self.first_inputs = _places(inputs, counts, layout.child_starts[units])
        self.tables = _places(table_sizes(nodes), counts, layout.parameter_starts[units])
        self.state_lines = len(layout) + starts_of(states)
        self.n_lines = len(layout) + int(states.sum())
        self.every_line = np.arange(self.n_lines, dtype=np.int32)
        self.children = layout.children
        self.log_weights = layout.parameters
        is_table = np.repeat(layout.units == Unit.TREE, np.diff(layout.parameter_starts))
        weights = np.zeros(len(layout.parameters))
        weights[is_table] = exponentials(layout.parameters[is_table])
        self.weights = weights
        self.most_states = int(states.max(initial=0))
        # What it takes to mix states, then a message for each state of a parent.
        self.room = 2 + 2 * self.most_states

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def evaluate(self, unit: cython.Py_ssize_t, lines: Lines, maximise: cython.bint) -> cython.void:
        """Write the values of a tree and of its states from those of its inputs."""
        tree: cython.Py_ssize_t = self.numbers[unit]
        first: cython.Py_ssize_t = self.starts[tree]
        node: cython.Py_ssize_t
        i: cython.Py_ssize_t
        r: cython.Py_ssize_t
        for node in range(first, self.starts[tree + 1]):
            for i in range(self.n_states[node]):
                state = lines.values + (self.state_lines[node] + i) * lines.width
                if self.n_inputs[node]:
                    own = lines.values + self.children[self.first_inputs[node] + i] * lines.width
                    memcpy(state, own, 8 * lines.n_rows)
                else:
                    for r in range(lines.n_rows):
                        state[r] = 0.0
        messages = lines.room + (2 + self.most_states) * lines.n_rows
        for node in range(self.starts[tree + 1] - 1, first, -1):
            parent: cython.Py_ssize_t = self.parents[node]
            if self.n_states[node]:
                self.send(node, self.n_states[parent], messages, lines, maximise)
            for i in range(self.n_states[parent]):
                state = lines.values + (self.state_lines[parent] + i) * lines.width
                message = messages + i * lines.n_rows
                if self.n_states[node] == 0:
                    message = lines.values + self.children[self.first_inputs[node] + i] * lines.width
                for r in range(lines.n_rows):
                    state[r] += message[r]
        self.send(first, 1, lines.values + unit * lines.width, lines, maximise)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def send(
        self,
        node: cython.Py_ssize_t,
        n_messages: cython.Py_ssize_t,
        messages: cython.p_double,
        lines: Lines,
        maximise: cython.bint,
    ) -> cython.void:
        """Write a node's message for each state of its parent."""
        i: cython.Py_ssize_t
        n_states: cython.Py_ssize_t = self.n_states[node]
        numbers = cython.address(self.every_line[self.state_lines[node]])
        parts: Parts = Parts(lines.values, lines.width, numbers, n_states, lines.n_rows, lines.room)
        if not maximise:
            compare_parts(parts)
        for i in range(n_messages):
            at: cython.Py_ssize_t = self.tables[node] + i * n_states
            log_weights, message = cython.address(self.log_weights[at]), messages + i * lines.n_rows
            if maximise:
                pick_best(parts, log_weights, message)
            else:
                add_up(parts, cython.address(self.weights[at]), log_weights, message)


def _places(sizes: Starts, counts: Starts, starts: Starts) -> Starts:
    """Return where what each node has starts, given its size, how many nodes trees have, and where theirs start."""
    before = np.cumsum(sizes) - sizes
    return np.asarray(before + np.repeat(starts - before[np.cumsum(counts) - counts], counts))

"""Log-densities of rows under trees: what is known is looked up, what is not is summed out.

Where a row knows the states of a node and of its parent, the node's part is one entry of a table. Only where it does
not, as with missing categories and with numbers, which may come from several states, messages go up the tree. They are
probabilities, no logarithms, relative to what the row's total has already. A row in which some of them get too small is
evaluated again by `tree_messages`, in logarithms.

Every operation is done row by row, so that a row's result depends neither on the others nor on the blocks.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.string import memset
from cython.cimports.unlearnspn.circuit.exponentials import logarithm, raise_all
from cython.cimports.unlearnspn.circuit.inputs import PlaceNumbers, add_to_rows
from cython.cimports.unlearnspn.circuit.log_sums import Weights
from cython.cimports.unlearnspn.circuit.prepared_tree import PreparedTree
from cython.cimports.unlearnspn.circuit.row_loops import put_below, sum_states, take_larger
from cython.cimports.unlearnspn.circuit.tree_lookup import LookupTable, Workspace
from cython.cimports.unlearnspn.circuit.tree_messages import Lines

from unlearnspn.circuit.prepared_tree import FOLLOWED, LOOKED_UP, WEIGHED

_LOOKED_UP = cython.declare(cython.uchar, LOOKED_UP)
_FOLLOWED = cython.declare(cython.uchar, FOLLOWED)
_WEIGHED = cython.declare(cython.uchar, WEIGHED)
#: States that may have got too small together are multiplied by 2¹⁶ until they are above its inverse.
_SMALL = cython.declare(cython.double, 2.0**-16)
_LARGE = cython.declare(cython.double, 2.0**16)
_LOG_LARGE = cython.declare(cython.double, 16.0 * float(np.log(2.0)))
#: A sum below this may have lost terms, and states below this others beside them.
_LEAST_SUM = cython.declare(cython.double, 1e-110)
_LEAST_STATE = cython.declare(cython.double, 1e-140)
_LEAST_FACTOR = cython.declare(cython.double, 1e-150)


@cython.final
@cython.cclass
class TreeLookup(PreparedTree):
    """A tree, and how some rows are evaluated under it."""

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def evaluate(self, total: cython.p_double, work: cython.pointer[Workspace]) -> cython.void:
        """Write the log-densities of the rows under the tree."""
        first: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t = self.kinds.shape[0]
        node: cython.Py_ssize_t
        r: cython.Py_ssize_t
        work.total, work.first, work.first_state = total, first, self.trees.state_lines[first]
        self.look_up(first, end, work)
        if self.is_complete and self.lacks_nothing(first, end, work):
            return
        for r in range(work.n_rows):
            work.factors[r], work.suspect[r] = 1.0, False
        for node in range(first, end):
            work.is_open[node - first] = False
            if self.trees.n_states[node] and self.kinds[node] == _WEIGHED:
                self.weigh_states(node, work)
            elif self.kinds[node] == _FOLLOWED:
                self.weigh_places(node, work)
        for node in range(end - 1, first - 1, -1):
            if work.is_open[node - first]:
                self.sum_out(node, work)
            if self.kinds[node] == _LOOKED_UP:
                self.tell_parent(node, work)
            elif self.trees.n_states[node] == 0:  # a number
                self.weigh_parent(node, work)
        for r in range(work.n_rows):
            total[r] += logarithm(work.factors[r])
        for r in range(work.n_rows):
            if work.suspect[r]:
                self.evaluate_row(r, work)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def lacks_nothing(
        self, first: cython.Py_ssize_t, end: cython.Py_ssize_t, work: cython.pointer[Workspace]
    ) -> cython.bint:
        """Tell whether the rows have all categories of some nodes."""
        node: cython.Py_ssize_t
        for node in range(first, end):
            if work.n_missing[self.node_slots[node]]:
                return False
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def find_tables(
        self, first: cython.Py_ssize_t, end: cython.Py_ssize_t, work: cython.pointer[Workspace]
    ) -> cython.Py_ssize_t:
        """Find out which states are known, and what can be looked up in which tables; return how many these are."""
        node: cython.Py_ssize_t
        n: cython.Py_ssize_t = 0
        for node in range(first, end):
            work.n_unknown[node - first] = work.n_rows
            if self.trees.n_states[node] and self.kinds[node] <= _FOLLOWED:
                self.find_states(node, work)
        for node in range(end - 1, first, -1):
            if self.kinds[node] <= _FOLLOWED and self.kinds[self.trees.parents[node]] <= _FOLLOWED:
                table = cython.address(work.tables[n])
                table.n_columns = cython.cast(cython.int, self.n_places[node] + 1)
                table.logs = cython.address(self.logs[self.log_starts[node]]) + table.n_columns + 1
                table.places, table.states = self.places(node, work), self.known(self.trees.parents[node], work)
                n += 1
        return n

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def look_up(self, first: cython.Py_ssize_t, end: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> cython.void:
        """Write the log-probabilities of all categories that rows have of a tree, where they know the parent's, too."""
        i: cython.Py_ssize_t
        r: cython.Py_ssize_t
        k: cython.Py_ssize_t
        sums = cython.declare(cython.double[16])
        n: cython.Py_ssize_t = self.find_tables(first, end, work)
        # Sums are added up for sixteen rows at a time, which stay in the processor's registers.
        for r in range(0, work.n_rows - 15, 16):
            for k in range(16):
                sums[k] = 0.0
            for i in range(n):
                own: LookupTable = work.tables[i]
                for k in range(16):
                    sums[k] += own.logs[own.states[r + k] * own.n_columns + own.places[r + k]]
            for k in range(16):
                work.total[r + k] = sums[k]
        for r in range(work.n_rows & -16, work.n_rows):
            work.total[r] = 0.0
            for i in range(n):
                own = work.tables[i]
                work.total[r] += own.logs[own.states[r] * own.n_columns + own.places[r]]
        if self.kinds[first] == _LOOKED_UP:
            logs = cython.address(self.logs[self.log_starts[first]]) + self.n_places[first] + 2
            places = self.places(first, work)
            for r in range(work.n_rows):
                work.total[r] += logs[places[r]]

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def places(self, node: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> PlaceNumbers:
        """Return the places that the rows have of a node's variable."""
        return work.rows.places + self.node_slots[node] * work.rows.n_rows + work.start

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def known(self, node: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> PlaceNumbers:
        """Return a node's states, -1 where they are not known."""
        return self.places(node, work) if self.is_same[node] else work.known + (node - work.first) * work.width

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def lines(self, node: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> cython.p_double:
        """Return the lines of a node's states."""
        return work.states + (self.trees.state_lines[node] - work.first_state) * work.width

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def table(self, node: cython.Py_ssize_t) -> Weights:
        """Return the probabilities of a node's states."""
        return cython.address(self.trees.weights[self.trees.tables[node]])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def find_states(self, node: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> cython.void:
        """Find out which states of a node are known."""
        r: cython.Py_ssize_t
        work.n_unknown[node - work.first] = work.n_missing[self.node_slots[node]]
        if self.is_same[node]:
            return
        places = self.places(node, work)
        known = work.known + (node - work.first) * work.width
        if self.kinds[node] == _FOLLOWED:
            self.follow_states(node, places, known, work)
            return
        states = cython.address(self.states[self.place_starts[node]])
        for r in range(work.n_rows):
            known[r] = -1 if places[r] < 0 else states[max(places[r], 0)]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def follow_states(
        self,
        node: cython.Py_ssize_t,
        places: PlaceNumbers,
        known: cython.p_int,
        work: cython.pointer[Workspace],
    ) -> cython.void:
        """Find out which states of a node are known, where its parent's state matters."""
        r: cython.Py_ssize_t
        n_unknown: cython.int = 0
        width: cython.Py_ssize_t = self.n_places[node] + 1
        next_states = cython.address(self.next_states[self.log_starts[node]]) + width + 1
        above = self.known(self.trees.parents[node], work)
        for r in range(work.n_rows):
            known[r] = next_states[above[r] * width + places[r]]
            n_unknown += known[r] < 0
        work.n_unknown[node - work.first] = n_unknown

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def weigh_places(self, node: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> cython.void:
        """Write how likely a category is in each state of a node, where it is known, but not the parent's state."""
        n: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        r: cython.Py_ssize_t
        state: cython.Py_ssize_t
        if work.n_unknown[node - work.first] == work.n_missing[self.node_slots[node]]:
            return
        self.open_node(node, work)
        places, states, chosen = self.places(node, work), self.known(node, work), work.chosen
        informed = work.informed + (node - work.first) * work.width
        for r in range(work.n_rows):
            chosen[n] = r
            n += (places[r] >= 0) & (states[r] < 0)
        lines, own = self.lines(node, work), cython.address(self.in_states[self.state_starts[node]])
        for state in range(self.trees.n_states[node]):
            for i in range(n):
                lines[state * work.width + chosen[i]] = own[places[chosen[i]]]
            own += self.n_places[node]
        for i in range(n):
            informed[chosen[i]] = True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def open_node(self, node: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> cython.void:
        """Have all states of a node be as likely as each other, before anything is known below it."""
        i: cython.Py_ssize_t
        if work.is_open[node - work.first]:
            return
        work.is_open[node - work.first] = True
        lines = self.lines(node, work)
        for i in range(self.trees.n_states[node] * work.width):
            lines[i] = 1.0
        memset(work.informed + (node - work.first) * work.width, 0, work.n_rows)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_inputs(
        self, node: cython.Py_ssize_t, lines: cython.p_double, work: cython.pointer[Workspace]
    ) -> cython.void:
        """Write the log-densities of the rows under each of a node's inputs; 0 where the value is missing."""
        i: cython.Py_ssize_t
        r: cython.Py_ssize_t
        place: cython.Py_ssize_t = self.node_slots[node] * work.rows.n_rows + work.start
        numbers, places = work.rows.numbers, work.rows.places
        if self.n_places[node]:
            places += place
        else:
            numbers += place
        for i in range(self.trees.n_inputs[node]):
            unit: cython.Py_ssize_t = self.trees.children[self.trees.first_inputs[node] + i]
            first: cython.Py_ssize_t = self.parameter_starts[unit]
            n_parameters: cython.Py_ssize_t = self.parameter_starts[unit + 1] - first
            line = lines + i * work.width
            for r in range(work.n_rows):
                line[r] = 0.0
            own = cython.address(self.parameters[first])
            add_to_rows(self.units[unit], own, n_parameters, numbers, places, line, work.n_rows)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def weigh_states(self, node: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> cython.void:
        """Write how likely a node's variable is in each of its states, relative to the likeliest."""
        r: cython.Py_ssize_t
        informed = work.informed + (node - work.first) * work.width
        lines = self.lines(node, work)
        work.is_open[node - work.first] = True
        self.add_inputs(node, lines, work)
        _take_largest(lines, self.trees.n_states[node], work)
        if self.n_places[node]:
            places = self.places(node, work)
            for r in range(work.n_rows):
                informed[r] = places[r] >= 0
        else:
            numbers = work.rows.numbers + self.node_slots[node] * work.rows.n_rows + work.start
            for r in range(work.n_rows):
                informed[r] = numbers[r] == numbers[r]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def weigh_parent(self, node: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> cython.void:
        """Take in a node without states of its own whose variable is a number: it is weighed by its parent's states."""
        parent: cython.Py_ssize_t = self.trees.parents[node]
        n_states: cython.Py_ssize_t = self.trees.n_states[parent]
        n_unknown: cython.Py_ssize_t = work.n_unknown[parent - work.first]
        i: cython.Py_ssize_t
        r: cython.Py_ssize_t
        numbers = work.rows.numbers + self.node_slots[node] * work.rows.n_rows + work.start
        self.add_inputs(node, work.parts, work)
        if n_unknown < work.n_rows:
            states = self.known(parent, work)
            for r in range(work.n_rows):
                if states[r] >= 0:
                    work.total[r] += work.parts[states[r] * work.width + r]
                    for i in range(n_states):
                        work.parts[i * work.width + r] = 0.0
        if n_unknown == 0:
            return
        self.open_node(parent, work)
        _take_largest(work.parts, n_states, work)
        lines = self.lines(parent, work)
        informed = work.informed + (parent - work.first) * work.width
        for i in range(n_states):
            for r in range(work.n_rows):
                lines[i * work.width + r] *= work.parts[i * work.width + r]
        states = self.known(parent, work)
        for r in range(work.n_rows):
            if numbers[r] == numbers[r] and (n_unknown == work.n_rows or states[r] < 0):
                informed[r] = True
        if self.gets_small[node]:
            self.rescale(parent, cython.NULL, work.n_rows, work)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def tell_parent(self, node: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> cython.void:
        """Multiply the states of a parent, where it is not known, by what they make of a category that is."""
        parent: cython.Py_ssize_t = self.trees.parents[node]
        if parent < 0 or work.n_unknown[parent - work.first] == 0:
            return
        n_places: cython.Py_ssize_t = self.n_places[node]
        informed = work.informed + (parent - work.first) * work.width
        n: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        r: cython.Py_ssize_t
        state: cython.Py_ssize_t
        if work.n_missing[self.node_slots[node]] == work.n_rows:
            return
        self.open_node(parent, work)
        places, chosen = self.places(node, work), work.chosen
        if work.n_unknown[parent - work.first] == work.n_rows:
            for r in range(work.n_rows):
                chosen[n] = r
                n += places[r] >= 0
        else:
            states = self.known(parent, work)
            for r in range(work.n_rows):
                chosen[n] = r
                n += (places[r] >= 0) & (states[r] < 0)
        probabilities = cython.address(self.probabilities[self.table_starts[node]])
        lines = self.lines(parent, work)
        n_states: cython.Py_ssize_t = self.trees.n_states[parent]
        for i in range(n):
            r = chosen[i]
            informed[r] = True
            for state in range(n_states):
                lines[state * work.width + r] *= probabilities[state * n_places + places[r]]
        if self.gets_small[node]:
            self.rescale(parent, chosen, n, work)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sum_out(self, node: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> cython.void:
        """Sum the states of a node out, in rows that do not know it, but something of it or below it."""
        parent: cython.Py_ssize_t = self.trees.parents[node]
        n_messages: cython.Py_ssize_t = 1 if parent < 0 else self.trees.n_states[parent]
        i: cython.Py_ssize_t
        message: cython.Py_ssize_t
        if parent >= 0 and work.n_unknown[parent - work.first] < work.n_rows:
            self.sum_out_below_known(node, work)
        n: cython.Py_ssize_t = self.choose_unknown(node, work)
        if n == 0:
            return
        lines = self.gather(node, n, work)
        n_states: cython.Py_ssize_t = self.trees.n_states[node]
        sum_states(work.messages, lines, self.table(node), n_states, n_messages, n, work.width)
        for message in range(n_messages):
            own = work.messages + message * work.width
            for i in range(n):
                if own[i] < _LEAST_SUM:
                    work.suspect[work.chosen[i]] = True
        if parent >= 0:
            self.pass_on(node, n, work)
            return
        for i in range(n):
            _multiply(work, work.chosen[i], work.messages[i])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def choose_unknown(self, node: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> cython.Py_ssize_t:
        """Choose the rows that know something of a node or below it, but not its parent's state; return how many."""
        parent: cython.Py_ssize_t = self.trees.parents[node]
        n: cython.Py_ssize_t = 0
        r: cython.Py_ssize_t
        informed = work.informed + (node - work.first) * work.width
        if parent < 0 or work.n_unknown[parent - work.first] == work.n_rows:
            for r in range(work.n_rows):
                work.chosen[n] = r
                n += informed[r] != 0
        else:
            states = self.known(parent, work)
            for r in range(work.n_rows):
                work.chosen[n] = r
                n += (informed[r] != 0) & (states[r] < 0)
        return n

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def gather(self, node: cython.Py_ssize_t, n: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> cython.p_double:
        """Return lines of a node's states for the rows that are chosen."""
        i: cython.Py_ssize_t
        state: cython.Py_ssize_t
        lines = self.lines(node, work)
        if n == work.n_rows:
            return lines
        for state in range(self.trees.n_states[node]):
            for i in range(n):
                work.parts[state * work.width + i] = lines[state * work.width + work.chosen[i]]
        return work.parts

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pass_on(self, node: cython.Py_ssize_t, n: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> cython.void:
        """Multiply the states of a node's parent by messages, in the rows that are chosen."""
        parent: cython.Py_ssize_t = self.trees.parents[node]
        i: cython.Py_ssize_t
        message: cython.Py_ssize_t
        self.open_node(parent, work)
        informed = work.informed + (parent - work.first) * work.width
        lines, chosen = self.lines(parent, work), work.chosen
        for message in range(self.trees.n_states[parent]):
            line, own = lines + message * work.width, work.messages + message * work.width
            if n == work.n_rows:
                for i in range(n):
                    line[i] *= own[i]
            else:
                for i in range(n):
                    line[chosen[i]] *= own[i]
        for i in range(n):
            informed[chosen[i]] = True
        if self.gets_small[node]:
            self.rescale(parent, cython.NULL if n == work.n_rows else chosen, n, work)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sum_out_below_known(self, node: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> cython.void:
        """Sum the states of a node out, in rows that know something below it and its parent's state."""
        n_states: cython.Py_ssize_t = self.trees.n_states[node]
        n: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        r: cython.Py_ssize_t
        state: cython.Py_ssize_t
        informed = work.informed + (node - work.first) * work.width
        parents, weights = self.known(self.trees.parents[node], work), self.table(node)
        lines, chosen = self.lines(node, work), work.chosen
        for r in range(work.n_rows):
            chosen[n] = r
            n += (informed[r] != 0) & (parents[r] >= 0)
        for i in range(n):
            r = chosen[i]
            own = weights + parents[r] * n_states
            total = 0.0
            for state in range(n_states):
                total += own[state] * lines[state * work.width + r]
            if total < _LEAST_SUM:
                work.suspect[r] = True
            else:
                _multiply(work, r, total)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def rescale(
        self, node: cython.Py_ssize_t, chosen: PlaceNumbers, n: cython.Py_ssize_t, work: cython.pointer[Workspace]
    ) -> cython.void:
        """Keep the states of a node, in some rows or in all, from getting too small together."""
        n_states: cython.Py_ssize_t = self.trees.n_states[node]
        i: cython.Py_ssize_t
        r: cython.Py_ssize_t
        state: cython.Py_ssize_t
        lines, largest = self.lines(node, work), work.messages
        for i in range(n):
            largest[i] = 0.0
        for state in range(n_states):
            line = lines + state * work.width
            if chosen == cython.NULL:
                for i in range(n):
                    largest[i] = line[i] if line[i] > largest[i] else largest[i]
            else:
                for i in range(n):
                    largest[i] = line[chosen[i]] if line[chosen[i]] > largest[i] else largest[i]
        for i in range(n):
            if largest[i] < _SMALL:
                r = i if chosen == cython.NULL else chosen[i]
                if largest[i] < _LEAST_STATE:
                    work.suspect[r] = True
                    largest[i] = 1.0
                while largest[i] < _SMALL:
                    largest[i] *= _LARGE
                    work.total[r] -= _LOG_LARGE
                    for state in range(n_states):
                        lines[state * work.width + r] *= _LARGE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def evaluate_row(self, row: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> cython.void:
        """Evaluate the tree for one row, in logarithms."""
        unit: cython.Py_ssize_t = self.units.shape[0] - 1
        end: cython.Py_ssize_t = self.kinds.shape[0]
        node: cython.Py_ssize_t
        i: cython.Py_ssize_t
        for node in range(work.first, end):
            place: cython.Py_ssize_t = self.node_slots[node] * work.rows.n_rows + work.start + row
            numbers, places = work.rows.numbers, work.rows.places
            if self.n_places[node]:
                places += place
            elif self.trees.n_inputs[node]:
                numbers += place
            for i in range(self.trees.n_inputs[node]):
                child: cython.Py_ssize_t = self.trees.children[self.trees.first_inputs[node] + i]
                first: cython.Py_ssize_t = self.parameter_starts[child]
                n_parameters: cython.Py_ssize_t = self.parameter_starts[child + 1] - first
                own = cython.address(self.parameters[first])
                work.values[child] = 0.0
                add_to_rows(self.units[child], own, n_parameters, numbers, places, work.values + child, 1)
        self.trees.evaluate(unit, Lines(work.values, 1, 1, work.room), False)
        work.total[row] = work.values[unit]


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _multiply(work: cython.pointer[Workspace], row: cython.Py_ssize_t, factor: cython.double) -> cython.void:
    """Multiply the density of a row."""
    work.factors[row] *= factor
    if work.factors[row] < _LEAST_FACTOR:
        work.total[row] += logarithm(work.factors[row])
        work.factors[row] = 1.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take_largest(lines: cython.p_double, n_lines: cython.Py_ssize_t, work: cython.pointer[Workspace]) -> cython.void:
    """Take the largest of some log-densities of each row into its total, and leave all relative to that."""
    i: cython.Py_ssize_t
    r: cython.Py_ssize_t
    largest = work.messages
    for r in range(work.n_rows):
        largest[r] = -INFINITY
    for i in range(n_lines):
        take_larger(largest, lines + i * work.width, work.n_rows)
    for r in range(work.n_rows):
        work.total[r] += largest[r]
    for i in range(n_lines):
        line = lines + i * work.width
        put_below(line, line, largest, work.n_rows)
        raise_all(line, work.n_rows)

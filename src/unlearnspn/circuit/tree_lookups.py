"""All trees of a circuit, each prepared by itself for lookups, and the memory in which they are evaluated."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.unlearnspn.circuit.inputs import Rows
from cython.cimports.unlearnspn.circuit.tree_lookup import LookupTable, TreeLookup, Workspace

from unlearnspn.circuit.inputs import Floats, Places

Bytes = npt.NDArray[np.uint8]


@cython.cfunc
def _line_width(n_rows: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return how long lines are: whole tiles, and no power of two, as lines would push each other out of the cache."""
    return (n_rows + 7) & -8 | 8


@cython.final
@cython.cclass
class TreeLookups:
    """The trees of a circuit, each prepared by itself, and what they need to be evaluated one after another.

    `n_slots` is the number of columns of categories.
    """

    def __init__(self, lookups: list[TreeLookup], n_slots: int) -> None:
        k: cython.Py_ssize_t
        lookup: TreeLookup
        self.lookups = lookups
        self.pointers = cython.cast(cython.pointer[cython.p_void], malloc((len(lookups) + 1) * 8))
        if not self.pointers:
            raise MemoryError
        self.n_slots = n_slots
        self.most_nodes = self.most_states = self.most_node_states = self.most_lines = self.most_room = 0
        for k in range(len(lookups)):
            lookup = lookups[k]
            self.pointers[k] = cython.cast(cython.p_void, lookup)
            self.most_nodes = max(self.most_nodes, lookup.kinds.shape[0])
            self.most_states = max(self.most_states, lookup.n_states)
            self.most_node_states = max(self.most_node_states, lookup.trees.most_states)
            self.most_lines = max(self.most_lines, lookup.trees.n_lines)
            self.most_room = max(self.most_room, lookup.trees.room)
        self.n_lines = self.most_states + 2 * self.most_node_states + 2 if lookups else 0

    def __dealloc__(self) -> None:
        free(self.pointers)

    def hold(self, n_rows: int) -> tuple[Floats, Places, Bytes]:
        """Return memory to evaluate so many rows in."""
        width = _line_width(n_rows)
        n_numbers = (self.most_states + 2 * self.most_node_states + 1) * width + self.most_lines + self.most_room
        n_integers = (self.most_nodes + 1) * width + self.n_slots + self.most_nodes
        n_bytes = (self.most_nodes + 1) * width + self.most_nodes
        # What the last tile of the rows has beyond them is added up, too, and should be no number that takes longer.
        n_bytes += (self.most_nodes + 1) * cython.sizeof(LookupTable)
        return np.zeros(n_numbers), np.empty(n_integers, np.int32), np.empty(n_bytes, np.uint8)

    @cython.cfunc
    def point(
        self, held: tuple[Floats, Places, Bytes], n_rows: cython.Py_ssize_t, work: cython.pointer[Workspace]
    ) -> cython.void:
        """Divide memory among what is to be kept in it."""
        numbers: cython.double[::1] = held[0]
        integers: cython.int[::1] = held[1]
        flags: cython.uchar[::1] = held[2]
        width: cython.Py_ssize_t = _line_width(n_rows)
        work.width = width
        work.factors = cython.address(numbers[0])
        work.states = work.factors + width
        work.parts = work.states + self.most_states * width
        work.messages = work.parts + self.most_node_states * width
        work.values = work.messages + self.most_node_states * width
        work.room = work.values + self.most_lines
        work.chosen = cython.address(integers[0])
        work.known = work.chosen + width
        work.n_missing = work.known + self.most_nodes * width
        work.n_unknown = work.n_missing + self.n_slots
        work.tables = cython.cast(cython.pointer[LookupTable], cython.address(flags[0]))
        work.suspect = cython.address(flags[0]) + (self.most_nodes + 1) * cython.sizeof(LookupTable)
        work.informed = work.suspect + width
        work.is_open = work.informed + self.most_nodes * width

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def begin(
        self, rows: Rows, start: cython.Py_ssize_t, n_rows: cython.Py_ssize_t, work: cython.pointer[Workspace]
    ) -> cython.void:
        """Go on to other rows."""
        slot: cython.Py_ssize_t
        r: cython.Py_ssize_t
        n_missing: cython.int
        work.rows, work.start, work.n_rows = rows, start, n_rows
        if self.most_nodes == 0:
            return
        for slot in range(self.n_slots):
            places = rows.places + slot * rows.n_rows + start
            n_missing = 0
            for r in range(n_rows):
                n_missing += places[r] < 0
            work.n_missing[slot] = n_missing

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def evaluate(
        self, number: cython.Py_ssize_t, total: cython.p_double, work: cython.pointer[Workspace]
    ) -> cython.void:
        """Write the log-densities of the rows under a tree, by its number."""
        cython.cast(TreeLookup, self.pointers[number]).evaluate(total, work)

"""Passes over all units of a circuit: what is known of the inputs goes up, what the root has comes down."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.unlearnspn.circuit.tree_messages import TreeArrays
from cython.cimports.unlearnspn.const_types import const_int32, const_int64, const_uint8

from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.layout import Floats, Layout

_SUM = cython.declare(cython.int, int(Unit.SUM))
_PRODUCT = cython.declare(cython.int, int(Unit.PRODUCT))
_TREE = cython.declare(cython.int, int(Unit.TREE))
_NORMAL = cython.declare(cython.int, int(Unit.NORMAL))


def unit_shares(layout: Layout) -> Floats:
    """Return how much of the whole comes down from the root to each unit.

    Products hand on all, sums by weight, and trees by the probability of the state that an input belongs to.
    """
    units: const_uint8[::1] = layout.units
    child_starts: const_int64[::1] = layout.child_starts
    children: const_int32[::1] = layout.children
    weights: cython.double[::1] = np.exp(layout.log_weights)
    u: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    result = np.zeros(units.shape[0])
    shares: cython.double[::1] = result
    shares[units.shape[0] - 1] = 1.0
    trees: TreeArrays = TreeArrays(layout)
    of_states: cython.double[::1] = np.zeros(trees.n_lines)
    with cython.nogil:
        for u in range(units.shape[0] - 1, -1, -1):
            if units[u] == _TREE:
                _share_states(trees, u, shares, of_states)
                continue
            for edge in range(child_starts[u], child_starts[u + 1]):
                shares[children[edge]] += shares[u] * (weights[edge] if units[u] == _SUM else 1.0)
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _share_states(
    trees: TreeArrays, unit: cython.Py_ssize_t, shares: cython.double[::1], of_states: cython.double[::1]
) -> cython.void:
    """Divide the share of a tree among its states, and those of states among inputs."""
    tree: cython.Py_ssize_t = trees.numbers[unit]
    node: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for node in range(trees.starts[tree], trees.starts[tree + 1]):
        parent: cython.Py_ssize_t = trees.parents[node]
        n_states: cython.Py_ssize_t = trees.n_states[node]
        first: cython.Py_ssize_t = trees.state_lines[node]
        for j in range(trees.n_states[parent] if parent >= 0 else 1):
            share: cython.double = of_states[trees.state_lines[parent] + j] if parent >= 0 else shares[unit]
            for i in range(n_states):
                of_states[first + i] += share * trees.weights[trees.tables[node] + j * n_states + i]
            if n_states == 0:
                shares[trees.children[trees.first_inputs[node] + j]] += share
        for i in range(n_states if trees.n_inputs[node] else 0):
            shares[trees.children[trees.first_inputs[node] + i]] += of_states[first + i]


def combine_expectations(layout: Layout, values: cython.double[:, ::1]) -> None:
    """Write the values of all units but inputs, [unit, case], from those of the inputs; no logarithms here.

    A mean of values is between the least and the largest of them, however weights are rounded.
    """
    units: const_uint8[::1] = layout.units
    child_starts: const_int64[::1] = layout.child_starts
    children: const_int32[::1] = layout.children
    weights: cython.double[::1] = np.exp(layout.log_weights)
    u: cython.Py_ssize_t
    case: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    trees: TreeArrays = TreeArrays(layout)
    of_states: cython.double[::1] = np.empty(trees.n_lines)
    with cython.nogil:
        for u in range(units.shape[0]):
            if units[u] == _TREE:
                for case in range(values.shape[1]):
                    values[u, case] = _expect_tree(trees, u, values, case, of_states)
            elif units[u] == _PRODUCT:
                values[u] = 1.0
                for edge in range(child_starts[u], child_starts[u + 1]):
                    for case in range(values.shape[1]):
                        values[u, case] *= values[children[edge], case]
            elif units[u] == _SUM:
                for case in range(values.shape[1]):
                    total, least, largest = 0.0, INFINITY, -INFINITY
                    for edge in range(child_starts[u], child_starts[u + 1]):
                        own = values[children[edge], case]
                        if weights[edge] > 0.0:  # a part that is as good as impossible may have an infinite moment
                            total += weights[edge] * own
                            least, largest = min(least, own), max(largest, own)
                    values[u, case] = min(max(total, least), largest)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _expect_tree(
    trees: TreeArrays,
    unit: cython.Py_ssize_t,
    values: cython.double[:, ::1],
    case: cython.Py_ssize_t,
    of_states: cython.double[::1],
) -> cython.double:
    """Return the value of a tree from those of its inputs; messages go from children to parents."""
    tree: cython.Py_ssize_t = trees.numbers[unit]
    first: cython.Py_ssize_t = trees.starts[tree]
    node: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for node in range(first, trees.starts[tree + 1]):
        for i in range(trees.n_states[node]):
            of_states[trees.state_lines[node] + i] = 1.0
            if trees.n_inputs[node]:
                of_states[trees.state_lines[node] + i] = values[trees.children[trees.first_inputs[node] + i], case]
    for node in range(trees.starts[tree + 1] - 1, first, -1):
        parent: cython.Py_ssize_t = trees.parents[node]
        for j in range(trees.n_states[parent]):
            if trees.n_states[node]:
                of_states[trees.state_lines[parent] + j] *= _expect_node(trees, node, j, of_states)
            else:
                of_states[trees.state_lines[parent] + j] *= values[trees.children[trees.first_inputs[node] + j], case]
    return _expect_node(trees, first, 0, of_states)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _expect_node(
    trees: TreeArrays, node: cython.Py_ssize_t, given: cython.Py_ssize_t, of_states: cython.double[::1]
) -> cython.double:
    """Return the mean over a node's states, given a state of its parent."""
    n_states: cython.Py_ssize_t = trees.n_states[node]
    i: cython.Py_ssize_t
    total: cython.double = 0.0
    least: cython.double = INFINITY
    largest: cython.double = -INFINITY
    for i in range(n_states):
        weight = trees.weights[trees.tables[node] + given * n_states + i]
        own = of_states[trees.state_lines[node] + i]
        if weight > 0.0:
            total += weight * own
            least, largest = min(least, own), max(largest, own)
    return min(max(total, least), largest)


def gather_scopes(layout: Layout, first: cython.longlong, width: cython.longlong) -> tuple[int, int]:
    """Gather scopes as sets of bits, for `width` variables from `first` on, at most 64.

    Return the first unit that is not smooth or not decomposable, or -1, and the scope of the root.
    """
    units: const_uint8[::1] = layout.units
    variables: const_int32[::1] = layout.variables
    child_starts: const_int64[::1] = layout.child_starts
    children: const_int32[::1] = layout.children
    normal_starts: const_int64[::1] = layout.normal_starts
    normal_variables: const_int32[::1] = layout.normal_variables
    scopes: cython.ulonglong[::1] = np.zeros(units.shape[0], np.uint64)
    trees: TreeArrays = TreeArrays(layout)
    u: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    i: cython.Py_ssize_t
    n_normals: cython.Py_ssize_t = 0
    scope: cython.ulonglong
    for u in range(units.shape[0]):
        if units[u] == _TREE:
            if not _gather_tree(trees, u, scopes):
                return u, scopes[u]
        elif units[u] == _NORMAL:
            for i in range(normal_starts[n_normals], normal_starts[n_normals + 1]):
                if first <= normal_variables[i] < first + width:
                    scopes[u] |= cython.cast(cython.ulonglong, 1) << (normal_variables[i] - first)
            n_normals += 1
        elif units[u] > _PRODUCT:
            if first <= variables[u] < first + width:
                scopes[u] = cython.cast(cython.ulonglong, 1) << (variables[u] - first)
        else:
            for edge in range(child_starts[u], child_starts[u + 1]):
                scope = scopes[children[edge]]
                overlaps: cython.bint = (scopes[u] & scope) != 0
                differs: cython.bint = edge > child_starts[u] and scope != scopes[u]
                if differs if units[u] == _SUM else overlaps:
                    return u, scope
                scopes[u] |= scope
    return -1, scopes[units.shape[0] - 1]


@cython.cfunc
def _gather_tree(trees: TreeArrays, unit: cython.Py_ssize_t, scopes: cython.ulonglong[::1]) -> cython.bint:
    """Gather the scope of a tree; return whether each node is over one variable, and no two over the same."""
    tree: cython.Py_ssize_t = trees.numbers[unit]
    node: cython.Py_ssize_t
    i: cython.Py_ssize_t
    for node in range(trees.starts[tree], trees.starts[tree + 1]):
        scope: cython.ulonglong = 0
        for i in range(trees.n_inputs[node]):
            own: cython.ulonglong = scopes[trees.children[trees.first_inputs[node] + i]]
            if i > 0 and own != scope:
                return False
            scope = own
        if scopes[unit] & scope:
            return False
        scopes[unit] |= scope
    return True

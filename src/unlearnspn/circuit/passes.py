"""Passes over all units of a circuit: what is known of the inputs goes up, what the root has comes down."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.unlearnspn.const_types import const_int32, const_int64, const_uint8

from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.layout import Floats, Layout

_SUM = cython.declare(cython.int, int(Unit.SUM))
_PRODUCT = cython.declare(cython.int, int(Unit.PRODUCT))


def unit_shares(layout: Layout) -> Floats:
    """Return how much of the whole comes down from the root to each unit: products hand on all, sums by weight."""
    units: const_uint8[::1] = layout.units
    child_starts: const_int64[::1] = layout.child_starts
    children: const_int32[::1] = layout.children
    weights: cython.double[::1] = np.exp(layout.log_weights)
    u: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    result = np.zeros(units.shape[0])
    shares: cython.double[::1] = result
    shares[units.shape[0] - 1] = 1.0
    with cython.nogil:
        for u in range(units.shape[0] - 1, -1, -1):
            for edge in range(child_starts[u], child_starts[u + 1]):
                shares[children[edge]] += shares[u] * (weights[edge] if units[u] == _SUM else 1.0)
    return result


def combine_expectations(layout: Layout, values: cython.double[:, ::1]) -> None:
    """Write the values of sums and products, [unit, case], from those of the inputs; no logarithms here.

    A mean of values is between the least and the largest of them, however weights are rounded.
    """
    units: const_uint8[::1] = layout.units
    child_starts: const_int64[::1] = layout.child_starts
    children: const_int32[::1] = layout.children
    weights: cython.double[::1] = np.exp(layout.log_weights)
    u: cython.Py_ssize_t
    case: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    with cython.nogil:
        for u in range(units.shape[0]):
            if units[u] == _PRODUCT:
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


def gather_scopes(layout: Layout, first: cython.longlong, width: cython.longlong) -> tuple[int, int]:
    """Gather scopes as sets of bits, for `width` variables from `first` on, at most 64.

    Return the first unit that is not smooth or not decomposable, or -1, and the scope of the root.
    """
    units: const_uint8[::1] = layout.units
    variables: const_int32[::1] = layout.variables
    child_starts: const_int64[::1] = layout.child_starts
    children: const_int32[::1] = layout.children
    scopes: cython.ulonglong[::1] = np.zeros(units.shape[0], np.uint64)
    u: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    scope: cython.ulonglong
    overlaps: cython.bint
    differs: cython.bint
    for u in range(units.shape[0]):
        if units[u] > _PRODUCT:
            if first <= variables[u] < first + width:
                scopes[u] = cython.cast(cython.ulonglong, 1) << (variables[u] - first)
            continue
        for edge in range(child_starts[u], child_starts[u + 1]):
            scope = scopes[children[edge]]
            overlaps = (scopes[u] & scope) != 0
            differs = edge > child_starts[u] and scope != scopes[u]
            if differs if units[u] == _SUM else overlaps:
                return u, scope
            scopes[u] |= scope
    return -1, scopes[units.shape[0] - 1]

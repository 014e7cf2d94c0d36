"""Sums of densities that are given by their logarithms, for many rows at a time.

What several sums of the same parts have in common is done once, by `compare_parts`.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.math import INFINITY
from cython.cimports.unlearnspn.circuit.exponentials import exponential, logarithm, raise_all
from cython.cimports.unlearnspn.circuit.log_sums import Parts, Weights
from cython.cimports.unlearnspn.circuit.row_loops import add_weighted, put_below, take_larger

#: Below this a sum of densities has lost bits.
_LEAST_DENSITY = cython.declare(cython.double, 1e-280)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compare_parts(parts: Parts) -> cython.void:
    """Write the largest of the parts, then the density of each, relative to that, into the room."""
    i: cython.Py_ssize_t
    r: cython.Py_ssize_t
    n_rows: cython.Py_ssize_t = parts.n_rows
    highest, densities = parts.room, parts.room + 2 * n_rows
    for r in range(n_rows):
        highest[r] = -INFINITY
    for i in range(parts.n_parts):
        take_larger(highest, parts.values + parts.lines[i] * parts.width, n_rows)
    for i in range(parts.n_parts):
        put_below(densities + i * n_rows, parts.values + parts.lines[i] * parts.width, highest, n_rows)
    raise_all(densities, parts.n_parts * n_rows)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_up(parts: Parts, weights: Weights, log_weights: Weights, total: cython.p_double) -> cython.void:
    """Write the log-densities of a sum of parts that have been compared."""
    i: cython.Py_ssize_t
    r: cython.Py_ssize_t
    n_rows: cython.Py_ssize_t = parts.n_rows
    highest, mixed, densities = parts.room, parts.room + n_rows, parts.room + 2 * n_rows
    for r in range(n_rows):
        mixed[r] = 0.0
    for i in range(parts.n_parts):
        add_weighted(mixed, densities + i * n_rows, weights[i], n_rows)
    for r in range(n_rows):
        total[r] = highest[r] + logarithm(mixed[r])
    for r in range(n_rows):
        if mixed[r] < _LEAST_DENSITY:
            # The likeliest part has next to no weight here, and others have got lost beside it.
            total[r] = _add_up_row(parts, log_weights, r)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_up_row(parts: Parts, log_weights: Weights, row: cython.Py_ssize_t) -> cython.double:
    """Add up the parts of one row, each by its weight."""
    i: cython.Py_ssize_t
    highest = -INFINITY
    total = 0.0
    for i in range(parts.n_parts):
        value = parts.values[parts.lines[i] * parts.width + row] + log_weights[i]
        highest = value if value > highest else highest
    if highest == -INFINITY:
        return highest
    for i in range(parts.n_parts):
        total += exponential(parts.values[parts.lines[i] * parts.width + row] + log_weights[i] - highest)
    return highest + logarithm(total)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pick_best(parts: Parts, log_weights: Weights, total: cython.p_double) -> cython.void:
    """Write the log-densities that the best part has, with its weight."""
    i: cython.Py_ssize_t
    r: cython.Py_ssize_t
    for r in range(parts.n_rows):
        total[r] = -INFINITY
    for i in range(parts.n_parts):
        values = parts.values + parts.lines[i] * parts.width
        for r in range(parts.n_rows):
            value = values[r] + log_weights[i]
            total[r] = value if value > total[r] else total[r]

"""From pair tables to the maximum spanning tree of mutual information."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.limits import LLONG_MIN
from cython.cimports.unlearnspn.const_types import const_int64
from cython.cimports.unlearnspn.statistics.g_test import Logs
from cython.cimports.unlearnspn.statistics.logs import tabulated_logs
from cython.cimports.unlearnspn.statistics.pair_tables import PairTables

from unlearnspn.slices import Counts


def pair_gains(tables: PairTables, positions: Counts) -> Counts:
    """Return by how much the log-likelihood grows when one of two variables is told the other, in fixed point.

    That is their mutual information times the number of records that have both. `positions` are those of the variables
    among those of the tables.
    """
    gains = np.zeros((positions.size, positions.size), np.int64)
    _write_gains(tables, positions, gains)
    return gains


@cython.cfunc
def _write_gains(tables: PairTables, positions: const_int64[::1], gains: cython.longlong[:, ::1]) -> cython.void:
    width: cython.Py_ssize_t = positions.shape[0]
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    logs: Logs = tabulated_logs()
    with cython.nogil:
        for i in range(width - 1):
            for j in range(i + 1, width):
                gains[i, j] = gains[j, i] = tables.associate(positions[i], positions[j], logs).half_g


def maximum_spanning_tree(gains: Counts) -> tuple[Counts, Counts]:
    """Return the parent of each position, -1 for the first, and all positions in the order they joined the tree.

    Of equal gains the first position wins, as the one to join and as the parent.
    """
    width = len(gains)
    parents, order = np.zeros(width, np.int64), np.zeros(width, np.int64)
    _grow(gains, gains[0].copy(), parents, order)
    return parents, order


@cython.cfunc
def _grow(
    gains: const_int64[:, ::1],
    nearest: cython.longlong[::1],
    parents: cython.longlong[::1],
    order: cython.longlong[::1],
) -> cython.void:
    """Let one position after another join; `nearest` is what each gains by joining at its parent."""
    width: cython.Py_ssize_t = gains.shape[0]
    inside: cython.longlong = LLONG_MIN  # what a position gains that has joined: less than any other
    best: cython.Py_ssize_t
    step: cython.Py_ssize_t
    v: cython.Py_ssize_t
    with cython.nogil:
        parents[0] = -1
        nearest[0] = inside
        for step in range(1, width):
            best = 0
            for v in range(width):
                if nearest[v] > nearest[best]:
                    best = v
            order[step] = best
            nearest[best] = inside
            for v in range(width):
                if nearest[v] != inside and gains[best, v] > nearest[v]:
                    parents[v] = best
                    nearest[v] = gains[best, v]

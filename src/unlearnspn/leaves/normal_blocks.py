"""Which numbers of a leaf are jointly normal: those that a line tells more of than any category does.

They form blocks, in the order in which they come closest to each other.
"""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import INFINITY
from cython.cimports.unlearnspn.const_types import const_float64, const_int64
from cython.cimports.unlearnspn.statistics.g_test import Association, Logs
from cython.cimports.unlearnspn.statistics.logs import tabulated_logs
from cython.cimports.unlearnspn.statistics.pair_tables import PairTables

from unlearnspn.slices import Counts

Floats = npt.NDArray[np.float64]

#: So many numbers at most are in one block: what a density costs grows with the square of their number.
MOST_IN_A_BLOCK: int = 64
_MOST_IN_A_BLOCK = cython.declare(cython.Py_ssize_t, MOST_IN_A_BLOCK)
#: What one of G/2 is, which has 24 fractional bits.
_UNIT = cython.declare(cython.double, 1.0 / (1 << 24))


def gains_from_others(tables: PairTables, candidates: Counts, others: Counts, penalty: float) -> Floats:
    """Return what the best of the other variables tells of each candidate by its bins, after the penalty.

    `candidates` and `others` are positions among the variables of the tables; without others it is -∞.
    """
    best = np.full(candidates.size, -np.inf)
    _write_best(tables, candidates, others, penalty, best)
    return best


@cython.cfunc
def _write_best(
    tables: PairTables,
    candidates: const_int64[::1],
    others: const_int64[::1],
    penalty: cython.double,
    best: cython.double[::1],
) -> cython.void:
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    found: Association
    logs: Logs = tabulated_logs()
    with cython.nogil:
        for i in range(candidates.shape[0]):
            for j in range(others.shape[0]):
                found = tables.associate(candidates[i], others[j], logs)
                best[i] = max(best[i], found.half_g * _UNIT - penalty * found.freedom)


def choose_blocks(gains: Floats, from_others: Floats, penalty: float) -> list[Counts]:
    """Return the candidates of each block in the order in which they join it.

    `gains` is what candidates tell of each other, `from_others` what other variables tell of each.
    """
    best = np.empty(len(gains))
    outside = np.zeros(len(gains), np.uint8)
    _find_best(gains, best)
    outside[:] = (best - penalty > 0.0) & (best - penalty > from_others)
    blocks: list[Counts] = []
    while np.count_nonzero(outside) > 1:
        blocks.append(_grow(gains, outside))
    return blocks


@cython.cfunc
def _find_best(gains: const_float64[:, ::1], best: cython.double[::1]) -> cython.void:
    """Write what the best other candidate tells of each."""
    u: cython.Py_ssize_t
    v: cython.Py_ssize_t
    with cython.nogil:
        for u in range(gains.shape[0]):
            best[u] = -INFINITY
            for v in range(gains.shape[0]):
                if u != v:
                    best[u] = max(best[u], gains[u, v])


def _grow(gains: Floats, outside: npt.NDArray[np.uint8]) -> Counts:
    """Take a block from those that are outside: the first of them, then each time the one nearest to any within."""
    joined = np.empty(min(int(np.count_nonzero(outside)), MOST_IN_A_BLOCK), np.int64)
    _write_joined(gains, outside, np.full(len(gains), -np.inf), joined)
    return joined


@cython.cfunc
def _write_joined(
    gains: const_float64[:, ::1],
    outside: cython.uchar[::1],
    nearest: cython.double[::1],
    joined: cython.longlong[::1],
) -> cython.void:
    step: cython.Py_ssize_t
    best: cython.Py_ssize_t
    v: cython.Py_ssize_t
    with cython.nogil:
        for step in range(joined.shape[0]):
            best = -1
            for v in range(gains.shape[0]):
                if outside[v] and (best < 0 or nearest[v] > nearest[best]):
                    best = v
            joined[step] = best
            outside[best] = 0
            for v in range(gains.shape[0]):
                nearest[v] = max(nearest[v], gains[best, v])

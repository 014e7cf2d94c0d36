"""The kernel that joins dependent variables, by the G-test of each pair."""

from __future__ import annotations

import numpy as np
from numba import njit

from unlearnspn.independence.components import find, join
from unlearnspn.pair_tables import g_statistic
from unlearnspn.portable_math import X_LOG_X_BITS
from unlearnspn.slices import Counts, Scope


@njit(cache=True)
def dependent_groups(tables: Counts, scope: Scope, sizes: Counts, cut: float, logs: Counts) -> Counts:
    """Join the variables of every pair with G > 2·cut·degrees of freedom; pairs joined already are skipped."""
    width = scope.size
    parents = np.arange(width)
    separate = width
    start = 0
    for i in range(width - 1):
        if separate == 1:
            break
        u = scope[i]
        for j in range(i + 1, width):
            v = scope[j]
            cells = sizes[u] * sizes[v]
            if find(parents, i) != find(parents, j):
                half_g, freedom = g_statistic(tables[start : start + cells], sizes[u], sizes[v], logs)
                if freedom > 0 and half_g > cut * freedom * (1 << X_LOG_X_BITS):
                    join(parents, i, j)
                    separate -= 1
            start += cells
    return np.array([find(parents, i) for i in range(width)])

"""Ranks of numeric values, quantised: the rank of a value among its node's, in (0, 1], becomes one of a few levels.

A value's rank is the share of observed values that are at most as large, so equal values share a level, and a monotone
map of the column changes none.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from unlearnspn.coding import Codes
from unlearnspn.slices import Rows

Values = npt.NDArray[np.float64]


def level_columns(values: Values, rows: Rows, places: Rows, n_levels: int) -> Codes:
    """Return the levels 1, 2, … of some columns' values, [column, row]; 0 where a value is missing."""
    columns = _gather(values, rows, places)
    return _levels(columns, np.sort(columns, axis=1), n_levels)


@njit(cache=True, nogil=True)
def _gather(values: Values, rows: Rows, places: Rows) -> Values:
    columns = np.empty((places.size, rows.size))
    for column in range(places.size):
        for i in range(rows.size):
            columns[column, i] = values[rows[i], places[column]]
    return columns


@njit(cache=True, nogil=True)
def _levels(columns: Values, ordered: Values, n_levels: int) -> Codes:
    """Count the quantiles that each value reaches, which gives its rank times the number of levels, rounded up."""
    n_columns, n_rows = columns.shape
    levels = np.empty((n_columns, n_rows), np.uint8)
    for column in range(n_columns):
        n_observed = n_rows
        while n_observed > 0 and np.isnan(ordered[column, n_observed - 1]):
            n_observed -= 1
        for i in range(n_rows):
            levels[column, i] = not np.isnan(columns[column, i])
        if n_observed == 0:
            continue
        for k in range(1, n_levels):
            quantile = ordered[column, k * n_observed // n_levels]
            # No value is skipped, and none searched for: so the loop runs on vectors.
            for i in range(n_rows):
                levels[column, i] += columns[column, i] >= quantile
    return levels

"""Ranks of numeric values, quantised: the rank of a value among its node's, in (0, 1], becomes one of a few levels.

A value's rank is the share of observed values that are at most as large, so equal values share a level, and a monotone
map of the column changes none. The level counts the quantiles that a value reaches. Ranks among the rows of parts do
not merge into those among all.
"""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import INFINITY, isnan
from cython.cimports.unlearnspn.independence.value_order import Sorter
from cython.cimports.unlearnspn.independence.variables import Variables

from unlearnspn.coding import Codes
from unlearnspn.slices import Counts, Rows

SortedRows = npt.NDArray[np.int32]


class Orders(NamedTuple):
    """Rows by increasing value, for some numeric columns; the order of equal values means nothing."""

    #: [column, place]; after the observed ones -1.
    rows: SortedRows
    #: How many values are observed, for each column.
    observed: Counts
    #: All rows, in increasing order, and their levels, [column, place].
    members: Rows
    levels: Codes


def learn_orders(variables: Variables, rows: Rows) -> Orders:
    """Order rows by each numeric variable, and find their levels: 1, 2, …, and 0 for a missing value.

    Rows are in increasing order, if they are to be revised.
    """
    n_columns: cython.Py_ssize_t = variables.n_numeric
    n_rows = len(rows)
    orders = Orders(
        np.full((n_columns, n_rows), -1, np.int32),
        np.zeros(n_columns, np.int64),
        rows.copy(),
        np.zeros((n_columns, n_rows), np.uint8),
    )
    ordered: cython.int[:, ::1] = orders.rows
    observed: cython.longlong[::1] = orders.observed
    members: cython.longlong[::1] = orders.members
    levels: cython.uchar[:, ::1] = orders.levels
    sorter: Sorter = Sorter(n_rows)
    j: cython.Py_ssize_t
    with cython.nogil:
        for j in range(n_columns):
            observed[j] = sorter.sort(variables.values, variables.places[j], members)
            _write_levels(
                sorter.keys[sorter.side, : observed[j]],
                sorter.members[sorter.side],
                variables.n_levels,
                members,
                ordered[j],
                levels[j],
            )
    return orders


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.cdivision(True)
def _write_levels(
    keys: cython.ulonglong[::1],
    members: cython.int[::1],
    n_levels: cython.longlong,
    rows: cython.longlong[::1],
    ordered: cython.int[::1],
    levels: cython.uchar[::1],
) -> cython.void:
    """Write rows in the order of sorted values, and the levels of these; see `Sorter`."""
    i: cython.Py_ssize_t
    level: cython.uchar
    number: cython.longlong = keys.shape[0]
    first: cython.longlong = 0
    end: cython.longlong
    while first < number:
        end = first + 1
        while end < number and keys[end] == keys[first]:
            end += 1
        level = (n_levels * end + number - 1) // number
        for i in range(first, end):
            levels[members[i]] = level
            ordered[i] = rows[members[i]]
        first = end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.cdivision(True)
def write_cuts(
    ordered: cython.int[::1],
    observed: cython.longlong,
    variables: Variables,
    column: cython.Py_ssize_t,
    cuts: cython.double[::1],
) -> cython.void:
    """Write the values at which each next level begins; infinities if no value is observed."""
    k: cython.longlong
    for k in range(1, variables.n_levels):
        if observed > 0:
            cuts[k - 1] = variables.values[ordered[k * observed // variables.n_levels], variables.places[column]]
        else:
            cuts[k - 1] = INFINITY


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def level_of(cuts: cython.double[::1], value: cython.double) -> cython.uchar:
    """Return the level of a value: how many quantiles it reaches, and one; 0 for a missing value."""
    low: cython.Py_ssize_t = 0
    half: cython.Py_ssize_t
    number: cython.Py_ssize_t = cuts.shape[0]
    if isnan(value):
        return 0
    while number > 0:
        half = (number + 1) >> 1
        low += half if cuts[low + half - 1] <= value else 0
        number -= half
    return 1 + low

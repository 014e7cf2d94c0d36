"""Ranks of numeric values, quantised: the rank of a value among its node's, in (0, 1], becomes one of a few levels.

A value's rank is the share of observed values that are at most as large, so equal values share a level, and a monotone
map of the column changes none. The level counts the quantiles that a value reaches. A change moves quantiles to
neighbouring values, and only rows in between to other levels: with rows kept in order of their values they are found
without looking at the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.coding import Codes
from unlearnspn.compiling import kernel
from unlearnspn.hashing import Keys
from unlearnspn.slices import Counts, Rows

Values = npt.NDArray[np.float64]
SortedRows = npt.NDArray[np.int32]

_SIGN = np.uint64(1 << 63)
_BYTE = np.uint64(255)


class Orders(NamedTuple):
    """Rows by increasing value, for some numeric columns; the order of equal values means nothing."""

    #: [column, place]; after the observed ones -1.
    rows: SortedRows
    #: How many values are observed, for each column.
    observed: Counts


class Moves(NamedTuple):
    """What a change does to levels."""

    orders: Orders
    #: Rows that leave the level they had, or altogether; and the values at which each next level began.
    leaving: Rows
    before: Values
    #: Rows that come to another level, or altogether; and the values at which each next level begins.
    coming: Rows
    after: Values


@kernel
def learn_orders(values: Values, rows: Rows, places: Counts, n_levels: int, into: Counts, codes: Codes) -> Orders:
    """Order rows by the columns that stand at `places` of `values`, and write levels `into` lines of `codes`.

    Levels are 1, 2, …, and 0 for a missing value; codes are indexed [variable, row].
    """
    ordered = np.full((places.size, rows.size), -1, np.int32)
    observed = np.zeros(places.size, np.int64)
    for j in range(places.size):
        keys, members = _sort_column(values, places[j], rows)
        line, number = codes[into[j]], members.size
        line[:] = 0
        first = 0
        while first < number:
            end = first + 1
            while end < number and keys[end] == keys[first]:
                end += 1
            level = (n_levels * end + number - 1) // number
            for i in range(first, end):
                line[members[i]] = level
                ordered[j, i] = rows[members[i]]
            first = end
        observed[j] = number
    return Orders(ordered, observed)


@kernel
def _sort_column(values: Values, column: int, rows: Rows) -> tuple[Keys, SortedRows]:
    """Sort the values there are, byte by byte: as integers of the same order, and the places of their rows."""
    members, moved_members = np.empty(rows.size, np.int32), np.empty(rows.size, np.int32)
    observed = np.empty(rows.size)
    number = 0
    for i in range(rows.size):
        value = values[rows[i], column]
        if not np.isnan(value):
            observed[number] = value + 0.0  # zeros of both signs are equal
            members[number] = i
            number += 1
    keys, moved_keys = observed.view(np.uint64), np.empty(rows.size, np.uint64)
    starts = np.zeros((8, 256), np.int32)
    for i in range(number):
        keys[i] = ~keys[i] if keys[i] & _SIGN else keys[i] | _SIGN
        for k in range(8):
            starts[k, (keys[i] >> np.uint64(8 * k)) & _BYTE] += 1
    for k in range(8):
        shift = np.uint64(8 * k)
        if number == 0 or starts[k, (keys[0] >> shift) & _BYTE] == number:
            continue
        before = np.int32(0)
        for byte in range(256):
            here = starts[k, byte]
            starts[k, byte] = before
            before += here
        for i in range(number):
            byte = (keys[i] >> shift) & _BYTE
            place = np.uint32(starts[k, byte])
            starts[k, byte] += 1
            moved_keys[place] = keys[i]
            moved_members[place] = members[i]
        keys, moved_keys = moved_keys, keys
        members, moved_members = moved_members, members
    return keys[:number], members[:number]


@kernel
def revise_levels(orders: Orders, values: Values, places: Counts, minus: Rows, plus: Rows, n_levels: int) -> Moves:
    """Take rows out and put others in, and find the rows that this moves to other levels."""
    revised = _revise_orders(orders, values, places, minus, plus)
    before, after = _quantiles(orders, values, places, n_levels), _quantiles(revised, values, places, n_levels)
    leaving = _rows_between(orders, values, places, before, after, minus)
    coming = _rows_between(revised, values, places, before, after, plus)
    return Moves(revised, leaving, before, coming, after)


@kernel
def _revise_orders(orders: Orders, values: Values, places: Counts, minus: Rows, plus: Rows) -> Orders:
    n_columns, n_before = orders.rows.shape
    revised = np.full((n_columns, n_before - minus.size + plus.size), -1, np.int32)
    observed = np.zeros(n_columns, np.int64)
    for j in range(n_columns):
        ordered = orders.rows[j, : orders.observed[j]]
        ordered = _without(ordered, _find_rows(ordered, values, places[j], minus))
        if plus.size:
            ordered = _with(ordered, values, places[j], plus[_sort_column(values, places[j], plus)[1]])
        revised[j, : ordered.size] = ordered
        observed[j] = ordered.size
    return Orders(revised, observed)


@kernel
def _without(ordered: SortedRows, gone: Counts) -> SortedRows:
    """Leave some places out."""
    rest = np.empty(ordered.size - gone.size, np.int32)
    start = 0
    for i in range(gone.size):
        rest[start - i : gone[i] - i] = ordered[start : gone[i]]
        start = gone[i] + 1
    rest[start - gone.size :] = ordered[start:]
    return rest


@kernel
def _with(ordered: SortedRows, values: Values, column: int, rows: Rows) -> SortedRows:
    """Put rows in, which are sorted, too."""
    merged = np.empty(ordered.size + rows.size, np.int32)
    start = 0
    for i in range(rows.size):
        place = _first_reaching(ordered, values, column, values[rows[i], column])
        merged[start + i : place + i] = ordered[start:place]
        merged[place + i] = rows[i]
        start = place
    merged[start + rows.size :] = ordered[start:]
    return merged


@kernel
def _find_rows(ordered: SortedRows, values: Values, column: int, rows: Rows) -> Counts:
    """Return the places of some rows, in increasing order; those that have no value have no place."""
    found = np.empty(rows.size, np.int64)
    number = 0
    for row in rows:
        if not np.isnan(values[row, column]):
            place = _first_reaching(ordered, values, column, values[row, column])
            while ordered[place] != row:
                place += 1
            found[number] = place
            number += 1
    return np.sort(found[:number])


@kernel
def _first_reaching(ordered: SortedRows, values: Values, column: int, value: float) -> int:
    """Return the first place with at least this value."""
    low, high = 0, ordered.size
    while low < high:
        middle = (low + high) // 2
        if values[ordered[middle], column] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _quantiles(orders: Orders, values: Values, places: Counts, n_levels: int) -> Values:
    """Return the values at which each next level begins, [column, level]; infinities if no value is observed."""
    cuts = np.full((places.size, n_levels - 1), np.inf)
    for j in range(places.size):
        if orders.observed[j] > 0:
            for k in range(1, n_levels):
                cuts[j, k - 1] = values[orders.rows[j, k * orders.observed[j] // n_levels], places[j]]
    return cuts


@kernel
def _rows_between(orders: Orders, values: Values, places: Counts, cuts: Values, others: Values, extra: Rows) -> Rows:
    """Return the rows that are on other sides of two sets of quantiles, with some extra rows; each once."""
    number = extra.size
    found = np.empty(number + orders.observed.sum(), np.int64)
    found[:number] = extra
    for j in range(places.size):
        ordered = orders.rows[j, : orders.observed[j]]
        done = 0
        for k in range(cuts.shape[1]):
            low, high = min(cuts[j, k], others[j, k]), max(cuts[j, k], others[j, k])
            if low < high:
                place = max(done, _first_reaching(ordered, values, places[j], low))
                while place < ordered.size and values[ordered[place], places[j]] < high:
                    found[number] = ordered[place]
                    number += 1
                    place += 1
                done = place
    return np.unique(found[:number])


@kernel
def write_levels(values: Values, rows: Rows, places: Counts, cuts: Values, into: Counts, codes: Codes) -> None:
    """Write the levels 1, 2, … of some rows into lines of `codes`, [variable, row]; 0 for a missing value."""
    for j in range(places.size):
        line = codes[into[j]]
        for i in range(rows.size):
            value = values[rows[i], places[j]]
            line[i] = 0 if np.isnan(value) else 1 + np.searchsorted(cuts[j], value, side="right")

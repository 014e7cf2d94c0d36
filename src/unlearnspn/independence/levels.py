"""Ranks of numeric values, quantised: the rank of a value among its node's, in (0, 1], becomes one of a few levels.

A value's rank is the share of observed values that are at most as large, so equal values share a level, and a monotone
map of the column changes none. The level counts the quantiles that a value reaches. A change moves quantiles to
neighbouring values, and only rows in between to other levels: with rows kept in order of their values they are found
without looking at the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.arrays import count_of, first_reaching, in_order, put, with_room
from unlearnspn.coding import Codes
from unlearnspn.compiling import inner_kernel, kernel
from unlearnspn.hashing import Keys
from unlearnspn.slices import Counts, Rows

Values = npt.NDArray[np.float64]
SortedRows = npt.NDArray[np.int32]

_SIGN = np.uint64(1 << 63)
_BYTE = np.uint64(255)
#: Room to begin with: rarely do more rows come to another level.
_FEW_MOVES = 768
#: So few rows are sorted sooner by putting one after another into its place.
_FEW_ROWS = 16


class Orders(NamedTuple):
    """Rows by increasing value, for some numeric columns; the order of equal values means nothing."""

    #: [column, place]; after the observed ones -1.
    rows: SortedRows
    #: How many values are observed, for each column.
    observed: Counts
    #: All rows, in increasing order, and their levels, [column, place].
    members: Rows
    levels: Codes


class Moves(NamedTuple):
    """What a change does to levels."""

    #: With rows that stay at the levels they had, and those that come at theirs.
    orders: Orders
    #: The rows that stay and come to another level: [place among members, column, level].
    moves: Counts


def _steps_of_orders(values: Values, rows: Rows, places: Counts, *others: Any) -> int:
    return 40 * int(rows.size * places.size)


@inner_kernel(_steps_of_orders)
def learn_orders(values: Values, rows: Rows, places: Counts, n_levels: int, into: Counts, codes: Codes) -> Orders:
    """Order rows by the columns that stand at `places` of `values`, and write levels `into` lines of `codes`.

    Levels are 1, 2, …, and 0 for a missing value; codes are indexed [variable, row]. Rows are in increasing order, if
    they are to be revised.
    """
    ordered = np.full((places.size, rows.size), -1, np.int32)
    observed = np.zeros(places.size, np.int64)
    for j in range(places.size):
        keys, members = _sort_column(values, places[j], rows)
        line, number = codes[into[j]], members.size
        first = 0
        for i in range(rows.size):
            line[i] = 0
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
    levels = np.empty((places.size, rows.size), np.uint8)
    for j in range(places.size):
        put(levels[j], 0, codes[into[j]])
    return Orders(ordered, observed, rows.copy(), levels)


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
    ordered, observed = _revise_rows(orders, values, places, minus, plus)
    before = _quantiles(orders.rows, orders.observed, values, places, n_levels)
    after = _quantiles(ordered, observed, values, places, n_levels)
    members, levels = _revise_members(orders, values, places, minus, plus, after)
    revised = Orders(ordered, observed, members, levels)
    return Moves(revised, _find_moves(revised, values, places, before, after, plus))


@kernel
def _revise_rows(orders: Orders, values: Values, places: Counts, minus: Rows, plus: Rows) -> tuple[SortedRows, Counts]:
    n_columns, n_before = orders.rows.shape
    revised = np.empty((n_columns, n_before - minus.size + plus.size), np.int32)
    observed = np.zeros(n_columns, np.int64)
    for j in range(n_columns):
        ordered, line = orders.rows[j, : orders.observed[j]], revised[j]
        gone = _find_rows(ordered, values, places[j], minus)
        coming = _sort_rows(values, places[j], plus) if plus.size else plus
        observed[j] = _replace(ordered, values, places[j], gone, coming, line)
        for i in range(observed[j], line.size):
            line[i] = -1
    return revised, observed


@kernel
def _replace(ordered: SortedRows, values: Values, column: int, gone: Counts, coming: Rows, line: SortedRows) -> int:
    """Write a line without the rows at some places, and with others that are sorted, too; return how many there are."""
    place, done, n_gone, n_come = 0, 0, 0, 0
    while n_gone <= gone.size:
        end, comes = gone[n_gone] if n_gone < gone.size else ordered.size, False
        if n_come < coming.size:
            spot = _first_reaching(ordered, values, column, values[coming[n_come], column])
            comes, end = spot <= end, min(spot, end)
        put(line, place, ordered[done:end])
        place, done = place + end - done, end
        if comes:
            line[place] = coming[n_come]
            place, n_come = place + 1, n_come + 1
        else:
            done, n_gone = done + 1, n_gone + 1
    return place


@kernel
def _revise_members(
    orders: Orders, values: Values, places: Counts, minus: Rows, plus: Rows, cuts: Values
) -> tuple[Rows, Codes]:
    """Merge rows that come, at their levels, with those that stay, at the levels they had."""
    n_columns = places.size
    members = np.empty(orders.members.size - minus.size + plus.size, np.int64)
    levels = np.empty((n_columns, members.size), np.uint8)
    done, place, gone, come = 0, 0, 0, 0
    # From one row that leaves or comes to the next, all stay.
    while done < orders.members.size or come < plus.size:
        leaves = come == plus.size or (gone < minus.size and minus[gone] < plus[come])
        if leaves and gone == minus.size:
            end = orders.members.size
        else:
            end = first_reaching(orders.members, minus[gone] if leaves else plus[come])
        put(members, place, orders.members[done:end])
        for j in range(n_columns):
            put(levels[j], place, orders.levels[j, done:end])
        place, done = place + end - done, end
        if not leaves:
            members[place] = plus[come]
            for j in range(n_columns):
                levels[j, place] = level_of(cuts[j], values[plus[come], places[j]])
            place, come = place + 1, come + 1
        elif gone < minus.size:
            done, gone = done + 1, gone + 1
    return members, levels


@kernel
def _sort_rows(values: Values, column: int, rows: Rows) -> Rows:
    """Return the rows that have a value, by increasing value."""
    if rows.size > _FEW_ROWS:
        return rows[_sort_column(values, column, rows)[1]]
    placed, number = np.empty(rows.size, np.int64), 0
    for row in rows:
        if not np.isnan(values[row, column]):
            at = number
            while at > 0 and values[placed[at - 1], column] > values[row, column]:
                placed[at] = placed[at - 1]
                at -= 1
            placed[at] = row
            number += 1
    return placed[:number]


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
    return in_order(found[:number])


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
def _quantiles(ordered: SortedRows, observed: Counts, values: Values, places: Counts, n_levels: int) -> Values:
    """Return the values at which each next level begins, [column, level]; infinities if no value is observed."""
    cuts = np.full((places.size, n_levels - 1), np.inf)
    for j in range(places.size):
        if observed[j] > 0:
            for k in range(1, n_levels):
                cuts[j, k - 1] = values[ordered[j, k * observed[j] // n_levels], places[j]]
    return cuts


@kernel
def _first_near(ordered: SortedRows, values: Values, column: int, value: float, place: int) -> int:
    """Return the first place with at least this value, looking for it from somewhere near."""
    while place > 0 and values[ordered[place - 1], column] >= value:
        place -= 1
    while place < ordered.size and values[ordered[place], column] < value:
        place += 1
    return place


def _steps_of_moves(orders: Orders, values: Values, places: Counts, cuts: Values, *others: Any) -> int:
    return 10 * cuts.size


@inner_kernel(_steps_of_moves)
def _find_moves(orders: Orders, values: Values, places: Counts, cuts: Values, others: Values, but: Rows) -> Counts:
    """Find the rows that are on other sides of two sets of quantiles, but for some rows."""
    found, number = np.empty(_FEW_MOVES, np.int64), 0
    for j in range(places.size):
        ordered, after, column = orders.rows[j, : orders.observed[j]], others[j], places[j]
        end, level = 0, 0
        for k in range(cuts.shape[1]):
            low, high = min(cuts[j, k], after[k]), max(cuts[j, k], after[k])
            if low == high or ordered.size == 0:
                continue
            near = (k + 1) * ordered.size // (cuts.shape[1] + 1)
            start = max(end, _first_near(ordered, values, column, low, near))
            end = max(start, _first_near(ordered, values, column, high, start))
            found = with_room(found, number, 3 * (end - start))
            for row in ordered[start:end]:
                while level < after.size and after[level] <= values[row, column]:
                    level += 1
                if but.size and count_of(but, row):
                    continue
                found[number], found[number + 1] = first_reaching(orders.members, row), j
                found[number + 2] = 1 + level
                number += 3
    return found[:number].reshape(number // 3, 3)


@kernel
def level_of(cuts: Values, value: float) -> int:
    """Return the level of a value: how many quantiles it reaches, and one; 0 for a missing value."""
    if np.isnan(value):
        return 0
    low, number = 0, cuts.size
    while number > 0:
        half = (number + 1) // 2
        low += half if cuts[low + half - 1] <= value else 0  # no branch: either is as likely as the other
        number -= half
    return 1 + low

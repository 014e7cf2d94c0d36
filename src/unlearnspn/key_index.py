"""Which slot a record is in, by its key: a hash table of slots, without an object for each record."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.compiling import late_kernel, per_row
from unlearnspn.exact_sum import Rows
from unlearnspn.hashing import Keys

Slots = npt.NDArray[np.int32]

_EMPTY = -1
_SMALLEST = 8


class KeyIndex:
    """The slots of keys; keys are well mixed already, so they are their own hashes.

    >>> keys = np.array([7, 5, 9], np.uint64)
    >>> index = KeyIndex()
    >>> index.add(keys, np.array([0, 2]))
    >>> index.find(keys, np.array([9, 5, 7], np.uint64)).tolist()
    [2, -1, 0]
    """

    def __init__(self) -> None:
        self._table: Slots = np.full(_SMALLEST, _EMPTY, np.int32)
        self._used = 0

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "_table": np.array(state["_table"])})

    def __len__(self) -> int:
        return self._used

    def find(self, keys: Keys, wanted: Keys) -> Rows:
        """Return the slot of each wanted key, -1 if there is none; `keys` are those of all slots."""
        return _find(self._table, keys, wanted)

    def find_one(self, keys: Keys, key: int) -> int:
        """Return the slot of one key, -1 if there is none: Python is sooner done than a kernel is called."""
        table, mask = self._table, self._table.size - 1
        place = key & mask
        slot = table.item(place)
        while slot != _EMPTY and keys.item(slot) != key:
            place = (place + 1) & mask
            slot = table.item(place)
        return slot

    def add(self, keys: Keys, rows: Rows) -> None:
        """Put new slots in."""
        needed = self._used + len(rows)
        if 2 * needed > self._table.size:
            known = self._table[self._table != _EMPTY].astype(np.int64)
            size = 1 << (2 * needed - 1).bit_length()
            self._table = np.full(size, _EMPTY, np.int32)
            _add(self._table, keys, known)
        _add(self._table, keys, rows)
        self._used = needed

    def discard(self, keys: Keys, rows: Rows) -> None:
        """Take slots out, while their keys are still there; nothing remains of them."""
        _discard(self._table, keys, rows)
        self._used -= len(rows)


@late_kernel(per_row(2))
def _find(table: Slots, keys: Keys, wanted: Keys) -> Rows:
    mask = np.uint64(table.size - 1)
    slots = np.empty(wanted.size, np.int64)
    for i in range(wanted.size):
        place = wanted[i] & mask
        while table[place] != _EMPTY and keys[table[place]] != wanted[i]:
            place = (place + np.uint64(1)) & mask
        slots[i] = table[place]
    return slots


@late_kernel(per_row(2))
def _add(table: Slots, keys: Keys, rows: Rows) -> None:
    mask = np.uint64(table.size - 1)
    for row in rows:
        place = keys[row] & mask
        while table[place] != _EMPTY:
            place = (place + np.uint64(1)) & mask
        table[place] = row


@late_kernel(per_row(10))
def _discard(table: Slots, keys: Keys, rows: Rows) -> None:
    """Close each gap by moving those back that had to make way."""
    mask, one = np.uint64(table.size - 1), np.uint64(1)
    for row in rows:
        place = keys[row] & mask
        while table[place] != row:
            place = (place + one) & mask
        gap, other = place, (place + one) & mask
        while table[other] != _EMPTY:
            home = keys[table[other]] & mask
            if (other - home) & mask >= (other - gap) & mask:
                table[gap] = table[other]
                gap = other
            other = (other + one) & mask
        table[gap] = _EMPTY

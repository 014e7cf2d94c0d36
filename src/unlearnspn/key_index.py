"""Which slot a record is in, by its key: a hash table of slots, without an object for each record."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]
Slots = npt.NDArray[np.int32]

_SMALLEST = 8
_EMPTY = cython.declare(cython.int, -1)


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
        slots = np.empty(len(wanted), np.int64)
        _find(self._table, keys, wanted, slots)
        return slots

    def find_one(self, keys: Keys, key: cython.ulonglong) -> cython.longlong:
        """Return the slot of one key, -1 if there is none."""
        table: cython.int[::1] = self._table
        return table[_place_of(table, keys, key)]

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


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _place_of(table: cython.int[::1], keys: cython.ulonglong[::1], key: cython.ulonglong) -> cython.Py_ssize_t:
    """Return where a key's slot stands in the table, or the empty place where one looks for it last."""
    mask: cython.ulonglong = table.shape[0] - 1
    place: cython.ulonglong = key & mask
    while table[place] != _EMPTY and keys[table[place]] != key:
        place = (place + 1) & mask
    return place


@cython.cfunc
def _find(
    table: cython.int[::1], keys: cython.ulonglong[::1], wanted: cython.ulonglong[::1], slots: cython.longlong[::1]
) -> cython.void:
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(wanted.shape[0]):
            slots[i] = table[_place_of(table, keys, wanted[i])]


@cython.cfunc
def _add(table: cython.int[::1], keys: cython.ulonglong[::1], rows: cython.longlong[::1]) -> cython.void:
    mask: cython.ulonglong = table.shape[0] - 1
    place: cython.ulonglong
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(rows.shape[0]):
            place = keys[rows[i]] & mask
            while table[place] != _EMPTY:
                place = (place + 1) & mask
            table[place] = cython.cast(cython.int, rows[i])


@cython.cfunc
def _discard(table: cython.int[::1], keys: cython.ulonglong[::1], rows: cython.longlong[::1]) -> cython.void:
    """Close each gap by moving those back that had to make way."""
    mask: cython.ulonglong = table.shape[0] - 1
    gap: cython.ulonglong
    other: cython.ulonglong
    home: cython.ulonglong
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(rows.shape[0]):
            gap = keys[rows[i]] & mask
            while table[gap] != rows[i]:
                gap = (gap + 1) & mask
            other = (gap + 1) & mask
            while table[other] != _EMPTY:
                home = keys[table[other]] & mask
                if (other - home) & mask >= (other - gap) & mask:
                    table[gap] = table[other]
                    gap = other
                other = (other + 1) & mask
            table[gap] = _EMPTY

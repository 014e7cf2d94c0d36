"""Slots: rows of a few arrays, each of which has one record or is free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from unlearnspn.coding import Codes, Features, Floats, Levels
from unlearnspn.errors import RecordIdError
from unlearnspn.hashing import Keys
from unlearnspn.ids import RecordId, record_key, record_keys
from unlearnspn.key_index import KeyIndex
from unlearnspn.statistics.column_sums import Rows

G = TypeVar("G", bound=np.generic)

_MOST_IN_TWO_BYTES = 1 << 15
#: The arrays that have a row for each slot.
_BY_SLOT = ("live", "keys", "ids", "values", "levels", "codes", "features")


class Slots:
    """What is kept of each record, by slot, and which slot each record is in. A slot that is free holds zeros."""

    def __init__(self, n_variables: int, n_numeric: int) -> None:
        self.index = KeyIndex()
        self.free: list[int] = []
        self.live = np.zeros(0, np.bool_)
        self.keys: Keys = np.zeros(0, np.uint64)
        #: The ids: numbers, or else texts.
        self.ids: npt.NDArray[Any] = np.zeros(0, np.int64)
        self.values: Floats = np.zeros((0, n_numeric), np.float64)
        #: In two bytes each, or in four if a column has too many categories for that.
        self.levels: Levels = np.zeros((0, n_variables - n_numeric), np.int16)
        self.codes: Codes = np.zeros((0, n_variables), np.uint8)
        self.features: Features = np.zeros((0, n_variables), np.int16)

    def copied(self) -> Self:
        """Return slots that no change to these reaches."""
        copied = copy(self)
        for name in _BY_SLOT:
            setattr(copied, name, getattr(self, name).copy())
        copied.index, copied.free = deepcopy(self.index), self.free.copy()
        return copied

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._require_writable(_BY_SLOT)

    def _require_writable(self, names: Sequence[str]) -> None:
        """Copy arrays that cannot be written: they may come from a file that is mapped read-only."""
        for name in names:
            setattr(self, name, np.require(getattr(self, name), requirements="W"))

    # -- reading ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.index)

    @property
    def capacity(self) -> int:
        """How many slots there are."""
        return len(self.live)

    @property
    def string_ids(self) -> bool:
        """Whether the ids are texts."""
        return self.ids.dtype.kind == "O"

    @property
    def rows(self) -> Rows:
        """The slots in use, in increasing order."""
        return np.flatnonzero(self.live)

    def rows_after(self, minus: Rows, plus: Rows) -> Rows:
        """Return the slots in use after a change, in increasing order."""
        live = self.live.copy()
        live[minus] = False
        live[plus] = True
        return np.flatnonzero(live)

    def find(self, ids: Sequence[RecordId]) -> Rows:
        """Return the slot of each id, -1 for those that nobody has."""
        string_ids = self.string_ids
        if not ids or isinstance(ids[0], str) != string_ids:
            return np.full(len(ids), -1)
        if len(ids) == 1:
            slots = np.array([self.index.find_one(self.keys, record_key(ids[0]))])
        else:
            slots = self.index.find(self.keys, record_keys(ids))
        if string_ids:
            slots[[slot >= 0 and self.ids[slot] != item for slot, item in zip(slots.tolist(), ids, strict=True)]] = -1
        return slots

    def ids_of(self, rows: Rows) -> list[RecordId]:
        """Return the ids of some records."""
        ids: list[RecordId] = self.ids[rows].tolist()
        return ids

    # -- changing --------------------------------------------------------------------------------------------------

    def _reserve(self, number: int) -> Rows:
        """Take slots that are free; nobody finds them before they are occupied."""
        if number > len(self.free):
            used = self.capacity - len(self.free)
            self._allocate(max(used + number, self.capacity + self.capacity // 8))
        return np.array([self.free.pop() for _ in range(number)], np.int64)

    def _occupy(self, rows: Rows) -> None:
        """Have the records of reserved slots found."""
        if rows.size == 0:
            return
        self.live[rows] = True
        self.index.add(self.keys, rows)

    def _release(self, rows: Rows) -> None:
        """Wipe slots, which are free then."""
        if rows.size == 0:
            return
        # An index that is a number is sooner read than an array of one.
        slots = int(rows[0]) if rows.size == 1 else rows
        for name in _BY_SLOT:
            getattr(self, name)[slots] = 0
        self.free.extend(rows.tolist())

    def _allocate(self, capacity: int) -> None:
        """Make room for `capacity` slots, keeping what is there; slots beyond must be free."""
        self.free.extend(range(capacity - 1, self.capacity - 1, -1))
        for name in _BY_SLOT:
            setattr(self, name, _resized(getattr(self, name), capacity))

    def _size_levels(self, most_categories: int) -> None:
        """Keep levels in as many bytes as the column with most categories needs."""
        kind = np.int16 if most_categories <= _MOST_IN_TWO_BYTES else np.int32
        if self.levels.dtype != kind:
            self.levels = self.levels.astype(kind)

    def _widen_levels(self, n_categories: int) -> None:
        """Keep levels in as many bytes as one more column with so many categories needs."""
        if n_categories > _MOST_IN_TWO_BYTES:
            self._size_levels(n_categories)

    def _refuse_collisions(self, all_keys: Callable[[], Keys]) -> None:
        """Refuse string ids that hash alike (one chance in 10**7 for a million): choices must be unambiguous."""
        if not self.string_ids:
            return
        keys = np.sort(all_keys())
        if (keys[1:] == keys[:-1]).any():
            raise RecordIdError("two ids have the same 64-bit hash: rename one of them, or use integer ids")


def _resized(array: npt.NDArray[G], length: int) -> npt.NDArray[G]:
    """Return the array with another number of rows, zeros for new ones."""
    resized = np.zeros((length, *array.shape[1:]), array.dtype)
    resized[: len(array)] = array[:length]
    return resized

"""Bytes of many things one after another; bytes of things that are removed are wiped at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unlearnspn.vault.pages import PageStore

Bytes = npt.NDArray[np.uint8]


class Heap:
    """Bytes, and which of them have changed since they were last saved.

    >>> heap = Heap()
    >>> heap.append(b"Ada"), heap.append(b"Bob")
    (0, 3)
    >>> heap.wipe(0, 3)
    >>> heap.used.tobytes(), heap.n_wasted
    (b'\\x00\\x00\\x00Bob', 3)
    """

    def __init__(self) -> None:
        self._room = np.zeros(0, np.uint8)
        self._n_used = 0
        #: How many bytes belong to nothing any more.
        self.n_wasted = 0
        self._touched: list[tuple[int, int]] = []
        #: Whether all of it must be saved.
        self.is_new = True

    @property
    def used(self) -> Bytes:
        """All bytes, those that were wiped being zeros."""
        return self._room[: self._n_used]

    def append(self, data: bytes, n_spare: int = 0) -> int:
        """Write bytes behind all others, and leave room behind them; return where they start."""
        start = self._n_used
        needed = start + len(data) + n_spare
        if needed > self._room.size:
            room = np.zeros(max(needed, self._room.size + self._room.size // 8), np.uint8)
            room[:start] = self.used
            self._room = room
        self._n_used = needed
        self.write(start, needed - start, data)
        return start

    def write(self, start: int, room: int, data: bytes) -> None:
        """Write bytes where there is room for them; zeros follow as far as the room goes."""
        self._room[start : start + len(data)] = np.frombuffer(data, np.uint8)
        self._room[start + len(data) : start + room] = 0
        self._touched.append((start, start + room))

    def wipe(self, start: int, size: int) -> None:
        """Remove bytes."""
        self.write(start, size, b"")
        self.n_wasted += size

    def wastes_more_than(self, least: int) -> bool:
        """Tell whether bytes should be moved together: half of them are wasted, and more than so many."""
        return self.n_wasted > max(self._n_used // 2, least)

    def save(self, store: PageStore, name: str, whole: bool = False) -> None:
        """Store what has changed since the last time, or all of it."""
        stretches = None if whole or self.is_new else np.array(self._touched, np.int64).reshape(-1, 2)
        store.save(name, self.used, stretches)
        self._touched, self.is_new = [], False

    @classmethod
    def load(cls, store: PageStore, name: str) -> Heap:
        """Read what was stored; how many bytes are wasted is for others to say."""
        heap = cls()
        heap._room = store.load(name)
        heap._n_used, heap.is_new = heap._room.size, False
        return heap

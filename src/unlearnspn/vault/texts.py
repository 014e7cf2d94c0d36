"""A text for each slot, or none: all bytes one after another, where texts that are removed are wiped at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unlearnspn.slices import Rows
from unlearnspn.vault.errors import DamagedVaultError
from unlearnspn.vault.pages import PageStore

_NONE = -1
_LEAST_WASTE = 4096


class TextColumn:
    """Texts by slot.

    >>> column = TextColumn(3)
    >>> column.put(np.array([2, 0]), ["Ada", None])
    >>> column.put(np.array([1]), ["Ada"])
    >>> column.get(np.array([0, 1, 2])), column.find("Ada").tolist()
    ([None, 'Ada', 'Ada'], [1, 2])
    >>> column.wipe(np.array([1]))
    >>> column.find("Ada").tolist(), column.used_bytes
    ([2], b'Ada\\x00\\x00\\x00')
    """

    def __init__(self, capacity: int) -> None:
        self._heap = np.zeros(0, np.uint8)
        self._used = 0
        self._wasted = 0
        self._starts = np.zeros(capacity, np.int64)
        self._lengths = np.full(capacity, _NONE, np.int64)
        self._touched: list[tuple[int, int]] = []
        self._rewritten = True

    @classmethod
    def of(cls, texts: Sequence[str | None]) -> TextColumn:
        """Return texts for the slots 0, 1, …"""
        column = cls(len(texts))
        column.put(np.arange(len(texts)), texts)
        return column

    @property
    def capacity(self) -> int:
        """How many slots there are."""
        return len(self._starts)

    @property
    def used_bytes(self) -> bytes:
        """All bytes, those of texts that were removed being zeros."""
        return self._heap[: self._used].tobytes()

    def get(self, rows: Rows) -> list[str | None]:
        """Return the texts of some slots."""
        heap = self.used_bytes
        pairs = zip(self._starts[rows].tolist(), self._lengths[rows].tolist(), strict=True)
        return [
            None if length == _NONE else heap[start : start + length].decode("utf-8", "surrogatepass")
            for start, length in pairs
        ]

    def find(self, text: str) -> Rows:
        """Return the slots that have this text."""
        wanted = text.encode("utf-8", "surrogatepass")
        slots = np.flatnonzero(self._lengths == len(wanted))
        for place in range(len(wanted) - 1, -1, -1):  # texts of one kind differ at their ends more often
            slots = slots[self._heap[self._starts[slots] + place] == wanted[place]]
        return slots

    def put(self, rows: Rows, texts: Sequence[str | None]) -> None:
        """Give texts to slots, whose own are wiped."""
        self.wipe(rows)
        written = [None if text is None else text.encode("utf-8", "surrogatepass") for text in texts]
        lengths = np.array([_NONE if text is None else len(text) for text in written], np.int64)
        ends = self._used + np.cumsum(np.maximum(lengths, 0))
        joined = b"".join(text for text in written if text)
        self._reserve(len(joined))
        self._heap[self._used : self._used + len(joined)] = np.frombuffer(joined, np.uint8)
        self._touched.append((self._used, self._used + len(joined)))
        self._used += len(joined)
        self._starts[rows] = np.where(lengths > 0, ends - lengths, 0)
        self._lengths[rows] = lengths

    def wipe(self, rows: Rows) -> None:
        """Remove the texts of some slots."""
        for start, length in zip(self._starts[rows].tolist(), self._lengths[rows].tolist(), strict=True):
            if length > 0:
                self._heap[start : start + length] = 0
                self._touched.append((start, start + length))
                self._wasted += length
        self._starts[rows], self._lengths[rows] = 0, _NONE
        if self._wasted > max(self._used // 2, _LEAST_WASTE):
            self._move_together()

    def resize(self, capacity: int) -> None:
        """Have so many slots; those that go must be empty."""
        if capacity == self.capacity:
            return
        n_kept = min(capacity, self.capacity)
        starts, lengths = np.zeros(capacity, np.int64), np.full(capacity, _NONE, np.int64)
        starts[:n_kept], lengths[:n_kept] = self._starts[:n_kept], self._lengths[:n_kept]
        self._starts, self._lengths = starts, lengths

    def _move_together(self) -> None:
        texts = self.get(np.arange(self.capacity))
        fresh = TextColumn.of(texts)
        self._heap, self._used, self._wasted = fresh._heap, fresh._used, 0
        self._starts, self._lengths, self._rewritten = fresh._starts, fresh._lengths, True

    def _reserve(self, number: int) -> None:
        needed = self._used + number
        if needed > self._heap.size:
            grown = np.zeros(max(needed, self._heap.size + self._heap.size // 8), np.uint8)
            grown[: self._used] = self._heap[: self._used]
            self._heap = grown

    # -- storing ---------------------------------------------------------------------------------------------------

    def save(self, store: PageStore, name: str, slots: Rows | None) -> None:
        """Store what has changed since the last time, at these slots; None for all."""
        stretches, by_slot = None, None
        if slots is not None and not self._rewritten:
            stretches = np.array(self._touched, np.int64).reshape(-1, 2)
            by_slot = np.stack([8 * slots, 8 * slots + 8], axis=1)
        store.save(f"{name}.texts", self._heap[: self._used], stretches)
        store.save(f"{name}.starts", self._starts, by_slot)
        store.save(f"{name}.lengths", self._lengths, by_slot)
        self._touched, self._rewritten = [], False

    @classmethod
    def load(cls, store: PageStore, name: str) -> TextColumn:
        """Read what was stored."""
        starts, lengths = store.load(f"{name}.starts"), store.load(f"{name}.lengths")
        heap = store.load(f"{name}.texts")
        column = cls(0)
        column._heap, column._used, column._rewritten = heap, heap.size, False
        column._starts, column._lengths = starts, lengths
        ends = starts + np.maximum(lengths, 0)
        if starts.shape != lengths.shape or (starts < 0).any() or (lengths < _NONE).any() or (ends > heap.size).any():
            raise DamagedVaultError(f"the vault is damaged: {name!r} has texts where there are none")
        column._wasted = heap.size - int(np.maximum(lengths, 0).sum())
        return column

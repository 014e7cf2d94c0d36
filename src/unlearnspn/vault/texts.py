"""A text for each slot, or none, in a heap of bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unlearnspn.slices import Rows
from unlearnspn.vault.errors import DamagedVaultError
from unlearnspn.vault.heap import Heap
from unlearnspn.vault.pages import PageStore

_NONE = -1
_LEAST_WASTE = 4096
#: So few texts are sooner looked for one by one than among all.
_FEW = 20


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
        self._heap = Heap()
        self._starts = np.zeros(capacity, np.int64)
        self._lengths = np.full(capacity, _NONE, np.int64)

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
        return self._heap.used.tobytes()

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
        heap, slots = self._heap.used, np.flatnonzero(self._lengths == len(wanted))
        for place in range(len(wanted) - 1, -1, -1):  # texts of one kind differ at their ends more often
            slots = slots[heap[self._starts[slots] + place] == wanted[place]]
        return slots

    def those_there(self, texts: set[str]) -> set[str]:
        """Return those of some texts that slots have.

        >>> sorted(TextColumn.of(["Ada", None, "Bob"]).those_there({"Ada", "Bob", "Eve"}))
        ['Ada', 'Bob']
        """
        if len(texts) <= _FEW:
            return {text for text in texts if self.find(text).size}
        return texts.intersection(self.get(np.arange(self.capacity)))

    def put(self, rows: Rows, texts: Sequence[str | None]) -> None:
        """Give texts to slots, whose own are wiped."""
        self.wipe(rows)
        written = [None if text is None else text.encode("utf-8", "surrogatepass") for text in texts]
        lengths = np.array([_NONE if text is None else len(text) for text in written], np.int64)
        start = self._heap.append(b"".join(text for text in written if text))
        ends = start + np.cumsum(np.maximum(lengths, 0))
        self._starts[rows] = np.where(lengths > 0, ends - lengths, 0)
        self._lengths[rows] = lengths

    def wipe(self, rows: Rows) -> None:
        """Remove the texts of some slots."""
        for start, length in zip(self._starts[rows].tolist(), self._lengths[rows].tolist(), strict=True):
            if length > 0:
                self._heap.wipe(start, length)
        self._starts[rows], self._lengths[rows] = 0, _NONE
        if self._heap.wastes_more_than(_LEAST_WASTE):
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
        fresh = TextColumn.of(self.get(np.arange(self.capacity)))
        self._heap, self._starts, self._lengths = fresh._heap, fresh._starts, fresh._lengths

    # -- storing ---------------------------------------------------------------------------------------------------

    def save(self, store: PageStore, name: str, slots: Rows | None) -> None:
        """Store what has changed since the last time, at these slots; None for all."""
        by_slot = None
        if slots is not None and not self._heap.is_new:
            by_slot = np.stack([8 * slots, 8 * slots + 8], axis=1)
        self._heap.save(store, f"{name}.texts", whole=slots is None)
        store.save(f"{name}.starts", self._starts, by_slot)
        store.save(f"{name}.lengths", self._lengths, by_slot)

    @classmethod
    def load(cls, store: PageStore, name: str) -> TextColumn:
        """Read what was stored."""
        starts, lengths = store.load(f"{name}.starts"), store.load(f"{name}.lengths")
        column = cls(0)
        column._heap = Heap.load(store, f"{name}.texts")
        column._starts, column._lengths = starts, lengths
        size, ends = column._heap.used.size, starts + np.maximum(lengths, 0)
        if starts.shape != lengths.shape or (starts < 0).any() or (lengths < _NONE).any() or (ends > size).any():
            raise DamagedVaultError(f"the vault is damaged: {name!r} has texts where there are none")
        column._heap.n_wasted = size - int(np.maximum(lengths, 0).sum())
        return column

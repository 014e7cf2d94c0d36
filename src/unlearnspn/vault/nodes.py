"""The nodes of a network by number: all bytes one after another, where nodes that are removed are wiped at once.

A node that changes is written where it lies, as long as it has room there; so only the pages are written that differ.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from unlearnspn.spn.dump import dump_node
from unlearnspn.spn.node import Node
from unlearnspn.vault.errors import DamagedVaultError
from unlearnspn.vault.pages import PageStore

_NOBODY = -1
_LEAST_WASTE = 1 << 16
#: What is known of each node: where its bytes start, how many there are (-1 if nobody has the number), and the room.
_START, _LENGTH, _ROOM = range(3)
_HEAP, _TABLE = "network.nodes", "network.table"


class StoredNodes:
    """The bytes of nodes, and which of them have changed since they were last saved."""

    def __init__(self) -> None:
        self._heap = np.zeros(0, np.uint8)
        self._used = 0
        self._wasted = 0
        self._table = np.zeros((0, 3), np.int64)
        self._free: list[int] = []
        self._touched: list[tuple[int, int]] = []
        self._rewritten = True

    def put(self, root: Node) -> None:
        """Write the nodes of a network that are not stored as they are now; those above them are not either."""
        if root.is_stored:
            return
        for child in root.children:
            self.put(child)
        if root.number == _NOBODY:
            root.number = self._new_number()
        self._write(root.number, dump_node(root))
        root.is_stored = True

    def drop(self, nodes: list[Node]) -> None:
        """Wipe nodes that are not needed any more."""
        for node in nodes:
            if node.number != _NOBODY:
                self._wipe(node.number)
                heappush(self._free, node.number)
                node.number, node.is_stored = _NOBODY, False

    def read(self, number: int) -> bytes:
        """Return the bytes of a node."""
        if not 0 <= number < len(self._table) or self._table[number, _LENGTH] < 0:
            raise DamagedVaultError("the vault is damaged: its network has a node that is not there")
        start, length, _ = self._table[number].tolist()
        return self._heap[start : start + length].tobytes()

    def _new_number(self) -> int:
        if self._free:
            return heappop(self._free)
        number = len(self._table)
        grown = np.zeros((number + max(number // 4, 16), 3), np.int64)
        grown[:number], grown[number:, _LENGTH] = self._table, _NOBODY
        self._table = grown
        for free in range(number + 1, len(grown)):
            heappush(self._free, free)
        return number

    def _write(self, number: int, data: bytes) -> None:
        if len(data) > self._table[number, _ROOM]:
            self._wipe(number)
            self._table[number] = self._allocate(len(data) + len(data) // 8), 0, len(data) + len(data) // 8
        start, _, room = self._table[number].tolist()
        self._table[number, _LENGTH] = len(data)
        self._heap[start : start + len(data)] = np.frombuffer(data, np.uint8)
        self._heap[start + len(data) : start + room] = 0
        self._touched.append((start, start + room))

    def _wipe(self, number: int) -> None:
        start, _, room = self._table[number].tolist()
        self._heap[start : start + room] = 0
        self._touched.append((start, start + room))
        self._wasted += room
        self._table[number] = 0, _NOBODY, 0

    def _allocate(self, room: int) -> int:
        start, needed = self._used, self._used + room
        if needed > self._heap.size:
            grown = np.zeros(max(needed, self._heap.size + self._heap.size // 8), np.uint8)
            grown[:start] = self._heap[:start]
            self._heap = grown
        self._used = needed
        return start

    def _move_together(self) -> None:
        """Leave out the bytes that belong to nobody."""
        known = [number for number in range(len(self._table)) if self._table[number, _LENGTH] >= 0]
        contents = {number: self.read(number) for number in known}
        self._heap, self._used, self._wasted = np.zeros(0, np.uint8), 0, 0
        self._table[:] = 0, _NOBODY, 0
        for number, data in contents.items():
            self._write(number, data)
        self._rewritten = True

    # -- storing ---------------------------------------------------------------------------------------------------

    def save(self, store: PageStore) -> None:
        """Store what has changed since the last time."""
        if self._wasted > max(self._used // 2, _LEAST_WASTE):
            self._move_together()
        stretches = None if self._rewritten else np.array(self._touched, np.int64).reshape(-1, 2)
        store.save(_HEAP, self._heap[: self._used], stretches)
        store.save(_TABLE, self._table)
        self._touched, self._rewritten = [], False

    @classmethod
    def load(cls, store: PageStore) -> StoredNodes:
        """Read what was stored."""
        nodes = cls()
        heap, table = store.load(_HEAP), store.load(_TABLE)
        starts, lengths, rooms = table.reshape(-1, 3).T
        if (starts < 0).any() or (lengths > rooms).any() or (starts + rooms > heap.size).any():
            raise DamagedVaultError("the vault is damaged: its network has nodes where there are none")
        nodes._heap, nodes._used, nodes._table, nodes._rewritten = heap, heap.size, table, False
        nodes._wasted = heap.size - int(rooms.sum())
        nodes._free = np.flatnonzero(lengths < 0).tolist()
        return nodes

    @staticmethod
    def names() -> tuple[str, str]:
        """Return under which names nodes are stored."""
        return _HEAP, _TABLE

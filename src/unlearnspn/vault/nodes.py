"""The nodes of a network by number, in a heap of bytes.

A node that changes is written where it lies, as long as it has room there; so only the pages are written that differ.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from unlearnspn.spn.dump import dump_node
from unlearnspn.spn.node import Node
from unlearnspn.vault.errors import DamagedVaultError
from unlearnspn.vault.heap import Heap
from unlearnspn.vault.pages import PageStore

_NOBODY = -1
_LEAST_WASTE = 1 << 16
#: What is known of each node: where its bytes start, how many there are (-1 if nobody has the number), and the room.
_START, _LENGTH, _ROOM = range(3)
_HEAP, _TABLE = "network.nodes", "network.table"


class StoredNodes:
    """The bytes of nodes, and which of them have changed since they were last saved."""

    def __init__(self) -> None:
        self._heap = Heap()
        self._table = np.zeros((0, 3), np.int64)
        self._free: list[int] = []

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
        return self._heap.used[start : start + length].tobytes()

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
        start, _, room = self._table[number].tolist()
        if len(data) > room:
            self._wipe(number)
            spare = len(data) // 8
            start, room = self._heap.append(data, spare), len(data) + spare
        else:
            self._heap.write(start, room, data)
        self._table[number] = start, len(data), room

    def _wipe(self, number: int) -> None:
        start, _, room = self._table[number].tolist()
        self._heap.wipe(start, room)
        self._table[number] = 0, _NOBODY, 0

    def _move_together(self) -> None:
        """Leave out the bytes that belong to nobody."""
        known = np.flatnonzero(self._table[:, _LENGTH] >= 0).tolist()
        contents = {number: self.read(number) for number in known}
        self._heap = Heap()
        self._table[:] = 0, _NOBODY, 0
        for number, data in contents.items():
            self._write(number, data)

    # -- storing ---------------------------------------------------------------------------------------------------

    def save(self, store: PageStore) -> None:
        """Store what has changed since the last time."""
        if self._heap.wastes_more_than(_LEAST_WASTE):
            self._move_together()
        self._heap.save(store, _HEAP)
        store.save(_TABLE, self._table)

    @classmethod
    def load(cls, store: PageStore) -> StoredNodes:
        """Read what was stored."""
        nodes = cls()
        nodes._heap, nodes._table = Heap.load(store, _HEAP), store.load(_TABLE)
        size = nodes._heap.used.size
        starts, lengths, rooms = nodes._table.reshape(-1, 3).T
        if (starts < 0).any() or (lengths > rooms).any() or (starts + rooms > size).any():
            raise DamagedVaultError("the vault is damaged: its network has nodes where there are none")
        nodes._heap.n_wasted = size - int(rooms.sum())
        nodes._free = np.flatnonzero(lengths < 0).tolist()
        return nodes

    @staticmethod
    def names() -> tuple[str, str]:
        """Return under which names nodes are stored."""
        return _HEAP, _TABLE

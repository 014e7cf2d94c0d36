"""The rows that nodes keep, in the shards."""

from __future__ import annotations

from typing import Any

import numpy as np

from unlearnspn.cluster.selections import Handle, Joined, Selection
from unlearnspn.rows.row_set import RowSet
from unlearnspn.spn.node import Node

#: Fingerprints are sums modulo this.
MODULUS = 1 << 64
#: What a request changes of the rows that nodes keep: by handle and guest, 1 for one that comes, -1 for one that goes.
Changes = dict[int, dict[int, int]]


class SharedRowSet(RowSet):
    """The rows that a node keeps, in the shards: a handle, and the fingerprint of the records."""

    def __init__(self, changes: Changes, handle: Handle, members: tuple[int, int]) -> None:
        super().__init__(np.zeros(0, np.int64), (0, 0))
        self._changes = changes
        self.handle = handle
        self._members = members

    @property
    def members(self) -> tuple[int, int]:
        """Fingerprint of the records: two 64-bit sums of their mixed keys, the same in any order."""
        return self._members

    def __len__(self) -> int:
        return self.handle.size

    def shift(self, coded: Any, rows: Any, sign: int) -> None:
        """Have rows come, or leave if the sign is negative: the shards are told when the request is made real."""
        slots = np.asarray(rows)
        low, high = RowSet.of(coded, slots).members
        self._members = (self._members[0] + sign * low) % MODULUS, (self._members[1] + sign * high) % MODULUS
        self.handle.size += sign * slots.size
        changes = self._changes.setdefault(self.handle.number, {})
        for slot in slots.tolist():
            changes[slot] = changes.get(slot, 0) + sign


def rows_of(node: Node) -> Selection:
    """Return the rows of a cluster, as its nodes keep them."""
    kept: list[Any] = node.row_sets()
    handles = [row_set.handle for row_set in kept]
    return handles[0] if len(handles) == 1 else Joined(handles)

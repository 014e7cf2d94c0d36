"""Rows that shards hold, as the coordinator names them: a number of records, and how each shard finds its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from unlearnspn.rows.sorted_rows import difference, in_order, merged
from unlearnspn.slices import Rows

_NOBODY = np.zeros(0, np.int64)
#: Slots by the number of the shard, in increasing order.
ByShard = Mapping[int, Rows]


class Held(Protocol):
    """What a shard finds rows in."""

    number: int

    @property
    def everyone(self) -> Rows:
        """All its rows."""

    def handled(self, number: int) -> Rows:
        """The rows of a handle."""


class Selection(Protocol):
    """Some of the records."""

    @property
    def size(self) -> int:
        """How many there are, in all shards together."""

    def rows(self, shard: Held) -> Rows:
        """Return the slots of a shard, in increasing order."""


@dataclass(frozen=True)
class Everyone:
    """All records."""

    size: int

    def rows(self, shard: Held) -> Rows:
        """Return the slots of a shard, in increasing order."""
        return shard.everyone


class Handle:
    """Rows that shards have noted under a number; they forget them when nobody has the handle any more."""

    __slots__ = ("__weakref__", "number", "size")

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size

    def rows(self, shard: Held) -> Rows:
        """Return the slots of a shard, in increasing order."""
        return shard.handled(self.number)


@dataclass(frozen=True)
class Joined:
    """The rows of several selections that have none in common."""

    parts: Sequence[Selection]

    @property
    def size(self) -> int:
        """How many there are, in all shards together."""
        return sum(part.size for part in self.parts)

    def rows(self, shard: Held) -> Rows:
        """Return the slots of a shard, in increasing order."""
        return in_order(np.concatenate([_NOBODY, *(part.rows(shard) for part in self.parts)]))


@dataclass(frozen=True)
class Changed:
    """A selection after a request: some of its rows leave, and others come, whether or not they are in it already."""

    base: Selection
    minus: ByShard
    plus: ByShard
    size: int

    def rows(self, shard: Held) -> Rows:
        """Return the slots of a shard, in increasing order."""
        staying = difference(self.base.rows(shard), self.minus.get(shard.number, _NOBODY))
        return merged(staying, difference(self.plus.get(shard.number, _NOBODY), staying))

"""Answers: what the costly questions of LearnSPN were answered with, in a few arrays.

There are two such questions. Into which groups do independent variables fall, and from which seeds do clusters grow?
The answers stand in the order in which they were asked, parents before children. Everything else that a node knows
can be counted again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unlearnspn.network import Node, Operation
from unlearnspn.slices import Rows
from unlearnspn.storage.container import Array
from unlearnspn.storage.entries import Entries, Integers, narrow
from unlearnspn.storage.errors import StorageError


def pack_answers(root: Node, seeds_of: Callable[[Any], Rows], rank: Rows) -> dict[str, Array]:
    """Return the arrays that hold a network's answers; `rank` gives each slot its record's place in the file."""
    splits, groups, seed_counts, seeds = [], [], [], []
    for _, node in root.walk():
        if node.independence is not None:
            splits.append(node.operation is Operation.SPLIT_VARIABLES)
            if splits[-1]:
                groups.append(_groups(node))
        if node.clustering is not None:
            found = seeds_of(node.clustering)
            seed_counts.append(found.size)
            seeds.append(rank[found])
    return {
        "splits": np.array(splits, np.uint8),
        "groups": narrow(_joined(groups)),
        "seed_counts": narrow(np.array(seed_counts, np.int64)),
        "seeds": narrow(_joined(seeds)),
    }


def _groups(node: Node) -> Integers:
    """Return for each variable the first of its group, both by their places in the scope."""
    groups = np.zeros(node.scope.size, np.int64)
    for child in node.children:
        places = np.searchsorted(node.scope, child.scope)
        groups[places] = places[0]
    return groups


def _joined(parts: list[Integers]) -> Integers:
    return np.concatenate([np.zeros(0, np.int64), *parts])


class Answers:
    """Answers that are read one after another, while the network is made."""

    def __init__(self, entries: Entries, n_records: int, n_variables: int) -> None:
        self._splits = _Reader("splits", entries.take_integers("splits", 2, None))
        self._groups = _Reader("groups", entries.take_integers("groups", n_variables, None))
        self._seed_counts = _Reader("seed_counts", entries.take_integers("seed_counts", n_records + 1, None))
        self._seeds = _Reader("seeds", entries.take_integers("seeds", n_records, None))

    def groups(self, n_variables: int) -> Integers:
        """Return the groups of so many variables, by their first members; all zeros if there is but one."""
        if not self._splits.next(1)[0]:
            return np.zeros(n_variables, np.int64)
        groups = self._groups.next(n_variables)
        canonical = (groups <= np.arange(n_variables)).all() and (groups[groups] == groups).all()
        if not canonical or not groups.any():
            raise StorageError("a split of variables does not divide them into groups")
        return groups

    def seeds(self) -> Rows:
        """Return the seeds of the next clusters."""
        return self._seeds.next(int(self._seed_counts.next(1)[0]))

    def finish(self) -> None:
        """Raise if there are answers that nobody asked for."""
        for reader in (self._splits, self._groups, self._seed_counts, self._seeds):
            reader.finish()


class _Reader:
    def __init__(self, name: str, numbers: Integers) -> None:
        self._name, self._numbers, self._read = name, numbers, 0

    def next(self, number: int) -> Integers:
        end = self._read + number
        if end > self._numbers.size:
            raise StorageError(f"entry {self._name!r} ends before the network does")
        numbers = self._numbers[self._read : end].copy()
        self._read = end
        return numbers

    def finish(self) -> None:
        if self._read < self._numbers.size:
            raise StorageError(f"entry {self._name!r} goes on after the network has ended")

"""SISA (Bourtoule et al., 2021): sharded, isolated, sliced training, with the default network in each shard.

Which shard and slice a record belongs to follows from its id and the seed alone. A shard is learned slice by slice, and
what it was before each slice is kept. A removal loads what the shard was before the slice of the record, and learns
what is left of this slice and of those after it. The model is the mixture of the shards' networks by their numbers of
records.

Our learner is exact: a shard learned slice by slice is the one learned at once, bit by bit. So slices do not change the
model, and the model after a removal is that of training without the record.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.alternatives.methods import Trained, circuit_bytes, record_bytes
from benchmarks.alternatives.tables import Records, usual_warnings
from unlearnspn import SPN, Circuit
from unlearnspn.circuit.mixing import mix
from unlearnspn.hashing import derive_key
from unlearnspn.leaves.categorical import UNSEEN
from unlearnspn.portable_math import log

#: A shard of fewer records is no model of the table.
LEAST_RECORDS = 20
SLICES = 4


@dataclass
class _Shard:
    """The slices of a shard, what it was before each of them, and what it is."""

    slices: list[Records]
    seed: int
    #: Before slice s; None if no record came before it.
    before: list[bytes | None] = field(default_factory=list)
    spn: SPN | None = None

    def __post_init__(self) -> None:
        self.before = [None] * len(self.slices)
        self._learn_from(0)

    @property
    def n_records(self) -> int:
        return sum(map(len, self.slices))

    def remove(self, ids: Sequence[int]) -> None:
        """Remove records of the shard."""
        leaving, first = set(ids), len(self.slices)
        for number, records in enumerate(self.slices):
            own = leaving.intersection(records.ids)
            if own:
                self.slices[number] = records.without(own)
                first = min(first, number)
        if first < len(self.slices):
            self._learn_from(first)

    def _learn_from(self, first: int) -> None:
        """Learn from a slice on."""
        kept = self.before[first]
        self.spn = None if kept is None else pickle.loads(kept)
        for number in range(first, len(self.slices)):
            if number > first:
                self.before[number] = None if self.spn is None else pickle.dumps(self.spn)
            self._add(self.slices[number])

    def _add(self, records: Records) -> None:
        if self.spn is None:
            self.spn = records.learn(self.seed) if len(records) else None
        elif len(records):
            with usual_warnings():
                self.spn.learn(records.frame, ids=records.frame.index.to_numpy())


@dataclass
class _Sharded:
    """The shards, and the mixture of their networks."""

    shards: list[_Shard]
    placed: dict[int, int]
    _mixture: Circuit | None = None

    def remove(self, ids: Sequence[int]) -> None:
        """Learn the shards anew that the records belong to, each from the first slice that has one of them."""
        leaving: dict[int, list[int]] = {}
        for each in ids:
            leaving.setdefault(self.placed.pop(each), []).append(each)
        for shard, own in leaving.items():
            self.shards[shard].remove(own)
        self._mixture = None

    def circuit(self) -> Circuit:
        """Return the mixture; made when it is first asked for."""
        if self._mixture is None:
            pairs = [(shard.n_records, shard.spn) for shard in self.shards if shard.spn is not None]
            circuits = [spn.circuit_ for _, spn in pairs]
            total = sum(size for size, _ in pairs)
            self._mixture = mix(circuits, [log(size / total) for size, _ in pairs], UNSEEN, circuits[0].origin)
        return self._mixture

    def kept_bytes(self) -> int:
        """Return the size of records, of what shards were before their slices, and of the model."""
        records = sum(record_bytes(part) for shard in self.shards for part in shard.slices)
        return records + self.checkpoint_bytes() + circuit_bytes(self.circuit())

    def checkpoint_bytes(self) -> int:
        """Return the size of what shards were before their slices."""
        return sum(len(kept) for shard in self.shards for kept in shard.before if kept is not None)


@dataclass(frozen=True)
class Sisa:
    """Shards, each of some slices."""

    n_shards: int
    n_slices: int = SLICES
    acts: bool = True

    @property
    def name(self) -> str:
        """The name, as tables have it."""
        return f"SISA, {self.n_shards} shards" + ("" if self.n_slices > 1 else ", unsliced")

    @property
    def least_records(self) -> int:
        """The fewest records that can be divided into so many shards."""
        return LEAST_RECORDS * self.n_shards

    def train(self, records: Records, seed: int) -> Trained:
        """Divide the records, and train each shard."""
        rows: list[list[list[int]]] = [[[] for _ in range(self.n_slices)] for _ in range(self.n_shards)]
        placed = {}
        for each in records.ids:
            key = derive_key(seed, "shard", struct.pack("<q", each))
            placed[each] = key % self.n_shards
            rows[placed[each]][key // self.n_shards % self.n_slices].append(each)
        return _Sharded([_Shard([records.take(ids) for ids in slices], seed) for slices in rows], placed)

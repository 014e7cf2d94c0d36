"""A shard whose records may be divided among the members of an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unlearnspn.cluster import folder
from unlearnspn.cluster.folder import StoredPart
from unlearnspn.cluster.part_records import PartRecords
from unlearnspn.cluster.reading import ReadPart
from unlearnspn.cluster.shard import Shard
from unlearnspn.ids import RecordId
from unlearnspn.records import Records
from unlearnspn.schema import Schema
from unlearnspn.settings import Settings
from unlearnspn.subsampling import Subsampling
from unlearnspn.tables import Table

#: Partitions of shards that none came to are numbered from here on.
_NEW_PARTITION = 1_000_000
#: Into how many bins values are coded where nobody asks for codes.
_ANY_BINS = 2


class EnsembleShard(Shard):
    """A shard of records that are learned from as one, until they are divided; then each member has a shard of its own.

    A record that several members hold is in the file of its partition once, as its first member has it.
    """

    _schema: Schema

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self._members: dict[int, Shard] = {}
        #: The partitions that came to this shard.
        self._partitions: list[int] = []

    def divide(self, settings: Sequence[Settings], subsampling: Subsampling) -> list[int]:
        """Have each member of an ensemble hold its subsample from now on, and this shard none; count these."""
        ids = self.records.ids_of(self.everyone)
        holders = subsampling.holders(ids) if ids else np.zeros((len(settings), 0), np.bool_)
        for member, (own, held) in enumerate(zip(settings, holders, strict=True)):
            self._open_member(member).hold(own, self.records.picked(self.everyone[held], own.seed))
        self._schema, self._partitions = self.settings.schema, sorted(self.n_by_partition())
        del self.records, self._next
        return [len(member.records) for member in self._members.values()]

    def start_member(self, member: int, settings: Settings, ids: list[RecordId], table: Table | None) -> None:
        """Have a member hold some new records, and nothing else."""
        shard, string_ids = self._open_member(member), bool(ids) and isinstance(ids[0], str)
        # A partition whose file is this shard's, if there is one.
        number = self._partitions[0] if self._partitions else _NEW_PARTITION + self.number
        parts = [] if table is None else [ReadPart(number, ids, table)]
        shard.hold(settings, PartRecords.read(settings.schema, settings.seed, string_ids, parts))

    def drop_members(self, members: Sequence[int]) -> None:
        """Forget members."""
        for member in members:
            self._members.pop(member, None)

    def of_member(self, member: int, method: str, arguments: tuple[Any, ...], *more: Any) -> Any:
        """Call a method of a member's shard."""
        return getattr(self._members[member], method)(*arguments, *more)

    def forget(self, released: Sequence[int]) -> None:
        """Forget handles and searches, of members too."""
        super().forget(released)
        for member in self._members.values():
            member.forget(released)

    def partitions_with(self, ids: Sequence[RecordId], subsampling: Subsampling) -> list[int]:
        """Return the partitions in whose files some records of an ensemble are."""
        first = subsampling.holders(ids).argmax(axis=0) if ids else np.zeros(0, np.int64)
        found: set[int] = set()
        for number, member in self._members.items():
            rows = member.records.find([item for item, own in zip(ids, first.tolist(), strict=True) if own == number])
            found.update(member.records.partition[rows[rows >= 0]].tolist())
        return sorted(found)

    def store_members(
        self,
        path: str,
        generation: str,
        members: Sequence[int],
        subsampling: Subsampling,
        numbers: Sequence[int] | None,
    ) -> dict[int, StoredPart]:
        """Write some partitions of an ensemble as new files, or all; each record as its first member has it."""
        if numbers is None:
            numbers = sorted({n for member in members for n in self._members[member].n_by_partition()})
        stored = {}
        for number in numbers:
            picked = [self._members[member].first_of(number, member, subsampling) for member in members]
            ids = [item for own, _ in picked for item in own]
            name = folder.part_name(number, generation) if ids else ""
            if ids:
                tables = [table for own, table in picked if own]
                records = Records.learn(self._schema, 0, _ANY_BINS, ids, Table.joined(tables), digested=False)
                folder.write_part(path, name, records, records.rows)
            stored[number] = StoredPart(name, len(ids))
        return stored

    def _open_member(self, member: int) -> Shard:
        """Return a new shard for a member, in place of the one that there was."""
        shard = self._members[member] = Shard(self.number)
        return shard

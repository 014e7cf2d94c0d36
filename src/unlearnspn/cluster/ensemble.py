"""Ensembles where the records lie in shards: each member is a model of its own subsample, in shards of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast
from weakref import finalize

import numpy as np
import numpy.typing as npt

from unlearnspn.cluster.asking import Ask, Shards
from unlearnspn.cluster.folder import Folder, Stored
from unlearnspn.cluster.model import SharedModel, load_records, require_supported
from unlearnspn.ensemble import Ensemble, Part, Revised, member_settings
from unlearnspn.errors import NotOnAClusterError
from unlearnspn.ids import RecordId
from unlearnspn.model import Model
from unlearnspn.settings import Settings
from unlearnspn.spn.report import Report
from unlearnspn.storage.errors import StorageError, explained
from unlearnspn.storage.files import PathLike
from unlearnspn.storage.models import read_origin, require_digests
from unlearnspn.subsampling import Subsampling
from unlearnspn.tables import Table


class GivenRecords(NamedTuple):
    """Records that shards have taken over, of what kind their ids are, and how many there are."""

    shards: Shards
    string_ids: bool
    n_records: int


class MemberShards:
    """The shards of one member, which are parts of those of the ensemble."""

    def __init__(self, shards: Shards, member: int) -> None:
        self._shards = shards
        self._member = member
        self.steps = shards.steps

    @property
    def number(self) -> int:
        """How many there are."""
        return self._shards.number

    def ask(self, asks: Sequence[Ask]) -> list[list[Any]]:
        """Return the answers to each of some asks, in the order of the shards: one round."""
        return self._shards.ask([self._own(ask) for ask in asks])

    def tell(self, method: str, by_shard: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call a method of some shards, each with arguments of its own; return what they answer."""
        own = {number: (self._member, method, arguments) for number, arguments in by_shard.items()}
        return self._shards.tell("of_member", own)

    def exchange(self, give: Ask, take: Ask) -> list[Any]:
        """Have each shard give one piece to every shard, then have each `take` these as its last argument."""
        return self._shards.exchange(self._own(give), self._own(take))

    def new_number(self) -> int:
        """Return a number that nothing else has: for what shards are to note."""
        return self._shards.new_number()

    def release(self, number: int) -> None:
        """Have shards forget what they have noted under a number, with the next round."""
        self._shards.release(number)

    def close(self) -> None:
        """Leave the shards to the ensemble."""

    def give_up(self, reason: str) -> None:
        """Ask no more: what the shards hold is not what it should be."""
        self._shards.give_up(reason)

    def _own(self, ask: Ask) -> Ask:
        return Ask("of_member", (self._member, *ask))


class SharedEnsemble(Ensemble):
    """An ensemble whose records lie in shards."""

    #: Where the ensemble is kept, if it is anywhere: requests are not done before they are durable there.
    folder: Folder | None = None

    def __init__(
        self, opened: GivenRecords, settings: Settings, subsampling: Subsampling, members: Sequence[Model | None]
    ) -> None:
        self._shards, self._string_ids, self._n_records = opened
        #: The partitions that a request takes records from.
        self._leaving: list[list[int]] = []
        super().__init__(settings, subsampling, members)
        finalize(self, self._shards.close).atexit = False

    @classmethod
    def gather(cls, opened: GivenRecords, settings: Settings, subsampling: Subsampling) -> SharedEnsemble:
        """Learn from the records that shards have taken over."""
        require_supported(settings)
        own = [member_settings(settings, subsampling, number) for number in range(subsampling.n_members)]
        counted = opened.shards.ask([Ask("divide", (own, subsampling))])[0]
        members: list[Model | None] = []
        for number, (each, n_records) in enumerate(zip(own, np.sum(counted, axis=0).tolist(), strict=True)):
            shards = MemberShards(opened.shards, number)
            members.append(SharedModel.gather(each, shards, opened.string_ids, n_records) if n_records else None)
        return cls(opened, settings, subsampling, members)

    # -- the folder ------------------------------------------------------------------------------------------------

    def save(self, path: PathLike, document: Mapping[str, Any]) -> None:
        """Write the ensemble into a folder, in which it is kept from then on."""
        folder = Folder.made(path, document)
        try:
            self._write(folder, self.members, self.digests, self.n_records, None)
        finally:
            folder.sweep()
        self.folder = folder

    @classmethod
    def load(cls, stored: Stored, shards: Shards) -> SharedEnsemble:
        """Learn from the partitions of a folder, which are spread over the shards."""
        described, subsampling = stored.described, stored.subsampling
        if subsampling is None:
            raise StorageError(f"{stored.folder.path} does not say how members draw their records")
        load_records(stored, shards)
        records = GivenRecords(shards, described["string_ids"], described["n_records"])
        ensemble = cls.gather(records, stored.settings, subsampling)
        with explained("read", stored.folder.path):
            require_digests(described, *ensemble.digests)
            ensemble.origin = read_origin(described["origin"])
        ensemble.folder = stored.folder
        return ensemble

    def _write(
        self,
        folder: Folder,
        members: Sequence[Model | None],
        digests: tuple[str, str],
        n_records: int,
        by_shard: Sequence[Sequence[int]] | None,
    ) -> None:
        """Write some partitions of each shard, or all, and have these files count."""
        path, generation = str(folder.path.absolute()), folder.generation
        numbers = [number for number, member in enumerate(members) if member is not None]
        concerned: Sequence[Sequence[int] | None] = [None] * self._shards.number if by_shard is None else by_shard
        told = {
            shard: (path, generation, numbers, self.subsampling, own)
            for shard, own in enumerate(concerned)
            if own is None or own
        }
        stored = self._shards.tell("store_members", told)
        parts = {} if by_shard is None else dict(folder.parts)
        for own in stored.values():
            parts.update(own)
        folder.write(self, digests, n_records, parts, self.subsampling)

    def _partitions_with(self, ids: Sequence[RecordId]) -> list[list[int]]:
        found: list[list[int]] = self._shards.ask([Ask("partitions_with", (list(ids), self.subsampling))])[0]
        return found

    # -- reading ---------------------------------------------------------------------------------------------------

    def _find_ids(self) -> dict[RecordId, None]:
        return {}  # they stay in the shards

    def _count_records(self) -> int:
        return self._n_records

    @property
    def ids(self) -> list[RecordId]:
        """The ids of the records held, in order."""
        return sorted({item for member in self.learned for item in member.ids})

    @property
    def last_id(self) -> RecordId:
        """The largest id."""
        return max(member.last_id for member in self.learned)

    @property
    def string_ids(self) -> bool:
        """Whether the ids are texts."""
        return self._string_ids

    def holds(self, ids: Sequence[RecordId]) -> npt.NDArray[np.bool_]:
        """Tell of each id whether a record that is held has it."""
        if not ids:
            return np.zeros(0, np.bool_)
        held: npt.NDArray[np.bool_] = np.logical_or.reduce([member.holds(ids) for member in self.learned])
        return held

    def relearning(self) -> Callable[[], tuple[str, str]]:
        """Learn from scratch on the values now held, and return what gives the digests."""
        found = [None if member is None else member.relearning()() for member in self.members]
        return lambda: self._digest(found)

    def snapshot(self) -> Ensemble:
        """Refuse: records stay where they are."""
        raise NotOnAClusterError("an ensemble on a cluster cannot be copied or pickled: save it into a folder")

    def export(self) -> tuple[list[RecordId], Table]:
        """Refuse: records stay where they are."""
        raise NotOnAClusterError("the records of an ensemble on a cluster are not brought together: ask for some by id")

    # -- requests --------------------------------------------------------------------------------------------------

    def _revise(self, minus: Sequence[RecordId], ids: Sequence[RecordId], table: Table | None, dry_run: bool) -> Report:
        if self.folder is not None:
            self._leaving = self._partitions_with(minus)
            self._remember_homes(minus)
        try:
            return super()._revise(minus, ids, table, dry_run)
        finally:
            self._remember_homes([])
            without = [number for number, member in enumerate(self.members) if member is None]
            if without:
                self._shards.ask([Ask("drop_members", (without,))])

    def _remember_homes(self, ids: Sequence[RecordId]) -> None:
        """Have records that a failed request puts back lie where their files say that they are."""
        for member in self.learned:
            cast(SharedModel, member).records.remember_homes(ids)

    def _make_durable(self, revised: Sequence[Revised], minus: Sequence[RecordId], ids: Sequence[RecordId]) -> None:
        """Write the partitions that a request concerns, and have these files count."""
        folder = self.folder
        if folder is None:
            return
        coming = self._partitions_with(ids)
        concerned = [sorted({*left, *came}) for left, came in zip(self._leaving, coming, strict=True)]
        after = self._digest([each.digests for each in revised])
        n_records = self.n_records - len(minus) + len(ids)
        try:
            self._write(folder, [each.member for each in revised], after, n_records, concerned)
        except BaseException:
            folder.sweep()
            raise

    def _adopt(
        self, members: list[Model | None], minus: Sequence[RecordId], ids: Sequence[RecordId], after: tuple[str, str]
    ) -> None:
        """Take over what the folder holds; only then is it swept, for a sweep that fails must take nothing back."""
        try:
            super()._adopt(members, minus, ids, after)
        finally:
            if self.folder is not None:
                self.folder.sweep()

    def _learn_member(self, number: int, part: Part) -> Model:
        """Return a member that had no records before, learned from those that come, in the first shard."""
        settings = member_settings(self.settings, self.subsampling, number)
        nothing: tuple[Any, ...] = (number, settings, [], None)
        told = {**dict.fromkeys(range(self._shards.number), nothing), 0: (number, settings, part.ids, part.table)}
        self._shards.tell("start_member", told)
        return SharedModel.gather(settings, MemberShards(self._shards, number), self._string_ids, len(part.ids))

    def _exchange_ids(self, minus: Sequence[RecordId], ids: Sequence[RecordId]) -> None:
        """Leave the ids in the shards."""

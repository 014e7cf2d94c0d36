"""Ensembles where the records lie in shards: each member is a model of its own subsample, in shards of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.cluster.asking import Ask, Shards
from unlearnspn.cluster.fitting import Opened
from unlearnspn.cluster.model import SharedModel, require_supported
from unlearnspn.ensemble import Ensemble, Part, member_settings
from unlearnspn.errors import NotOnAClusterError
from unlearnspn.ids import RecordId
from unlearnspn.model import Model
from unlearnspn.spn.report import Report
from unlearnspn.subsampling import Subsampling
from unlearnspn.tables import Table


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

    def __init__(self, opened: Opened, subsampling: Subsampling, members: Sequence[Model | None]) -> None:
        self._shards, self._string_ids, self._n_records = opened.shards, opened.string_ids, opened.n_records
        super().__init__(opened.settings, subsampling, members)

    @classmethod
    def gather(cls, opened: Opened, subsampling: Subsampling) -> SharedEnsemble:
        """Learn from the records that shards have taken over."""
        require_supported(opened.settings)
        settings = [member_settings(opened.settings, subsampling, number) for number in range(subsampling.n_members)]
        counted = opened.shards.ask([Ask("divide", (settings, subsampling))])[0]
        members: list[Model | None] = []
        for number, (own, n_records) in enumerate(zip(settings, np.sum(counted, axis=0).tolist(), strict=True)):
            shards = MemberShards(opened.shards, number)
            members.append(SharedModel.gather(own, shards, opened.string_ids, n_records) if n_records else None)
        return cls(opened, subsampling, members)

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
        raise NotOnAClusterError("an ensemble on a cluster cannot be copied, pickled or saved")

    def export(self) -> tuple[list[RecordId], Table]:
        """Refuse: records stay where they are."""
        raise NotOnAClusterError("the records of an ensemble on a cluster are not brought together: ask for some by id")

    # -- requests --------------------------------------------------------------------------------------------------

    def _revise(self, minus: Sequence[RecordId], ids: Sequence[RecordId], table: Table | None, dry_run: bool) -> Report:
        try:
            return super()._revise(minus, ids, table, dry_run)
        finally:
            without = [number for number, member in enumerate(self.members) if member is None]
            if without:
                self._shards.ask([Ask("drop_members", (without,))])

    def _learn_member(self, number: int, part: Part) -> Model:
        """Return a member that had no records before, learned from those that come, in the first shard."""
        settings = member_settings(self.settings, self.subsampling, number)
        nothing: tuple[Any, ...] = (number, settings, [], None)
        told = {**dict.fromkeys(range(self._shards.number), nothing), 0: (number, settings, part.ids, part.table)}
        self._shards.tell("start_member", told)
        return SharedModel.gather(settings, MemberShards(self._shards, number), self._string_ids, len(part.ids))

    def _exchange_ids(self, minus: Sequence[RecordId], ids: Sequence[RecordId]) -> None:
        """Leave the ids in the shards."""

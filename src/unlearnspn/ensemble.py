"""The engine behind an ensemble: models of subsamples of the records, and requests that reach all they concern."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit import Circuit
from unlearnspn.circuit.mixing import mix
from unlearnspn.errors import LastRecordError
from unlearnspn.hashing import fingerprint
from unlearnspn.ids import RecordId, require_found
from unlearnspn.interrupts import Uninterrupted
from unlearnspn.leaves import check_support
from unlearnspn.leaves.categorical import UNSEEN
from unlearnspn.model import Facts, Model
from unlearnspn.portable_math import log
from unlearnspn.publishing import Publication
from unlearnspn.settings import Settings
from unlearnspn.spn.report import Report
from unlearnspn.subsampling import Subsampling
from unlearnspn.tables import Table
from unlearnspn.tables.origins import Origin

#: The digests of a member's released model and of everything it keeps; None for a member without records.
Digests = tuple[str, str] | None


class Ensemble:
    """Models, each of its own subsample; a pure function of settings, subsampling and records, as each of them is.

    A member that no record falls to is None. Threads may use it as they may use a model.
    """

    def __init__(self, settings: Settings, subsampling: Subsampling, members: Sequence[Model | None]) -> None:
        #: What all members have in common; each has a seed of its own.
        self.settings = settings
        self.subsampling = subsampling
        self.members = list(members)
        #: What the records' table was like, so that tables are given back alike.
        self.origin: Origin | None = None
        #: The type of the array in which classes are given back.
        self.label_dtype = ""
        self._ids = self._find_ids()
        digests = self._digest([_digests_of(member) for member in members])
        self._publication = Publication(Facts(self._count_records(), digests))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_publication": self._publication.facts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "_publication": Publication(state["_publication"])})

    @classmethod
    def learn(cls, settings: Settings, subsampling: Subsampling, ids: Sequence[RecordId], table: Table) -> Ensemble:
        """Learn from scratch."""
        parts = _divide(subsampling, [], ids, table)
        members = [
            part.learn(member_settings(settings, subsampling, number)) if part.ids else None
            for number, part in enumerate(parts)
        ]
        ensemble = cls(settings, subsampling, members)
        ensemble.origin = table.origin
        return ensemble

    def _find_ids(self) -> dict[RecordId, None]:
        return {item: None for member in self.learned for item in member.ids}

    def _count_records(self) -> int:
        return len(self._ids)

    def snapshot(self) -> Ensemble:
        """Return an ensemble of its own, which no request to this one changes."""
        members = [None if member is None else member.snapshot() for member in self.members]
        taken = copy(self)
        taken.members, taken._ids = members, self._ids.copy()
        return taken

    def learn_alike(self, ids: Sequence[RecordId], table: Table) -> Ensemble:
        """Learn from scratch, with the same settings."""
        return Ensemble.learn(self.settings, self.subsampling, ids, table)

    def relearn(self) -> Ensemble:
        """Learn from scratch on the records now held."""
        return self.learn_alike(*self.export())

    def relearning(self) -> Callable[[], tuple[str, str]]:
        """Return what learns from scratch on the records now held and gives the digests; requests may come before."""
        ids, table = self.export()
        return lambda: self.learn_alike(ids, table).digests

    def export(self) -> tuple[list[RecordId], Table]:
        """Return all records in the order of their ids."""
        ids = self.ids
        return ids, self.held(ids)

    def held(self, ids: Sequence[RecordId]) -> Table:
        """Return some records that are held, in this order, each as the first member has it that should hold it."""
        first = self.subsampling.holders(ids).argmax(axis=0)
        tables = []
        for number in np.unique(first).tolist():
            member = self.members[number]
            assert member is not None
            tables.append(member.held([ids[place] for place in np.flatnonzero(first == number).tolist()]))
        return Table.joined(tables).take(np.argsort(np.argsort(first, kind="stable"), kind="stable"))

    @property
    def learned(self) -> list[Model]:
        """The members that have records."""
        return [member for member in self.members if member is not None]

    @property
    def ids(self) -> list[RecordId]:
        """The ids of the records held, in order."""
        return sorted(self._ids)

    @property
    def last_id(self) -> RecordId:
        """The largest id."""
        return self.ids[-1]

    @property
    def n_records(self) -> int:
        """How many records are held."""
        return self._publication.facts.n_records

    @property
    def string_ids(self) -> bool:
        """Whether the ids are texts."""
        return isinstance(next(iter(self._ids)), str)

    @property
    def identifying(self) -> list[str]:
        """The columns in which nearly every record has a category of its own, in all members."""
        names = [set(member.identifying) for member in self.learned]
        return [name for name in self.settings.schema.names if all(name in each for each in names)]

    def holds(self, ids: Sequence[RecordId]) -> npt.NDArray[np.bool_]:
        """Tell of each id whether a record that is held has it."""
        return np.array([item in self._ids for item in ids], np.bool_)

    @property
    def circuit(self) -> Circuit:
        """The mixture of the members' circuits, each by its number of records; made when it is first asked for."""
        return self._publication.circuit(self._mix)

    def follow(self, before: Ensemble) -> None:
        """Take the place of another ensemble: where several threads have used that, the circuit is derived now."""
        self._publication.follow(before._publication, self._mix)

    def _mix(self) -> Circuit:
        sizes = [len(member.records) for member in self.learned]
        weights = [log(size / sum(sizes)) for size in sizes]
        return mix([member.circuit for member in self.learned], weights, UNSEEN, self.origin)

    def check_support(self, table: Table) -> None:
        """Raise unless the leaves can model the values of a table beside those of the records held."""
        for member in self.learned:
            check_support(self.settings.leaves, table, member.records.encoding)

    @property
    def digests(self) -> tuple[str, str]:
        """The digests of the released model, and everything kept."""
        known = self._publication.facts.digests
        assert known is not None
        return known

    def digest(self) -> str:
        """Digest the released model."""
        return self.digests[0]

    def state_digest(self) -> str:
        """Digest everything kept."""
        return self.digests[1]

    def _digest(self, members: Sequence[Digests]) -> tuple[str, str]:
        sampling = struct.pack("<Qd", self.subsampling.n_members, self.subsampling.share)
        released, kept = ([b"" if each is None else each[part].encode() for each in members] for part in (0, 1))
        return (
            fingerprint([b"unlearnspn ensemble 1", self.settings.released, *released]).hex(),
            fingerprint([b"unlearnspn ensemble state 1", self.settings.all, sampling, *kept]).hex(),
        )

    def _numbered(self) -> Iterator[tuple[int, Model]]:
        return ((number, member) for number, member in enumerate(self.members) if member is not None)

    # -- requests --------------------------------------------------------------------------------------------------

    def revise(
        self, minus: Sequence[RecordId], ids: Sequence[RecordId], table: Table | None, dry_run: bool = False
    ) -> Report:
        """Remove some records and add others, all or nothing; members that hold none of them are not touched."""
        return self._publication.take_turn(lambda: self._revise(minus, ids, table, dry_run))

    def _revise(self, minus: Sequence[RecordId], ids: Sequence[RecordId], table: Table | None, dry_run: bool) -> Report:
        require_found(minus, self.holds(minus).tolist())
        if self.n_records - len(minus) + len(ids) == 0:
            raise LastRecordError(
                "this would remove the last record, and there is no ensemble of no records: delete it instead"
            )
        started = time.perf_counter()
        before = self.digests
        parts = _divide(self.subsampling, minus, ids, table)
        with Uninterrupted() as uninterrupted:
            revised = self._revise_members(minus, ids, parts, dry_run, uninterrupted)
            after = self._digest([each.digests for each in revised])
            if not dry_run:
                self._adopt([each.member for each in revised], minus, ids, after)
        return _summary(
            revised,
            records_removed=len(minus),
            records_added=len(ids),
            seconds=time.perf_counter() - started,
            digest_before=before[0],
            digest_after=after[0],
            state_digest_before=before[1],
            state_digest_after=after[1],
            dry_run=dry_run,
        )

    def _revise_members(
        self,
        minus: Sequence[RecordId],
        ids: Sequence[RecordId],
        parts: Sequence[Part],
        dry_run: bool,
        uninterrupted: Uninterrupted,
    ) -> list[Revised]:
        """Carry a request out in all members; if one fails, those before are as they were."""
        revised: list[Revised] = []
        begun: list[tuple[Model, tuple[str, str], Part]] = []
        leaving = self.held(minus) if minus else None
        try:
            with uninterrupted.except_here():
                for number, (member, part) in enumerate(zip(self.members, parts, strict=True)):
                    if not part.minus and not part.ids:
                        revised.append(Revised(member, _digests_of(member)))
                    elif member is None:
                        fresh = self._learn_member(number, part)
                        revised.append(Revised(fresh, fresh.digests, learned=True))
                    elif len(member.records) - len(part.minus) + len(part.ids) == 0:
                        revised.append(Revised(None, None))
                    else:
                        begun.append((member, member.digests, part))
                        report = member.revise(*part, dry_run)
                        revised.append(Revised(member, (report.digest_after, report.state_digest_after), report))
            if not dry_run:
                self._make_durable(revised, minus, ids)
        except BaseException:
            # Removing what came and adding what went gives the very models from before: that is what they guarantee.
            for begun_member, before, part in begun:
                if begun_member.digests != before:
                    begun_member.revise(*part.opposite(minus, leaving))
            raise
        return revised

    def _make_durable(self, revised: Sequence[Revised], minus: Sequence[RecordId], ids: Sequence[RecordId]) -> None:
        """Store what members are now, where an ensemble is kept in files."""

    def _learn_member(self, number: int, part: Part) -> Model:
        """Return a member that had no records before, learned from those that come."""
        return part.learn(member_settings(self.settings, self.subsampling, number))

    def _adopt(
        self, members: list[Model | None], minus: Sequence[RecordId], ids: Sequence[RecordId], after: tuple[str, str]
    ) -> None:
        self.members = members
        self._exchange_ids(minus, ids)
        self._publication.publish(Facts(self.n_records - len(minus) + len(ids), after), self._mix)

    def _exchange_ids(self, minus: Sequence[RecordId], ids: Sequence[RecordId]) -> None:
        for item in minus:
            del self._ids[item]
        self._ids.update(dict.fromkeys(ids))


def member_settings(settings: Settings, subsampling: Subsampling, member: int) -> Settings:
    """Return the settings of a member."""
    return replace(settings, seed=subsampling.member_seed(member))


class Part(NamedTuple):
    """What a request asks of one member: the ids to remove, and those to add with their rows."""

    minus: list[RecordId]
    ids: list[RecordId]
    table: Table | None

    def learn(self, settings: Settings) -> Model:
        """Return a new member of the records to add."""
        assert self.table is not None
        # What the table was like is for the ensemble to know: members come about at different times.
        return Model.learn(settings, self.ids, replace(self.table, origin=None))

    def opposite(self, leaving: Sequence[RecordId], table: Table | None) -> Part:
        """Return what takes this back once the member has carried it out, given all records that leave."""
        places = {item: place for place, item in enumerate(leaving)}
        rows = np.array([places[item] for item in self.minus], np.int64)
        return Part(self.ids, self.minus, table.take(rows) if table is not None and rows.size else None)


def _divide(
    subsampling: Subsampling, minus: Sequence[RecordId], ids: Sequence[RecordId], table: Table | None
) -> list[Part]:
    """Return what a request asks of each member."""
    parts = []
    for leaving, coming in zip(subsampling.holders(minus), subsampling.holders(ids), strict=True):
        rows = np.flatnonzero(coming)
        rest = table.take(rows) if table is not None and rows.size else None
        parts.append(Part(list(compress(minus, leaving)), list(compress(ids, coming)), rest))
    return parts


class Revised(NamedTuple):
    """A member after a request, its digests, and what the request did in it."""

    member: Model | None
    digests: Digests
    report: Report | None = None
    #: It had no records before, and was learned from those that came.
    learned: bool = False


def _digests_of(member: Model | None) -> Digests:
    return None if member is None else member.digests


def _summary(revised: Sequence[Revised], **whole: Any) -> Report:
    """Add the reports of the members up; operations that changed are named after their members."""
    reports = {number: each.report for number, each in enumerate(revised) if each.report is not None}
    return Report(
        nodes_visited=sum(report.nodes_visited for report in reports.values()),
        subnetworks_learned=sum(report.subnetworks_learned for report in reports.values())
        + sum(each.learned for each in revised),
        rows_moved=sum(report.rows_moved for report in reports.values()),
        changed_operations=tuple(
            replace(change, address=f"{number}:{change.address}")
            for number, report in reports.items()
            for change in report.changed_operations
        ),
        recoded=bool(reports) and all(report.recoded for report in reports.values()),
        **whole,
    )

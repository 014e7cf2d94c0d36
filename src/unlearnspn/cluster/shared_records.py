"""The records as the coordinator has them: what is true of all, and the few that it must see.

Those few are the guests: the records that a request speaks of, for as long as it takes, and the seeds around which
clusters form, of which only codes are known. They have slots, as all records have on one machine; so the engine
revises statistics by them as it does there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self, TypeVar, cast

import numpy as np

from unlearnspn.binning import Search
from unlearnspn.cluster.asking import Ask, Question, Shards, added, ask_one, ask_together
from unlearnspn.cluster.coding import Survey, learn_number, search_column, survey
from unlearnspn.cluster.part_records import RawRecords, Tally, answer_in_part
from unlearnspn.cluster.selections import ByShard, Changed, Everyone, Selection
from unlearnspn.coding import CategoricalCoder, Coder, Encoding, Floats, NumericCoder
from unlearnspn.ids import RecordId, record_keys
from unlearnspn.records import Records, Staged, variable_key
from unlearnspn.schema import Schema
from unlearnspn.slices import Rows
from unlearnspn.tables import Category, Table
from unlearnspn.totals import Totals

T = TypeVar("T")
_NOBODY = np.zeros(0, np.int64)
#: Room for so many guests at first.
_ROOM = 256
_ANY_KEY = (1 << 64) - 1


class SharedRecords(Records):
    """What is true of all records together, and the guests by slot."""

    def __init__(self, schema: Schema, seed: int, n_bins: int, shards: Shards, string_ids: bool) -> None:
        super().__init__(schema, seed, n_bins)
        self.shards = shards
        self.n_records = 0
        if string_ids:
            self.ids = np.zeros(0, object)
        self._allocate(_ROOM)
        #: The slot of each guest, by its key, and where those records are that a request speaks of: shard and slot.
        self._guests: dict[int, int] = {}
        self._origins: dict[int, tuple[int, int]] = {}
        self._ends: Floats | None = None
        #: Shard and partition of records that may come back to where they were.
        self._former: dict[RecordId, tuple[int, int]] = {}

    @classmethod
    def gather(cls, schema: Schema, seed: int, n_bins: int, shards: Shards, string_ids: bool, n_records: int) -> Self:
        """Find out how all records are coded, and have the shards prepare these codes."""
        records, everyone = cls(schema, seed, n_bins, shards, string_ids), Everyone(n_records)
        records.n_records = n_records
        coders = records._learn_all(ask_one(shards, survey(schema, everyone)), everyone)
        shards.ask([Ask("recode", (coders, n_bins, everyone))])
        tallies: list[Tally] = shards.ask([Ask("tally", (everyone,))])[0]
        records.encoding = Encoding.of(coders)
        records.totals = records.totals._replace(level_counts=added([tally.level_counts for tally in tallies]))
        records.multiset = added([tally.multiset for tally in tallies])
        records.unusual = added([tally.unusual for tally in tallies]).tolist()
        records._ends = _span([tally.spans for tally in tallies])
        return records

    def _learn_all(self, found: Survey, selection: Selection) -> list[Coder]:
        """Learn how all columns are coded, those of numbers together."""
        self.totals, coders = found.totals, dict[int, Coder](found.coders)
        numeric = np.flatnonzero(self.is_numeric).tolist()
        for v, (coder, slack) in zip(numeric, self._ask_numbers(self.totals, self.n_bins, selection), strict=True):
            coders[v], self.totals.slack[v] = coder, slack
        return [coders[v] for v in range(len(self.is_numeric))]

    def _ask_numbers(self, totals: Totals, n_bins: int, selection: Selection) -> list[tuple[NumericCoder, int]]:
        """Ask how the numeric columns are coded, and for their slack, all together."""
        numeric = np.flatnonzero(self.is_numeric).tolist()
        questions = [learn_number(self.schema, n_bins, v, totals.moments(v), selection) for v in numeric]
        return ask_together(self.shards, questions)

    # -- what is true of all ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.n_records

    @property
    def rows(self) -> Any:
        """All records, as a selection."""
        return Everyone(self.n_records)

    def rows_after(self, minus: Rows, plus: Rows) -> Any:
        """Return all records after a change, as a selection."""
        return self.changed(Everyone(self.n_records), minus, plus)

    def changed(self, selection: Selection, minus: Rows, plus: Rows) -> Changed:
        """Return a selection after guests in some slots have left it, and others have come; the former were in it."""
        size = selection.size - minus.size + plus.size
        return Changed(selection, self.by_shard(minus), self.by_shard(plus), size)

    def by_shard(self, slots: Rows) -> ByShard:
        """Return where the records of some guests are."""
        found: dict[int, list[int]] = {}
        for slot in slots.tolist():
            if slot in self._origins:
                shard, row = self._origins[slot]
                found.setdefault(shard, []).append(row)
        return {shard: np.sort(np.array(rows, np.int64)) for shard, rows in found.items()}

    def spans(self) -> Floats:
        """Return the smallest and the largest number of each variable, [2, variable]; NaN if there is none."""
        if self._ends is None:
            self._ends = _span(self.shards.ask([Ask("spans")])[0])
        found = np.full((2, len(self.is_numeric)), np.nan)
        found[:, self.is_numeric] = self._ends
        return found

    def all_ids(self) -> list[RecordId]:
        """Return the ids of all records, in order."""
        return sorted(item for part in self.shards.ask([Ask("ids")])[0] for item in part)

    def last_id(self) -> RecordId:
        """Return the largest id."""
        last: RecordId = max(item for item in self.shards.ask([Ask("last_id")])[0] if item is not None)
        return last

    def holds(self, ids: Sequence[RecordId]) -> Any:
        """Tell of each id whether a record has it."""
        held = np.zeros(len(ids), np.bool_)
        if ids:
            for places, _, _ in self.shards.ask([Ask("find", (ids, False))])[0]:
                held[places] = True
        return held

    def table_of(self, ids: Sequence[RecordId]) -> Table:
        """Return some records that are held, in this order."""
        answers = self.shards.ask([Ask("find", (ids, True))])[0]
        order = np.argsort(np.concatenate([places for places, _, _ in answers]), kind="stable")
        values, levels = (np.concatenate([part[place] for _, _, part in answers]) for place in (1, 2))
        return self.table_from(values, levels, self.encoding).take(order)

    # -- guests ----------------------------------------------------------------------------------------------------

    def find(self, ids: Sequence[RecordId]) -> Rows:
        """Return the slot of each id, -1 for those that nobody has; their records become guests."""
        slots = np.full(len(ids), -1)
        if not ids:
            return slots
        for shard, (places, rows, raw) in enumerate(self.shards.ask([Ask("find", (ids, True))])[0]):
            if places.size:
                slots[places] = self._invite(raw)
                self._origins.update(
                    (slot, (shard, row)) for slot, row in zip(slots[places].tolist(), rows.tolist(), strict=True)
                )
        return slots

    def _invite(self, raw: RawRecords) -> Rows:
        """Have records as guests, which may be known as seeds already."""
        keys = record_keys(raw.ids)
        slots = np.array([self._slot_of(key) for key in keys.tolist()], np.int64)
        self._size_levels(self.encoding.most_categories)
        self.keys[slots], self.ids[slots], self.values[slots] = keys, raw.ids, raw.values
        self.levels[slots] = raw.levels
        self._write_codes(slots, self.encoding.coders)
        return slots

    def _slot_of(self, key: int) -> int:
        """Return the slot of a guest, a new one if there is none yet."""
        slot = self._guests.get(key)
        if slot is None:
            slot = self._guests[key] = int(self._reserve(1)[0])
        return slot

    def seat(self, key: int, features: Any) -> int:
        """Have a seed as a guest, of which only key and features are known; return its slot."""
        # Where a record is replaced, the one that comes is meant.
        slot = self._guests.get(_beside(key), -1)
        slot = self._slot_of(key) if slot < 0 else slot
        self.keys[slot], self.features[slot] = key, features
        return slot

    def make_room(self, number: int) -> bool:
        """Make room for more guests; tell whether the arrays are others now."""
        if len(self.free) >= number:
            return False
        self._allocate(max(2 * self.capacity, self.capacity + number))
        return True

    def send_away(self, seeds: set[int]) -> None:
        """Forget all guests but some seeds, and of these all but what seeds must have."""
        gone = [slot for slot in self._guests.values() if slot not in seeds]
        self._guests = {key & _ANY_KEY: slot for key, slot in self._guests.items() if slot in seeds}
        self._release(np.array(gone, np.int64))
        kept = np.array(sorted(seeds), np.int64)
        self.ids[kept] = "" if self.string_ids else 0
        self.values[kept], self.levels[kept], self.codes[kept] = 0.0, 0, 0
        self._origins = {}

    # -- requests --------------------------------------------------------------------------------------------------

    def stage(self, minus: Rows, ids: Sequence[RecordId], table: Table | None) -> Staged:
        """Have new records as guests, derive the coders for the records as they will be, and get the shards ready."""
        capacity, keys = self.capacity, record_keys(ids)
        self._refuse_equal_keys(ids, keys)
        leaving = set(minus.tolist())
        plus = _NOBODY
        if ids:
            plus = np.array([self._slot_beside(key, leaving) for key in keys.tolist()], np.int64)
            self.keys[plus], self.ids[plus] = keys, ids
        staged = self._staged(minus, plus, table, capacity)
        self._prepare(staged)
        return staged

    def _slot_beside(self, key: int, leaving: set[int]) -> int:
        """Return the slot of a guest that comes: one of its own, where a record of the same id leaves."""
        known = self._guests.get(key)
        if known is None or known not in leaving:
            return self._slot_of(key)
        slot = int(self._reserve(1)[0])
        self._guests[_beside(key)] = slot
        return slot

    def _refuse_equal_keys(self, ids: Sequence[RecordId], keys: Any) -> None:
        if self.string_ids and ids:
            held = [item for part in self.shards.ask([Ask("ids_with", (keys,))])[0] for item, _ in part]
            if len(np.unique(keys)) < len(keys) or not set(held) <= set(ids):
                self._refuse_collisions(lambda: np.zeros(2, np.uint64))

    def _prepare(self, staged: Staged) -> None:
        """Have shards take new records, and tell them how the values are coded then."""
        if not staged.plus.size and staged.encoding is self.encoding:
            return
        raw, parts = RawRecords(self.ids_of(staged.plus), self.values[staged.plus], self.levels[staged.plus]), {}
        homes = self._homes(staged)
        for shard in range(self.shards.number):
            places = [place for place, (own, _) in enumerate(homes) if own == shard]
            part = RawRecords([raw.ids[p] for p in places], raw.values[places], raw.levels[places])
            partition = [homes[place][1] for place in places]
            parts[shard] = (staged.encoding, part if places else None, np.array(partition, np.int64))
        try:
            prepared = self.shards.tell("prepare", parts)
        except Exception:  # nobody but those that failed would drop what came
            self.shards.tell("discard", dict.fromkeys(parts, (self.encoding,)))
            raise
        for shard, rows in prepared.items():
            slots = [slot for slot, (own, _) in zip(staged.plus.tolist(), homes, strict=True) if own == shard]
            self._origins.update((slot, (shard, row)) for slot, row in zip(slots, rows.tolist(), strict=True))

    def _homes(self, staged: Staged) -> list[tuple[int, int]]:
        """Return shard and partition of each record that comes: those of the record it replaces, or of the smallest."""
        if not staged.plus.size:
            return []
        homes = {**self._former, **self._find_homes(self.ids_of(staged.minus))}
        ids = self.ids_of(staged.plus)
        fresh = iter(self._roomiest(sum(item not in homes for item in ids)))
        return [homes[item] if item in homes else next(fresh) for item in ids]

    def remember_homes(self, ids: Sequence[RecordId]) -> None:
        """Have some records come back to where they are now, should they be taken out and put in again."""
        self._former = self._find_homes(ids)

    def _find_homes(self, ids: Sequence[RecordId]) -> dict[RecordId, tuple[int, int]]:
        """Return shard and partition of some records."""
        parts = self.shards.ask([Ask("homes", (ids,))])[0] if ids else []
        return {item: (shard, number) for shard, part in enumerate(parts) for item, number in part}

    def _roomiest(self, n_records: int) -> list[tuple[int, int]]:
        """Return a home for each of some records: the smallest partition, or several where one would grow too much."""
        if not n_records:
            return []
        counts = self.shards.ask([Ask("n_by_partition")])[0]
        smallest = sorted((n, shard, number) for shard, parts in enumerate(counts) for number, n in parts.items())
        n_homes = min(-(-n_records * len(smallest) // self.n_records), len(smallest))
        return [smallest[place % n_homes][1:] for place in range(n_records)]

    def _answer_after(self, search: Search[T], v: int, minus: Rows, plus: Rows) -> T:
        """Return what a search finds in a column as it will be, among shards and the guests that come."""
        own = self.values[plus, self.place[v]]
        own = own[~np.isnan(own)]
        selection = self.changed(Everyone(self.n_records), minus, _NOBODY)
        question: Question[T] = search_column(search, v, selection, lambda ask: answer_in_part(own, ask))
        return ask_one(self.shards, question)

    def commit(self, staged: Staged) -> None:
        """Take over what will be true of all records; the shards have it already."""
        self.multiset = staged.multiset
        self._shift_unusual(staged.plus, 1)
        self._shift_unusual(staged.minus, -1)
        self._shift_ends(staged)
        self.n_records += staged.plus.size - staged.minus.size
        self.encoding, self.totals = staged.encoding, staged.totals

    def _shift_ends(self, staged: Staged) -> None:
        """Keep the smallest and the largest numbers, unless a record that has one of them leaves."""
        if self._ends is None:
            return
        leaving, coming = self.values[staged.minus], self.values[staged.plus]
        if ((leaving <= self._ends[0]) | (leaving >= self._ends[1])).any():
            self._ends = None
        elif coming.size:
            self._ends = _span([self._ends, np.array([np.fmin.reduce(coming), np.fmax.reduce(coming)])])

    def discard(self, staged: Staged) -> None:
        """Forget a staged change; whoever sends guests away wipes the new ones."""

    def changes_by_shard(self, changes: Mapping[int, Mapping[int, int]]) -> dict[int, dict[int, tuple[Rows, Rows]]]:
        """Return for each shard which rows leave and which come, by handle; `changes` are by handle and guest."""
        found: dict[int, dict[int, tuple[Rows, Rows]]] = {}
        for handle, signs in changes.items():
            leaving, coming = (
                self.by_shard(np.array([slot for slot, sign in signs.items() if sign == wanted], np.int64))
                for wanted in (-1, 1)
            )
            for shard in {*leaving, *coming}:
                found.setdefault(shard, {})[handle] = leaving.get(shard, _NOBODY), coming.get(shard, _NOBODY)
        return found

    def coded_afresh(self, staged: Staged, n_bins: int, selection: Selection) -> tuple[list[Coder], Totals]:
        """Return coders as if all were learned from scratch after a staged change, and the totals that go with them."""
        totals, coders, counts = staged.totals.copied(), list(staged.encoding.coders), []
        for v, coder in enumerate(staged.encoding.coders):
            if isinstance(coder, CategoricalCoder):
                fresh = coders[v] = CategoricalCoder.learn(variable_key(v), coder.canonical_categories)
                before = coder.levels(cast("list[Category]", list(fresh.categories)))
                counts.append(totals.level_counts[staged.encoding.level_starts[v] + before.astype(np.int64)])
        numeric = np.flatnonzero(self.is_numeric).tolist()
        for v, (coder, slack) in zip(numeric, self._ask_numbers(totals, n_bins, selection), strict=True):
            coders[v], totals.slack[v] = coder, slack
        return coders, totals._replace(level_counts=np.concatenate([_NOBODY, *counts]))

    def take_numbers(self, other: SharedRecords) -> None:
        """Take over what is known of the numbers of the same records under other codes."""
        self.unusual, self._ends = other.unusual, other._ends

    def coded_by(self, coders: Sequence[Coder], totals: Totals, n_bins: int, multiset: Any, n_records: int) -> Self:
        """Return the records under other codes: with the same shards, and no guests."""
        fresh = type(self)(self.schema, self.seed, n_bins, self.shards, self.string_ids)
        fresh.encoding, fresh.totals, fresh.multiset, fresh.n_records = Encoding.of(coders), totals, multiset, n_records
        fresh.unusual, fresh._ends = [line.copy() for line in self.unusual], copy(self._ends)
        fresh._origins, fresh._former = self._origins, self._former
        return fresh


def _beside(key: int) -> int:
    """Return under what a guest is known that comes where a record of the same key leaves; no record has that key."""
    return key | _ANY_KEY + 1


def _span(parts: Sequence[Floats]) -> Floats:
    """Return the smallest and the largest numbers of several parts."""
    low, high = np.array(parts).transpose(1, 0, 2)
    return np.array([np.fmin.reduce(low), np.fmax.reduce(high)])

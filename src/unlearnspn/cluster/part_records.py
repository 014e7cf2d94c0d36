"""The records of one shard: some of all, coded as all together have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from unlearnspn.binning import Between, Cells, Heaviest, answer_from, third_values
from unlearnspn.cluster.reading import ReadPart, in_partition
from unlearnspn.coding import CategoricalCoder, Coder, Encoding, Floats
from unlearnspn.ids import RecordId, record_keys
from unlearnspn.multiset import Multiset
from unlearnspn.records import Records, variable_key
from unlearnspn.schema import Schema
from unlearnspn.slices import Counts, Rows
from unlearnspn.statistics.column_sums import add_values, count_parts
from unlearnspn.statistics.moments import N_PARTS
from unlearnspn.tables import Category, Table
from unlearnspn.totals import Totals

#: How many bins there are to be, as long as nobody has said.
_NOT_KNOWN = 0


class RawRecords(NamedTuple):
    """Records on their way to another place: ids, numbers, and categories by the levels of an encoding."""

    ids: list[RecordId]
    values: Floats
    levels: Any


class Tally(NamedTuple):
    """What is counted of a shard's records once they are coded."""

    level_counts: Counts
    multiset: Multiset
    unusual: Counts
    spans: Floats


class PartRecords(Records):
    """The records of a shard by slot; each knows the partition that it came from."""

    #: The partition of each slot.
    partition: Counts
    #: How the categories that came are coded, as long as nobody has said how all are.
    _own: dict[int, CategoricalCoder]

    @classmethod
    def read(
        cls,
        schema: Schema,
        seed: int,
        string_ids: bool,
        parts: Sequence[ReadPart],
    ) -> Self:
        """Take the values of some partitions; they are not coded yet."""
        records = cls(schema, seed, _NOT_KNOWN)
        if string_ids:
            records.ids = np.zeros(0, object)
        records._allocate(sum(part.table.n_rows for part in parts))
        records.free = []
        records.partition = np.zeros(records.capacity, np.int64)
        records._own = {
            v: CategoricalCoder.learn(variable_key(v), ()) for v in np.flatnonzero(~records.is_numeric).tolist()
        }
        start = 0
        for number, ids, table in parts:
            rows = np.arange(start, start + table.n_rows)
            with in_partition(number):
                records._take_partition(rows, number, ids or [], table)
            start += table.n_rows
        records.occupy(records.rows)
        return records

    def _take_partition(self, rows: Rows, number: int, ids: list[RecordId], table: Table) -> None:
        if not ids:
            return
        self.partition[rows] = number
        self.keys[rows], self.ids[rows], self.live[rows] = record_keys(ids), ids, True
        for v, column in enumerate(table.columns):
            place = int(self.place[v])
            if self.is_numeric[v]:
                self.values[rows, place] = column.numbers()
            else:
                self._own[v] = self._write_levels(self._own[v], place, rows, column)

    def picked(self, rows: Rows, seed: int) -> Self:
        """Return records of their own, those of some slots; neither are coded yet."""
        picked = type(self)(self.schema, seed, _NOT_KNOWN)
        for name in ("live", "keys", "ids", "values", "levels", "codes", "features", "partition"):
            setattr(picked, name, getattr(self, name)[rows])
        picked._own = self._own
        picked.index.add(picked.keys, picked.rows)
        return picked

    # -- coding ----------------------------------------------------------------------------------------------------

    def categories(self, rows: Rows) -> list[list[Category]]:
        """Return the categories that some records have, by variable; none of numeric ones."""
        found: list[list[Category]] = []
        for v in range(len(self.is_numeric)):
            occurring = [] if self.is_numeric[v] else np.unique(self.levels[rows, self.place[v]]).tolist()
            coder = None if self.is_numeric[v] else self._coder(v)
            found.append([coder.categories[level] for level in occurring if level >= 0] if coder else [])
        return found

    def _coder(self, v: int) -> CategoricalCoder:
        return self.encoding.categorical(v) if hasattr(self, "encoding") else self._own[v]

    def number_totals(self, rows: Rows) -> Totals:
        """Return the totals of the numbers of some records, without levels."""
        bits, numeric = self.values.view(np.int64), np.flatnonzero(self.is_numeric).tolist()
        parts = np.zeros((len(self.is_numeric), N_PARTS), np.int64)
        for v in numeric:
            count_parts(bits, rows, int(self.place[v]), parts[v], 1)
        totals = Totals.of(parts, self.is_numeric, 0)
        for v in numeric:
            add_values(totals.sums, int(totals.starts[v]), bits, rows, int(self.place[v]), totals.window(v), 1)
        return totals

    def answer_column(self, v: int, ask: Cells | Heaviest | Between | Counted, rows: Rows) -> Any:
        """Answer what the coding of a numeric column asks, from some records."""
        values = self.values[rows, self.place[v]]
        return answer_in_part(values[~np.isnan(values)], ask)

    def _renumber(self, coders: Sequence[Coder], rows: Rows) -> None:
        """Give categories the levels that other coders have for them."""
        before, most = (
            self.levels,
            max((len(c.categories) for c in coders if isinstance(c, CategoricalCoder)), default=0),
        )
        self._size_levels(most)
        levels = np.zeros(before.shape, self.levels.dtype)
        for v in np.flatnonzero(~self.is_numeric).tolist():
            coder, own, place = coders[v], self._coder(v), int(self.place[v])
            assert isinstance(coder, CategoricalCoder)
            known = [-1 if each is None else int(coder.levels([each], -1)[0]) for each in own.categories]
            levels[rows, place] = np.array([*known, -1], levels.dtype)[before[rows, place]]
        self.levels = levels

    def tally(self, rows: Rows) -> Tally:
        """Count what is to be known of some records, once they are coded."""
        starts = self.encoding.level_starts
        counts = np.zeros(starts[-1], np.int64)
        for v in np.flatnonzero(~self.is_numeric).tolist():
            levels = self.levels[rows, self.place[v]]
            counts[starts[v] : starts[v + 1]] = np.bincount(levels[levels >= 0], minlength=starts[v + 1] - starts[v])
        unusual = self._count_unusual(self.values[rows])
        return Tally(counts, self._digest(rows, self.encoding), unusual, self.spans_of(rows))

    def spans_of(self, rows: Rows) -> Floats:
        """Return the smallest and the largest number of each column among some records; NaN if there is none."""
        values = self.values[rows]
        return np.array([ends.reduce(values, axis=0, initial=np.nan) for ends in (np.fmin, np.fmax)])

    def recoded_by(self, coders: Sequence[Coder], n_bins: int, plus: Rows) -> PartRecords:
        """Return the same records, and those in reserved slots, under other codes; they share all else with these."""
        recoded, rows = object.__new__(type(self)), np.concatenate([self.rows, plus])
        vars(recoded).update(vars(self))
        recoded.codes, recoded.features = np.zeros_like(self.codes), np.zeros_like(self.features)
        recoded.n_bins = n_bins
        recoded._renumber(coders, rows)
        recoded.encoding = Encoding.of(coders)
        recoded._write_codes(rows, coders)
        return recoded

    def take_codes(self, recoded: PartRecords) -> None:
        """Take the codes of recoded records over."""
        self.codes, self.features, self.levels = recoded.codes, recoded.features, recoded.levels
        self.encoding, self.n_bins = recoded.encoding, recoded.n_bins
        self._own = {}  # which would remember categories that nobody has any more

    # -- requests --------------------------------------------------------------------------------------------------

    def raw(self, rows: Rows) -> RawRecords:
        """Return the records of some slots."""
        return RawRecords(self.ids_of(rows), self.values[rows], self.levels[rows])

    def reserve(self, raw: RawRecords, partitions: Counts, encoding: Encoding) -> Rows:
        """Write records of some partitions into free slots; nobody sees them before they are occupied."""
        rows = self._reserve(len(raw.ids))
        try:
            self._take_raw(rows, raw, partitions, encoding)
        except BaseException:
            self.give_back(rows)
            raise
        return rows

    def _take_raw(self, rows: Rows, raw: RawRecords, partitions: Counts, encoding: Encoding) -> None:
        if len(self.partition) < self.capacity:
            self.partition = np.concatenate([self.partition, np.zeros(self.capacity - len(self.partition), np.int64)])
        self._size_levels(encoding.most_categories)
        self.keys[rows], self.ids[rows], self.partition[rows] = record_keys(raw.ids), raw.ids, partitions
        self.values[rows], self.levels[rows] = raw.values, raw.levels
        self._write_codes(rows, encoding.coders)

    def occupy(self, rows: Rows) -> None:
        """Have everybody see the records of reserved slots."""
        self._occupy(rows)

    def wipe(self, rows: Rows) -> None:
        """Take records out, and overwrite all that is known of them."""
        if rows.size:
            self.index.discard(self.keys, rows)
            self.give_back(rows)

    def give_back(self, rows: Rows) -> None:
        """Free reserved slots."""
        if rows.size:
            self.partition[rows] = 0
            self._release(rows)


class Counted(NamedTuple):
    """Asks how many have each of some values."""

    values: list[float]


def answer_in_part(values: Floats, ask: Cells | Heaviest | Between | Counted) -> Any:
    """Answer for a part of a column, so that answers of parts can be put together, as `coding` does."""
    if isinstance(ask, Counted):
        return np.array([np.count_nonzero(values == value) for value in ask.values], np.int64)
    if isinstance(ask, Heaviest):
        values = values if ask.without is None else values[values != ask.without]
        return third_values(values), values.size
    return answer_from(values, ask)

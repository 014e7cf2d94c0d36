"""The records: raw values, their codes, and who they belong to.

Each record occupies a slot. A request stages its new records in free slots, which no node refers to yet, and then
either commits (the old slots are wiped) or discards (the new ones are): until the commit nothing that exists has
changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from unlearnspn.binning import Search, answered, are_between
from unlearnspn.coding import CategoricalCoder, Coder, Encoding, Floats, Levels, NumericCoder
from unlearnspn.extremes import Extremes
from unlearnspn.hashing import derive_key
from unlearnspn.identifying import identifies
from unlearnspn.ids import RecordId, record_keys
from unlearnspn.multiset import Multiset, digest_records, no_records
from unlearnspn.schema import Kind, Schema
from unlearnspn.slots import Slots
from unlearnspn.statistics.column_sums import Rows, add_values, count_parts
from unlearnspn.statistics.column_totals import shift_totals
from unlearnspn.statistics.moments import N_PARTS
from unlearnspn.tables import Category, Column, Family, Table
from unlearnspn.tables.times import DAY
from unlearnspn.threads import n_cores
from unlearnspn.totals import Totals, relaid

T = TypeVar("T")

_NOBODY = np.zeros(0, np.int64)
#: With so many rows it pays to look at several columns at the same time.
_MANY = 10_000


class Staged(NamedTuple):
    """New records in their slots, and the encoding that holds once the old ones are gone."""

    minus: Rows
    plus: Rows
    encoding: Encoding
    totals: Totals
    multiset: Multiset
    #: How many slots there were before.
    capacity: int


class Records(Slots):
    """All records of a model, by slot, how they are coded, and what is true of all of them together."""

    def __init__(self, schema: Schema, seed: int, n_bins: int) -> None:
        self.is_numeric = np.array([v.kind is Kind.NUMERIC for v in schema.variables], np.bool_)
        n_numeric = int(self.is_numeric.sum())
        super().__init__(len(schema.variables), n_numeric)
        self.schema = schema
        self.seed = seed
        self.n_bins = n_bins
        #: Each variable's column in `values` or in `levels`.
        self.place = np.where(self.is_numeric, np.cumsum(self.is_numeric) - 1, np.cumsum(~self.is_numeric) - 1).astype(
            np.int64
        )
        self._dates = [int(self.place[v]) for v, one in enumerate(schema.variables) if one.family is Family.DATE]
        self.encoding: Encoding
        self.totals: Totals
        self.multiset = no_records()
        #: [3, numeric column]: how many records have a number below 0, one with a fraction, and a date with a time.
        self.unusual: list[list[int]]
        self._extremes = Extremes(n_numeric)

    @classmethod
    def learn(
        cls, schema: Schema, seed: int, n_bins: int, ids: Sequence[RecordId], table: Table, digested: bool = True
    ) -> Records:
        """Code a whole table, and digest it if there are to be digests."""
        records = cls(schema, seed, n_bins)
        records._fill(ids, table)
        if digested:
            records.multiset = records._digest(records.rows, records.encoding)
        return records

    @classmethod
    def restore(
        cls,
        schema: Schema,
        seed: int,
        n_bins: int,
        slots: Mapping[str, npt.NDArray[Any]],
        categories: Sequence[Sequence[Category | None]],
        multiset: Multiset,
    ) -> Records:
        """Return records whose ids, values and levels are known by slot, and their digest; all else follows from these.

        `categories` are those of each variable by code, None for codes that are free, and none of numeric variables.
        """
        records = cls(schema, seed, n_bins)
        for name in ("live", "ids", "values", "levels"):
            setattr(records, name, slots[name])
        records._size_levels(max(map(len, categories), default=0))
        n_slots, n_variables = len(records.live), len(schema.variables)
        records.keys = np.zeros(n_slots, np.uint64)
        records.codes = np.zeros((n_slots, n_variables), np.uint8)
        records.features = np.zeros((n_slots, n_variables), np.int16)
        rows = records.rows
        if (records.levels[rows] < -1).any():
            raise ValueError("a record has a category without a code")
        records.free = np.flatnonzero(~records.live)[::-1].tolist()
        records.keys[rows] = record_keys(records.ids_of(rows))
        records._refuse_collisions(lambda: records.keys[rows])
        records._derive(rows, categories)
        records.multiset = multiset
        return records

    def _derive(self, rows: Rows, categories: Sequence[Sequence[Category | None]]) -> None:
        """Derive from values and levels what is kept beside them."""
        parts, bits = np.zeros((len(self.is_numeric), N_PARTS), np.int64), self.values.view(np.int64)
        _for_each(
            lambda v: count_parts(bits, rows, int(self.place[v]), parts[v], 1),
            np.flatnonzero(self.is_numeric).tolist(),
            rows.size > _MANY,
        )
        coders: dict[int, Coder] = {}
        for v in np.flatnonzero(~self.is_numeric).tolist():
            coders[v] = CategoricalCoder.by_code(variable_key(v), categories[v])
        self._total(rows, parts, coders)
        self._complete(rows, [coders[v] for v in range(len(coders))])

    def copied(self) -> Self:
        """Return records that no change to these reaches."""
        copied = super().copied()
        copied.totals, copied._extremes = self.totals.copied(), self._extremes.copied()
        copied.unusual = [line.copy() for line in self.unusual]
        return copied

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "totals": self.totals.without_slack()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._require_writable(("is_numeric", "place"))
        self.totals = Totals(*[np.require(array, requirements="W") for array in self.totals])

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def identifying(self) -> list[str]:
        """The columns in which nearly every record has a category of its own."""
        counts = np.split(self.totals.level_counts, self.encoding.level_starts[1:-1])
        return [v.name for v, each in zip(self.schema.variables, counts, strict=True) if identifies(each)]

    def has_unusual(self) -> npt.NDArray[np.bool_]:
        """Tell which variables have a number below 0, one with a fraction, a date with a time, [3, variable]."""
        found = np.zeros((3, len(self.is_numeric)), np.bool_)
        found[:, self.is_numeric] = np.array(self.unusual) > 0
        return found

    def spans(self) -> Floats:
        """Return the smallest and the largest number of each variable, [2, variable]; NaN if there is none."""
        found = np.full((2, len(self.is_numeric)), np.nan)
        found[:, self.is_numeric] = self._extremes.among(self.values, self.live)
        return found

    def export(self, rows: Rows, encoding: Encoding) -> Table:
        """Return some rows as if they had been read from a table."""
        return self.table_from(self.values[rows], self.levels[rows], encoding)

    def table_from(self, values: Floats, levels: Levels, encoding: Encoding) -> Table:
        """Return values and levels as if they had been read from a table."""
        columns = []
        for v, variable in enumerate(self.schema.variables):
            if self.is_numeric[v]:
                columns.append(Column(variable.name, variable.family, values[:, self.place[v]]))
            else:
                by_code = np.array([*encoding.categorical(v).categories, None], object)
                columns.append(Column(variable.name, Family.MIXED, by_code[levels[:, self.place[v]]]))
        return Table(columns, len(values), named=True)

    # -- changing --------------------------------------------------------------------------------------------------

    def stage(self, minus: Rows, ids: Sequence[RecordId], table: Table | None) -> Staged:
        """Write new records into free slots and derive the coders for the records as they will be."""
        capacity = self.capacity
        plus = self._reserve(len(ids)) if ids else _NOBODY
        try:
            if table is not None:
                self.keys[plus] = record_keys(ids)
                self.ids[plus] = ids
                self._refuse_collisions(lambda: self.keys[self.rows_after(minus, plus)])
            return self._staged(minus, plus, table, capacity)
        except BaseException:
            self._withdraw(plus, capacity)
            raise

    def _staged(self, minus: Rows, plus: Rows, table: Table | None, capacity: int) -> Staged:
        """Write the values of new records into their slots, and derive what will be true of all."""
        encoding, totals = self._revise_encoding(minus, plus, table)
        if table is not None:
            self._write_codes(plus, encoding.coders)
        multiset = self.multiset - self._digest(minus, self.encoding)
        if plus.size:
            multiset += self._digest(plus, encoding)
        return Staged(minus, plus, encoding, totals, multiset, capacity)

    def recoded(self, staged: Staged) -> Records:
        """Return these records with the codes of a staged change's encoding; they share everything else."""
        recoded = copy(self)
        recoded.codes, recoded.features = self.codes.copy(), self.features.copy()
        recoded.totals = staged.totals
        pairs = zip(self.encoding.coders, staged.encoding.coders, strict=True)
        changed = [v for v, (old, new) in enumerate(pairs) if not new.codes_like(old)]  # type: ignore[arg-type]
        recoded._write_codes(self.rows_after(staged.minus, staged.plus), staged.encoding.coders, changed)
        return recoded

    def adopt_codes(self, recoded: Records) -> None:
        """Take the codes of recoded records over."""
        self.codes, self.features = recoded.codes, recoded.features

    def commit(self, staged: Staged) -> None:
        """Make a staged change real and wipe what it removes."""
        self.multiset = staged.multiset
        self._shift_unusual(staged.plus, 1)
        self._shift_unusual(staged.minus, -1)
        self._extremes.shift(self.values, staged.minus, staged.plus)
        self.index.discard(self.keys, staged.minus)
        self._occupy(staged.plus)
        self._release(staged.minus)
        self.encoding, self.totals = staged.encoding, staged.totals

    def discard(self, staged: Staged) -> None:
        """Forget a staged change."""
        self._withdraw(staged.plus, staged.capacity)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _count_unusual(self, values: Floats) -> npt.NDArray[np.int64]:
        """Count in each column the numbers below 0, those with a fraction, and the dates with a time."""
        counts = np.zeros((3, values.shape[1]), np.int64)
        # What is missing counts nowhere: NaN is neither smaller nor larger.
        (values < 0.0).sum(axis=0, out=counts[0])
        (values > np.floor(values)).sum(axis=0, out=counts[1])
        for place in self._dates:
            counts[2, place] = np.count_nonzero(np.mod(values[:, place], DAY) > 0.0)
        return counts

    def _shift_unusual(self, rows: Rows, sign: int) -> None:
        """Count the numbers of some records in, or out."""
        if rows.size > 1:
            counts = self._count_unusual(self.values[rows]).tolist()
            for line, more in zip(self.unusual, counts, strict=True):
                line[:] = [before + sign * n for before, n in zip(line, more, strict=True)]
        elif rows.size == 1:
            # The numbers of one record are sooner looked at one by one.
            negative, fraction, time = self.unusual
            for place, value in enumerate(self.values[int(rows[0])].tolist()):
                if value < 0.0:
                    negative[place] += sign
                if value % 1.0 > 0.0:
                    fraction[place] += sign
            for place in self._dates:
                time[place] += sign * int(self.values[int(rows[0]), place] % DAY > 0.0)

    def _withdraw(self, rows: Rows, capacity: int) -> None:
        """Free reserved slots, and give back the room that was made for them."""
        self._release(rows)
        self._size_levels(self.encoding.most_categories)
        if capacity < self.capacity:
            self.free = [row for row in self.free if row < capacity]
            self._allocate(capacity)

    def _fill(self, ids: Sequence[RecordId], table: Table) -> None:
        if isinstance(ids[0], str):
            self.ids = np.zeros(0, object)
        self._allocate(len(ids))
        self.free = []
        rows = np.arange(len(ids))
        self.keys[:] = record_keys(ids)
        self.ids[:] = ids
        self._refuse_collisions(lambda: self.keys)
        self._complete(rows, self._learn_coders(rows, table))

    def _complete(self, rows: Rows, coders: list[Coder]) -> None:
        """Take coders over, and derive what follows from them."""
        self.encoding = Encoding.of(coders)
        for v in np.flatnonzero(~self.is_numeric).tolist():
            start, end = self.encoding.level_starts[v : v + 2]
            levels = self.levels[rows, self.place[v]]
            self.totals.level_counts[start:end] = np.bincount(levels[levels >= 0], minlength=end - start)
        self._write_codes(rows, coders)
        self._occupy(rows)
        self.unusual = self._count_unusual(self.values).tolist()  # slots that are free hold zeros

    def _learn_coders(self, rows: Rows, table: Table) -> list[Coder]:
        """Write the values of a whole table, total them, and learn how to code them."""
        coders: dict[int, Coder] = {}
        parts = np.zeros((len(table.columns), N_PARTS), np.int64)
        bits = self.values.view(np.int64)
        for v, column in enumerate(table.columns):
            place = int(self.place[v])
            if self.is_numeric[v]:
                self.values[rows, place] = column.numbers()
                count_parts(bits, rows, place, parts[v], 1)
            else:
                empty = CategoricalCoder.learn(variable_key(v), ())
                coders[v] = self._write_levels(empty, place, rows, column)
        self._total(rows, parts, coders)
        return [coders[v] for v in range(len(coders))]

    def _total(self, rows: Rows, parts: npt.NDArray[np.int64], coders: dict[int, Coder]) -> None:
        """Total the numbers, and learn how to code them."""
        n_levels = sum(len(coder.categories) for coder in coders.values() if isinstance(coder, CategoricalCoder))
        self.totals = totals = Totals.of(parts, self.is_numeric, n_levels)
        bits = self.values.view(np.int64)

        def total(v: int) -> None:
            place = int(self.place[v])
            add_values(totals.sums, int(totals.starts[v]), bits, rows, place, totals.window(v), 1)
            values = self.values[rows, place]
            key, moments = variable_key(v), totals.moments(v)
            unit = DAY if self.schema.variables[v].family is Family.DATE else 1.0
            coders[v], totals.slack[v] = NumericCoder.learn(key, values, self.n_bins, moments, unit)

        _for_each(total, np.flatnonzero(self.is_numeric).tolist(), rows.size > _MANY)

    def _revise_encoding(self, minus: Rows, plus: Rows, table: Table | None) -> tuple[Encoding, Totals]:
        """Revise the totals, and the coders of those columns that they may change."""
        encoding, before = self.encoding, self.totals
        if table is not None:
            encoding, before = self._write_values(plus, table)
        totals, bits = before.copied(), self.values.view(np.int64)
        columns = encoding.columns(self.is_numeric, self.place)
        found = np.zeros(len(columns), np.uint8)
        are_sure = shift_totals(columns, bits, self.levels, minus, plus, totals, found)
        regridded = self._find_regridded(encoding, minus, plus)
        if are_sure and not regridded:
            return encoding, totals
        totals = relaid(totals, before, found, bits, self.place, minus, plus)
        coders = list(encoding.coders)
        for v in np.flatnonzero(found).tolist():
            coders[v] = self._revise_coder(coders[v], v, encoding, totals, minus, plus)
        for v in regridded:
            coder = cast(NumericCoder, coders[v])
            if coder is encoding.coders[v]:  # one that was learned again knows the grid
                coders[v] = coder.with_grid(not coder.on_grid)
        return _with_coders(encoding, totals, coders)

    def _find_regridded(self, encoding: Encoding, minus: Rows, plus: Rows) -> list[int]:
        """Return the columns with a usual value whose grid a change takes away, or gives back."""
        variables, units, on_grid = encoding.usual
        if variables.size == 0:
            return []
        places = self.place[variables]
        leaving, coming = (are_between(self.values[np.ix_(rows, places)], units).sum(axis=0) for rows in (minus, plus))
        _, fraction, time = np.array(self.unusual)
        n_between = np.where(units == DAY, time[places], fraction[places]) - leaving + coming
        found: list[int] = variables[on_grid != (n_between == 0)].tolist()
        return found

    def _revise_coder(self, coder: Coder, v: int, encoding: Encoding, totals: Totals, minus: Rows, plus: Rows) -> Coder:
        """Return a column's coder for the records as they will be; the same one if it needs no change."""
        if isinstance(coder, CategoricalCoder):
            start, end = encoding.level_starts[v : v + 2]
            unused = np.flatnonzero(totals.level_counts[start:end] == 0).tolist()
            return coder.drop([code for code in unused if coder.categories[code] is not None])

        moments = totals.moments(v)
        if coder.holds(moments, int(totals.slack[v])):
            return coder
        search = NumericCoder.search(coder.key, coder.n_bins, moments, coder.unit)
        revised, totals.slack[v] = self._answer_after(search, v, minus, plus)
        return coder if revised.codes_like(coder) else revised

    def _answer_after(self, search: Search[T], v: int, minus: Rows, plus: Rows) -> T:
        """Return what a search finds in a column as it will be."""
        return answered(search, self.values[self.rows_after(minus, plus), self.place[v]])

    def _write_values(self, rows: Rows, table: Table) -> tuple[Encoding, Totals]:
        """Write a table's values, with room for categories that are new."""
        coders = list(self.encoding.coders)
        for v, column in enumerate(table.columns):
            coder, place = coders[v], int(self.place[v])
            if isinstance(coder, CategoricalCoder):
                coders[v] = self._write_levels(coder, place, rows, column)
            else:
                self.values[rows, place] = column.numbers()
        return _with_coders(self.encoding, self.totals, coders)

    def _write_levels(self, coder: CategoricalCoder, place: int, rows: Rows, column: Column) -> CategoricalCoder:
        """Write a column's categories, extending the coder by those it does not know."""
        factor = column.factor()
        coder = coder.extend(factor.categories)
        self._widen_levels(len(coder.categories))
        self.levels[rows, place] = np.append(coder.levels(factor.categories), np.int32(-1))[factor.places]
        return coder

    def _write_codes(self, rows: Rows, coders: Sequence[Coder], variables: Sequence[int] | None = None) -> None:
        def write(v: int) -> None:
            coder = coders[v]
            if isinstance(coder, NumericCoder):
                coder.write_codes(self.values, int(self.place[v]), rows, self.codes, self.features, v)
            else:
                codes = coder.codes(self.levels[rows, self.place[v]])
                self.codes[rows, v] = codes
                self.features[rows, v] = codes

        _for_each(write, range(len(coders)) if variables is None else variables, rows.size > _MANY)

    def _digest(self, rows: Rows, encoding: Encoding) -> Multiset:
        """Digest some records, for the digest of all."""
        columns, bits = encoding.columns(self.is_numeric, self.place), self.values.view(np.int64)

        def digest(some: Rows) -> Multiset:
            return digest_records(columns, self.keys, bits, self.levels, encoding.level_digests, some)

        if rows.size <= _MANY:
            return digest(rows)
        with ThreadPoolExecutor(n_cores()) as pool:
            return sum(pool.map(digest, np.array_split(rows, n_cores())), no_records())


def _for_each(act: Callable[[int], None], variables: Sequence[int], parallel: bool) -> None:
    """Do something with each variable, several at a time if they are long: compiled code needs no lock of Python's."""
    if not parallel or len(variables) < 2:
        for v in variables:
            act(v)
        return
    # No more threads than cores: what each of them takes for a while, allocators keep.
    with ThreadPoolExecutor(n_cores()) as pool:
        list(pool.map(act, variables))


def variable_key(variable: int) -> int:
    """Return the key of a variable, by its place."""
    return derive_key(0, "variable", variable.to_bytes(4, "little"))


def _with_coders(encoding: Encoding, totals: Totals, coders: Sequence[Coder]) -> tuple[Encoding, Totals]:
    """Exchange coders; counts of levels go with their categories, which keep their codes."""
    if all(new is old for new, old in zip(coders, encoding.coders, strict=True)):
        return encoding, totals
    fresh = Encoding.of(coders)
    if np.array_equal(fresh.level_starts, encoding.level_starts):
        return fresh, totals
    counts = np.zeros(fresh.level_starts[-1], np.int64)
    for v in range(len(coders)):
        old, start = totals.level_counts[encoding.level_starts[v] : encoding.level_starts[v + 1]], fresh.level_starts[v]
        counts[start : start + old.size] = old
    return fresh, totals._replace(level_counts=counts)

"""Rare categories, left out of a model: a value that too few records have counts as missing.

The model learns from the table without such values. A request that makes a category common enough, or too rare, changes
what the model sees of other records, too: these are corrected together with the request. So the model is what a fresh
fit gives, as after every correction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from unlearnspn.ids import RecordId
from unlearnspn.records import Records
from unlearnspn.slices import Rows
from unlearnspn.tables import Category, Column, Family, Table, token
from unlearnspn.tables.holders import as_objects

_DIGEST_BYTES = blake2b.MAX_DIGEST_SIZE
_MODULUS = 1 << (8 * _DIGEST_BYTES)


class HiddenCell(NamedTuple):
    """A value that is left out."""

    variable: int
    record: RecordId
    category: Category

    def hashed(self) -> int:
        """Return what the cell adds to the digest of all that are left out."""
        written = token(self.category)
        name = f"{self.variable} {self.record!r} ".encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(name + written).digest(), "little")


class HiddenCells:
    """The values that are left out, by variable and record, and by category."""

    def __init__(self, cells: Iterable[HiddenCell] = ()) -> None:
        self._by_record: dict[int, dict[RecordId, Category]] = {}
        self._by_category: dict[tuple[int, bytes], dict[RecordId, None]] = {}
        self._total = 0
        self.change((), cells)

    def __iter__(self) -> Any:
        """Return the cells in an order that tells nothing of how they came."""
        for variable in sorted(self._by_record):
            for record, category in sorted(self._by_record[variable].items()):
                yield HiddenCell(variable, record, category)

    def __len__(self) -> int:
        return sum(map(len, self._by_record.values()))

    def get(self, variable: int, record: RecordId) -> Category | None:
        """Return the value of a record that is left out, if there is one."""
        return self._by_record.get(variable, {}).get(record)

    def records(self, variable: int, written: bytes) -> list[RecordId]:
        """Return the records whose category, given by its token, is left out."""
        return list(self._by_category.get((variable, written), ()))

    def digest_after(self, drop: Iterable[HiddenCell], add: Iterable[HiddenCell]) -> bytes:
        """Digest what will be left out after a change."""
        total = self._total - sum(cell.hashed() for cell in drop) + sum(cell.hashed() for cell in add)
        return (total % _MODULUS).to_bytes(_DIGEST_BYTES, "little")

    def change(self, drop: Iterable[HiddenCell], add: Iterable[HiddenCell]) -> None:
        """Forget some cells, and keep others."""
        for cell in drop:
            del self._by_record[cell.variable][cell.record]
            same = self._by_category[cell.variable, token(cell.category)]
            del same[cell.record]
            if not same:
                del self._by_category[cell.variable, token(cell.category)]
            self._total = (self._total - cell.hashed()) % _MODULUS
        for cell in add:
            self._by_record.setdefault(cell.variable, {})[cell.record] = cell.category
            self._by_category.setdefault((cell.variable, token(cell.category)), {})[cell.record] = None
            self._total = (self._total + cell.hashed()) % _MODULUS

    def put_back(self, table: Table, ids: Sequence[RecordId]) -> Table:
        """Return a table of records with the values that are left out of it."""
        return replace(table, columns=[self._put_back(v, column, ids) for v, column in enumerate(table.columns)])

    def _put_back(self, variable: int, column: Column, ids: Sequence[RecordId]) -> Column:
        cells = self._by_record.get(variable)
        rows = [row for row, item in enumerate(ids) if item in cells] if cells else []
        if not rows or cells is None:
            return column
        values = column.objects()
        values[rows] = as_objects([cells[ids[row]] for row in rows])
        if column.distinct is None:
            return replace(column, values=values)
        places, distinct = _encoded(values.tolist())
        return replace(column, values=places, distinct=distinct)


def _encoded(values: Sequence[Any]) -> tuple[Rows, list[Category]]:
    distinct: dict[bytes, int] = {}
    categories: list[Category] = []
    places = np.full(len(values), -1, np.int64)
    for row, value in enumerate(values):
        if value is None:
            continue
        place = places[row] = distinct.setdefault(token(value), len(distinct))
        if place == len(categories):
            categories.append(value)
    return places, categories


def leave_out(table: Table, ids: Sequence[RecordId], variables: Sequence[int], least: int) -> tuple[Table, HiddenCells]:
    """Return a table without the categories that fewer than `least` of its records have, and what that leaves out."""
    columns, cells = list(table.columns), []
    for v in variables:
        factor = columns[v].factor()
        counts = np.bincount(factor.places[factor.places >= 0], minlength=len(factor.categories))
        rare = np.append(counts < least, False)[factor.places] & (factor.places >= 0)
        rows = np.flatnonzero(rare).tolist()
        cells += [HiddenCell(v, ids[row], factor.categories[factor.places[row]]) for row in rows]
        columns[v] = replace(columns[v], values=np.where(rare, -1, factor.places), distinct=factor.categories)
    return replace(table, columns=columns), HiddenCells(cells)


@dataclass
class Change:
    """A request as the model sees it: records to remove and to add, and what is left out of them."""

    minus: list[RecordId]
    ids: list[RecordId]
    table: Table | None
    #: Records of which the request says nothing, but of which the model now sees more, or less.
    moved: list[RecordId] = field(default_factory=list)
    drop: list[HiddenCell] = field(default_factory=list)
    add: list[HiddenCell] = field(default_factory=list)


def plan_change(
    records: Records,
    hidden: HiddenCells,
    variables: Sequence[int],
    least: int,
    minus: Sequence[RecordId],
    ids: Sequence[RecordId],
    table: Table | None,
) -> Change:
    """Return what a request changes of what the model sees; nothing has changed yet."""
    change = Change(list(minus), list(ids), table)
    moved: dict[RecordId, dict[int, Category | None]] = {}
    shown = {v: _plan_column(v, records, hidden, least, change, moved) for v in variables}
    change.moved = list(moved)
    if not ids and not moved:
        return change
    rows = records.find(change.moved)
    before = records.export(rows, records.encoding).columns
    columns = []
    for v, old in enumerate(before):
        new = None if table is None else table.columns[v]
        if records.is_numeric[v]:
            numbers = np.zeros(0) if new is None else new.numbers()
            columns.append(Column(old.name, old.family, np.concatenate([numbers, old.values])))
            continue
        came = shown[v] if v in shown else _values(new)
        stayed = [moved[item].get(v, value) for item, value in zip(change.moved, old.values.tolist(), strict=True)]
        columns.append(Column(old.name, Family.MIXED, as_objects([*came, *stayed])))
    change.minus += change.moved
    change.ids += change.moved
    change.table = Table(columns, len(change.ids), named=True)
    return change


def _plan_column(
    v: int,
    records: Records,
    hidden: HiddenCells,
    least: int,
    change: Change,
    moved: dict[RecordId, dict[int, Category | None]],
) -> list[Category | None]:
    """Plan what happens in one column; return what the model sees of the records that come."""
    left = _leaving(v, records, hidden, change)
    came = _values(None if change.table is None else change.table.columns[v])
    named = {token(category): category for category in (*left, *came) if category is not None}
    more = Counter(token(category) for category in came if category is not None)
    more.subtract(token(category) for category in left if category is not None)
    leaving, common = set(change.minus), set()
    for written, category in named.items():
        unseen, seen = hidden.records(v, written), _seen(v, records, written)
        is_common = len(unseen) + len(seen) + more[written] >= least
        if is_common:
            common.add(written)
        cells = [HiddenCell(v, item, category) for item in (unseen if is_common else seen) if item not in leaving]
        (change.drop if is_common else change.add).extend(cells)
        for cell in cells:
            moved.setdefault(cell.record, {})[v] = category if is_common else None
    rare = [category is not None and token(category) not in common for category in came]
    coming = zip(change.ids, came, rare, strict=True)
    change.add += [HiddenCell(v, item, category) for item, category, gone in coming if gone and category is not None]
    return [None if gone else category for category, gone in zip(came, rare, strict=True)]


def _leaving(v: int, records: Records, hidden: HiddenCells, change: Change) -> list[Category | None]:
    """Return the categories of the records that leave, and plan to forget those that the model does not see."""
    by_level = [*records.encoding.categorical(v).categories, None]
    levels = records.levels[records.find(change.minus), records.place[v]].tolist()
    unseen = [hidden.get(v, item) for item in change.minus]
    cells = zip(change.minus, unseen, strict=True)
    change.drop += [HiddenCell(v, item, category) for item, category in cells if category is not None]
    return [by_level[level] if category is None else category for level, category in zip(levels, unseen, strict=True)]


def _seen(v: int, records: Records, written: bytes) -> list[RecordId]:
    """Return the records of which the model sees that they have a category, given by its token."""
    code = records.encoding.categorical(v).index.get(written)
    if code is None:
        return []
    return records.ids_of(np.flatnonzero(records.live & (records.levels[:, records.place[v]] == code)))


def _values(column: Column | None) -> list[Category | None]:
    """Return the category of each row of a column; None if it is missing."""
    if column is None:
        return []
    factor = column.factor()
    listed: list[Category | None] = as_objects([*factor.categories, None])[factor.places].tolist()
    return listed

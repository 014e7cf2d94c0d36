"""The records: raw values, their codes, and who they belong to.

Each record occupies a slot, a row of a few arrays. A request stages its new records in free slots, which no node
refers to yet, and then either commits (the old slots are wiped) or discards (the new ones are): until the commit
nothing that exists has changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from unlearnspn.coding import (
    CategoricalCoder,
    Coder,
    Codes,
    Encoding,
    Features,
    Floats,
    Levels,
    NumericCoder,
)
from unlearnspn.errors import RecordIdError
from unlearnspn.exact_sum import Moments, Rows
from unlearnspn.hashing import Keys, derive_key, mix_keys
from unlearnspn.ids import RecordId, record_keys
from unlearnspn.schema import Kind, Schema
from unlearnspn.tables import Column, Family, Table

T = TypeVar("T", bound=np.generic)

_LANES = 8  # 64-bit lanes of the multiset digest


@dataclass(frozen=True)
class Staged:
    """New records in their slots, and the encoding that holds once the old ones are gone."""

    minus: Rows
    plus: Rows
    ids: list[RecordId]
    encoding: Encoding
    multiset: npt.NDArray[np.uint64]
    #: How many slots there were before.
    capacity: int


class Records:
    """All records of a model, by slot."""

    def __init__(self, schema: Schema, seed: int, n_bins: int) -> None:
        self.schema = schema
        self.seed = seed
        self.n_bins = n_bins
        self.is_numeric = np.array([v.kind is Kind.NUMERIC for v in schema.variables], np.bool_)
        #: Each variable's column in `values` or in `levels`.
        self.place = np.where(self.is_numeric, np.cumsum(self.is_numeric) - 1, np.cumsum(~self.is_numeric) - 1).astype(
            np.int64
        )
        self.index: dict[RecordId, int] = {}
        self.ids: list[RecordId | None] = []
        self.free: list[int] = []
        self.encoding: Encoding
        self.multiset = np.zeros(_LANES, np.uint64)
        n_variables, n_numeric = len(schema.variables), int(self.is_numeric.sum())
        self.live = np.zeros(0, np.bool_)
        self.keys: Keys = np.zeros(0, np.uint64)
        self.values: Floats = np.zeros((0, n_numeric), np.float64)
        self.levels: Levels = np.zeros((0, n_variables - n_numeric), np.int32)
        self.codes: Codes = np.zeros((0, n_variables), np.uint8)
        self.features: Features = np.zeros((0, n_variables), np.int16)

    @classmethod
    def learn(cls, schema: Schema, seed: int, n_bins: int, ids: Sequence[RecordId], table: Table) -> Records:
        """Code a whole table."""
        records = cls(schema, seed, n_bins)
        records._fill(list(ids), table)
        return records

    # -- reading ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.index)

    @property
    def rows(self) -> Rows:
        """The slots in use, in increasing order."""
        return np.flatnonzero(self.live)

    def rows_after(self, minus: Rows, plus: Rows) -> Rows:
        """Return the slots in use after a change, in increasing order."""
        live = self.live.copy()
        live[minus] = False
        live[plus] = True
        return np.flatnonzero(live)

    def slots(self, ids: Sequence[RecordId]) -> Rows:
        """Return the slots of known ids."""
        return np.array([self.index[item] for item in ids], np.int64)

    def export(self, rows: Rows, encoding: Encoding) -> Table:
        """Return some rows as if they had been read from a table."""
        columns = []
        for v, variable in enumerate(self.schema.variables):
            if self.is_numeric[v]:
                columns.append(Column(variable.name, Family.NUMBER, self.values[rows, self.place[v]]))
            else:
                by_code = np.array([*encoding.categorical(v).categories, None], object)
                columns.append(Column(variable.name, Family.MIXED, by_code[self.levels[rows, self.place[v]]]))
        return Table(columns, len(rows), named=True)

    def ids_of(self, rows: Rows) -> list[RecordId]:
        """Return the ids of some records."""
        return [item for item in map(self.ids.__getitem__, rows.tolist()) if item is not None]

    # -- changing --------------------------------------------------------------------------------------------------

    def stage(self, minus: Rows, ids: list[RecordId], table: Table | None) -> Staged:
        """Write new records into free slots and derive the coders for the records as they will be."""
        capacity = len(self.ids)
        plus = self._reserve(len(ids))
        try:
            self.keys[plus] = record_keys(ids)
            self._name(plus, ids)
            self._refuse_collisions(ids, lambda: self.keys[self.rows_after(minus, plus)])
            encoding = self._revise_encoding(minus, plus, table)
            if table is not None:
                self._write_codes(plus, encoding.coders)
            multiset = self.multiset - self._multiset_of(minus, self.encoding) + self._multiset_of(plus, encoding)
        except BaseException:
            self._withdraw(plus, capacity)
            raise
        return Staged(minus, plus, ids, encoding, multiset, capacity)

    def recoded(self, staged: Staged) -> Records:
        """Return these records with the codes of a staged change's encoding; they share everything else."""
        recoded = copy(self)
        recoded.codes, recoded.features = self.codes.copy(), self.features.copy()
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
        for row in staged.minus.tolist():
            del self.index[self.ids[row]]
        self._occupy(staged.plus, staged.ids)
        self._release(staged.minus)
        self.encoding = staged.encoding

    def discard(self, staged: Staged) -> None:
        """Forget a staged change."""
        self._withdraw(staged.plus, staged.capacity)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _withdraw(self, rows: Rows, capacity: int) -> None:
        """Free reserved slots, and give back the room that was made for them."""
        self._release(rows)
        if capacity < len(self.ids):
            self.free = [slot for slot in self.free if slot < capacity]
            del self.ids[capacity:]
            self._allocate(capacity)

    def _allocate(self, capacity: int) -> None:
        """Make room for `capacity` slots, keeping what is there; slots beyond must be free."""
        self.live = _resized(self.live, capacity)
        self.keys = _resized(self.keys, capacity)
        self.values = _resized(self.values, capacity)
        self.levels = _resized(self.levels, capacity)
        self.codes = _resized(self.codes, capacity)
        self.features = _resized(self.features, capacity)
        self.free.extend(range(capacity - 1, len(self.ids) - 1, -1))
        self.ids.extend([None] * (capacity - len(self.ids)))

    def _fill(self, ids: list[RecordId], table: Table) -> None:
        self._allocate(len(ids))
        rows = self._reserve(len(ids))
        self.keys[rows] = record_keys(ids)
        self._refuse_collisions(ids, lambda: self.keys)
        hashes = mix_keys(self.keys[rows], np.uint64(derive_key(self.seed, "landmark")))
        coders: list[Coder] = []
        for v, column in enumerate(table.columns):
            key, place = derive_key(0, "variable", v.to_bytes(4, "little")), int(self.place[v])
            if self.is_numeric[v]:
                self.values[rows, place] = column.numbers()
                coders.append(NumericCoder.learn(key, self.values[rows, place], hashes, self.n_bins))
            else:
                coders.append(self._write_levels(CategoricalCoder.learn(key, ()), place, rows, column))
        levels, categorical = self.levels[rows], np.flatnonzero(~self.is_numeric)
        self.encoding = Encoding.of(coders).revised(coders, levels[:0], levels, categorical)
        self._write_codes(rows, coders)
        self._name(rows, ids)
        self._occupy(rows, ids)
        self.multiset = self._multiset_of(rows, self.encoding)

    @staticmethod
    def _refuse_collisions(ids: Sequence[RecordId], all_keys: Callable[[], Keys]) -> None:
        """Refuse string ids that hash alike (one chance in 10**7 for a million): choices must be unambiguous."""
        if not ids or isinstance(ids[0], int):
            return
        keys = all_keys()
        if len(np.unique(keys)) < len(keys):
            raise RecordIdError("two ids have the same 64-bit hash: rename one of them, or use integer ids")

    def _reserve(self, number: int) -> Rows:
        if number > len(self.free):
            used = len(self.ids) - len(self.free)
            self._allocate(max(used + number, len(self.ids) + len(self.ids) // 8))
        return np.array([self.free.pop() for _ in range(number)], np.int64)

    def _name(self, rows: Rows, ids: list[RecordId]) -> None:
        for row, item in zip(rows.tolist(), ids, strict=True):
            self.ids[row] = item

    def _occupy(self, rows: Rows, ids: list[RecordId]) -> None:
        self.live[rows] = True
        self.index.update(zip(ids, rows.tolist(), strict=True))

    def _release(self, rows: Rows) -> None:
        for array in (self.live, self.keys, self.values, self.levels, self.codes, self.features):
            array[rows] = 0
        for row in rows.tolist():
            self.ids[row] = None
            self.free.append(row)

    def _revise_encoding(self, minus: Rows, plus: Rows, table: Table | None) -> Encoding:
        salt = np.uint64(derive_key(self.seed, "landmark"))
        changed = np.concatenate([minus, plus])
        hashes = mix_keys(self.keys[changed], salt)
        coders: list[Coder] = []
        for v, coder in enumerate(self.encoding.coders):
            column = None if table is None else table.columns[v]
            place = int(self.place[v])
            if isinstance(coder, CategoricalCoder):
                coders.append(coder if column is None else self._write_levels(coder, place, plus, column))
                continue
            moments = coder.moments.minus(Moments.of(self.values, minus, place))
            if column is not None:
                self.values[plus, place] = column.numbers()
                moments = moments.plus(Moments.of(self.values, plus, place))

            def remaining(place: int = place) -> tuple[Floats, Keys]:
                rows = self.rows_after(minus, plus)
                return self.values[rows, place], mix_keys(self.keys[rows], salt)

            coders.append(coder.revise(moments, self.values[changed, place], hashes, remaining))
        categorical = np.flatnonzero(~self.is_numeric)
        return self.encoding.revised(coders, self.levels[minus], self.levels[plus], categorical)

    def _write_levels(self, coder: CategoricalCoder, place: int, rows: Rows, column: Column) -> CategoricalCoder:
        """Write a column's categories, extending the coder by those it does not know."""
        factor = column.factor()
        coder = coder.extend(factor.categories)
        self.levels[rows, place] = np.append(coder.levels(factor.categories), np.int32(-1))[factor.places]
        return coder

    def _write_codes(self, rows: Rows, coders: Sequence[Coder], variables: Sequence[int] | None = None) -> None:
        for v in range(len(coders)) if variables is None else variables:
            coder = coders[v]
            if isinstance(coder, NumericCoder):
                values = self.values[rows, self.place[v]]
                self.codes[rows, v] = coder.codes(values)
                self.features[rows, v] = coder.features(values)
            else:
                codes = coder.codes(self.levels[rows, self.place[v]])
                self.codes[rows, v] = codes
                self.features[rows, v] = codes

    def _multiset_of(self, rows: Rows, encoding: Encoding) -> npt.NDArray[np.uint64]:
        """Digest a set of records so that digests of disjoint sets add up, in any order."""
        if rows.size == 0:
            return np.zeros(_LANES, np.uint64)
        parts = [self.keys[rows].view(np.uint8).reshape(len(rows), -1)]
        parts.append(np.ascontiguousarray(self.values[rows]).view(np.uint8).reshape(len(rows), -1))
        levels = self.levels[rows]
        places = np.where(levels < 0, -1, levels + encoding.level_starts[np.flatnonzero(~self.is_numeric)])
        parts.append(encoding.level_digests[places].reshape(len(rows), -1))
        table = np.concatenate(parts, axis=1)
        digests = b"".join(hashlib.blake2b(line).digest() for line in table)
        lanes = np.frombuffer(digests, "<u8").reshape(-1, _LANES)
        return np.asarray(lanes.sum(axis=0, dtype=np.uint64))


def _resized(array: npt.NDArray[T], length: int) -> npt.NDArray[T]:
    """Return the array with another number of rows, zeros for new ones."""
    resized = np.zeros((length, *array.shape[1:]), array.dtype)
    resized[: len(array)] = array[:length]
    return resized

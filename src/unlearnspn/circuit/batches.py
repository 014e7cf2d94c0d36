"""Rows as the kernels read them: numbers and places of categories, one line for each column of its kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.arrays import first_reaching
from unlearnspn.circuit.domains import Domain, Domains
from unlearnspn.circuit.inputs import Floats, Places
from unlearnspn.compiling import kernel, late_kernel, per_element
from unlearnspn.schema import Kind
from unlearnspn.tables import Column, Family, Table

MISSING = -1
_LOOKED_UP = 256


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows: [slot, row] arrays of numbers (NaN: missing) and of places (-1: missing).

    Each array has at least one line, so that kernels may look at one whatever the columns are.
    """

    numbers: Floats
    places: Places

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.numbers.shape[1])

    @classmethod
    def missing(cls, domains: Domains, n_rows: int) -> Batch:
        """Return rows of which nothing is known."""
        n_numeric = int(domains.is_numeric.sum())
        numbers = np.full((max(n_numeric, 1), n_rows), np.nan)
        return cls(numbers, np.full((max(len(domains) - n_numeric, 1), n_rows), MISSING, np.int32))

    @classmethod
    def encode(cls, table: Table, domains: Domains, variables: Sequence[int]) -> Batch:
        """Read a table whose columns are some of the domains'; the others are missing."""
        batch = cls.missing(domains, table.n_rows)
        for column, variable in zip(table.columns, variables, strict=True):
            domain, slot = domains.columns[variable], domains.slots[variable]
            if domain.kind is Kind.NUMERIC:
                batch.numbers[slot] = column.numbers()
            else:
                batch.places[slot] = _places(column, domain)
        return batch

    @classmethod
    def joined(cls, parts: Sequence[Batch]) -> Batch:
        """Put batches one after another."""
        if len(parts) == 1:
            return parts[0]
        numbers = np.concatenate([part.numbers for part in parts], axis=1)
        return cls(numbers, np.concatenate([part.places for part in parts], axis=1))

    def lacks_something(self, domains: Domains) -> npt.NDArray[np.bool_]:
        """Tell which rows miss a value."""
        n_numeric = int(domains.is_numeric.sum())
        no_number, no_place = np.isnan(self.numbers[:n_numeric]), self.places[: len(domains) - n_numeric] < 0
        return np.asarray(no_number.any(axis=0) | no_place.any(axis=0))

    def rows(self, start: int, end: int) -> Batch:
        """Return some of the rows."""
        numbers = np.ascontiguousarray(self.numbers[:, start:end])
        return Batch(numbers, np.ascontiguousarray(self.places[:, start:end]))


def _places(column: Column, domain: Domain) -> Places:
    if column.family is Family.NUMBER and column.inexact_row() is None:
        places = np.empty(len(column.values), np.int32)
        place_numbers(column.numbers(), *domain.known_numbers, len(domain.categories), places)
        return places
    factor = column.factor()
    by_factor = [domain.place(category) for category in factor.categories]
    return np.array([*by_factor, MISSING], np.int32)[factor.places]


@late_kernel(per_element(2, 0))
def place_numbers(values: npt.NDArray[Any], known: Floats, known_places: Places, unseen: int, places: Places) -> None:
    """Find the place of each number among the known categories."""
    # Categories are mostly small whole numbers: these are looked up, and only the others searched for.
    by_number = np.full(_LOOKED_UP, -1, np.int32)
    for i in range(known.size):
        if 0.0 <= known[i] < _LOOKED_UP and known[i] == math.floor(known[i]):
            by_number[int(known[i])] = known_places[i]
    for r in range(values.size):
        value = values[r]
        if 0.0 <= value < _LOOKED_UP and by_number[int(value)] >= 0 and value == int(value):
            places[r] = by_number[int(value)]
        elif math.isnan(value):
            places[r] = MISSING
        else:
            places[r] = _search(value, known, known_places, unseen)


@kernel
def _search(value: float, known: Floats, known_places: Places, unseen: int) -> int:
    place = first_reaching(known, value)
    return known_places[place] if place < known.size and known[place] == value else unseen


@dataclass(frozen=True, eq=False)
class ArrayReader:
    """What it takes to read rows straight from a numeric array."""

    is_numeric: npt.NDArray[np.bool_]
    slots: npt.NDArray[np.int32]
    #: The known categories that are numbers, column after column, and where each column's start.
    known: Floats
    known_places: Places
    known_starts: npt.NDArray[np.int64]
    n_categories: npt.NDArray[np.int64]

    @classmethod
    def of(cls, domains: Domains) -> ArrayReader:
        """Gather the categories of all columns."""
        pairs = [domain.known_numbers for domain in domains.columns]
        return cls(
            domains.is_numeric,
            domains.slots,
            np.concatenate([known for known, _ in pairs]),
            np.concatenate([places for _, places in pairs]),
            np.cumsum([0, *(len(known) for known, _ in pairs)]),
            domains.n_categories,
        )

    def read(self, rows: npt.NDArray[Any], batch: Batch) -> bool:
        """Read rows into the first of a batch; return whether all of them are finite or missing."""
        categories = self.known, self.known_places, self.known_starts, self.n_categories
        return _read_array(rows, self.is_numeric, self.slots, *categories, batch.numbers, batch.places)


@late_kernel(per_element(2, 0))
def _read_array(
    rows: npt.NDArray[Any],
    is_numeric: npt.NDArray[np.bool_],
    slots: npt.NDArray[np.int32],
    known: Floats,
    known_places: Places,
    known_starts: npt.NDArray[np.int64],
    n_categories: npt.NDArray[np.int64],
    numbers: Floats,
    places: Places,
) -> bool:
    """Read some rows of a numeric array; return whether all of them are finite or missing."""
    largest = 0.0
    for v in range(slots.size):
        column = rows[:, v]
        for r in range(column.size):
            largest = max(largest, abs(column[r]))
        if is_numeric[v]:
            line = numbers[slots[v]]
            for r in range(column.size):
                line[r] = column[r]
        else:
            start, end = known_starts[v], known_starts[v + 1]
            place_line = places[slots[v], : column.size]
            place_numbers(column, known[start:end], known_places[start:end], n_categories[v], place_line)
    return largest < math.inf

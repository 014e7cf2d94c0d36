"""Rows as compiled code reads them: numbers and places of categories, one line for each column of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import INFINITY, fabs, isnan
from cython.cimports.unlearnspn.const_types import const_float64

from unlearnspn.circuit.domains import Domain, Domains
from unlearnspn.circuit.inputs import Floats, Places
from unlearnspn.schema import Kind
from unlearnspn.tables import Column, Family, Table

MISSING = -1
#: Whole numbers below this are looked up.
_LOOKED_UP = 256
#: An array is read so many rows at a time, column by column: they stay in the processor's cache.
_BLOCK_ROWS = cython.declare(cython.Py_ssize_t, 64)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows: [slot, row] arrays of numbers (NaN: missing) and of places (-1: missing).

    Each array has at least one line, so that compiled code may look at one whatever the columns are.
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
        return KnownNumbers([domain]).places_of(column.numbers())
    factor = column.factor()
    by_factor = [domain.place(category) for category in factor.categories]
    return np.array([*by_factor, MISSING], np.int32)[factor.places]


@cython.final
@cython.cclass
class KnownNumbers:
    """The categories of some columns that are numbers, column after column and sorted, and the place of each."""

    def __init__(self, columns: Sequence[Domain]) -> None:
        pairs = [domain.known_numbers for domain in columns]
        tables = [_table(known, places) for known, places in pairs]
        self.numbers = np.concatenate([known for known, _ in pairs])
        self.places = np.concatenate([places for _, places in pairs])
        self.starts = np.cumsum([0, *(len(known) for known, _ in pairs)])
        self.tables = np.concatenate(tables)
        self.table_starts = np.cumsum([0, *map(len, tables)])
        self.n_categories = np.array([len(domain.categories) for domain in columns], np.int64)

    def places_of(self, numbers: Floats) -> Places:
        """Return the place of each of some numbers among the categories of the first column."""
        values: const_float64[::1] = numbers
        result = np.empty(values.shape[0], np.int32)
        places: cython.int[::1] = result
        r: cython.Py_ssize_t
        with cython.nogil:
            for r in range(values.shape[0]):
                places[r] = self.place(0, values[r])
        return result

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def find(
        self,
        column: cython.Py_ssize_t,
        cells: const_float64[:, :],
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        places: cython.p_int,
    ) -> cython.void:
        """Write the places of the numbers that some rows have in a column, among the categories of the same column."""
        first: cython.Py_ssize_t = self.table_starts[column]
        size: cython.double = cython.cast(cython.double, self.table_starts[column + 1] - first)
        r: cython.Py_ssize_t
        for r in range(start, end):
            number: cython.double = cells[r, column]
            place: cython.int = -1
            if 0.0 <= number < size:
                whole: cython.longlong = cython.cast(cython.longlong, number)
                if whole == number:
                    place = self.tables[first + whole]
            if place < 0:
                # None of those in the table.
                place = -1 if isnan(number) else self.search(column, number)
            places[r] = place

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def place(self, column: cython.Py_ssize_t, number: cython.double) -> cython.int:
        """Return the place of a number among the categories of a column."""
        start: cython.Py_ssize_t = self.table_starts[column]
        if 0.0 <= number < self.table_starts[column + 1] - start:
            whole: cython.longlong = cython.cast(cython.longlong, number)
            if whole == number and self.tables[start + whole] >= 0:
                return self.tables[start + whole]
        return -1 if isnan(number) else self.search(column, number)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def search(self, column: cython.Py_ssize_t, number: cython.double) -> cython.int:
        """Return the place of a number that is not in the table."""
        low: cython.Py_ssize_t = self.starts[column]
        high: cython.Py_ssize_t = self.starts[column + 1]
        while low < high:
            middle: cython.Py_ssize_t = (low + high) >> 1
            if self.numbers[middle] < number:
                low = middle + 1
            else:
                high = middle
        if low < self.starts[column + 1] and self.numbers[low] == number:
            return self.places[low]
        return cython.cast(cython.int, self.n_categories[column])


def _table(known: Floats, places: Places) -> Places:
    """Return the place of each of 0, 1, … among the known numbers, -1 if it has none: most categories are such."""
    is_small = (known >= 0.0) & (known < _LOOKED_UP) & (known == np.floor(known))
    table = np.full(int(known[is_small].max(initial=-1.0)) + 1, -1, np.int32)
    table[known[is_small].astype(np.int64)] = places[is_small]
    return table


@cython.final
@cython.cclass
class ArrayReader:
    """What it takes to read rows straight from a numeric array."""

    def __init__(self, domains: Domains) -> None:
        self.is_numeric = domains.is_numeric.view(np.uint8)
        self.slots = domains.slots
        self.known = KnownNumbers(domains.columns)

    def read(self, rows: npt.NDArray[Any], batch: Batch) -> bool:
        """Read rows into the first of a batch; return whether all of them are finite or missing."""
        cells: const_float64[:, :] = np.asarray(rows, np.float64)
        numbers: cython.double[:, ::1] = batch.numbers
        places: cython.int[:, ::1] = batch.places
        n_rows: cython.Py_ssize_t = cells.shape[0]
        start: cython.Py_ssize_t = 0
        n_infinite: cython.Py_ssize_t = 0
        column: cython.Py_ssize_t
        r: cython.Py_ssize_t
        with cython.nogil:
            while start < n_rows:
                end: cython.Py_ssize_t = min(start + _BLOCK_ROWS, n_rows)
                for column in range(cells.shape[1]):
                    slot: cython.Py_ssize_t = self.slots[column]
                    for r in range(start, end):
                        n_infinite += fabs(cells[r, column]) == INFINITY
                    if self.is_numeric[column]:
                        for r in range(start, end):
                            numbers[slot, r] = cells[r, column]
                    else:
                        self.known.find(column, cells, start, end, cython.address(places[slot, 0]))
                start = end
        return bool(n_infinite == 0)

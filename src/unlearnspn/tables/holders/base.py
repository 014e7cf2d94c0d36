"""Columns to be written, and what every library's holder can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property
from importlib import import_module
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from unlearnspn.tables.cells import Category, Family, is_double, token
from unlearnspn.tables.holders.casting import to_integers
from unlearnspn.tables.names import Label
from unlearnspn.tables.origins import CellType
from unlearnspn.tables.times import family_of_type, objects_of

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]
#: Distinct values, and each row's place among them (-1: missing).
Encoded = tuple[list[Any], npt.NDArray[np.int64]]

_MOST_DIGITS = 400


@dataclass(frozen=True, eq=False)
class Cells:
    """A column to be written: numbers (NaN: missing), or categories and each row's place among them."""

    values: npt.NDArray[Any]
    categories: tuple[Category, ...] | None = None
    #: The type of dates, times or durations, if the numbers stand for such.
    times: CellType | None = None

    @classmethod
    def of_numbers(cls, numbers: npt.ArrayLike, times: CellType | None = None) -> Cells:
        """Take numbers; NaN is missing."""
        return cls(np.asarray(numbers, np.float64), None, times)

    @classmethod
    def of_places(cls, categories: Sequence[Category], places: npt.ArrayLike) -> Cells:
        """Take categories in any order, and places among them; whatever is no place is missing.

        The categories are sorted, so that what is written does not show in which order the model holds them.
        """
        order = sorted(range(len(categories)), key=lambda place: _sort_key(categories[place]))
        rank = np.full(len(order) + 1, -1, np.int64)
        rank[order] = np.arange(len(order))
        old = np.asarray(places, np.int64)
        known = (old >= 0) & (old < len(order))
        return cls(rank[np.where(known, old, -1)], tuple(categories[place] for place in order))

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Rows) -> Cells:
        """Return some of the rows."""
        return Cells(self.values[rows], self.categories, self.times)

    def in_order(self, declared: Sequence[Category]) -> Cells:
        """Return the same cells, with declared categories first and in their order, also those that do not occur."""
        if self.categories is None or not declared:
            return self
        listed = {token(category): category for category in (*declared, *self.categories)}
        places = {written: place for place, written in enumerate(listed)}
        moved = np.array([*(places[token(category)] for category in self.categories), -1], np.int64)
        return Cells(moved[self.values], tuple(listed.values()))

    @property
    def distinct(self) -> Cells:
        """The categories themselves, each once."""
        assert self.categories is not None
        return Cells(np.arange(len(self.categories)), self.categories)

    def suited(self, cell_type: CellType) -> CellType:
        """Return the type to write dates, times or durations in: the given one, if it is of their family."""
        assert self.times is not None
        given = cell_type.time
        fits = given is not None and family_of_type(given) is self.family
        return given if given is not None and fits else self.times

    def used(self) -> list[Category]:
        """Return the categories that occur."""
        assert self.categories is not None
        return [self.categories[place] for place in np.unique(self.values[~self.missing]).tolist()]

    @cached_property
    def family(self) -> Family:
        """The family of the numbers or categories."""
        if self.categories is None:
            return Family.NUMBER if self.times is None else family_of_type(self.times)
        families = {_family(category) for category in self.categories}
        if not families:
            return Family.EMPTY
        return families.pop() if len(families) == 1 else Family.MIXED

    def is_ordered(self, declared: Sequence[Category]) -> bool:
        """Tell whether the categories are in an order that means something: all declared, or that of their values."""
        if declared and self.categories is not None:
            return len(declared) == len(self.categories)
        return self.family in (Family.NUMBER, Family.BOOLEAN, Family.EMPTY)

    @cached_property
    def missing(self) -> Mask:
        """Which rows are missing."""
        return np.asarray(np.isnan(self.values) if self.categories is None else self.values < 0)

    @property
    def exact(self) -> bool:
        """Whether doubles hold all numbers."""
        return self.categories is None or all(map(is_double, self.categories))

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return the numbers, or the categories as numbers."""
        if self.categories is None:
            return self.values
        return np.asarray(np.array([*self.categories, np.nan], np.float64)[self.values])

    def integers(self, dtype: npt.DTypeLike) -> npt.NDArray[Any] | None:
        """Return the nearest integers of a type, 0 where they are missing; None if it cannot hold the categories."""
        if self.categories is None:
            return to_integers(self.values, dtype)
        limits = np.iinfo(np.dtype(dtype))
        fits = all(number == int(number) and limits.min <= number <= limits.max for number in self._numeric)
        return np.array([*map(int, self._numeric), 0], dtype)[self.values] if fits else None

    def decimals(self, precision: int, scale: int) -> list[Decimal | None] | None:
        """Return the categories as decimals of so many digits; None if these cannot hold them."""
        written = [Decimal(repr(number)) for number in self._numeric]
        fits = all(
            -number.as_tuple().exponent <= scale and number.adjusted() < precision - scale  # type: ignore[operator]
            for number in (each.normalize(Context(_MOST_DIGITS)) for each in written)
        )
        return [*as_objects([*written, None])[self.values]] if fits else None

    @property
    def _numeric(self) -> list[int | float]:
        return [category for category in self.categories or () if not isinstance(category, str)]

    def objects(self) -> npt.NDArray[np.object_]:
        """Return Python objects; None is missing."""
        if self.times is not None:
            return as_objects(objects_of(self.times, self.values))
        if self.categories is None:
            objects = self.values.astype(object)
            objects[self.missing] = None
            return objects
        return np.asarray(as_objects([*self.categories, None])[self.values])


def read_declared(categories: Sequence[Any]) -> tuple[Category, ...]:
    """Return the categories that a type declares; none if they are not what columns can hold."""
    return tuple(categories) if all(isinstance(each, str | bool | int | float) for each in categories) else ()


def _family(category: Category) -> Family:
    if isinstance(category, bool):
        return Family.BOOLEAN
    return Family.TEXT if isinstance(category, str) else Family.NUMBER


def _sort_key(category: Category) -> tuple[Family, Category]:
    return _family(category), category


def as_objects(values: Sequence[Any]) -> npt.NDArray[np.object_]:
    """Return an array of the objects, whatever they are."""
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects


class Holder(Protocol):
    """What reads and writes the tables of one library."""

    def type_of(self, column: Any) -> CellType:
        """Return the type of one of the library's columns, without any of its values."""
        ...

    def encode(self, column: Any) -> Encoded | None:
        """Return distinct values and places of a column of strings or categories; None: there is no fast way."""
        ...

    def column(self, cell_type: CellType, cells: Cells) -> Any | None:
        """Write a column of a type, or of the nearest that can be missing; None: the type cannot hold the values."""
        ...

    def default_column(self, cells: Cells) -> Any | None:
        """Write a column of the type that suits the values; None: there is none."""
        ...

    def table(self, labels: Sequence[Label], columns: Sequence[Any]) -> Any:
        """Make a table of columns."""
        ...

    def fill(self, column: Any, rows: Rows, cells: Cells) -> Any | None:
        """Return a column with some rows filled in, the others as they are; None: its type cannot hold the values."""
        ...

    def replace(self, table: Any, columns: Mapping[int, Any]) -> Any:
        """Return a copy of a table with some columns exchanged, by position."""
        ...


def import_library(name: str) -> Any:
    """Import an optional library, or say what to do."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"the model's table came from {name}, and so would the answer, but {name} is not installed: "
            f"run pip install {name}"
        ) from error

"""Cells that are text, as files have them, and the columns that they are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.errors import InvalidTableError
from unlearnspn.sources.options import Options
from unlearnspn.tables import Category, Column, Family
from unlearnspn.tables.cells import is_double
from unlearnspn.tables.times import EXAMPLES, read_text, written_family

_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf(inity)?)", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
#: Zeros in front make it a code: a postal code, a telephone number.
_CODE = re.compile(r"0\d+", re.ASCII)
_BOOLEANS = {"true": True, "false": False}


class Cells(NamedTuple):
    """A column of text: its distinct cells, and for each row which of them it has."""

    name: str
    distinct: list[str]
    places: npt.NDArray[np.int64]

    def row_of(self, place: int) -> int:
        """Return the first row, counted from 1, that has this cell."""
        return int(np.argmax(self.places == place)) + 1


def to_column(cells: Cells, options: Options) -> Column:
    """Return what the cells are: what is known from before or asked for, or else what all of them together say.

    >>> cells = Cells("age", ["17", "", "3.5"], np.array([0, 1, 2, 0]))
    >>> to_column(cells, Options()).numbers()
    array([17. ,  nan,  3.5, 17. ])
    """
    gone = {place for place, cell in enumerate(cells.distinct) if not cell.strip() or cell in options.missing}
    present = [place for place in range(len(cells.distinct)) if place not in gone]
    if cells.name in options.integers:
        return _integers(cells, gone)
    if not present and cells.name not in options.texts:
        return Column(cells.name, Family.EMPTY, np.full(len(cells.places), -1, np.int64), distinct=[])
    family = _family(cells, present, options)
    if family.is_time:
        return _times(cells, present, family)
    match family:
        case Family.NUMBER:
            return _numbers(cells, present)
        case Family.BOOLEAN:
            return _categories(cells, present, [_boolean(cells, place) for place in present], Family.BOOLEAN)
        case _:
            return _categories(cells, present, [cells.distinct[place] for place in present], Family.TEXT)


def _family(cells: Cells, present: list[int], options: Options) -> Family:
    name = cells.name
    if name in options.texts:
        return Family.TEXT
    if name in options.numbers:
        return Family.NUMBER
    known = options.known.get(name)
    if known is not None and (known in (Family.NUMBER, Family.BOOLEAN, Family.TEXT) or known.is_time):
        return known
    return infer_family(cells.distinct[place] for place in present)


def infer_family(cells: Iterable[str]) -> Family:
    """Tell what cells are, which are not empty: numbers, booleans, dates or times by ISO 8601, or texts.

    >>> [str(infer_family(cells)) for cells in (["1", "-2.5e3", "nan"], ["True", "false"], ["1", "a"], ["01067"])]
    ['number', 'boolean', 'text', 'text']
    >>> str(infer_family(["2024-02-29", "2024-03-01T12:30"]))
    'date'
    """
    stripped = {cell.strip() for cell in cells}
    if all(cell.lower() in _BOOLEANS for cell in stripped):
        return Family.BOOLEAN
    if all(_is_number(cell) and not _CODE.fullmatch(cell) for cell in stripped):
        return Family.NUMBER
    return written_family(stripped) or Family.TEXT


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None or cell.lower() == "nan"


def _numbers(cells: Cells, present: list[int]) -> Column:
    values: list[int | float] = [math.nan] * len(cells.distinct)
    for place in present:
        cell = cells.distinct[place].strip()
        if not _is_number(cell):
            raise _refusal(cells, place, "no number", "correct it, or say that such cells are missing")
        values[place] = _number(cells, place, cell)
    if all(map(is_double, values)):
        return Column(cells.name, Family.NUMBER, np.array(values, np.float64)[cells.places])
    there = [place for place in present if values[place] == values[place]]
    return _categories(cells, there, [values[place] for place in there], Family.NUMBER, categorical=False)


def _times(cells: Cells, present: list[int], family: Family) -> Column:
    values = np.full(len(cells.distinct), np.nan)
    for place in present:
        try:
            values[place] = read_text(cells.distinct[place], family)
        except (ValueError, OverflowError) as error:
            fault = f"no {family} such as {EXAMPLES[family]}"
            raise _refusal(cells, place, fault, "correct it, or say that such cells are missing") from error
    return Column(cells.name, family, values[cells.places])


def _number(cells: Cells, place: int, cell: str) -> int | float:
    """Return the number that a cell holds; whole numbers as they are, however many digits they have."""
    if not _WHOLE.fullmatch(cell):
        return float(cell)
    try:
        return int(cell)
    except ValueError as error:  # Python reads 4,300 digits at most
        raise _refusal(cells, place, "too long a number", "correct it") from error


def _integers(cells: Cells, gone: set[int]) -> Column:
    values = np.zeros(len(cells.distinct), np.int64)
    for place, cell in enumerate(cells.distinct):
        if place in gone or not _INTEGER.fullmatch(cell.strip()):
            raise _refusal(cells, place, "no whole number", "correct it")
        try:
            values[place] = int(cell)
        except OverflowError as error:
            raise _refusal(cells, place, "too large a number", "correct it") from error
    return Column(cells.name, Family.NUMBER, values[cells.places])


def _boolean(cells: Cells, place: int) -> bool:
    cell = cells.distinct[place].strip().lower()
    if cell not in _BOOLEANS:
        raise _refusal(cells, place, "neither true nor false", "correct it, or say that such cells are missing")
    return _BOOLEANS[cell]


def _categories(
    cells: Cells, present: list[int], values: Sequence[Category], family: Family, categorical: bool = True
) -> Column:
    distinct = list(dict.fromkeys(values))
    numbers = {value: number for number, value in enumerate(distinct)}
    renumbered = np.full(len(cells.distinct), -1, np.int64)
    renumbered[present] = [numbers[value] for value in values]
    return Column(cells.name, family, renumbered[cells.places], categorical, distinct)


def _refusal(cells: Cells, place: int, fault: str, advice: str) -> InvalidTableError:
    cell = cells.distinct[place]
    shown = repr(cell if len(cell) <= 60 else f"{cell[:60]}…")
    return InvalidTableError(
        f"column {cells.name!r} holds {shown} in row {cells.row_of(place)}, which is {fault}: {advice}"
    )

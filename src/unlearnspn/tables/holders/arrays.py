"""Tables in numpy's arrays: plain, masked, and those that numpy makes of lists."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.tables.cells import Family
from unlearnspn.tables.holders.base import Cells, Encoded, Rows
from unlearnspn.tables.holders.casting import to_floats
from unlearnspn.tables.names import Label
from unlearnspn.tables.origins import ANYTHING, CellType
from unlearnspn.tables.times import DATES, array_of, family_of_type, type_of_objects

Array = npt.NDArray[Any]

_NUMERIC = re.compile(r"[<>|=][fiu]\d{1,2}")
#: How wide an array of strings is tells of the longest: only that it is one is kept.
_TEXT, _VARIABLE_TEXT, _BOOLEAN, _OBJECTS = "U", "T", "b", "O"


class Arrays:
    """Two-dimensional arrays: one type for all columns."""

    def type_of(self, column: Array) -> CellType:
        """Return the type of one of the columns."""
        dtype = column.dtype
        if dtype.kind in "mM":
            unit = np.datetime_data(dtype)[0]
            if unit == "D" and dtype.kind == "M":
                return DATES
            unit = unit if unit in ("s", "ms", "us", "ns") else "s"
            return CellType("duration", (unit,)) if dtype.kind == "m" else CellType("datetime", (unit, ""))
        held = type_of_objects(np.ma.getdata(column).tolist()) if dtype.kind == "O" else None
        return CellType(dtype.str if dtype.kind in "fiu" else dtype.kind, of=held)

    def encode(self, column: Array) -> Encoded | None:
        """Arrays have no dictionaries."""
        return None

    def column(self, cell_type: CellType, cells: Cells) -> Array | None:
        """Write a column; integers with something missing become floats, booleans and strings objects."""
        name, complete = cell_type.name, not cells.missing.any()
        if cells.times is not None:
            return _times(cell_type, cells)
        if name == _OBJECTS:
            return cells.objects()
        if _NUMERIC.fullmatch(name) and Family.NUMBER.accepts(cells.family):
            return _numeric(_dtype(name), cells, complete)
        if name == _BOOLEAN and Family.BOOLEAN.accepts(cells.family):
            return cells.objects().astype(bool) if complete else cells.objects()
        if name in (_TEXT, _VARIABLE_TEXT) and Family.TEXT.accepts(cells.family):
            return cells.objects().astype(_text_dtype(name)) if complete else cells.objects()
        return None

    def default_column(self, cells: Cells) -> Array:
        """Write numbers as floats, everything else as objects."""
        if cells.times is not None:
            return _times(cells.times, cells)
        return cells.numbers() if cells.family is Family.NUMBER and cells.exact else cells.objects()

    def table(self, labels: Sequence[Label], columns: Sequence[Array]) -> Array:
        """Put columns side by side, in the narrowest type that holds them all."""
        dtypes = {column.dtype for column in columns}
        kinds = {dtype.kind for dtype in dtypes}
        alike = len(kinds) == 1 or kinds <= set("fiu")
        dtype = np.result_type(*dtypes) if alike else np.dtype(object)
        table = np.empty((len(columns[0]), len(columns)), dtypes.pop() if len(dtypes) == 1 else dtype)
        for position, column in enumerate(columns):
            table[:, position] = column
        return table

    def fill(self, column: Array, rows: Rows, cells: Cells) -> Array | None:
        """Return a column with some rows filled in."""
        new = self.column(self.type_of(column), cells)
        if new is None or new.dtype.kind != column.dtype.kind:
            return None
        filled = column.copy()
        filled[rows] = new
        return filled

    def replace(self, table: Array, columns: Mapping[int, Array]) -> Array:
        """Return a copy of a table with some columns exchanged."""
        if all(np.can_cast(column.dtype, table.dtype) for column in columns.values()):
            filled = table.copy()
            for position, column in columns.items():
                filled[:, position] = column
            return filled
        every = [columns.get(position, table[:, position]) for position in range(table.shape[1])]
        return self.table([], every)


class Lists(Arrays):
    """Rows in lists: answers are arrays, of floats if all columns are numbers, else of objects."""

    def type_of(self, column: Array) -> CellType:
        """Every column takes whatever it is given: what its values were is not kept, but for dates and times."""
        held = type_of_objects(column.tolist())
        return ANYTHING if held is None else replace(ANYTHING, of=held)

    def column(self, cell_type: CellType, cells: Cells) -> Array | None:
        """Write a column as suits its values."""
        return self.default_column(cells) if cells.times is None else _times(replace(cell_type, name=_OBJECTS), cells)

    def fill(self, column: Array, rows: Rows, cells: Cells) -> Array:
        """Return a column with some rows filled in, objects as they are."""
        filled = column.astype(object)
        filled[rows] = cells.objects()
        return filled

    def replace(self, table: Array, columns: Mapping[int, Array]) -> Array:
        """Return an array with some columns exchanged, of floats if it can be."""
        filled = super().replace(table, columns)
        kinds = set(map(type, filled.ravel().tolist()))
        return filled.astype(np.float64) if all(map(_is_number, kinds)) else filled


class SingleRows(Lists):
    """Mappings and series of pandas that are one row."""

    def replace(self, table: Any, columns: Mapping[int, Array]) -> Any:
        """Return a copy of a row with some values exchanged: a mapping, or a series if it was one."""
        values = dict(table.items())
        for position, name in enumerate(values):
            if position in columns:
                values[name] = columns[position][0]
        if isinstance(table, Mapping):
            return values
        return type(table)(values, index=table.index, name=table.name)


class MaskedArrays(Arrays):
    """Arrays in which what is missing is masked, so that every type can be missing."""

    def column(self, cell_type: CellType, cells: Cells) -> Array | None:
        """Write a column, with what is missing masked."""
        column = super().column(cell_type, cells.take(np.flatnonzero(~cells.missing)))
        return None if column is None else _masked(column, cells)

    def default_column(self, cells: Cells) -> Array:
        """Write numbers as floats, everything else as objects."""
        return _masked(super().default_column(cells.take(np.flatnonzero(~cells.missing))), cells)

    def table(self, labels: Sequence[Label], columns: Sequence[Array]) -> Array:
        """Put columns and masks side by side."""
        table = super().table(labels, [np.ma.getdata(column) for column in columns])
        return np.ma.array(table, mask=np.column_stack([np.ma.getmaskarray(column) for column in columns]))

    def fill(self, column: Array, rows: Rows, cells: Cells) -> Array | None:
        """Return a column with some rows filled in and unmasked."""
        new = super().column(self.type_of(column), cells)
        if new is None:
            return None
        filled = np.ma.array(column, copy=True, hard_mask=False)
        filled[rows] = new
        return filled


def _times(cell_type: CellType, cells: Cells) -> Array:
    """Write dates, times or durations, in numpy's own types where the column has one of them."""
    suited = cells.suited(cell_type)
    if cell_type.name == suited.name and suited.name != "time" and family_of_type(suited) is not Family.INSTANT:
        return array_of(suited, cells.values)
    return replace(cells, times=suited).objects()


def _is_number(kind: type) -> bool:
    """Tell whether a type is of numbers, or of what numpy reads as NaN."""
    return kind is type(None) or (issubclass(kind, Real | Decimal) and not issubclass(kind, bool))


def _dtype(name: str) -> np.dtype[Any]:
    try:
        return np.dtype(name)
    except TypeError:  # another machine's long double
        return np.dtype(np.float64)


def _text_dtype(name: str) -> Any:
    if name == _VARIABLE_TEXT and hasattr(np.dtypes, "StringDType"):  # since numpy 2
        return np.dtypes.StringDType()
    return np.dtype(str)


def _numeric(dtype: np.dtype[Any], cells: Cells, complete: bool) -> Array | None:
    if dtype.kind != "f" and complete:
        return cells.integers(dtype)
    if not cells.exact:
        return None
    return to_floats(cells.numbers(), dtype) if dtype.kind == "f" else cells.numbers()


def _masked(present: Array, cells: Cells) -> Array:
    column = np.zeros(len(cells), present.dtype)
    column[~cells.missing] = present
    return np.ma.array(column, mask=cells.missing)

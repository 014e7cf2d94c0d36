"""Frames of polars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unlearnspn.tables.cells import Family
from unlearnspn.tables.holders.base import Cells, Encoded, Rows, import_library
from unlearnspn.tables.holders.casting import to_floats, within_decimal
from unlearnspn.tables.names import Label
from unlearnspn.tables.origins import ANYTHING, CellType
from unlearnspn.tables.times import DATES, ticks_of, type_of_objects, unit_of, within_limits

_INTEGERS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
_WIDE_INTEGERS = ("Int128", "UInt128")  # numpy has no such type
_FLOATS = ("Float16", "Float32", "Float64")
_CATEGORIES = ("Categorical", "Enum")
_KNOWN = (*_INTEGERS, *_WIDE_INTEGERS, *_FLOATS, *_CATEGORIES, "Boolean", "String", "Object")


class PolarsFrames:
    """Frames of polars' series."""

    def type_of(self, column: Any) -> CellType:
        """Return the type of one of the columns; that of an Enum declares its categories."""
        dtype = column.dtype
        name = dtype.base_type().__name__
        if name == "Date":
            return DATES
        if name in ("Datetime", "Duration"):
            zone = (dtype.time_zone or "",) if name == "Datetime" else ()
            return CellType(name.lower(), (dtype.time_unit, *zone))
        if name == "Time":
            return CellType("time", ("ns",))
        if name == "Object":
            return CellType(name, of=type_of_objects(column.to_list()))
        if name == "Decimal":
            return CellType(name, (dtype.precision, dtype.scale))
        if name == "Enum":
            return CellType(name, declared=tuple(dtype.categories.to_list()))
        return CellType(name) if name in _KNOWN else ANYTHING

    def encode(self, column: Any) -> Encoded | None:
        """Return distinct values and places by polars' own codes."""
        pl = import_library("polars")
        if column.dtype == pl.Enum:
            categories = column.dtype.categories
        else:
            categories = column.drop_nulls().unique().cast(pl.String)
            if len(categories) > len(column) // 4:  # an Enum of so many takes longer than Python's own dictionary
                return None
            column = column.cast(pl.Enum(categories))
        return categories.to_list(), column.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()

    def column(self, cell_type: CellType, cells: Cells) -> Any | None:
        """Write a column; what is missing is null."""
        pl = import_library("polars")
        name = cell_type.name
        if cells.times is not None and name == "Object":
            return pl.Series(replace(cells, times=cells.suited(cell_type)).objects().tolist(), dtype=pl.Object)
        if cells.times is not None:
            return _with_nulls(_times(cells.suited(cell_type), cells), cells)
        dtype = getattr(pl, name, None)
        if dtype is None:  # a type of a later version
            return None
        if name == "Object":
            return pl.Series(cells.objects().tolist(), dtype=pl.Object)
        if name == "Boolean" and Family.BOOLEAN.accepts(cells.family):
            return _gather(pl.Series(cells.distinct.objects().tolist(), dtype=pl.Boolean), cells)
        if name in ("String", *_CATEGORIES) and Family.TEXT.accepts(cells.family):
            cells = cells.in_order(cell_type.declared)
            texts = pl.Series(cells.distinct.objects().tolist(), dtype=pl.String)
            return _gather(texts.cast(pl.Enum(texts) if name == "Enum" else dtype), cells)
        return _numbers(cell_type, dtype, cells) if Family.NUMBER.accepts(cells.family) else None

    def default_column(self, cells: Cells) -> Any:
        """Write floats, booleans, strings or objects."""
        if cells.times is not None:
            return self.column(cells.times, cells)
        suited = {Family.NUMBER: "Float64", Family.BOOLEAN: "Boolean", Family.TEXT: "String", Family.MIXED: "Object"}
        if cells.family is Family.EMPTY:
            return import_library("polars").Series([None] * len(cells))
        if cells.family is Family.NUMBER and not cells.exact:
            columns = (self.column(CellType(name), cells) for name in ("Int64", "UInt64", "Int128", "Object"))
            return next(column for column in columns if column is not None)
        return self.column(CellType(suited[cells.family]), cells)

    def table(self, labels: Sequence[Label], columns: Sequence[Any]) -> Any:
        """Make a frame of series."""
        pl = import_library("polars")
        return pl.DataFrame([column.alias(str(label)) for label, column in zip(labels, columns, strict=True)])

    def fill(self, column: Any, rows: Rows, cells: Cells) -> Any | None:
        """Return a column with some rows filled in; an Enum gets the categories it lacks at its end."""
        pl = import_library("polars")
        new = self.column(self.type_of(column), cells)
        if new is None:
            return None
        if column.dtype == pl.Object:
            objects = column.to_list()
            for row, value in zip(rows.tolist(), cells.objects().tolist(), strict=True):
                objects[row] = value
            return pl.Series(objects, dtype=pl.Object)
        if column.dtype == pl.Enum:
            known = column.dtype.categories.to_list()
            lacking = [category for category in cells.used() if category not in known]
            column = column.cast(pl.Enum([*known, *lacking])) if lacking else column
        place = np.full(len(column), -1, np.int64)
        place[rows] = np.arange(len(rows))
        spread = new.cast(column.dtype).gather(pl.Series(np.maximum(place, 0)))
        return column.zip_with(pl.Series(place < 0), spread)

    def replace(self, table: Any, columns: Mapping[int, Any]) -> Any:
        """Return a frame with some columns exchanged."""
        names = table.columns
        return table.with_columns([column.alias(names[position]) for position, column in columns.items()])


def _times(cell_type: CellType, cells: Cells) -> Any:
    pl = import_library("polars")
    unit = "ns" if cell_type.name == "time" else unit_of(cell_type)
    unit = "ms" if unit == "s" else unit  # polars counts in nothing coarser
    ticks = pl.Series(ticks_of(within_limits(cell_type, cells.values), unit))
    if cell_type.name == "date":
        return ticks.cast(pl.Int32).cast(pl.Date)
    if cell_type.name == "time":
        return ticks.cast(pl.Time)
    if cell_type.name == "duration":
        return ticks.cast(pl.Duration(unit))
    zone = str(cell_type.details[1])
    dates = ticks.cast(pl.Datetime(unit))
    return dates.dt.replace_time_zone("UTC").dt.convert_time_zone(zone) if zone else dates


def _numbers(cell_type: CellType, dtype: Any, cells: Cells) -> Any | None:
    pl = import_library("polars")
    name = cell_type.name
    if name in _INTEGERS:
        integers = cells.integers(name.lower())
        series = None if integers is None else pl.Series(integers)
    elif name in _WIDE_INTEGERS:
        series = _wide_integers(dtype, cells)
    elif name in _FLOATS:
        series = pl.Series(to_floats(cells.numbers(), name.lower())) if cells.exact else None
    elif name == "Decimal" and len(cell_type.details) == 2:
        series = _decimals(cell_type, dtype, cells)
    else:
        series = None
    return None if series is None else _with_nulls(series, cells)


def _wide_integers(dtype: Any, cells: Cells) -> Any | None:
    pl = import_library("polars")
    lowest, highest = (0, 2**128 - 1) if dtype == pl.UInt128 else (-(2**127), 2**127 - 1)
    if cells.categories is None:
        rounded = np.rint(np.nan_to_num(cells.numbers())).tolist()
        return pl.Series([min(max(int(number), lowest), highest) for number in rounded], dtype=dtype)
    numbers = [0 if number is None else number for number in cells.objects().tolist()]
    fits = all(number == int(number) and lowest <= number <= highest for number in numbers)
    return pl.Series([int(number) for number in numbers], dtype=dtype) if fits else None


def _decimals(cell_type: CellType, dtype: Any, cells: Cells) -> Any | None:
    pl = import_library("polars")
    precision, scale = (int(detail) for detail in cell_type.details)
    if cells.categories is None:
        return pl.Series(within_decimal(np.nan_to_num(cells.numbers()), precision, scale)).cast(dtype(precision, scale))
    decimals = cells.decimals(precision, scale)
    return None if decimals is None else pl.Series(decimals, dtype=dtype(precision, scale))


def _with_nulls(series: Any, cells: Cells) -> Any:
    pl = import_library("polars")
    return series if not cells.missing.any() else pl.select(pl.when(pl.Series(~cells.missing)).then(series)).to_series()


def _gather(categories: Any, cells: Cells) -> Any:
    pl = import_library("polars")
    if not len(categories):
        return pl.Series([None] * len(cells), dtype=categories.dtype)
    return _with_nulls(categories.gather(pl.Series(np.maximum(cells.values, 0))), cells)

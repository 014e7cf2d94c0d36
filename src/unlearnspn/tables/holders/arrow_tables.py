"""Tables of Apache Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unlearnspn.tables.cells import Family
from unlearnspn.tables.holders.base import Cells, Encoded, Rows, import_library, read_declared
from unlearnspn.tables.holders.casting import to_floats, within_decimal
from unlearnspn.tables.names import Label
from unlearnspn.tables.origins import ANYTHING, CellType
from unlearnspn.tables.times import ticks_of, unit_of, within_limits

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_FLOATS = {"halffloat": np.float16, "float": np.float32, "double": np.float64}
_DECIMALS = ("decimal32", "decimal64", "decimal128", "decimal256")
_TEXTS = ("string", "large_string", "string_view")


class ArrowTables:
    """Tables of chunked arrays."""

    def type_of(self, column: Any) -> CellType:
        """Return the type of one of the columns; the categories of a dictionary are kept only if they are ordered."""
        cell_type = self.describe(column.type)
        if cell_type.name != "dictionary" or not column.type.ordered:
            return cell_type
        return replace(cell_type, declared=read_declared(self.encode(column)[0]))

    def describe(self, arrow_type: Any) -> CellType:
        """Return an Arrow type in words."""
        types = import_library("pyarrow").types
        if types.is_dictionary(arrow_type):
            details = (str(arrow_type.index_type), arrow_type.ordered)
            return CellType("dictionary", details, self.describe(arrow_type.value_type))
        times = _describe_times(arrow_type)
        if times is not None:
            return times
        name = str(arrow_type)
        if types.is_decimal(arrow_type):
            return CellType(name.partition("(")[0], (arrow_type.precision, arrow_type.scale))
        return CellType(name) if name in (*_INTEGERS, *_FLOATS, *_TEXTS, "bool") else ANYTHING

    def encode(self, column: Any) -> Encoded:
        """Return distinct values and places by Arrow's own dictionary."""
        pa = import_library("pyarrow")
        encoded = pa.chunked_array(column).dictionary_encode().unify_dictionaries().combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = pa.concat_arrays(encoded.chunks)
        return encoded.dictionary.to_pylist(), encoded.indices.cast("int64").fill_null(-1).to_numpy(
            zero_copy_only=False
        )

    def column(self, cell_type: CellType, cells: Cells) -> Any | None:
        """Write a column; what is missing is null."""
        pa = import_library("pyarrow")
        name, missing = cell_type.name, cells.missing
        if cells.times is not None:
            suited = cells.suited(cell_type)
            ticks = ticks_of(within_limits(suited, cells.values), unit_of(suited))
            return _times(suited, pa.array(ticks, mask=missing))
        if name == "dictionary" and cells.categories is not None and cell_type.of is not None and cell_type.details:
            cells = cells.in_order(cell_type.declared)
            categories = self.column(cell_type.of, cells.distinct)
            index_type = str(cell_type.details[0])
            ordered = bool(cell_type.details[1]) and cells.is_ordered(cell_type.declared)
            return None if categories is None else _dictionary(categories, cells.values, index_type, ordered)
        if name in _TEXTS and Family.TEXT.accepts(cells.family):
            return pa.array(cells.objects(), type=_native(name))
        if name == "bool" and Family.BOOLEAN.accepts(cells.family):
            return pa.array(cells.objects(), type=pa.bool_())
        if not Family.NUMBER.accepts(cells.family):
            return None
        if name in _INTEGERS:
            integers = cells.integers(name)
            return None if integers is None else pa.array(integers, type=_native(name), mask=missing)
        if name in _FLOATS and cells.exact:
            return pa.array(to_floats(cells.numbers(), _FLOATS[name]), type=_native(name), mask=missing)
        if name in _DECIMALS and len(cell_type.details) == 2:
            return _decimals(cell_type, cells)
        return None

    def default_column(self, cells: Cells) -> Any | None:
        """Write doubles, booleans or strings; there is no type for a mixture."""
        if cells.times is not None:
            return self.column(cells.times, cells)
        if cells.family is Family.MIXED:
            return None
        if cells.family is Family.EMPTY:
            return import_library("pyarrow").nulls(len(cells))
        if cells.family is Family.NUMBER:
            types = (CellType("double"), CellType("int64"), CellType("uint64"), CellType("decimal256", (76, 0)))
            columns = (self.column(cell_type, cells) for cell_type in types)
            return next((column for column in columns if column is not None), None)
        return self.column(CellType("bool" if cells.family is Family.BOOLEAN else "string"), cells)

    def table(self, labels: Sequence[Label], columns: Sequence[Any]) -> Any:
        """Make a table of columns."""
        return import_library("pyarrow").table(list(columns), names=[str(label) for label in labels])

    def fill(self, column: Any, rows: Rows, cells: Cells) -> Any | None:
        """Return a column with some rows filled in; a dictionary gets the categories it lacks at its end."""
        pa = import_library("pyarrow")
        if pa.types.is_dictionary(column.type):
            return self._fill_dictionary(column, rows, cells)
        new = self.column(self.type_of(column), cells)
        if new is None:
            return None
        blank = np.zeros(len(column), np.bool_)
        blank[rows] = True
        try:
            return import_library("pyarrow.compute").replace_with_mask(column, pa.array(blank), new)
        except pa.ArrowNotImplementedError:  # string views; half floats in early versions
            return _replace_objects(column, rows, new)

    def _fill_dictionary(self, column: Any, rows: Rows, cells: Cells) -> Any | None:
        value_type = column.type.value_type
        if cells.categories is None or self.column(self.describe(value_type), cells.distinct) is None:
            return None
        known, places = self.encode(column)
        known += [category for category in cells.used() if category not in known]
        where = {category: place for place, category in enumerate(known)}
        filled = places.copy()
        filled[rows] = [where[category] for category in cells.objects().tolist()]
        categories = import_library("pyarrow").array(known, type=value_type)
        return _dictionary(categories, filled, str(column.type.index_type), column.type.ordered)

    def replace(self, table: Any, columns: Mapping[int, Any]) -> Any:
        """Return a table with some columns exchanged."""
        for position, column in columns.items():
            field = table.schema.field(position).with_type(column.type)
            table = table.set_column(position, field, column)
        return table


def _describe_times(arrow_type: Any) -> CellType | None:
    types = import_library("pyarrow").types
    if types.is_date(arrow_type):
        return CellType("date", ("ms",) if types.is_date64(arrow_type) else ())
    if types.is_timestamp(arrow_type):
        return CellType("datetime", (arrow_type.unit, arrow_type.tz or ""))
    if types.is_duration(arrow_type):
        return CellType("duration", (arrow_type.unit,))
    return CellType("time", (arrow_type.unit,)) if types.is_time(arrow_type) else None


def _times(cell_type: CellType, ticks: Any) -> Any:
    """Return whole numbers of a unit, days for dates, as the dates, times or durations that they are."""
    pa = import_library("pyarrow")
    unit = unit_of(cell_type)
    if cell_type.name == "date":
        dates = ticks.cast(pa.int32()).cast(pa.date32())
        return dates.cast(pa.date64()) if cell_type.details == ("ms",) else dates
    if cell_type.name == "datetime":
        return ticks.cast(pa.timestamp(unit, tz=str(cell_type.details[1]) or None))
    if cell_type.name == "duration":
        return ticks.cast(pa.duration(unit))
    if unit in ("s", "ms"):
        return ticks.cast(pa.int32()).cast(pa.time32(unit))
    return ticks.cast(pa.time64(unit))


def _native(name: str) -> Any:
    pa = import_library("pyarrow")
    short = {"bool": pa.bool_, "halffloat": pa.float16, "float": pa.float32, "double": pa.float64}
    return short[name]() if name in short else getattr(pa, name)()


def _replace_objects(column: Any, rows: Rows, new: Any) -> Any:
    objects = column.to_pylist()
    for row, value in zip(rows.tolist(), new.to_pylist(), strict=True):
        objects[row] = value
    return import_library("pyarrow").array(objects, type=column.type)


def _decimals(cell_type: CellType, cells: Cells) -> Any | None:
    pa = import_library("pyarrow")
    precision, scale = (int(detail) for detail in cell_type.details)
    if cells.categories is not None:
        decimals = cells.decimals(precision, scale)
        return None if decimals is None else pa.array(decimals, getattr(pa, cell_type.name)(precision, scale))
    numbers = within_decimal(cells.numbers(), precision, scale)
    return pa.array(numbers, mask=cells.missing).cast(getattr(pa, cell_type.name)(precision, scale))


def _dictionary(categories: Any, places: Rows, index_type: str, ordered: bool) -> Any:
    """Make a column of categories, with wider indices than it had if there are more categories than those can tell."""
    pa = import_library("pyarrow")
    if len(categories) > np.iinfo(index_type).max:
        index_type = "int64"
    indices = pa.array(np.maximum(places, 0).astype(index_type), mask=places < 0)
    return pa.DictionaryArray.from_arrays(indices, categories, ordered=ordered)

"""Frames of pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unlearnspn.tables.cells import Family
from unlearnspn.tables.holders.arrow_tables import ArrowTables
from unlearnspn.tables.holders.base import Cells, Encoded, Rows, import_library, read_declared
from unlearnspn.tables.holders.casting import to_floats
from unlearnspn.tables.names import Label
from unlearnspn.tables.origins import ANYTHING, CellType
from unlearnspn.tables.times import array_of, type_of_objects, zone_of

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_NULLABLE_INTEGERS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
_FLOATS = ("float16", "float32", "float64")
_NULLABLE_FLOATS = ("Float32", "Float64")
_KNOWN = (*_INTEGERS, *_NULLABLE_INTEGERS, *_FLOATS, *_NULLABLE_FLOATS, "bool", "boolean", "object")


class PandasFrames:
    """Frames of pandas' series; every column may be missing in a way of its own."""

    def type_of(self, column: Any) -> CellType:
        """Return the type of one of the columns; the categories of a categorical one are kept only if ordered."""
        if isinstance(column.dtype, import_library("pandas").ArrowDtype):
            return CellType("arrow", (), ArrowTables().type_of(_arrow(column)))
        if column.dtype == object:
            return CellType("object", of=type_of_objects(column))
        return self._describe(column.dtype)

    def _describe(self, dtype: Any) -> CellType:
        pd = import_library("pandas")
        if isinstance(dtype, pd.CategoricalDtype):
            declared = read_declared(dtype.categories.tolist()) if dtype.ordered else ()
            return CellType("category", (bool(dtype.ordered),), self._describe(dtype.categories.dtype), declared)
        if isinstance(dtype, pd.ArrowDtype):
            return CellType("arrow", (), ArrowTables().describe(dtype.pyarrow_dtype))
        if isinstance(dtype, pd.StringDtype):
            return CellType("string", (dtype.storage, "NA" if dtype.na_value is pd.NA else "nan"))
        if isinstance(dtype, pd.SparseDtype):
            return CellType("sparse", (str(dtype.fill_value),), self._describe(dtype.subtype))
        if isinstance(dtype, pd.DatetimeTZDtype):
            return CellType("datetime", (dtype.unit, str(dtype.tz)))
        if isinstance(dtype, np.dtype) and dtype.kind in "mM":
            unit = np.datetime_data(dtype)[0]
            return CellType("duration", (unit,)) if dtype.kind == "m" else CellType("datetime", (unit, ""))
        name = getattr(dtype, "name", "")
        return CellType(name) if name in _KNOWN else ANYTHING

    def encode(self, column: Any) -> Encoded | None:
        """Return distinct values and places by pandas' own codes."""
        pd = import_library("pandas")
        if isinstance(column.dtype, pd.CategoricalDtype):
            return column.array.categories.tolist(), column.array.codes.astype(np.int64)
        if isinstance(column.dtype, pd.ArrowDtype):
            return ArrowTables().encode(_arrow(column))
        places, distinct = pd.factorize(column)
        return distinct.tolist(), places.astype(np.int64, copy=False)

    def column(self, cell_type: CellType, cells: Cells) -> Any | None:
        """Write a column; integers and booleans with something missing become pandas' nullable ones."""
        pd = import_library("pandas")
        name, missing = cell_type.name, cells.missing
        if cells.times is not None and name != "arrow":
            return _times(cell_type, cells)
        if name == "object":
            return _objects(cells.objects())
        if name == "category":
            return self._categories(cell_type, cells)
        if name == "arrow" and cell_type.of is not None:
            column = ArrowTables().column(cell_type.of, cells)
            return None if column is None else pd.arrays.ArrowExtensionArray(column)
        if name == "sparse" and cell_type.of is not None and cell_type.details:
            return _sparse(self.column(cell_type.of, cells), str(cell_type.details[0]))
        if name == "string" and len(cell_type.details) == 2 and Family.TEXT.accepts(cells.family):
            return pd.array(cells.objects(), dtype=_string_dtype(cell_type))
        if name in ("bool", "boolean") and Family.BOOLEAN.accepts(cells.family):
            flags = np.array([*cells.distinct.objects(), False], np.bool_)[cells.values]
            return flags if name == "bool" and not missing.any() else pd.arrays.BooleanArray(flags, missing.copy())
        if not Family.NUMBER.accepts(cells.family):
            return None
        return _numbers(name, cells)

    def _categories(self, cell_type: CellType, cells: Cells) -> Any | None:
        pd = import_library("pandas")
        if cells.categories is None or cell_type.of is None:
            return None
        cells = cells.in_order(cell_type.declared)
        categories = self.column(cell_type.of, cells.distinct)
        if categories is None:
            categories = self.default_column(cells.distinct)
        index = pd.Index(categories, dtype=object if cell_type.of.name == "object" else None)
        ordered = cell_type.details == (True,) and cells.is_ordered(cell_type.declared)
        return pd.Categorical.from_codes(cells.values, categories=index, ordered=ordered)

    def default_column(self, cells: Cells) -> Any:
        """Write floats, booleans, strings as pandas likes them, dates, or objects."""
        if cells.times is not None:
            return _times(cells.times, cells)
        if cells.family is Family.NUMBER:
            return cells.numbers() if cells.exact else _objects(cells.objects())
        if cells.family is Family.BOOLEAN:
            return self.column(CellType("bool"), cells)
        if cells.family is Family.TEXT:
            return import_library("pandas").Series(cells.objects().tolist()).array
        return _objects(cells.objects())

    def table(self, labels: Sequence[Label], columns: Sequence[Any]) -> Any:
        """Make a frame of columns, its rows numbered."""
        return import_library("pandas").DataFrame(dict(zip(labels, columns, strict=True)))

    def fill(self, column: Any, rows: Rows, cells: Cells) -> Any | None:
        """Return a column with some rows filled in; a categorical one gets the categories it lacks at its end."""
        pd = import_library("pandas")
        if isinstance(column.dtype, pd.ArrowDtype):
            filled = ArrowTables().fill(_arrow(column), rows, cells)
            return None if filled is None else pd.arrays.ArrowExtensionArray(filled)
        cell_type = self.type_of(column)
        new = self.column(cell_type, cells)
        if new is None:
            return None
        if isinstance(column.dtype, pd.SparseDtype):
            filled, new = column.sparse.to_dense().to_numpy(copy=True), np.asarray(new)
        elif isinstance(column.dtype, np.dtype):
            filled = column.to_numpy(copy=True)
        else:
            filled = column.array.copy()
        if cell_type.name == "category":
            known = set(column.cat.categories)
            filled = filled.add_categories([category for category in cells.used() if category not in known])
            new = cells.objects()
        filled[rows] = new
        return _objects(filled, column.index) if cell_type.name == "object" else filled

    def replace(self, table: Any, columns: Mapping[int, Any]) -> Any:
        """Return a frame with some columns exchanged, with its own index."""
        filled = table.copy(deep=False)
        for position, column in columns.items():
            filled[table.columns[position]] = column
        return filled


def _times(cell_type: CellType, cells: Cells) -> Any:
    """Write dates and durations in pandas' own types, if the column has one of them; else as objects."""
    suited = cells.suited(cell_type)
    if cell_type.name != suited.name or suited.name in ("date", "time"):
        return _objects(replace(cells, times=suited).objects())
    array = import_library("pandas").array(array_of(suited, cells.values))
    zone = str(suited.details[1]) if suited.name == "datetime" else ""
    return array.tz_localize("UTC").tz_convert(zone_of(suited) if zone.startswith("UTC") else zone) if zone else array


def _numbers(name: str, cells: Cells) -> Any | None:
    pd = import_library("pandas")
    missing = cells.missing
    if name in _FLOATS and cells.exact:
        return to_floats(cells.numbers(), name)
    if name in _NULLABLE_FLOATS and cells.exact:
        return pd.arrays.FloatingArray(to_floats(cells.numbers(), name.lower()), missing.copy())
    integers = cells.integers(name.lower()) if name.lower() in _INTEGERS else None
    if integers is None:
        return None
    return integers if name in _INTEGERS and not missing.any() else pd.arrays.IntegerArray(integers, missing.copy())


def _sparse(dense: Any, fill: str) -> Any:
    """Return an array that stores what differs from a value only; what has no such form stays dense."""
    if not isinstance(dense, np.ndarray) or dense.dtype.kind not in "biuf":
        return dense
    try:
        value = fill == "True" if dense.dtype.kind == "b" else dense.dtype.type(float(fill))
    except (ValueError, OverflowError):
        return dense
    return import_library("pandas").arrays.SparseArray(dense, fill_value=value)


def _objects(values: Any, index: Any = None) -> Any:
    """Return a series of objects: an array of them pandas would turn into strings."""
    return import_library("pandas").Series(values, index=index, dtype=object)


def _string_dtype(cell_type: CellType) -> Any:
    pd = import_library("pandas")
    storage, missing = cell_type.details
    options = {} if missing == "NA" else {"na_value": np.nan}
    try:
        return pd.StringDtype(storage, **options)
    except ImportError:  # pyarrow was installed where the table was
        return pd.StringDtype("python", **options)


def _arrow(column: Any) -> Any:
    return import_library("pyarrow").chunked_array(column.array.__arrow_array__())

"""Reading tables: pandas, polars, Arrow and anything else narwhals knows, or a 2-D array.

A `Table` is a list of columns that are either numbers or categories; nothing after this module knows where they
came from.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from unlearnspn.errors import InvalidTableError, listing

Category = str | bool | int | float


class Family(StrEnum):
    """The sort of values that a column holds, as far as its type tells."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    TEXT = "text"
    MIXED = "mixed"
    EMPTY = "missing"

    def accepts(self, other: Family) -> bool:
        """Tell whether values of the other family can be read by a column of this one."""
        return self is other or self is Family.MIXED or other is Family.EMPTY


@dataclass(frozen=True)
class Factor:
    """A categorical column: its distinct categories, and each row's place among them (-1: missing)."""

    categories: list[Category]
    places: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Column:
    """One column as it came: numbers as float64 (NaN: missing), everything else as Python objects."""

    name: str
    family: Family
    values: npt.NDArray[Any]

    def odd_value(self, expected: Family | None = None) -> str:
        """Name the first value that is not of the expected family, or not of the first value's."""
        for row, value in enumerate(self.values.tolist()):
            if is_missing(value):
                continue
            family = _family(self.name, value)
            expected = expected or family
            if family is not expected:
                return f"row {row} holds {value!r}"
        return "no value"

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return the values as numbers, equal ones in equal bits; infinities are refused."""
        if self.family is Family.EMPTY:
            return np.full(len(self.values), np.nan)
        infinite = np.flatnonzero(np.isinf(self.values))
        if infinite.size:
            raise InvalidTableError(
                f"column {self.name!r} has infinite values in rows {listing(infinite.tolist())}: "
                "replace them, or mark them as missing"
            )
        return np.where(np.isnan(self.values), np.nan, self.values + 0.0)

    def factor(self) -> Factor:
        """Return the values as categories."""
        if self.family is Family.EMPTY:
            return Factor([], np.full(len(self.values), -1, np.int64))
        if self.family is Family.NUMBER:
            return _factor_numbers(self.numbers())
        places: dict[Category, int] = {}
        coded = [
            -1 if is_missing(value) else places.setdefault(_category(self.name, value), len(places))
            for value in self.values.tolist()
        ]
        return Factor(list(places), np.asarray(coded, np.int64))


@dataclass(frozen=True)
class Table:
    """Columns of equal length; `named` tells whether the names were given or made up."""

    columns: list[Column]
    n_rows: int
    named: bool

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [column.name for column in self.columns]

    def without(self, name: str | None) -> Table:
        """Leave one column out, if it is there."""
        return Table([column for column in self.columns if column.name != name], self.n_rows, self.named)


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN, pandas' NA or NaT.

    >>> [is_missing(value) for value in (None, float("nan"), 0, "", "nan")]
    [True, True, False, False, False]
    """
    if value is None:
        return True
    if isinstance(value, float):
        return value != value
    return not isinstance(value, str) and type(value).__name__ in ("NAType", "NaTType")


def token(category: Category) -> bytes:
    """Write a category in its canonical bytes; 1, 1.0 and True are told apart as people would.

    >>> token(1) == token(1.0), token(1) == token(True), token("1") == token(1)
    (True, False, False)
    """
    if isinstance(category, bool):
        return b"b1" if category else b"b0"
    if isinstance(category, str):
        return b"s" + category.encode("utf-8", "surrogatepass")
    return b"n" + struct.pack("<d", float(category) + 0.0)


def read_table(X: Any) -> Table:
    """Read whatever people hold tables in.

    >>> read_table([[1.5, "a"], [None, "b"]]).names
    ['x0', 'x1']
    """
    if isinstance(X, Table):
        return X
    native = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        columns = [
            _read_series(series, name) for series, name in zip(native.iter_columns(), native.columns, strict=True)
        ]
        named = all(isinstance(name, str) for name in native.columns)
        table = Table(columns, len(native), named)
    else:
        table = _read_array(X)
    if not table.columns:
        raise InvalidTableError(f"the table has no columns: 0 feature(s) (shape=({table.n_rows}, 0)) is too few")
    if len(set(table.names)) < len(table.names):
        twice = sorted({name for name in table.names if table.names.count(name) > 1})
        raise InvalidTableError(f"column names must be unique, but {listing(twice)} occur more than once")
    return table


def read_column(X: Any, name: str) -> list[Any]:
    """Return one column of a table as Python objects, unconverted."""
    native = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(native, nw.DataFrame):
        raise InvalidTableError(f"X has no column names, so ids={name!r} names no column: pass the ids themselves")
    if name not in native.columns:
        raise InvalidTableError(f"there is no column {name!r} for the ids; the table has {listing(native.columns)}")
    return native[name].to_list()


def _read_series(series: Any, name: str) -> Column:
    dtype = series.dtype
    name = str(name)
    if dtype.is_numeric():
        return Column(name, Family.NUMBER, _to_float(series))
    if dtype == nw.Boolean:
        return Column(name, Family.BOOLEAN, _to_objects(series.to_list()))
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Unknown):
        return _read_objects(name, _to_objects(series.to_list()))
    raise InvalidTableError(
        f"column {name!r} has type {dtype}, which cannot be modelled: "
        "convert it to numbers (for dates: days since a date of yours) or to strings"
    )


def _to_float(series: Any) -> npt.NDArray[np.float64]:
    cast = series.cast(nw.Float64)
    if cast.null_count():
        cast = cast.fill_null(float("nan"))
    return np.asarray(cast.to_numpy(), np.float64)


def _to_objects(values: Sequence[Any]) -> npt.NDArray[np.object_]:
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects


def _read_array(X: Any) -> Table:
    if hasattr(X, "toarray"):
        raise InvalidTableError("sparse matrices are not supported: pass X.toarray()")
    try:
        array = X if isinstance(X, np.ndarray) else np.asarray(X, object)
    except ValueError as error:
        raise InvalidTableError(f"X cannot be read as a table: {error}") from error
    if array.ndim != 2:
        raise InvalidTableError(
            f"Expected 2D array, got {array.ndim}D array instead: X must have rows and columns. "
            "Reshape your data with X.reshape(-1, 1) if it has one column"
        )
    columns = [_read_vector(f"x{j}", array[:, j]) for j in range(array.shape[1])]
    return Table(columns, array.shape[0], named=False)


def _read_vector(name: str, vector: npt.NDArray[Any]) -> Column:
    kind = vector.dtype.kind
    if kind in "fiu":
        return Column(name, Family.NUMBER, vector.astype(np.float64))
    if kind == "b":
        return Column(name, Family.BOOLEAN, vector.astype(object))
    if kind in "OUT":
        return _read_objects(name, vector.astype(object))
    if kind == "c":
        raise InvalidTableError(f"Complex data not supported: column {name!r}")
    raise InvalidTableError(
        f"column {name!r} has type {vector.dtype}, which cannot be modelled: convert it to numbers or strings"
    )


def _read_objects(name: str, values: npt.NDArray[np.object_]) -> Column:
    items = values.tolist()
    # One look at each type that occurs is enough, and far cheaper than one at each value.
    examples = {type(value): value for value in items if not is_missing(value)}
    families = {_family(name, value) for value in examples.values()}
    if not families:
        return Column(name, Family.EMPTY, values)
    if families == {Family.NUMBER}:
        numbers = [np.nan if is_missing(value) else float(value) for value in items]
        return Column(name, Family.NUMBER, np.asarray(numbers, np.float64))
    return Column(name, families.pop() if len(families) == 1 else Family.MIXED, values)


def _family(name: str, value: Any) -> Family:
    if isinstance(value, bool | np.bool_):
        return Family.BOOLEAN
    if isinstance(value, str):
        return Family.TEXT
    if isinstance(value, Real):
        return Family.NUMBER
    if isinstance(value, complex):
        raise InvalidTableError(f"Complex data not supported: column {name!r} holds {value!r}")
    raise InvalidTableError(
        f"column {name!r} holds {value!r} of type {type(value).__name__}; argument must be a string or a number, "
        "a boolean, or missing"
    )


def _category(name: str, value: Any) -> Category:
    match _family(name, value):
        case Family.BOOLEAN:
            return bool(value)
        case Family.TEXT:
            return str(value)
        case _:
            return _number_category(float(value))


def _number_category(number: float) -> Category:
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _factor_numbers(numbers: npt.NDArray[np.float64]) -> Factor:
    observed = ~np.isnan(numbers)
    distinct, inverse = np.unique(numbers[observed], return_inverse=True)
    places = np.full(len(numbers), -1, np.int64)
    places[observed] = inverse
    return Factor([_number_category(number) for number in distinct.tolist()], places)

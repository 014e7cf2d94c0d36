"""Reading tables: pandas, polars, Arrow and anything else narwhals knows, or a 2-D array.

A `Table` is a list of columns that are either numbers or categories; nothing after this module knows where they
came from.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from unlearnspn.errors import InvalidTableError, listing

Category = str | bool | int | float

_ADVICE = "convert it to numbers (for dates: days since a date of yours) or to strings"


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
    #: The type of the column, not just its values, says that it holds categories.
    categorical: bool = False

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
        places: dict[tuple[type, Any], int] = {}  # by type too: True and 1 are equal, but not the same category
        coded = [
            -1 if is_missing(value) else places.setdefault((type(value), value), len(places))
            for value in self.values.tolist()
        ]
        return _merge_factor([_category(self.name, value) for _, value in places], np.asarray(coded, np.int64))


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


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN, pandas' NA or NaT.

    >>> [is_missing(value) for value in (None, float("nan"), 0, "", "nan")]
    [True, True, False, False, False]
    """
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return bool(value != value)
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


def read_table(X: Any, without: str | None = None) -> Table:
    """Read whatever people hold tables in, leaving out one column if it is there.

    >>> read_table([[1.5, "a"], [None, "b"]]).names
    ['x0', 'x1']
    """
    if isinstance(X, Table):
        return X
    frame = _frame(X)
    table = _read_array(X) if frame is None else _read_frame(frame, without)
    if not table.columns:
        raise InvalidTableError(f"the table has no columns: 0 feature(s) (shape=({table.n_rows}, 0)) is too few")
    return table


def _frame(X: Any) -> Any:
    """Return X as a narwhals frame, or None if it is no table with named columns."""
    try:
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            raise InvalidTableError("X is a lazy frame: pass X.collect()")
        if not isinstance(frame, nw.DataFrame):
            return None
        names = [str(name) for name in frame.columns]
    except nw.exceptions.DuplicateError as error:
        raise InvalidTableError(f"column names must be unique: {' '.join(str(error).split())}") from error
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidTableError(f"column names must be unique, but {listing(twice)} occur more than once")
    return frame


def _read_frame(frame: Any, without: str | None) -> Table:
    named = all(isinstance(name, str) for name in frame.columns if name != without)
    pairs = zip(frame.iter_columns(), frame.columns, strict=True)
    columns = [_read_series(series, name) for series, name in pairs if name != without]
    return Table(columns, len(frame), named)


def read_column(X: Any, name: str) -> list[Any]:
    """Return one column of a table as Python objects, unconverted."""
    frame = _frame(X)
    if frame is None:
        raise InvalidTableError(f"X has no column names, so ids={name!r} names no column: pass the ids themselves")
    if name not in frame.columns:
        raise InvalidTableError(f"there is no column {name!r} for the ids; the table has {listing(frame.columns)}")
    values: list[Any] = frame[name].to_list()
    return values


def _read_series(series: Any, name: Any) -> Column:
    dtype, name = series.dtype, str(name)
    if dtype.is_numeric():
        return Column(name, Family.NUMBER, _to_float(name, series.to_numpy()))
    if dtype == nw.Boolean:
        return Column(name, Family.BOOLEAN, _to_objects(series.to_list()), categorical=True)
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        column = _read_objects(name, _to_objects(series.to_list()))
        return replace(column, categorical=True)
    if dtype in (nw.Object, nw.Unknown):
        return _read_objects(name, _to_objects(series.to_list()))
    raise InvalidTableError(f"column {name!r} has type {dtype}, which cannot be modelled: {_ADVICE}")


def _to_float(name: str, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    if values.dtype != object:
        return values.astype(np.float64)
    numbers = np.empty(len(values))
    for row, value in enumerate(values.tolist()):
        try:
            numbers[row] = np.nan if is_missing(value) else float(value)
        except OverflowError as error:
            raise InvalidTableError(f"column {name!r} holds a number too large in row {row}") from error
    return numbers


def _to_objects(values: Sequence[Any]) -> npt.NDArray[np.object_]:
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects


def _read_array(X: Any) -> Table:
    if hasattr(X, "toarray"):
        raise InvalidTableError("sparse matrices are not supported: pass X.toarray()")
    if isinstance(X, np.ma.MaskedArray):
        mask, X = np.ma.getmaskarray(X), X.data.astype(object)
        X[mask] = None
    if isinstance(X, dict | str | bytes) or not hasattr(X, "__len__"):
        raise InvalidTableError(f"X must be a table or a 2-D array, not {type(X).__name__}")
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
        return Column(name, Family.BOOLEAN, vector.astype(object), categorical=True)
    if kind in "OUT":
        return _read_objects(name, vector.astype(object))
    if kind == "c":
        raise InvalidTableError(f"Complex data not supported: column {name!r}")
    raise InvalidTableError(f"column {name!r} has type {vector.dtype}, which cannot be modelled: {_ADVICE}")


def _read_objects(name: str, values: npt.NDArray[np.object_]) -> Column:
    items = values.tolist()
    # One look at each type that occurs is enough, and far cheaper than one at each value.
    examples = {type(value): value for value in items if not is_missing(value)}
    families = {_family(name, value) for value in examples.values()}
    if not families:
        return Column(name, Family.EMPTY, values)
    if families == {Family.NUMBER}:
        return Column(name, Family.NUMBER, _to_float(name, values))
    family = families.pop() if len(families) == 1 else Family.MIXED
    return Column(name, family, values, categorical=family is not Family.MIXED)


def _family(name: str, value: Any) -> Family:
    if isinstance(value, bool | np.bool_):
        return Family.BOOLEAN
    if isinstance(value, str):
        return Family.TEXT
    if isinstance(value, Real | Decimal):
        return Family.NUMBER
    if isinstance(value, complex):
        raise InvalidTableError(f"Complex data not supported: column {name!r} holds {value!r}")
    raise InvalidTableError(
        f"column {name!r} holds {value!r} of type {type(value).__name__}; argument must be a string or a number, "
        f"a boolean, or missing: {_ADVICE}"
    )


def _category(name: str, value: Any) -> Category:
    match _family(name, value):
        case Family.BOOLEAN:
            return bool(value)
        case Family.TEXT:
            return str(value)
        case _ if abs(value) == float("inf"):
            raise InvalidTableError(f"column {name!r} holds an infinite value: replace it, or mark it as missing")
        case _:
            return _number_category(float(value))


def _merge_factor(categories: list[Category], places: npt.NDArray[np.int64]) -> Factor:
    """Give one place to values that are the same category, such as 1 and 1.0."""
    distinct: dict[bytes, int] = {}
    merged = [distinct.setdefault(token(category), len(distinct)) for category in categories]
    first = {place: category for category, place in reversed(list(zip(categories, merged, strict=True)))}
    return Factor([first[place] for place in range(len(first))], np.array([*merged, -1], np.int64)[places])


def _number_category(number: float) -> Category:
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _factor_numbers(numbers: npt.NDArray[np.float64]) -> Factor:
    observed = ~np.isnan(numbers)
    distinct, inverse = np.unique(numbers[observed], return_inverse=True)
    places = np.full(len(numbers), -1, np.int64)
    places[observed] = inverse
    return Factor([_number_category(number) for number in distinct.tolist()], places)

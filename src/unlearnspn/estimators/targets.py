"""Reading the classes that a classifier learns from, and giving them back as they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from unlearnspn.errors import InvalidTableError, listing
from unlearnspn.tables import OpenTable, Table
from unlearnspn.tables.cells import Category, Family
from unlearnspn.tables.columns import Column, read_series, read_vector
from unlearnspn.tables.holders import holder_of, import_library
from unlearnspn.tables.origins import ColumnOrigin, Library

#: The name of the classes' column if `y` has none.
DEFAULT_NAME = "target"

_LARGEST = 2**53  # beyond it, neighbouring integers are one float
_MAKERS = {Library.PANDAS: "Series", Library.POLARS: "Series", Library.PYARROW: "array"}
_LIBRARIES = {
    nw.Implementation.PANDAS: Library.PANDAS,
    nw.Implementation.POLARS: Library.POLARS,
    nw.Implementation.PYARROW: Library.PYARROW,
}


@dataclass(frozen=True)
class Target:
    """The classes of some rows: a column of the model, and its type in the library of the features."""

    column: Column
    origin: ColumnOrigin
    #: The type of the array in which classes are given back; empty for the one that suits them.
    dtype: str


def target_name(y: Any, features: OpenTable) -> str:
    """Return the name of the classes' column: that of `y` if it has one, and none that a feature has."""
    name = getattr(y, "name", None)
    if not isinstance(name, str) or not name:
        name = DEFAULT_NAME
    while name in features.names:
        name += "_"
    return name


def read_target(y: Any, name: str, library: Library) -> Target:
    """Read the classes that go with features in some library, or raise if they are none."""
    if y is None:
        raise ValueError("This classifier requires y to be passed, but the target y is None")
    from sklearn.utils.validation import column_or_1d  # noqa: PLC0415  # imported by whoever has a classifier

    if np.ma.is_masked(y):
        raise _missing(np.flatnonzero(np.ma.getmaskarray(y)))
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        column, dtype = read_series(name, series, None), _dtype_of_series(series)
        same = _LIBRARIES.get(series.implementation) is library
        own = series.to_native() if same else _own_column(library, series.to_list())
    else:
        if isinstance(y, list | tuple):  # of Arrow's scalars numpy would read the bytes
            y = [label.as_py() if hasattr(label, "as_py") else label for label in y]
        vector = column_or_1d(y, warn=True)
        column, dtype = read_vector(name, vector), _dtype_of_vector(vector)
        own = _own_column(library, vector.tolist() if vector.dtype.kind in "UTO" else vector)
    _check(column)
    return Target(column, ColumnOrigin(name, name, holder_of(library).type_of(own)), dtype)


def beside(table: Table, target: Target) -> Table:
    """Put the classes beside the features, the last column of all."""
    n_rows, origin = len(target.column), table.origin
    if n_rows != table.n_rows:
        raise InvalidTableError(f"X has {table.n_rows} rows, but y has {n_rows}: inconsistent numbers of samples")
    if origin is not None:
        origin = replace(origin, columns=(*origin.columns, target.origin))
    return replace(table, columns=[*table.columns, target.column], origin=origin)


def as_labels(classes: Sequence[Category], dtype: str) -> npt.NDArray[Any]:
    """Return classes as an array, of a type like the one that they came in if it holds them all.

    >>> as_labels([0, 1], "<f4"), as_labels([1, 300], "|u1"), as_labels(["a", "longer"], "U")
    (array([0., 1.], dtype=float32), array([  1, 300]), array(['a', 'longer'], dtype='<U6'))
    """
    suited = np.array(classes)
    if not dtype:
        return suited
    wanted = np.dtype(dtype)
    if wanted.kind in "iu":
        limits = np.iinfo(wanted)
        if suited.min() < limits.min or suited.max() > limits.max:
            return suited
    return np.array(classes, wanted)


def _check(column: Column) -> None:
    """Raise unless all of the classes are there, and are classes."""
    if column.family is Family.MIXED:
        raise InvalidTableError(f"y mixes kinds of values ({column.odd_value()}): convert it to strings")
    if column.family.is_time:
        raise InvalidTableError(
            f"Unknown label type: y holds {column.family} values. Classes are strings, booleans or whole numbers: "
            "divide y into classes, or convert it to strings"
        )
    missing = np.flatnonzero(column.missing())
    if missing.size:
        raise _missing(missing)
    if column.family is not Family.NUMBER:
        return
    if column.distinct is not None:
        raise _too_large()
    numbers = np.asarray(column.values, np.float64)
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        raise InvalidTableError(f"Input y contains infinity: the classes of rows {listing((infinite + 1).tolist())}")
    broken = np.flatnonzero(numbers != np.rint(numbers))
    if broken.size:
        raise InvalidTableError(
            f"Unknown label type: continuous. The class of row {broken[0] + 1} is {numbers[broken[0]]}: classes are "
            "strings, booleans or whole numbers. Divide y into classes, or convert it to strings"
        )
    if np.abs(numbers).max(initial=0.0) >= _LARGEST:
        raise _too_large()


def _too_large() -> InvalidTableError:
    return InvalidTableError("y holds whole numbers of 2**53 or more, which cannot be told apart: convert to strings")


def _missing(rows: npt.NDArray[np.int64]) -> InvalidTableError:
    return InvalidTableError(
        f"Input y contains NaN: the classes of rows {listing((rows + 1).tolist())} are missing. Leave these rows out; "
        "predict tells their classes afterwards"
    )


def _dtype_of_series(series: Any) -> str:
    """Return the type of labels that came in a column: as scikit-learn has them, strings are objects."""
    if series.dtype.is_numeric():
        dtype = series.to_numpy().dtype
        return dtype.str if dtype.kind in "fiu" else ""
    return "" if series.dtype in (nw.Boolean, nw.Object) else "O"


def _dtype_of_vector(vector: npt.NDArray[Any]) -> str:
    """Return the type of labels that came in an array; how wide strings were is not kept, it tells of the longest."""
    if vector.dtype.kind in "UT":
        return "U"
    if vector.dtype.kind == "O":
        return "O" if all(isinstance(label, str) for label in vector.tolist()) else ""
    return vector.dtype.str


def _own_column(library: Library, values: Any) -> Any:
    """Make a column of the library, to see which type it gives the values."""
    if library in _MAKERS:
        return getattr(import_library(library.value), _MAKERS[library])(values)
    return np.asarray(values)

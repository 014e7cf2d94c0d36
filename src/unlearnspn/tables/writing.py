"""Giving answers as the kind of table that went in: its library, its column names, its types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.errors import InvalidTableError, listing
from unlearnspn.tables import OpenTable, open_table
from unlearnspn.tables.cells import Category
from unlearnspn.tables.columns import Column, read_objects
from unlearnspn.tables.holders import Cells, Holder, holder_of
from unlearnspn.tables.names import Label
from unlearnspn.tables.origins import ANYTHING, CellType, ColumnOrigin, Origin


class Times(NamedTuple):
    """Dates, times or durations: the numbers that stand for them, and the type that they have by default."""

    seconds: npt.NDArray[np.float64]
    type: CellType


#: A column of an answer: numbers (NaN: missing), dates and times, or categories and places among them (anything else:
#: missing).
Answer = npt.NDArray[np.floating[Any]] | Times | tuple[Sequence[Category], npt.NDArray[np.integer[Any]]]


def write_table(origin: Origin, names: Sequence[str], columns: Sequence[Answer]) -> Any:
    """Write a table of the kind that the origin tells of, with these columns in this order.

    Integers are rounded and kept within the range of their type. If something is missing, a type that cannot be
    missing gives way to the nearest that can: pandas' nullable types, floats in arrays. Ordered categories and polars'
    Enums have the categories that their type declared, in that order, and behind them those given here that it did
    not, sorted: then they have no order any more. The categories of other columns are those given here, sorted. Tables
    that came as lists are written as arrays: of floats if all columns are numbers, else of objects.

    A column that the origin does not know gets the type that suits it. An `ImportError` says so if the library is not
    installed here.

    >>> import pandas as pd
    >>> from unlearnspn.tables import read_table
    >>> frame = pd.DataFrame({"age": pd.Series([41, 7], dtype="uint8"), "sex": pd.Categorical(["f", "m"])})
    >>> origin = read_table(frame).origin
    >>> write_table(origin, ["sex", "age"], [(["m", "f"], np.array([0, 0, 1])), np.array([17.6, -3.0, 999.0])])
      sex  age
    0   m   18
    1   m    0
    2   f  255
    """
    holder = holder_of(origin.library)
    known = {column.name: column for column in origin.columns}
    wanted = [known.get(name, ColumnOrigin(name, name, ANYTHING)) for name in names]
    written = [_write(holder, one, _cells(column)) for one, column in zip(wanted, columns, strict=True)]
    return holder.table([one.label for one in wanted], written)


def fill_table(X: Any, columns: Mapping[str, Answer], without: Label = None) -> Any:
    """Return a table like X in which what is missing is filled in from columns of the same length, by name.

    A table without names of its own, such as an array, is filled in by position if there is a column here for each of
    its own; `without` names one of them that is left out of that, as in `read_table`. Otherwise its columns are
    called x0, x1 and so on.

    All other cells, and columns that are not named, stay as they are, and so do a frame's index and the types of its
    columns; categories that a column's type lacks are added to it. What is missing in X and here stays missing.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": [7, 9], "age": pd.array([None, 30], dtype="Int64")}, index=["a", "b"])
    >>> fill_table(frame, {"age": np.array([41.2, 99.0])})
       id  age
    a   7   41
    b   9   30
    """
    table = open_table(X)
    holder = holder_of(table.library)
    exchanged = {}
    for (name, answer), position in zip(columns.items(), _positions(table, list(columns), without), strict=True):
        column, cells = table.read(position), _cells(answer)
        if len(cells) != len(column):
            raise InvalidTableError(f"column {name!r} has {len(column)} rows, but {len(cells)} to fill them in")
        rows = np.flatnonzero(column.missing() & ~cells.missing)
        if rows.size:
            filled = holder.fill(table.own_column(position), rows, cells.take(rows))
            exchanged[position] = _rewrite(holder, column, rows, cells) if filled is None else filled
    return holder.replace(table.native, exchanged)


def _positions(table: OpenTable, names: list[str], without: Label) -> list[int]:
    """Find the columns of a table by their names, or by their order if they have none."""
    positions = table.positions(without)
    if not table.named(positions) and len(positions) == len(names):
        return positions
    unknown = [name for name in names if name not in table.names]
    if unknown:
        raise InvalidTableError(f"there are no columns {listing(unknown)} to fill in; X has {listing(table.names)}")
    return [table.names.index(name) for name in names]


def _cells(answer: Answer) -> Cells:
    if isinstance(answer, Times):
        return Cells.of_numbers(*answer)
    if isinstance(answer, tuple):
        categories, places = answer
        return Cells.of_places(categories, places)
    return Cells.of_numbers(answer)


def _write(holder: Holder, column: ColumnOrigin, cells: Cells) -> Any:
    written = holder.column(column.type, cells)
    if written is None:
        written = holder.default_column(cells)
    if written is None:
        raise InvalidTableError(
            f"column {column.name!r} mixes kinds of values, or numbers, that this kind of table cannot hold"
        )
    return written


def _rewrite(holder: Holder, column: Column, rows: npt.NDArray[np.int64], cells: Cells) -> Any:
    """Fill in a column of a type that cannot hold the new values: it gets one that suits all of them."""
    objects = column.objects()
    objects[rows] = cells.objects()[rows]
    both = read_objects(column.name, objects.tolist())
    numeric = both.family.is_numeric and both.distinct is None
    times = cells.times if both.family.is_time else None
    suited = Cells.of_numbers(both.numbers(), times) if numeric else Cells.of_places(*both.factor())
    return _write(holder, ColumnOrigin(column.name, column.name, ANYTHING), suited)

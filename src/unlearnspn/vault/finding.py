"""Finding people by what their records say, when nobody knows under which subject or id they are held."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.errors import InvalidTableError
from unlearnspn.tables import Column, Family, Table, is_missing
from unlearnspn.tables.times import DAY, EXAMPLES, is_day, read_text

_FLAGS = {"true": True, "false": False}


def rows_like(table: Table, wanted: Mapping[str, str]) -> npt.NDArray[np.int64]:
    """Return the rows whose values are like all of those that somebody has typed, by the names of columns.

    A number and a flag are the same, of a text a part is enough in capitals or not, and a day stands for all its times.

    >>> from unlearnspn.tables import read_table
    >>> import pandas as pd
    >>> people = read_table(pd.DataFrame({"age": [30, 41, 30], "town": ["Ulm", "Neu-Ulm", "Bonn"]}))
    >>> rows_like(people, {"age": "30", "town": "ulm"}).tolist(), rows_like(people, {"town": "ulm"}).tolist()
    ([0], [0, 1])
    """
    columns = {column.name: column for column in table.columns}
    found = np.ones(table.n_rows, np.bool_)
    for name, text in wanted.items():
        if name not in columns:
            raise InvalidTableError(f"the records have no column {name!r}")
        found &= _is_like(columns[name], text.strip())
    return np.flatnonzero(found)


def _is_like(column: Column, text: str) -> npt.NDArray[np.bool_]:
    if column.family.is_time:
        return _is_at(column, text)
    if column.family is Family.NUMBER:
        number = _read_number(column, text)
        return np.asarray(column.values == number) if column.distinct is None else _among(column, number.__eq__)
    if column.family is Family.BOOLEAN:
        flag = _read_flag(column, text)
        return _among(column, lambda value: value is flag)
    part = text.casefold()
    return _among(column, lambda value: part in str(value).casefold())


def _among(column: Column, is_like: Callable[[Any], Any]) -> npt.NDArray[np.bool_]:
    """Ask of each distinct value once; what is missing is like nothing."""
    distinct = column.distinct or []
    flags = [not is_missing(value) and is_like(value) is True for value in distinct]
    return np.asarray(np.array([*flags, False], np.bool_)[column.values])


def _is_at(column: Column, text: str) -> npt.NDArray[np.bool_]:
    try:
        seconds = read_text(text, column.family)
    except (ValueError, OverflowError) as error:
        example = EXAMPLES[column.family]
        raise InvalidTableError(f"column {column.name!r}: {text!r} is no {column.family} such as {example}") from error
    last = seconds + DAY if is_day(text) else np.nextafter(seconds, np.inf)
    return np.asarray((column.values >= seconds) & (column.values < last))


def _read_number(column: Column, text: str) -> int | float:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    raise InvalidTableError(f"column {column.name!r}: {text!r} is no number")


def _read_flag(column: Column, text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise InvalidTableError(f"column {column.name!r}: {text!r} is neither true nor false")
    return _FLAGS[text.lower()]

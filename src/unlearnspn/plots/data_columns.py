"""Columns of the data that a picture compares the model with."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit import Circuit
from unlearnspn.errors import InvalidTableError, listing
from unlearnspn.plots.style import count
from unlearnspn.tables import Category, Column, OpenTable, Table, open_table, token

Floats = npt.NDArray[np.float64]
#: The categories of some rows: the place of each among those of the model, -1 if it is missing.
Places = npt.NDArray[np.int64]

_FEWEST_BINS, _MOST_BINS = 5, 60


def read_data(data: Any, circuit: Circuit, names: list[str]) -> list[Column] | None:
    """Read some columns of a table: by name, or by place if the table has no names; None if there is no table."""
    if data is None:
        return None
    table = open_table(data)
    columns = [table.read(_position(table, circuit, name)) for name in names]
    circuit.marginal(names).domains.schema.check(Table(columns, table.n_rows, named=False))
    return columns


def _position(table: OpenTable, circuit: Circuit, name: str) -> int:
    if table.named(list(range(len(table.names)))):
        if name not in table.names:
            raise InvalidTableError(f"the data have no column {name!r}; their columns are {listing(table.names)}")
        return table.names.index(name)
    if len(table.names) != len(circuit.columns):
        raise InvalidTableError(
            f"the data have {len(table.names)} columns without names, but the model has {len(circuit.columns)}: "
            "pass all columns of the model, or a table with names"
        )
    return circuit.domains.variable(name)


def numbers_of(column: Column | None) -> Floats:
    """Return the numbers of a column, those that are missing as NaN; none of no column."""
    return np.empty(0) if column is None else column.numbers()


def places_of(column: Column, categories: list[Category]) -> Places:
    """Return the place of each row's category; -1 if it is missing, or the model has never seen it."""
    factor = column.factor()
    known = {token(category): place for place, category in enumerate(categories)}
    places = [known.get(token(category), -1) for category in factor.categories]
    return np.array([*places, -1], np.int64)[factor.places]


def describe_rows(missing: npt.NDArray[np.bool_]) -> str:
    """Say how many rows there are.

    >>> describe_rows(np.array([False, True, False]))
    'data: 3 rows, 1 missing'
    """
    n_missing = int(missing.sum())
    return f"data: {count(len(missing), 'row')}" + (f", {n_missing:,} missing" if n_missing else "")


def bin_edges(values: Floats, low: float, high: float) -> Floats:
    """Return the edges of a histogram of numbers, each a whole number wide if the numbers are whole.

    >>> bin_edges(np.array([1.0, 2.0, 2.0, 3.0]), 0.0, 4.0)
    array([0.5, 1.5, 2.5, 3.5])
    """
    least, largest = values.min(), values.max()
    if least == largest:
        half = (high - low) / (2 * _MOST_BINS)
        return np.array([least - half, least + half])
    n_bins = int(np.clip(3 * len(values) ** (1 / 3), _FEWEST_BINS, _MOST_BINS))
    if not (values == np.floor(values)).all():
        return np.linspace(least, largest, n_bins + 1)
    width = max(1.0, float(np.ceil((largest - least + 1) / n_bins)))
    return np.arange(least - 0.5, largest + width, width)

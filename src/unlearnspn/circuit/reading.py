"""Reading the tables that questions come with: some rows at a time, checked against the columns of the circuit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals as nw
import numpy as np

from unlearnspn.circuit.batches import Batch
from unlearnspn.circuit.domains import Domains
from unlearnspn.errors import InvalidTableError
from unlearnspn.tables import Table, read_table
from unlearnspn.tables.names import Label

#: A table is read so many rows at a time, so that memory stays bounded.
CHUNK_ROWS = 1 << 16


def read_batches(X: Any, domains: Domains, optional: int | None = None) -> Iterator[Batch]:
    """Yield the rows of a table; a column that is `optional` may be left out, and is read as missing either way."""
    for table in _tables(X, domains.id_column):
        if table.n_rows == 0:
            raise InvalidTableError("the table is empty: 0 sample(s), while a minimum of 1 is required")
        variables = [variable for variable in range(len(domains)) if variable != optional]
        read = table if optional is None else _without(table, domains, optional)
        domains.restricted(variables).schema.check(read)
        yield Batch.encode(read, domains, variables)


def _tables(X: Any, id_column: Label) -> Iterator[Table]:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    sliceable = isinstance(frame, nw.DataFrame) or (isinstance(X, np.ndarray) and X.ndim == 2)
    n_rows = len(frame) if sliceable else 0
    if n_rows <= CHUNK_ROWS:
        yield read_table(X, without=id_column)
        return
    for start in range(0, n_rows, CHUNK_ROWS):
        part = frame[start : start + CHUNK_ROWS]
        yield read_table(part.to_native() if isinstance(part, nw.DataFrame) else part, without=id_column)


def _without(table: Table, domains: Domains, variable: int) -> Table:
    """Leave a column out, by its name, or by its place if the table has no names."""
    if table.named:
        columns = [column for column in table.columns if column.name != domains.names[variable]]
    elif len(table.columns) == len(domains):
        columns = [column for number, column in enumerate(table.columns) if number != variable]
    else:
        columns = table.columns
    return Table(columns, table.n_rows, table.named)

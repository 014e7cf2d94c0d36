"""Reading the tables that questions come with: some rows at a time, checked against the columns of the circuit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unlearnspn.circuit.batches import Batch
from unlearnspn.circuit.domains import Domains
from unlearnspn.errors import InvalidTableError
from unlearnspn.tables import Table, cut_rows, read_table

#: A table is read so many rows at a time, so that memory stays bounded.
CHUNK_ROWS = 1 << 16


def read_batches(X: Any, domains: Domains, optional: int | None = None) -> Iterator[Batch]:
    """Yield the rows of a table; a column that is `optional` may be left out, and is read as missing either way."""
    for part in cut_rows(X, CHUNK_ROWS):
        table = read_table(part, without=domains.id_column)
        if table.n_rows == 0:
            raise InvalidTableError("the table is empty: 0 sample(s), while a minimum of 1 is required")
        variables = [variable for variable in range(len(domains)) if variable != optional]
        read = table if optional is None else _without(table, domains, optional)
        yield Batch.encode(domains.restricted(variables).schema.arranged(read), domains, variables)


def _without(table: Table, domains: Domains, variable: int) -> Table:
    """Leave a column out, by its name, or by its place if the table has no names."""
    if table.named:
        columns = [column for column in table.columns if column.name != domains.names[variable]]
    elif len(table.columns) == len(domains):
        columns = [column for number, column in enumerate(table.columns) if number != variable]
    else:
        columns = table.columns
    return Table(columns, table.n_rows, table.named)

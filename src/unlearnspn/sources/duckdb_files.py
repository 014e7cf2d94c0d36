"""DuckDB files, opened so that they cannot be written."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

from unlearnspn.errors import InvalidTableError
from unlearnspn.sources.libraries import load_library
from unlearnspn.sources.options import Options
from unlearnspn.sources.queries import ONLY_READ, Columns, choose, quoted, refusal, to_columns

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_duckdb(path: str, options: Options) -> Columns:
    """Read a table or a query from a file that is there."""
    library = load_library("duckdb", "DuckDB files", "duckdb")
    query = choose(options)
    os.stat(path)
    try:
        with library.connect(path, read_only=True) as connection:
            if query is not None:
                _require_select(library, connection, query)
            found = connection.sql(f"SELECT * FROM {quoted(str(options.table))}" if query is None else query)
            return _fetched(found)
    except library.Error as error:
        raise refusal("DuckDB", error, query) from error


def _require_select(library: Any, connection: Any, query: str) -> None:
    """Raise unless it is one SELECT: others can write into files that are not the source."""
    kinds = [statement.type for statement in connection.extract_statements(query)]
    if kinds != [library.StatementType.SELECT]:
        raise InvalidTableError(f"DuckDB refused, since {ONLY_READ}")


def _fetched(found: Any) -> Columns:
    """Return all rows by columns; instants as microseconds first, since DuckDB needs another library to give them."""
    zoned = [str(kind) == "TIMESTAMP WITH TIME ZONE" for kind in found.types]
    if not any(zoned):
        return to_columns(found.columns, found.fetchall())
    names = ['"' + name.replace('"', '""') + '"' for name in found.columns]
    asked = [f"epoch_us({name})" if instant else name for name, instant in zip(names, zoned, strict=True)]
    columns = to_columns(found.columns, found.project(", ".join(asked)).fetchall())
    for name, instant in zip(found.columns, zoned, strict=True):
        if instant:
            columns[name] = [None if each is None else _EPOCH + timedelta(microseconds=each) for each in columns[name]]
    return columns

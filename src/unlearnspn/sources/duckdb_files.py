"""DuckDB files, opened so that they cannot be written."""

from __future__ import annotations

import os
from typing import Any

from unlearnspn.errors import InvalidTableError
from unlearnspn.sources.libraries import load_library
from unlearnspn.sources.options import Options
from unlearnspn.sources.queries import ONLY_READ, Columns, choose, quoted, refusal, to_columns


def read_duckdb(path: str, options: Options) -> Columns:
    """Read a table or a query from a file that is there."""
    library = load_library("duckdb", "DuckDB files", "duckdb")
    query = choose(options)
    os.stat(path)
    try:
        with library.connect(path, read_only=True) as connection:
            if query is not None:
                _require_select(library, connection, query)
            cursor = connection.execute(f"SELECT * FROM {quoted(str(options.table))}" if query is None else query)
            names = [column[0] for column in cursor.description or ()]
            if any("TIME ZONE" in str(column[1]) for column in cursor.description or ()):
                load_library("pyarrow", "dates with a time zone", "files")  # DuckDB itself would need another one
                return to_columns(names, [tuple(row.values()) for row in cursor.to_arrow_table().to_pylist()])
            return to_columns(names, cursor.fetchall())
    except library.Error as error:
        raise refusal("DuckDB", error, query) from error


def _require_select(library: Any, connection: Any, query: str) -> None:
    """Raise unless it is one SELECT: others can write into files that are not the source."""
    kinds = [statement.type for statement in connection.extract_statements(query)]
    if kinds != [library.StatementType.SELECT]:
        raise InvalidTableError(f"DuckDB refused, since {ONLY_READ}")

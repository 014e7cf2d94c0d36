"""Tables and queries of SQL databases: by URL through SQLAlchemy, or in DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unlearnspn.errors import InvalidTableError, listing
from unlearnspn.sources.libraries import load_library
from unlearnspn.sources.options import Options

Columns = dict[str, list[Any]]


def read_url(url: str, options: Options) -> Columns:
    """Read a table or a query from the database at a URL such as postgresql://host/db or sqlite:///file.db."""
    library = load_library("sqlalchemy", "SQL databases", "sql")
    try:
        engine = library.create_engine(url)
    except (library.exc.ArgumentError, ValueError) as error:
        raise InvalidTableError(f"this is no URL of a database such as postgresql://user@host/name: {error}") from error
    except ImportError as error:
        raise InvalidTableError(f"this database needs its driver: pip install {error.name}") from error
    query = _choose(options)
    try:
        with engine.connect() as connection:
            # Quoted by the library, whatever characters a table's name has.
            statement = library.text(query) if query else _select(library, str(options.table))
            result = connection.execute(statement)
            if not result.returns_rows:
                raise InvalidTableError("the query returns no rows: it must be a SELECT")
            return _columns(list(result.keys()), result.fetchall())
    except library.exc.SQLAlchemyError as error:
        # The message, not the error itself, which would show the whole statement and might show parameters.
        raise InvalidTableError(f"the database refused: {getattr(error, 'orig', None) or error}") from error
    finally:
        engine.dispose()


def read_duckdb(path: str, options: Options) -> Columns:
    """Read a table or a query from a DuckDB file, which is opened for reading only."""
    library = load_library("duckdb", "DuckDB files", "duckdb")
    query = _choose(options) or f"SELECT * FROM {_quoted(str(options.table))}"
    try:
        with library.connect(path, read_only=True) as connection:
            cursor = connection.execute(query)
            return _columns([column[0] for column in cursor.description or []], cursor.fetchall())
    except library.Error as error:
        raise InvalidTableError(f"DuckDB refused: {str(error).strip().splitlines()[0]}") from error


def _choose(options: Options) -> str | None:
    if (options.table is None) == (options.query is None):
        raise InvalidTableError("say what to read from the database: either a table or a query")
    return options.query


def _select(library: Any, name: str) -> Any:
    schema, _, table = name.rpartition(".")
    source = library.table(
        library.quoted_name(table, True), schema=library.quoted_name(schema, True) if schema else None
    )
    return library.select(library.literal_column("*")).select_from(source)


def _quoted(name: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Columns:
    if not names:
        raise InvalidTableError("the query returns no columns: it must be a SELECT")
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise InvalidTableError(f"column names must be unique, but {listing(twice)} occur more than once")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}

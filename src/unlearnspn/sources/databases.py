"""Tables and queries of database servers, by URL through SQLAlchemy; in transactions that cannot write."""

from __future__ import annotations

from typing import Any

from unlearnspn.errors import InvalidTableError
from unlearnspn.sources.libraries import load_library, package_of
from unlearnspn.sources.options import Options
from unlearnspn.sources.queries import ONLY_READ, Columns, choose, refusal, to_columns

#: The session, too: MariaDB ends the transaction before it drops a table, and looks only then whether it may.
_MYSQL = ("SET SESSION TRANSACTION READ ONLY", "START TRANSACTION READ ONLY")
#: How a transaction begins in which nothing can be written, neither rows nor tables.
_READ_ONLY = {"postgresql": ("SET TRANSACTION READ ONLY",), "mysql": _MYSQL, "mariadb": _MYSQL}


def read_url(url: str, options: Options) -> Columns:
    """Read a table or a query from the database at a URL such as postgresql://host/db.

    A query is sent only where the database itself can be held to reading. Whatever happens, it is rolled back.
    """
    library = load_library("sqlalchemy", "SQL databases", "sql")
    query = choose(options)
    engine = _make_engine(library, url)
    kind = engine.dialect.name
    statement = None if query is None else _one_statement(query, kind)
    try:
        with engine.connect() as connection:
            try:
                _begin(connection, kind)
                result = _ask(library, connection, statement, str(options.table))
                return to_columns(list(result.keys()) if result.returns_rows else [], result.fetchall())
            finally:
                connection.rollback()
    except library.exc.SQLAlchemyError as error:
        # The message, not the error itself, which would show the whole statement and might show parameters.
        raise refusal("the database", getattr(error, "orig", None) or error, query) from error
    finally:
        engine.dispose()


def _make_engine(library: Any, url: str) -> Any:
    try:
        return library.create_engine(url)
    except (library.exc.ArgumentError, ValueError) as error:
        raise InvalidTableError(f"this is no URL of a database such as postgresql://user@host/name: {error}") from error
    except ImportError as error:
        if error.name is None:
            raise ImportError(f"the driver of this database cannot be used: {error}") from error
        raise ImportError(f"this database needs its driver: pip install '{package_of(error.name)}'") from error


def _one_statement(query: str, kind: str) -> str:
    """Return a query that is one statement: another one behind it could end the transaction, and write."""
    if kind not in _READ_ONLY:
        raise InvalidTableError(
            f"queries are sent to databases that can be held to reading (SQLite, DuckDB, PostgreSQL, MySQL, MariaDB), "
            f"and {kind} is none of them: make a view there, and name it with --table"
        )
    statement = query.strip().rstrip("; \t\r\n")
    if ";" in statement:
        # In a text it would be harmless, but what is a text is another matter in each database.
        raise InvalidTableError(f"there is a semicolon within the query: {ONLY_READ}; write CHR(59) for one in a text")
    return statement


def _begin(connection: Any, kind: str) -> None:
    for statement in _READ_ONLY.get(kind, ()):
        connection.exec_driver_sql(statement)
    if kind == "postgresql":
        # After a first question the transaction stays as it is, whatever the query says.
        shown = connection.exec_driver_sql("SELECT current_setting('transaction_read_only')").scalar()
        if shown != "on":
            raise InvalidTableError("the database does not open a transaction for reading only: is autocommit on?")


def _ask(library: Any, connection: Any, statement: str | None, table: str) -> Any:
    if statement is None:
        # Quoted by the library, whatever characters a table's name has.
        return connection.execute(_select(library, table))
    # As a cursor on the server where there are any, which can only be that of a SELECT; and as it is: percent signs
    # and colons mean nothing.
    options = {"stream_results": True, "no_parameters": True}
    return connection.exec_driver_sql(statement, execution_options=options)


def _select(library: Any, name: str) -> Any:
    schema, _, table = name.rpartition(".")
    source = library.table(
        library.quoted_name(table, True), schema=library.quoted_name(schema, True) if schema else None
    )
    return library.select(library.literal_column("*")).select_from(source)

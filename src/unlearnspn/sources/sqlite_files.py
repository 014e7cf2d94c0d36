"""SQLite files, opened so that they cannot be written."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import quote

from unlearnspn.errors import InvalidTableError
from unlearnspn.sources.options import Options
from unlearnspn.sources.queries import ONLY_READ, Columns, choose, quoted, refusal, to_columns

#: What a query may do; anything else, such as to attach another file or to copy this one, is refused.
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
#: What SQLite asks for by itself to read a virtual table, such as one for full-text search; nothing is written.
_BY_ITSELF = {(sqlite3.SQLITE_UPDATE, "sqlite_master"), (sqlite3.SQLITE_PRAGMA, "data_version")}


def read_sqlite(url: str, options: Options) -> Columns:
    """Read a table or a query from the file that a URL such as sqlite:///people.db names."""
    query = choose(options)
    path = _path(url)
    try:
        with open_sqlite(path) as connection:
            connection.set_authorizer(_authorize)
            cursor = connection.execute(f"SELECT * FROM {quoted(str(options.table))}" if query is None else query)
            return to_columns([column[0] for column in cursor.description or ()], cursor.fetchall())
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_AUTH or _has_more(error):
            raise InvalidTableError(f"the database was not asked: {ONLY_READ}") from error
        raise refusal("the database", error, query) from error


@contextmanager
def open_sqlite(path: str) -> Iterator[sqlite3.Connection]:
    """Open a file that is there, for reading only."""
    os.stat(path)
    with closing(sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True)) as connection:
        connection.execute("PRAGMA query_only = ON")
        yield connection


def _path(url: str) -> str:
    path = url.partition("://")[2].removeprefix("/").partition("?")[0].removeprefix("file:")
    if not path:
        raise InvalidTableError("name the file of the database, such as sqlite:///people.db")
    return path


def _authorize(action: int, name: str | None, *_: str | None) -> int:
    allowed = action in _ALLOWED or (action, name) in _BY_ITSELF
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _has_more(error: sqlite3.Error) -> bool:
    """Tell whether the query was refused because it is several."""
    return isinstance(error, sqlite3.ProgrammingError | sqlite3.Warning) and "one statement" in str(error)

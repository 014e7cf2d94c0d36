"""The service's own file: users, tokens, sessions and the audit log. Nobody whose records are in the vault is named.

It lies beside the vault. Losing it loses no record and no certificate: users are made anew then.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from unlearnspn.service.errors import ServiceFileError

_VERSION = 1
_SCHEMA = """
create table secrets(name text primary key, value blob not null) strict;
create table users(
    name text primary key, role text not null, password text not null, created text not null) strict;
create table tokens(
    id text primary key, name text not null, scopes text not null, digest blob not null,
    created text not null, created_by text not null, expires text not null) strict;
create table sessions(
    digest blob primary key, user text not null, csrf text not null, started real not null, used real not null) strict;
create table audit(
    number integer primary key, at text not null, who text not null, what text not null, about text not null) strict;
"""
_TABLES = {"secrets", "users", "tokens", "sessions", "audit"}


class Database:
    """A connection that threads share; who changes something waits for the turn."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = RLock()
        try:
            _make_private(path)
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise ServiceFileError(f"{path} cannot be used as the service's own file: {error}") from error
        try:
            self._open()
        except sqlite3.Error as error:
            self._connection.close()
            raise ServiceFileError(f"{path} cannot be used as the service's own file: {error}") from error
        except BaseException:
            self._connection.close()
            raise

    def _open(self) -> None:
        version = self._connection.execute("pragma user_version").fetchone()[0]
        self._connection.execute("pragma secure_delete = on")
        self._connection.execute("pragma temp_store = memory")
        self._connection.execute("pragma synchronous = full")
        if version == 0:
            self._connection.executescript(f"begin; {_SCHEMA} pragma user_version = {_VERSION}; commit;")
        elif version != _VERSION:
            raise ServiceFileError(f"{self.path} was made by another version of unlearnspn")
        else:
            self._require_whole()

    def _require_whole(self) -> None:
        tables = {name for (name,) in self._connection.execute("select name from sqlite_schema where type = 'table'")}
        if not tables >= _TABLES or self._connection.execute("pragma quick_check(1)").fetchone()[0] != "ok":
            raise ServiceFileError(
                f"{self.path} is damaged: restore it from a backup, or move it away, and users and tokens are made anew"
            )

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows that a query finds."""
        with self._turn:
            return self._connection.execute(query, values).fetchall()

    def row(self, query: str, *values: Any) -> tuple[Any, ...] | None:
        """Return the first row that a query finds, if any."""
        return next(iter(self.rows(query, *values)), None)

    def change(self, statement: str, *values: Any) -> int:
        """Change something, durably; return how many rows that were."""
        with self._turn:
            return self._connection.execute(statement, values).rowcount

    @contextmanager
    def together(self) -> Iterator[None]:
        """Have several changes count together, or none of them."""
        with self._turn:
            self._connection.execute("begin immediate")
            try:
                yield
                self._connection.execute("commit")
            except BaseException:
                # If the disk is full, SQLite may have done so already.
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise

    def close(self) -> None:
        """Close the file."""
        with self._turn:
            self._connection.close()


def _make_private(path: Path) -> None:
    """Make the file if it is not there, and have nobody else read it, whoever made it."""
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(file, 0o600)
    finally:
        os.close(file)

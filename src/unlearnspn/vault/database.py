"""One SQLite file: what it is recognised by, how it is set up so that erased means erased, and transactions."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from unlearnspn.vault.errors import DamagedVaultError, VaultBusyError, VaultError

#: "uSPN", so that tools such as `file` can tell a vault from other databases.
APPLICATION_ID = 0x7553504E
#: Raised when vaults are written that earlier versions of the library would misread.
VERSION = 1
#: A page of a vault, its digest and its number fill one page of the database, so that it is overwritten where it lies.
PAGE_BYTES = 8192

_WAIT_SECONDS = 60.0
_CACHE_KILOBYTES = 4096
_ROWS_AT_ONCE = 64

_SCHEMA = """
CREATE TABLE pages (place INTEGER PRIMARY KEY, digest BLOB NOT NULL, data BLOB NOT NULL);
CREATE TABLE ledger (number INTEGER PRIMARY KEY, envelope BLOB NOT NULL);
CREATE TABLE seal (one INTEGER PRIMARY KEY CHECK (one = 1), statement BLOB NOT NULL, signature BLOB NOT NULL);
"""


class Database:
    """A connection to a vault's file.

    The journal is a rollback journal that is truncated at each commit, and what is deleted is overwritten with zeros:
    once a transaction has been committed, no file holds what it erased. A write-ahead log would keep it for a while.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def create(cls, path: Path) -> Self:
        """Make a new file, which must not be there yet; it is a vault once its first transaction is committed."""
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError as error:
            raise VaultError(f"{path} is there already: choose another path, or open it") from error
        except OSError as error:
            raise VaultError(f"cannot create {path}: {error.strerror}") from error
        database = cls(path, _connect(path))
        database._connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        database._connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        database._set_up()
        return database

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a file that must be a vault of a version that is understood; what a crash left undone is taken back."""
        require_file(path)
        database = cls(path, _connect(path))
        try:
            database._set_up()
            database._require_version()
        except BaseException:
            database.close()
            raise
        return database

    def close(self) -> None:
        """Close the connection; a transaction that was not committed is taken back."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def lay_out(self) -> None:
        """Make the tables, within a transaction."""
        for statement in filter(None, map(str.strip, _SCHEMA.split(";"))):
            self.execute(statement)
        self.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self.execute(f"PRAGMA user_version = {VERSION}")

    # -- statements ------------------------------------------------------------------------------------------------

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Carry out a statement."""
        with self._explained():
            return self._connection.execute(statement, values)

    def execute_many(self, statement: str, lines: Iterator[tuple[Any, ...]] | list[tuple[Any, ...]]) -> None:
        """Carry out a statement for each line of values."""
        with self._explained():
            self._connection.executemany(statement, lines)

    def rows(self, statement: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that a statement finds."""
        cursor = self.execute(statement, values)
        while True:
            with self._explained():
                found = cursor.fetchmany(_ROWS_AT_ONCE)
            if not found:
                return
            yield from found

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See one state of the file, whatever others do meanwhile."""
        self._end()
        self.execute("BEGIN")
        try:
            yield
        finally:
            self._end()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Change everything that is changed inside, or nothing."""
        self._end()
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        finally:
            self._end()

    def _end(self) -> None:
        """Take back what was not committed, also by one who was interrupted; after some errors SQLite has done so."""
        with self._explained():
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def changes_by_others(self) -> int:
        """Return a number that is another one after others have committed anything."""
        found: int = self.execute("PRAGMA data_version").fetchone()[0]
        return found

    def give_room_back(self) -> None:
        """Shorten the file once most of it is free."""
        free, all_pages = (self.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_count"))
        if 2 * free > all_pages:
            self.execute("PRAGMA incremental_vacuum").fetchall()

    def require_whole(self) -> None:
        """Raise unless the file is as long as it should be: SQLite reads what is cut off a page as zeros."""
        pages, size = (self.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        if self.path.stat().st_size != pages * size:
            raise DamagedVaultError(f"{self.path} is damaged: it is not {pages * size:,} bytes long, as it should be")

    def check(self) -> None:
        """Raise unless the file is sound as a database."""
        found = [str(line[0]) for line in self.rows("PRAGMA integrity_check(3)")]
        if found != ["ok"]:
            raise DamagedVaultError(f"{self.path} is damaged: {'; '.join(found)}; restore it from a backup")

    # -- inside ----------------------------------------------------------------------------------------------------

    def _set_up(self) -> None:
        with self._explained():
            connection = self._connection
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KILOBYTES}")
            connection.execute("PRAGMA journal_mode = TRUNCATE").fetchall()

    def _require_version(self) -> None:
        application, version = (
            self.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if application != APPLICATION_ID:
            raise VaultError(f"{self.path} is a database, but no vault of unlearnspn")
        if version > VERSION:
            raise VaultError(
                f"{self.path} was written by a newer version of unlearnspn (format {version}, this one knows "
                f"{VERSION}): upgrade unlearnspn"
            )
        if version < 1:
            raise DamagedVaultError(f"{self.path} is damaged: its format is said to be {version}")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say in every error which file it is about, and what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise _explanation(self.path, error) from error


def _connect(path: Path) -> sqlite3.Connection:
    try:
        # Also for reading: whoever comes first after a crash takes back what was left undone.
        uri = f"{path.absolute().as_uri()}?mode=rw"
        return sqlite3.connect(uri, uri=True, timeout=_WAIT_SECONDS, isolation_level=None)
    except sqlite3.Error as error:
        raise _explanation(path, error) from error


def require_file(path: Path) -> None:
    """Raise unless this is a file with something in it.

    It is not opened here: closing it again would give up the locks that SQLite has on it in the same process.
    """
    try:
        found = path.stat()
    except FileNotFoundError as error:
        raise VaultError(f"there is no vault at {path}: create one, or correct the path") from error
    except OSError as error:
        raise VaultError(f"cannot open {path}: {error.strerror}") from error
    if not stat.S_ISREG(found.st_mode):
        raise VaultError(f"{path} is no file" + (" but a folder" if stat.S_ISDIR(found.st_mode) else ""))
    if not found.st_size:
        raise VaultError(f"{path} is empty: its creation may have been interrupted; delete it, and create it again")


def _explanation(path: Path, error: sqlite3.Error) -> VaultError:
    if isinstance(error, sqlite3.ProgrammingError):
        return VaultError(f"{path} was closed here, or opened by another thread: open it again, once in each thread")
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return VaultBusyError(f"{path} is in use: others have been reading or changing it for too long; try again")
    if name.startswith("SQLITE_FULL"):
        return VaultError(f"the disk is full: {path} is as it was before; make room and try again")
    if name.startswith("SQLITE_READONLY"):
        return VaultError(f"{path} must not be written: check the permissions of the file and of its folder")
    if name.startswith("SQLITE_CANTOPEN"):
        return VaultError(f"cannot open {path}: check the permissions of the file and of its folder")
    if name.startswith("SQLITE_IOERR"):
        return VaultError(f"{path} cannot be read or written ({name}): check the disk; nothing was changed")
    if name.startswith("SQLITE_NOTADB"):
        return VaultError(f"{path} is no vault of unlearnspn, or its first bytes are damaged")
    if name.startswith("SQLITE_CORRUPT"):
        return DamagedVaultError(f"{path} is damaged: {error}; restore it from a backup")
    return DamagedVaultError(f"{path} is not what it should be: {error}")

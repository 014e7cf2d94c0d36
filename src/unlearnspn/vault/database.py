"""One SQLite file: what it is recognised by, how it is set up so that erased means erased, and transactions."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from unlearnspn.storage.files import PathLike
from unlearnspn.vault import schema
from unlearnspn.vault.errors import DamagedVaultError, VaultBusyError, VaultError
from unlearnspn.vault.layout import LayoutError, require_accounted

#: "uSPN", so that tools such as `file` can tell a vault from other databases.
APPLICATION_ID = 0x7553504E
#: Raised when vaults are written that earlier versions of the library would misread.
VERSION = 3
#: A page of a vault, its digest and its number fill one page of the database, so that it is overwritten where it lies.
PAGE_BYTES = 8192

_WAIT_SECONDS = 60.0
_CACHE_KILOBYTES = 4096
_ROWS_AT_ONCE = 64
#: SQLite hands out no larger piece of memory.
_SERIALIZED_LIMIT = (1 << 31) - (1 << 16)
#: What the file says of itself, and must not be changed.
_PRAGMAS = {
    "application_id": APPLICATION_ID,
    "user_version": VERSION,
    "page_size": PAGE_BYTES,
    "auto_vacuum": 0,
    "encoding": "UTF-8",
}


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
        database = cls(path, _create(path))
        database._connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
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
        """Say what the file is, within its first transaction."""
        self.execute(schema.SEAL)
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
            self.require_schema()
            yield
        finally:
            self._end()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Change everything that is changed inside, or nothing; the schema must be ours before and after."""
        self._end()
        self.execute("BEGIN IMMEDIATE")
        try:
            if self.tables():
                self.require_schema()
            yield
            self.require_schema()
            self.execute("COMMIT")
        finally:
            self._end()

    def _end(self) -> None:
        """Take back what was not committed, also by one who was interrupted; after some errors SQLite has done so."""
        with self._explained():
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def copy_to(self, path: Path) -> None:
        """Copy one state of the file, page by page, into a file that is not there yet."""
        with closing(_create(path)) as copy, self._explained():
            self._connection.backup(copy)

    def changes_by_others(self) -> int:
        """Return a number that is another one after others have committed anything."""
        found: int = self.execute("PRAGMA data_version").fetchone()[0]
        return found

    def give_room_back(self) -> None:
        """Shorten the file if it has free pages, which is not often: everything else is written anew for that."""
        if self._pragma("freelist_count"):
            self.execute("VACUUM")

    def discard_journal(self) -> None:
        """Empty a journal that a crash has left, once what it undoes has been undone: it may hold values."""
        self.execute("BEGIN IMMEDIATE")
        try:
            journal = self.path.with_name(f"{self.path.name}-journal")
            if journal.exists() and journal.stat().st_size:
                os.truncate(journal, 0)
        finally:
            self._end()

    def tables(self) -> list[str]:
        """Return the names of all tables."""
        return [name for (name,) in self.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")]

    def require_schema(self) -> None:
        """Raise unless the file has exactly the tables that we make, and nothing that acts by itself.

        A trigger could keep a copy of what is erased, or have nothing erased at all.
        """
        found = schema.differences(self.rows("SELECT type, name, tbl_name, sql FROM sqlite_schema"))
        if found:
            raise DamagedVaultError(
                f"{self.path} was changed by others: {'; '.join(found)}; nothing is read from it or written to it"
            )
        for name, wanted in _PRAGMAS.items():
            value = self._pragma(name)
            if value != wanted:
                raise DamagedVaultError(f"{self.path} is damaged: its {name} is {value}, not {wanted}")

    def _pragma(self, name: str) -> Any:
        return self.execute(f"PRAGMA {name}").fetchone()[0]

    def require_whole(self) -> None:
        """Raise unless the file is as long as it should be: SQLite reads what is cut off a page as zeros."""
        pages, size = self._pragma("page_count"), self._pragma("page_size")
        if self.path.stat().st_size != pages * size:
            raise DamagedVaultError(f"{self.path} is damaged: it is not {pages * size:,} bytes long, as it should be")

    def check(self) -> None:
        """Raise unless the file is sound as a database."""
        found = [str(line[0]) for line in self.rows("PRAGMA integrity_check(3)")]
        if found != ["ok"]:
            raise DamagedVaultError(f"{self.path} is damaged: {'; '.join(found)}; restore it from a backup")

    def require_accounted(self) -> None:
        """Raise unless every byte of the file is one that follows from its rows."""
        with closing(_connect(self.path)) as fresh, self._explained():
            # By a connection of its own, as this one may remember pages; it reads one state as long as it counts.
            fresh.execute("BEGIN")
            fresh.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            image = fresh.serialize() if self.path.stat().st_size < _SERIALIZED_LIMIT else _read_elsewhere(self.path)
        try:
            require_accounted(image, PAGE_BYTES)
        except (LayoutError, IndexError, ValueError) as error:
            raise DamagedVaultError(f"{self.path} holds what is not the vault's: {error}") from error

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
        application, version = self._pragma("application_id"), self._pragma("user_version")
        if application != APPLICATION_ID:
            raise VaultError(f"{self.path} is a database, but no vault of unlearnspn")
        if version > VERSION:
            raise VaultError(
                f"{self.path} was written by a newer version of unlearnspn (format {version}, this one knows "
                f"{VERSION}): upgrade unlearnspn"
            )
        if 1 <= version < VERSION:
            raise VaultError(
                f"{self.path} was written by an earlier version of unlearnspn (format {version}, this one knows "
                f"{VERSION}): make a new vault, and ingest the records there"
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


def _create(path: Path) -> sqlite3.Connection:
    """Make a file, which must not be there yet, for its owner only."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError as error:
        raise VaultError(f"{path} is there already: choose another path, or open it") from error
    except OSError as error:
        raise VaultError(f"cannot create {path}: {error.strerror}") from error
    return _connect(path)


def _connect(path: Path) -> sqlite3.Connection:
    try:
        # Also for reading: whoever comes first after a crash takes back what was left undone.
        uri = f"{path.absolute().as_uri()}?mode=rw"
        # Whoever has a vault open sees to it that its threads take turns.
        return sqlite3.connect(uri, uri=True, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise _explanation(path, error) from error


def _read_elsewhere(path: Path) -> bytes:
    """Read a file in another process: to close it in this one would give up the locks that SQLite has on it here."""
    return subprocess.run(["cat", os.fspath(path)], stdout=subprocess.PIPE, check=True).stdout


def resolve(path: PathLike) -> Path:
    """Return the file that a path leads to: a link and what it points to are the same vault, with the same lock."""
    return Path(os.path.realpath(path))


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
        return VaultError(f"{path} was closed here: open it again")
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

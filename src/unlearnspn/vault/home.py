"""A vault's files and their transactions: what is in memory and what is on the disk change together or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from unlearnspn.certificates import Envelope, KeyFile, KeyFileError, PublicKey, SigningKey, Statement
from unlearnspn.ids import RecordId
from unlearnspn.storage.errors import explained
from unlearnspn.storage.files import PathLike, leftovers_of, put, sync_folder, temporary_beside
from unlearnspn.vault.contents import Contents
from unlearnspn.vault.database import Database, resolve
from unlearnspn.vault.errors import DamagedVaultError, VaultError
from unlearnspn.vault.ledger import Ledger
from unlearnspn.vault.locking import WriterLock
from unlearnspn.vault.pages import PageStore
from unlearnspn.vault.seal import write_seal
from unlearnspn.vault.sealed import read_sealed


class Home:
    """The files of a vault, and what they hold, in memory; which is only a copy, and read anew whenever in doubt."""

    def __init__(self, path: Path, keys: KeyFile, components: Iterable[type], lock: WriterLock | None) -> None:
        self.path = path
        self.keys = keys
        self._components = tuple(components)
        self._lock = lock
        self._database = Database.open(path)
        #: Another connection, which tells readers in any thread whether others have changed anything.
        self._watch: Database | None = None
        self._watching = Lock()
        #: What `changes` said when a reader last read the vault.
        self.read_at = 0
        self._contents: Contents | None = None
        self._store: PageStore
        self.ledger: Ledger
        self.public_key: PublicKey
        self._version = 0
        self._key: SigningKey | None = None

    @staticmethod
    def create(path: Path, contents: Contents, keys: KeyFile, state: Callable[[Ledger, PublicKey], Statement]) -> None:
        """Make the files of a new vault, all or nothing; what fails leaves no key behind that it has made."""
        if path.exists():
            raise VaultError(f"{path} is there already: choose another path, or open it")
        keys.discard_leftovers()
        made = not os.path.lexists(keys.path)
        with explained("write", keys.path):
            key = keys.create() if made else keys.read()[-1]
        try:
            Home._create(path, contents, key, state)
        except BaseException:
            if made:
                keys.path.unlink(missing_ok=True)
            raise

    @staticmethod
    def _create(
        path: Path, contents: Contents, key: SigningKey, state: Callable[[Ledger, PublicKey], Statement]
    ) -> None:
        with _new_file(path) as temporary, Database.create(temporary) as database, database.writing():
            database.lay_out()
            store, ledger = PageStore(database), Ledger(contents.vault)
            contents.save(store)
            ledger = ledger.append(database, state(ledger, key.public), [key])
            write_seal(database, key, ledger, store.digest())

    def close(self) -> None:
        """Close the files."""
        self._contents = None
        self._database.close()
        with self._watching:
            if self._watch is not None:
                self._watch.close()
        if self._lock is not None:
            self._lock.release()

    @property
    def database(self) -> Database:
        """The database, for reading."""
        return self._database

    @property
    def is_writable(self) -> bool:
        """Whether this is the one who may change the vault."""
        return self._lock is not None

    @property
    def last_entry(self) -> int:
        """The number of the ledger's last entry."""
        return self.ledger.statement.link.entry

    # -- reading ---------------------------------------------------------------------------------------------------

    def changes(self) -> int:
        """Return, in any thread, a number that is another one whenever others have changed the vault."""
        with self._watching:
            if self._watch is None:
                self._watch = Database.open(self.path)
            return self._watch.changes_by_others()

    def is_current(self) -> bool:
        """Tell whether nobody has changed the vault since it was read."""
        return self._contents is not None and self._database.changes_by_others() == self._version

    def contents(self) -> Contents:
        """Return what the vault holds now; whatever others have changed since the last time is read anew."""
        if not self.is_current():
            before, self._contents = self._contents, None
            self._contents = self._read()
            if before is not None:
                self._contents.inherit_circuit(before)
        assert self._contents is not None
        return self._contents

    def _read(self) -> Contents:
        if not self.is_writable:
            self.read_at = self.changes()
        with self._database.reading():
            self._version = self._database.changes_by_others()
            ledger, store, key = read_sealed(self._database)
        contents = Contents.load(self.path, store, self._components)
        statement = ledger.statement
        if contents.commitments != statement.after:
            raise DamagedVaultError(
                f"{self.path} is damaged: the model that it holds is not the one that entry {statement.link.entry} of "
                "the ledger speaks of"
            )
        if len(contents) != statement.counts.remaining or contents.vault != ledger.vault:
            raise DamagedVaultError(f"{self.path} is damaged: it does not hold the records that its ledger speaks of")
        self.ledger, self._store, self.public_key = ledger, store, key
        return contents

    def tidy(self) -> None:
        """Take away what a crash may have left; only the one who may change the vault does so."""
        self.keys.discard_leftovers()
        self._database.discard_journal()
        self._database.give_room_back()

    def forget(self) -> None:
        """Throw away what is in memory, which may be half changed; the next question reads it anew."""
        self._contents = None

    def copy_to(self, path: Path) -> None:
        """Copy the vault into a new file, and read the copy once, all or nothing."""
        with _new_file(path) as temporary:
            self._database.copy_to(temporary)
            copy = Home(temporary, self.keys, self._components, None)
            try:
                copy.contents()
            finally:
                copy.close()

    # -- changing --------------------------------------------------------------------------------------------------

    def require_writable(self) -> SigningKey:
        """Return the private key in use; raise unless this is the one who may change the vault."""
        if self._lock is None:
            raise VaultError(f"{self.path} was opened for reading: open it with write=True to change it")
        self.contents()
        return self.require_key()

    def require_key(self) -> SigningKey:
        """Return the private key in use; others that a crash has left are wiped."""
        if self._key is None or self._key.public != self.public_key:
            self._key = self.keys.settle(self.public_key.id)
        return self._key

    def commit(
        self, statement: Statement | None, keys: Sequence[SigningKey], removed: Sequence[RecordId] = ()
    ) -> Envelope | None:
        """Store what has changed in memory, and the statement about it, in one transaction; or nothing of it.

        What was written is read back before it lasts, so that no certificate is issued for a removal that did not
        happen. The last of the keys is in use from now on.
        """
        assert self._contents is not None
        contents, ledger = self._contents, self.ledger
        # Whatever happens from here on, what is in memory is right again only once all has been stored.
        self._contents = None
        with self._database.writing():
            contents.save(self._store)
            self._store.confirm()
            if any(contents.holds(removed)):
                raise VaultError(f"records that were to be removed are still in {self.path}: nothing was changed")
            if statement is not None:
                ledger = ledger.append(self._database, statement, list(keys))
            write_seal(self._database, keys[-1], ledger, self._store.digest())
        self.ledger, self.public_key, self._key = ledger, keys[-1].public, keys[-1]
        self._contents = contents
        with suppress(VaultError):  # room is given back another time
            self._database.give_room_back()
        return None if statement is None else ledger.last


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """Give a place beside a file that is to be made; the file has its name once it is complete, or not at all."""
    if path.exists():
        raise VaultError(f"{path} is there already: choose another path, or open it")
    for leftover in leftovers_of(path):
        leftover.unlink(missing_ok=True)
    temporary = temporary_beside(path)
    try:
        yield temporary
        put(temporary, path)
    except FileExistsError as error:
        raise VaultError(f"{path} is there already: choose another path, or open it") from error
    except OSError as error:
        raise VaultError(f"cannot create {path}: {error.strerror}") from error
    finally:
        for leftover in (temporary, temporary.with_name(f"{temporary.name}-journal")):
            leftover.unlink(missing_ok=True)
    sync_folder(path.parent)


def resolve_new(path: PathLike) -> Path:
    """Return the file that is to be made; a link that leads nowhere is not followed."""
    if os.path.islink(path) and not os.path.exists(path):
        raise VaultError(
            f"{os.fspath(path)} is a link to {os.readlink(path)}, which is not there: name the file itself"
        )
    return resolve(path)


def new_key_file(path: Path, key: PathLike | None) -> KeyFile:
    """Return the file for the key of a new vault; one that happens to be beside it is not taken over."""
    keys = key_file(path, key)
    if key is None and os.path.lexists(keys.path):
        raise KeyFileError(
            f"{keys.path} is there already, and may be the key of another vault: move it away, "
            "or name it as the private key if this vault is to be signed with it, too"
        )
    return keys


def key_file(path: Path, key: PathLike | None) -> KeyFile:
    """Return the file of the private key: beside the vault, unless it is said to be elsewhere."""
    return KeyFile(path.with_name(path.name + ".key") if key is None else Path(key))

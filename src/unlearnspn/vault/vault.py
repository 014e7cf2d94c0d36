"""`Vault`: a durable home for records, model and ledger."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from unlearnspn.certificates import Action, Statement
from unlearnspn.storage.files import PathLike
from unlearnspn.vault.changes import VaultChanges
from unlearnspn.vault.contents import Contents
from unlearnspn.vault.database import require_file, resolve
from unlearnspn.vault.desk import Desk
from unlearnspn.vault.errors import VaultError
from unlearnspn.vault.home import Home, key_file, new_key_file, resolve_new
from unlearnspn.vault.ledger import SOFTWARE, Asked
from unlearnspn.vault.locking import WriterLock
from unlearnspn.vault.questions import VaultQuestions


class Vault(VaultQuestions, VaultChanges):
    """Records, model and ledger in one file, that survives crashes and keeps evidence of what it forgot.

    `create` makes one, `open` opens it: any number of readers, and one writer (``write=True``). A vault that is open
    answers all questions that a model answers (`score_samples`, `probability`, `sample`, `impute`, …), always about the
    records that it holds at that moment. Use it as a context manager. Many threads may use one vault: requests take
    turns, and questions are answered meanwhile.

    >>> from tempfile import TemporaryDirectory
    >>> import pandas as pd
    >>> people = pd.DataFrame({
    ...     "customer": [f"c-{i}" for i in range(60)],
    ...     "person": [f"p-{i // 2}" for i in range(60)],
    ...     "age": [20.0 + i % 50 for i in range(60)],
    ...     "pays": ["late" if i % 3 else "in time" for i in range(60)],
    ... })
    >>> folder = TemporaryDirectory()
    >>> with Vault.create(f"{folder.name}/people.uspn") as vault:
    ...     added = vault.ingest(people, ids="customer", subjects="person")
    ...     fitted = vault.fit(min_rows=20)
    ...     gone = vault.unlearn(subject="p-7", request_id="2026-17")
    ...     gone.removed, gone.remaining, bool(vault.verify())
    (2, 58, True)
    >>> with Vault.open(f"{folder.name}/people.uspn") as vault:
    ...     vault.info().n_records, round(vault.probability({"pays": "late"}), 1)
    (58, 0.7)
    >>> folder.cleanup()
    """

    @classmethod
    def create(
        cls,
        path: PathLike,
        *,
        key: PathLike | None = None,
        guard: bool = False,
        operator: str | None = None,
        request_id: str | None = None,
    ) -> Self:
        """Make a new vault and open it for writing.

        The private key that signs its certificates is made beside it, in a file with the same name and `.key`, unless
        `key` says where to put it, or where one is that signs for other vaults, too. With `guard` the vault tells when
        removed ids or subjects come back.
        """
        place, asked = resolve_new(path), Asked.now(request_id, operator)
        lock = WriterLock(place)
        try:
            if place.exists():
                raise VaultError(f"{place} is there already: choose another path, or open it")
            contents, keys = Contents.empty(place), new_key_file(place, key)
            if guard:
                contents.guard.turn_on()
            Home.create(
                place,
                contents,
                keys,
                lambda ledger, public: Statement(
                    Action.INIT, ledger.link, asked.completed(), SOFTWARE, introduced=public
                ),
            )
            return cls._opened(Home(place, keys, (), lock))
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(
        cls, path: PathLike, *, write: bool = False, key: PathLike | None = None, components: Iterable[type] = ()
    ) -> Self:
        """Open a vault, for reading or for writing; its integrity, version and digests are checked.

        Building blocks of users' own classes are made only if these are passed in `components`. Raises `VaultError`
        if anything is wrong, and its subclass `VaultBusyError` if somebody else is writing.
        """
        place = resolve(path)
        lock = None
        if write:
            require_file(place)
            lock = WriterLock(place)
        try:
            return cls._opened(Home(place, key_file(place, key), components, lock))
        except BaseException:
            if lock is not None:
                lock.release()
            raise

    @classmethod
    def _opened(cls, home: Home) -> Self:
        try:
            home.contents()
            if home.is_writable:
                home.require_writable()
                home.tidy()
        except BaseException:
            home.close()
            raise
        return cls(home)

    @property
    def desk(self) -> Desk:
        """The requests of the people whose records these are."""
        return Desk(self)

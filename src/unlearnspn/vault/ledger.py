"""The ledger in the database: signed statements, each naming the one before by its digest."""

from __future__ import annotations

import getpass
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from unlearnspn import __version__
from unlearnspn.certificates import CertificateError, Envelope, Link, Request, SigningKey, Statement, utc_now
from unlearnspn.vault.database import Database
from unlearnspn.vault.errors import DamagedVaultError

SOFTWARE = f"unlearnspn {__version__}"


@dataclass(frozen=True)
class Ledger:
    """The end of a vault's ledger, to which entries are added."""

    vault: str
    #: None before the first entry.
    last: Envelope | None = None

    @classmethod
    def read(cls, database: Database) -> Ledger:
        """Read the last entry; whether those before lead to it is for `verify` to say."""
        found = list(database.rows("SELECT number, envelope FROM ledger ORDER BY number DESC LIMIT 1"))
        if not found:
            raise DamagedVaultError(f"{database.path} is damaged: its ledger is empty")
        ((number, encoded),) = found
        try:
            last = Envelope.decode(bytes(encoded))
            if last.statement.link.entry != number:
                raise CertificateError(f"it says that it is entry {last.statement.link.entry}")
        except (CertificateError, TypeError) as error:
            raise DamagedVaultError(f"{database.path} is damaged: entry {number} of the ledger: {error}") from error
        return cls(last.statement.link.vault, last)

    @property
    def link(self) -> Link:
        """The place of the next entry."""
        if self.last is None:
            return Link(self.vault, 0, None)
        return Link(self.vault, self.last.statement.link.entry + 1, self.last.digest)

    @property
    def statement(self) -> Statement:
        """What the last entry says."""
        assert self.last is not None
        return self.last.statement

    def append(self, database: Database, statement: Statement, keys: list[SigningKey]) -> Ledger:
        """Sign a statement and add it."""
        envelope = Envelope.sign(statement, keys)
        values = (statement.link.entry, envelope.encoded)
        database.execute("INSERT INTO ledger (number, envelope) VALUES (?, ?)", values)
        return Ledger(self.vault, envelope)


def entries(database: Database, first: int = 0) -> Iterator[bytes]:
    """Yield the entries of the ledger as they are stored."""
    for (encoded,) in database.rows("SELECT envelope FROM ledger WHERE number >= ? ORDER BY number", (first,)):
        yield bytes(encoded) if isinstance(encoded, bytes) else str(encoded).encode()


@dataclass(frozen=True)
class Asked:
    """A request on its way: who asked for it under which id, and when it came."""

    id: str
    operator: str
    received: str

    @classmethod
    def now(cls, request_id: str | None = None, operator: str | None = None, received: str | None = None) -> Asked:
        """Take note of a request; without an id it gets one, without an operator it is the user of the system."""
        return cls(request_id or f"r-{secrets.token_hex(8)}", operator or _user(), received or utc_now())

    def completed(self) -> Request:
        """Return the request as it stands in the ledger, once it has been carried out."""
        return Request(self.id, self.received, utc_now(), self.operator)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"

"""The ledger in the database: signed statements, each naming the one before by its digest."""

from __future__ import annotations

import getpass
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from unlearnspn import __version__
from unlearnspn.certificates import CertificateError, Envelope, Link, Request, SigningKey, Statement, utc_now
from unlearnspn.certificates.chain import misdated
from unlearnspn.certificates.dates import check_date
from unlearnspn.vault.database import Database
from unlearnspn.vault.errors import DamagedVaultError, VaultError
from unlearnspn.vault.series import Series

SOFTWARE = f"unlearnspn {__version__}"
_SERIES = "ledger"


@dataclass(frozen=True)
class Ledger:
    """The end of a vault's ledger, to which entries are added."""

    vault: str
    #: None before the first entry.
    last: Envelope | None = None

    @classmethod
    def read(cls, database: Database) -> Ledger:
        """Read the last entry; whether those before lead to it is for `verify` to say."""
        series = Series(database, _SERIES)
        number = series.n_rows() - 1
        found = series.row(max(number, 0))
        if found is None:
            raise DamagedVaultError(f"{database.path} is damaged: its ledger is empty, or entries are missing")
        (encoded,) = found
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
        """Sign a statement and add it; its date must not be before that of the last one."""
        for message in misdated(None if self.last is None else self.last.statement, statement):
            raise VaultError(f"the clock of this machine is wrong, and nothing was changed: {message}")
        envelope = Envelope.sign(statement, keys)
        Series(database, _SERIES).append(statement.link.entry, (envelope.encoded,))
        return Ledger(self.vault, envelope)


def entries(database: Database, first: int = 0) -> Iterator[bytes]:
    """Yield the entries of the ledger as they are stored."""
    for _, encoded in Series(database, _SERIES).rows("envelope", first=first):
        yield bytes(encoded) if isinstance(encoded, bytes) else str(encoded).encode()


@dataclass(frozen=True)
class Asked:
    """A request on its way: who asked for it under which id, and when it came."""

    id: str
    operator: str
    received: str
    #: Why it is granted, for the inbox; the ledger does not say.
    ground: str = ""

    @classmethod
    def now(
        cls,
        request_id: str | None = None,
        operator: str | None = None,
        received: str | None = None,
        ground: str = "",
    ) -> Asked:
        """Take note of a request; without an id it gets one, without an operator it is the user of the system."""
        now = utc_now()
        if received is not None and check_date(received) > now:
            raise ValueError(f"the request cannot have been received on {received}, which is in the future")
        return cls(request_id or f"r-{secrets.token_hex(8)}", operator or _user(), received or now, ground)

    def completed(self) -> Request:
        """Return the request as it stands in the ledger, once it has been carried out."""
        return Request(self.id, self.received, utc_now(), self.operator)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"

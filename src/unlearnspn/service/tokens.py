"""Tokens with which other systems call the API: each has a name, scopes, and a day on which it ends."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from unlearnspn.certificates import utc_now
from unlearnspn.service.database import Database
from unlearnspn.service.errors import InvalidInputError, NotSignedInError, NotThereError
from unlearnspn.service.roles import Scope, read_scopes

_PREFIX = "uspn"
#: Days.
LONGEST = 366
_NAME_LIMIT = 100


@dataclass(frozen=True)
class Token:
    """What is known of a token, beside its secret."""

    id: str
    name: str
    scopes: frozenset[Scope]
    created: str
    created_by: str
    expires: str

    @property
    def has_expired(self) -> bool:
        """Whether it is too old."""
        return self.expires <= utc_now()


class Tokens:
    """All tokens; of their secrets nothing but digests is kept."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Token]:
        """Return all tokens, the newest first."""
        rows = self._database.rows(f"select {_COLUMNS} from tokens order by created desc, id")
        return [_read(*row) for row in rows]

    def add(self, name: str, scopes: Iterable[str], days: int, who: str) -> tuple[Token, str]:
        """Make a token, and return it with the text that is shown once."""
        name, wanted = name.strip(), read_scopes(scopes)
        if not 0 < len(name) <= _NAME_LIMIT or not name.isprintable():
            raise InvalidInputError(f"the name of a token is a line of 1 to {_NAME_LIMIT} characters")
        if not 0 < days <= LONGEST:
            raise InvalidInputError(f"a token is good for 1 to {LONGEST} days")
        expires = (datetime.now(UTC) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
        token = Token(secrets.token_hex(8), name, wanted, utc_now(), who, expires)
        secret = secrets.token_urlsafe(32)
        self._database.change(
            f"insert into tokens({_COLUMNS}, digest) values (?, ?, ?, ?, ?, ?, ?)",
            token.id,
            name,
            " ".join(sorted(wanted)),
            token.created,
            who,
            expires,
            _digest(secret),
        )
        return token, f"{_PREFIX}_{token.id}_{secret}"

    def remove(self, token_id: str) -> None:
        """Have a token open nothing any more."""
        if not self._database.change("delete from tokens where id = ?", token_id):
            raise NotThereError(f"there is no token {token_id!r}")

    def check(self, text: str) -> Token:
        """Return the token that somebody presents, or raise."""
        prefix, _, rest = text.partition("_")
        token_id, _, secret = rest.partition("_")
        row = self._database.row(f"select {_COLUMNS}, digest from tokens where id = ?", token_id)
        known = b"" if row is None else row[-1]
        if not secrets.compare_digest(_digest(secret), known) or prefix != _PREFIX or row is None:
            raise NotSignedInError("this token is not known")
        token = _read(*row[:-1])
        if token.has_expired:
            raise NotSignedInError("this token has expired")
        return token


_COLUMNS = "id, name, scopes, created, created_by, expires"


def _read(token_id: str, name: str, scopes: str, created: str, created_by: str, expires: str) -> Token:
    return Token(token_id, name, frozenset(map(Scope, scopes.split())), created, created_by, expires)


def _digest(secret: str) -> bytes:
    # Secrets are random, so that nobody can guess them from a digest.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()

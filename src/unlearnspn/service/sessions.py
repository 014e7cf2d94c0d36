"""Sessions of users in a browser: a random name in a signed cookie, of which nothing but a digest is kept."""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import dataclass

from itsdangerous import BadSignature, Signer

from unlearnspn.service.accounts import Accounts, User
from unlearnspn.service.database import Database
from unlearnspn.service.errors import ForbiddenError, NotSignedInError, NotThereError

#: Seconds after which a session ends: since it was used last, and since it began.
IDLE, LONGEST = 30 * 60.0, 12 * 3600.0


@dataclass(frozen=True)
class Session:
    """Somebody who has signed in."""

    user: User
    #: What forms of this session must send along.
    csrf: str
    digest: bytes

    def require_own_form(self, csrf: str | None) -> None:
        """Raise unless a form was sent from a page of this session."""
        if csrf is None or not secrets.compare_digest(csrf.encode(), self.csrf.encode()):
            raise ForbiddenError("this form is not from a page of your session: load the page again")


class Sessions:
    """All sessions."""

    def __init__(self, database: Database, accounts: Accounts) -> None:
        self._database = database
        self._accounts = accounts
        with database.together():
            row = database.row("select value from secrets where name = 'cookies'")
            key = secrets.token_bytes(32) if row is None else row[0]
            if row is None:
                database.change("insert into secrets values ('cookies', ?)", key)
        self._signer = Signer(key, salt="unlearnspn.session", digest_method=hashlib.sha256)

    def start(self, user: User) -> str:
        """Begin a session, and return the cookie."""
        name, now = secrets.token_urlsafe(32), time.time()
        self._database.change("delete from sessions where used < ? or started < ?", now - IDLE, now - LONGEST)
        self._database.change(
            "insert into sessions values (?, ?, ?, ?, ?)",
            _digest(name),
            user.name,
            secrets.token_urlsafe(24),
            now,
            now,
        )
        return self._signer.sign(name).decode()

    def check(self, cookie: str) -> Session:
        """Return the session of a cookie, or raise."""
        try:
            digest = _digest(self._signer.unsign(cookie).decode())
        except (BadSignature, UnicodeDecodeError):
            raise NotSignedInError("sign in first") from None
        now = time.time()
        row = self._database.row("select user, csrf, started, used from sessions where digest = ?", digest)
        if row is None or row[2] < now - LONGEST or row[3] < now - IDLE:
            raise NotSignedInError("the session has ended: sign in again")
        if row[3] < now - 60:  # not each look is worth a write
            self._database.change("update sessions set used = ? where digest = ?", now, digest)
        try:
            return Session(self._accounts.get(row[0]), row[1], digest)
        except NotThereError:
            raise NotSignedInError("the session has ended: sign in again") from None

    def end(self, session: Session) -> None:
        """End a session."""
        self._database.change("delete from sessions where digest = ?", session.digest)


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()

"""Users and their passwords."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cache
from threading import BoundedSemaphore, Lock

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from unlearnspn.certificates import utc_now
from unlearnspn.certificates.statement import TEXT_LIMIT
from unlearnspn.service.database import Database
from unlearnspn.service.errors import ConflictError, ForbiddenError, InvalidInputError, NotSignedInError, NotThereError
from unlearnspn.service.roles import Role

#: Of a password, in characters.
SHORTEST, LONGEST = 12, 1024
#: So many hashes are computed at the same time: each takes much memory, which is what makes them good.
_AT_ONCE = 2


@dataclass(frozen=True)
class User:
    """Somebody who signs in with a password."""

    name: str
    role: Role
    created: str


class Accounts:
    """All users.

    As long as there is none, whoever has the key of the first link may set the first password.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hasher = PasswordHasher()
        self._turns = BoundedSemaphore(_AT_ONCE)
        self._nobody = _hash_of_nobody()
        self._first_key = secrets.token_urlsafe(24)
        self._first = Lock()

    @property
    def first_key(self) -> str | None:
        """What opens the page that sets the first password; None once there is somebody."""
        return self._first_key if self.is_empty else None

    @property
    def is_empty(self) -> bool:
        """Whether there is nobody yet."""
        return not self._database.rows("select 1 from users limit 1")

    def all(self) -> list[User]:
        """Return all users, by name."""
        rows = self._database.rows("select name, role, created from users order by name")
        return [User(name, Role(role), created) for name, role, created in rows]

    def get(self, name: str) -> User:
        """Return a user, or raise."""
        row = self._database.row("select name, role, created from users where name = ?", name)
        if row is None:
            raise NotThereError(f"there is no user {name!r}")
        return User(row[0], Role(row[1]), row[2])

    def add_first(self, key: str, name: str, password: str) -> User:
        """Make the first user, an officer, whom the first link was sent to."""
        with self._first:
            if not self.is_empty or not secrets.compare_digest(key.encode(), self._first_key.encode()):
                raise ForbiddenError("this link is not, or no longer, the one that sets the first password")
            return self.add(name, Role.OFFICER, password)

    def add(self, name: str, role: Role, password: str) -> User:
        """Make a user."""
        name = _read_name(name)
        hashed = self._hash(_read_password(password))
        user = User(name, role, utc_now())
        with self._database.together():
            if self._database.row("select 1 from users where name = ?", name):
                raise ConflictError(f"there is a user {name!r} already")
            self._database.change("insert into users values (?, ?, ?, ?)", name, role.value, hashed, user.created)
        return user

    def remove(self, name: str) -> None:
        """Remove a user; the last officer stays."""
        with self._database.together():
            user = self.get(name)
            others = [each for each in self.all() if each.role is Role.OFFICER and each.name != name]
            if user.role is Role.OFFICER and not others:
                raise ConflictError(f"{name!r} is the last officer: make another one first")
            self._database.change("delete from users where name = ?", name)
            self._database.change("delete from sessions where user = ?", name)

    def set_password(self, name: str, password: str) -> None:
        """Give a user another password, and end their sessions."""
        hashed = self._hash(_read_password(password))
        with self._database.together():
            self.get(name)
            self._database.change("update users set password = ? where name = ?", hashed, name)
            self._database.change("delete from sessions where user = ?", name)

    def check(self, name: str, password: str) -> User:
        """Return the user with this name and password, or raise, without saying which of the two is wrong."""
        row = self._database.row("select password from users where name = ?", name)
        hashed = self._nobody if row is None else row[0]
        try:
            with self._turns:
                self._hasher.verify(hashed, password[:LONGEST])
        except (VerificationError, InvalidHashError, UnicodeEncodeError):
            raise NotSignedInError("name or password is wrong") from None
        if row is None or len(password) > LONGEST:
            raise NotSignedInError("name or password is wrong")
        if self._hasher.check_needs_rehash(hashed):
            self._database.change(
                "update users set password = ? where name = ? and password = ?", self._hash(password), name, hashed
            )
        return self.get(name)

    def _hash(self, password: str) -> str:
        with self._turns:
            return self._hasher.hash(password)


@cache
def _hash_of_nobody() -> str:
    """Return a hash that no password has: who does not exist takes as long as who does."""
    return PasswordHasher().hash(secrets.token_hex())


def _read_name(name: str) -> str:
    name = name.strip()
    if not 0 < len(name) <= TEXT_LIMIT or not name.isprintable():
        raise InvalidInputError(
            f"the name of a user is a line of 1 to {TEXT_LIMIT} characters: it stands in the ledger"
        )
    return name


def _read_password(password: str) -> str:
    if not SHORTEST <= len(password) <= LONGEST or not _is_text(password):
        raise InvalidInputError(f"a password has {SHORTEST} to {LONGEST} characters")
    return password


def _is_text(text: str) -> bool:
    """Tell whether a text can be written at all: JSON may bring halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

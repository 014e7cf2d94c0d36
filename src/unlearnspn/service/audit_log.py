"""Who did what at the service, and when: sign-ins and changes. Nobody whose records are in the vault is named."""

from __future__ import annotations

from dataclasses import dataclass

from unlearnspn.certificates import utc_now
from unlearnspn.service.database import Database


@dataclass(frozen=True)
class AuditEntry:
    """Something that was done; `about` is the id of a request, the number of an entry, or the name of a user."""

    number: int
    at: str
    who: str
    what: str
    about: str


class AuditLog:
    """All that was done, in order."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, who: str, what: str, about: str = "") -> None:
        """Add an entry, durably."""
        self._database.change(
            "insert into audit(at, who, what, about) values (?, ?, ?, ?)", utc_now(), who, what, about
        )

    def entries(self, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """Return entries, the last ones first."""
        last = (1 << 62) if before is None else before
        rows = self._database.rows("select * from audit where number < ? order by number desc limit ?", last, limit)
        return [AuditEntry(*row) for row in rows]

"""Who did what at the service, and when: sign-ins and changes. Nobody whose records are in the vault is named."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from unlearnspn.certificates import utc_now
from unlearnspn.service.database import Database

_LOG = logging.getLogger("unlearnspn.service")


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
        #: What was done and could not be written: when, who, what, and about what.
        self._owed: list[tuple[str, str, str, str]] = []
        self._lock = Lock()

    def write(self, who: str, what: str, about: str = "") -> None:
        """Add an entry, durably, or raise; what it tells of must not be done then."""
        with self._lock:
            self._add((utc_now(), who, what, about))

    def write_done(self, who: str, what: str, about: Sequence[str]) -> None:
        """Add entries on what was done, one about each; what fails is logged, and written with the next ones.

        Whoever asked for it gets their answer in any case, with receipts that nobody could hand out again.
        """
        at = utc_now()
        with self._lock:
            self._owed += [(at, who, what, each) for each in about]
        self.catch_up()

    def catch_up(self) -> None:
        """Write what could not be written before, if it can be now."""
        with self._lock:
            try:
                if self._owed:
                    self._add()
            except Exception as error:
                _LOG.error("%s: the audit log cannot be written; it lacks %d", type(error).__name__, len(self._owed))

    def _add(self, *lines: tuple[str, str, str, str]) -> None:
        with self._database.together():
            for line in [*self._owed, *lines]:
                self._database.change("insert into audit(at, who, what, about) values (?, ?, ?, ?)", *line)
        self._owed = []

    def entries(self, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """Return entries, the last ones first."""
        self.catch_up()
        last = (1 << 62) if before is None else before
        rows = self._database.rows("select * from audit where number < ? order by number desc limit ?", last, limit)
        return [AuditEntry(*row) for row in rows]

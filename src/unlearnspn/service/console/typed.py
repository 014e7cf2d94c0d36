"""What people type into forms, read: dates, persons, ids of requests, grounds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from unlearnspn.certificates import CertificateError, utc_now
from unlearnspn.certificates.dates import check_date
from unlearnspn.certificates.statement import TEXT_LIMIT
from unlearnspn.service.console.visitors import Visit
from unlearnspn.service.desk_service import Person
from unlearnspn.service.errors import InvalidInputError
from unlearnspn.vault import InboxRequest, Vault, Wish
from unlearnspn.vault.deadlines import latest_extension

#: So long may a subject be, and a reason or a remark.
MOST_NAME, MOST_TEXT = 1000, 2000
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*", re.ASCII)
#: It is tomorrow already in the east.
_AHEAD = timedelta(hours=14)
#: What stands where the id of a request does in paths of the console.
_TAKEN = {"new", "import", "several"}


def read_text(visit: Visit, name: str, what: str, most: int = MOST_TEXT) -> str:
    """Return a text that must be there."""
    text = visit.text(name)
    if not text:
        raise InvalidInputError(f"{what} is missing")
    return short(text, what, most)


def short(text: str, what: str, most: int = MOST_TEXT) -> str:
    """Return a text unless it is too long."""
    if len(text) > most:
        raise InvalidInputError(f"{what} has more than {most:,} characters")
    return text


def read_wish(text: str) -> Wish:
    """Return what somebody asks for."""
    try:
        return Wish(text.strip().lower())
    except ValueError:
        raise InvalidInputError(f"{text!r} is none of 'erase', 'access', 'correct'") from None


def read_request_id(text: str) -> str | None:
    """Return the id of a request, None if it is to be given one; what would not fit into addresses is refused."""
    if not text:
        return None
    if len(text) > TEXT_LIMIT or not _REQUEST_ID.fullmatch(text) or text in _TAKEN:
        raise InvalidInputError(f"{text[:50]!r} cannot be the id of a request: use letters, digits and . _ : -")
    return text


def read_received(text: str) -> str | None:
    """Return when a request came: at the beginning of a day, or at a moment in UTC; None if nothing is said.

    >>> read_received("2026-01-31"), read_received("2026-01-31T09:30:00Z"), read_received("")
    ('2026-01-31T00:00:00Z', '2026-01-31T09:30:00Z', None)
    """
    if not text:
        return None
    now = utc_now()
    moment = _moment(text, "T00:00:00Z")
    if _DAY.fullmatch(text) and _time(moment) - _time(now) < _AHEAD:
        return min(moment, now)
    if moment > now:
        raise InvalidInputError(f"a request cannot have been received on {text}, which is in the future")
    return moment


def read_until(text: str, request: InboxRequest) -> str:
    """Return until when a request is extended: to the end of a day, but never longer than the law allows."""
    latest = latest_extension(request.received)
    until = _moment(text, "T23:59:59Z")
    return latest if until[:10] == latest[:10] else until


def _moment(text: str, rest_of_day: str) -> str:
    try:
        return check_date(text + rest_of_day if _DAY.fullmatch(text) else text)
    except CertificateError:
        raise InvalidInputError(f"{text!r} is no date such as 2026-01-31") from None


def _time(moment: str) -> datetime:
    return datetime.strptime(moment, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def read_person(vault: Vault, subject: str, ids: Iterable[str]) -> Person:
    """Return whose records are meant: a subject, or ids as the vault has them."""
    names = [name for name in (text.strip() for text in ids) if name]
    if bool(subject) == bool(names):
        raise InvalidInputError("say whose records are meant: either by a subject, or by the ids of records")
    if subject:
        return Person(short(subject, "the subject", MOST_NAME))
    return Person(None, tuple(dict.fromkeys(vault.read_id(short(name, "an id", MOST_NAME)) for name in names)))


def read_ground(visit: Visit) -> str:
    """Return a legal ground: one that was chosen, with words of one's own or without; or these alone."""
    chosen, own = visit.text("ground"), visit.text("ground_text")
    ground = ": ".join(part for part in (chosen, own) if part)
    if not ground:
        raise InvalidInputError("the ground is missing")
    return short(ground, "the ground", MOST_TEXT)

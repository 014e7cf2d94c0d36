"""When a request must be answered: a month after it came, and with an extension three (Article 12(3) of the GDPR)."""

from __future__ import annotations

import calendar
from datetime import datetime

_FORM = "%Y-%m-%dT%H:%M:%SZ"
_MONTHS, _MONTHS_EXTENDED = 1, 3


def due_after(received: str) -> str:
    """Return until when a request must be answered.

    >>> due_after("2026-01-31T09:30:00Z"), due_after("2026-11-19T00:00:00Z")
    ('2026-02-28T09:30:00Z', '2026-12-19T00:00:00Z')
    """
    return _months_after(received, _MONTHS)


def latest_extension(received: str) -> str:
    """Return the latest date to which a request may be extended.

    >>> latest_extension("2026-11-30T09:30:00Z")
    '2027-02-28T09:30:00Z'
    """
    return _months_after(received, _MONTHS_EXTENDED)


def _months_after(text: str, months: int) -> str:
    """Return the same day of a later month, or its last day if it has no such day."""
    date = datetime.strptime(text, _FORM)
    years, month = divmod(date.month - 1 + months, 12)
    year, month = date.year + years, month + 1
    day = min(date.day, calendar.monthrange(year, month)[1])
    return date.replace(year=year, month=month, day=day).strftime(_FORM)

"""Dates in certificates: UTC, to the second, in one form."""

from __future__ import annotations

from datetime import UTC, datetime

from unlearnspn.certificates.errors import CertificateError

_FORM = "%Y-%m-%dT%H:%M:%SZ"


def utc_now() -> str:
    """Return the present moment as written in certificates."""
    return datetime.now(UTC).strftime(_FORM)


def days_between(first: str, last: str) -> int:
    """Return how many days lie between two dates, as a calendar counts them.

    >>> days_between("2026-01-31T23:59:59Z", "2026-03-01T00:00:00Z")
    29
    """
    dates = [datetime.strptime(text, _FORM).date() for text in (first, last)]
    return (dates[1] - dates[0]).days


def check_date(text: str) -> str:
    """Return the text if it is a date in the one form, or raise.

    >>> check_date("2026-02-28T09:30:00Z")
    '2026-02-28T09:30:00Z'
    >>> check_date("2026-02-30T09:30:00Z")
    Traceback (most recent call last):
    ...
    unlearnspn.certificates.errors.CertificateError: '2026-02-30T09:30:00Z' is no date such as 2026-01-31T09:30:00Z
    """
    try:
        if datetime.strptime(text, _FORM).replace(tzinfo=UTC).strftime(_FORM) == text:
            return text
    except ValueError:
        pass
    raise CertificateError(f"{text!r} is no date such as 2026-01-31T09:30:00Z")

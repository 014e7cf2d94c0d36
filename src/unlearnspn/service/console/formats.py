"""Numbers and dates as people of a language write them; how they do so is in the file of its texts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

from unlearnspn.service.console.texts import text

_MINUTES = "%Y-%m-%dT%H:%M"
#: Beyond these, numbers are written with an exponent.
_SMALLEST, _LARGEST = 1e-4, 1e9


@dataclass(frozen=True)
class Formats:
    """How numbers and dates are written in a language.

    >>> english, german = Formats("en"), Formats("de")
    >>> english.count(1234567), german.count(1234567)
    ('1,234,567', '1.234.567')
    >>> english.number(1234.5678), german.number(0.25), english.number(1e-9)
    ('1,235', '0,25', '1e-09')
    >>> english.percent(0.237), german.percent(0.0123), english.percent(0.0004)
    ('23.7 %', '1,2 %', '< 0.1 %')
    >>> english.moment("2026-01-31T09:30:15Z"), german.moment("2026-01-31T09:30:15Z")
    ('2026-01-31 09:30 UTC', '31.01.2026, 09:30 UTC')
    """

    language: str

    def count(self, number: int) -> str:
        """Write a whole number."""
        return self._localised(f"{number:,}")

    def number(self, number: float, digits: int = 4) -> str:
        """Write a number with a few digits that count, and no more of them than it has."""
        if not math.isfinite(number):
            return {math.inf: "∞", -math.inf: "-∞"}.get(number, "?")
        size = abs(number)
        if size and not _SMALLEST <= size < _LARGEST:
            return self._localised(f"{number:.3g}")
        whole_digits = math.floor(math.log10(size)) + 1 if size else 1
        written = f"{number:,.{max(digits - whole_digits, 0)}f}"
        return self._localised(written.rstrip("0").rstrip(".") if "." in written else written)

    def percent(self, share: float) -> str:
        """Write a share of 1 in percent."""
        if 0 < share < 0.001:
            return "< " + self._localised("0.1 %")
        return self._localised(f"{100 * share:.1f} %")

    def plain(self, typed: str) -> str:
        """Return a number that somebody typed as computers write it; what is no number stays as it is."""
        return typed.strip().replace(text(self.language, "formats.point"), ".")

    def bytes(self, number: int) -> str:
        """Write the size of a file."""
        size, unit = float(number), "bytes"
        for larger in ("kB", "MB", "GB", "TB"):
            if size < 1000:
                break
            size, unit = size / 1000, larger
        return f"{self.count(number)} {unit}" if unit == "bytes" else f"{self.number(size, 3)} {unit}"

    def moment(self, utc: str) -> str:
        """Write a moment, given as 2026-01-31T09:30:00Z, to the minute."""
        return self._date(utc, "formats.moment")

    def day(self, utc: str) -> str:
        """Write the day of a moment."""
        return self._date(utc, "formats.day")

    def _date(self, utc: str, name: str) -> str:
        try:
            return datetime.strptime(utc[:16], _MINUTES).strftime(text(self.language, name))
        except ValueError:
            return utc

    def _localised(self, english: str) -> str:
        marks = {",": text(self.language, "formats.group"), ".": text(self.language, "formats.point")}
        return "".join(marks.get(character, character) for character in english)

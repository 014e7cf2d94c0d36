"""Reading JSON objects strictly: exactly the names that are known, each with a value of its type."""

from __future__ import annotations

import re
from typing import Any

from unlearnspn.certificates.errors import CertificateError

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Fields:
    """The fields of a JSON object; a message names the object and the field that is wrong."""

    def __init__(self, document: Any, what: str, names: set[str]) -> None:
        if not isinstance(document, dict):
            raise CertificateError(f"{what} is no JSON object")
        if set(document) != names:
            wrong = ", ".join(sorted(set(document) ^ names))
            raise CertificateError(f"{what} has other fields than it must have: it differs in {wrong[:200]}")
        self._document: dict[str, Any] = document
        self._what = what

    def value(self, name: str) -> Any:
        """Return a value of any type."""
        return self._document[name]

    def text(self, name: str) -> str:
        """Return a string."""
        value = self._document[name]
        if not isinstance(value, str):
            raise self._wrong(name, "a string")
        return value

    def optional_text(self, name: str) -> str | None:
        """Return a string or None."""
        return None if self._document[name] is None else self.text(name)

    def number(self, name: str) -> int:
        """Return a count: an integer from 0 on."""
        value = self._document[name]
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self._wrong(name, "a count")
        return value

    def digest(self, name: str) -> str:
        """Return a digest of 32 bytes in hexadecimal."""
        value = self.text(name)
        if not _DIGEST.fullmatch(value):
            raise self._wrong(name, "a digest of 64 hexadecimal digits")
        return value

    def optional_digest(self, name: str) -> str | None:
        """Return a digest or None."""
        return None if self._document[name] is None else self.digest(name)

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        value = self._document[name]
        if not isinstance(value, list):
            raise self._wrong(name, "a list")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings."""
        values = self.items(name)
        if not all(isinstance(value, str) for value in values):
            raise self._wrong(name, "a list of strings")
        return tuple(values)

    def fields(self, name: str, names: set[str]) -> Fields:
        """Return the fields of an object within this one."""
        return Fields(self._document[name], f"{self._what}'s {name!r}", names)

    def _wrong(self, name: str, wanted: str) -> CertificateError:
        return CertificateError(f"{self._what}'s {name!r} must be {wanted}")

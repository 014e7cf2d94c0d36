"""What an auditor reads: findings, each about one check, and where it failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Finding:
    """The outcome of one check."""

    ok: bool
    #: What was checked, in a word or two: signature, link, digests.
    check: str
    message: str
    #: The entry of the ledger that it is about, if it is about one.
    entry: int | None = None

    def __str__(self) -> str:
        place = "" if self.entry is None else f" (entry {self.entry})"
        return f"{'ok' if self.ok else 'FAILED'}: {self.check}{place}: {self.message}"


@dataclass(frozen=True)
class Audit:
    """All findings; it is true only if every check was passed, and there was one.

    >>> bool(Audit()), bool(Audit((Finding(True, "signature", "made by the key"),)))
    (False, True)
    """

    findings: tuple[Finding, ...] = field(default=())
    #: The digest of the last entry of the ledger, if one was read: who keeps it can tell later that none was cut off.
    head: str | None = None

    def __bool__(self) -> bool:
        return bool(self.findings) and all(finding.ok for finding in self.findings)

    def __add__(self, other: Audit) -> Audit:
        return Audit(self.findings + other.findings, self.head or other.head)

    @classmethod
    def of(cls, findings: Iterable[Finding], head: str | None = None) -> Audit:
        """Gather findings."""
        return cls(tuple(findings), head)

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings of the checks that failed."""
        return tuple(finding for finding in self.findings if not finding.ok)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings))

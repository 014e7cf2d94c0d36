"""What a change of a vault gives back: its certificate, what it did to the model, and what requesters get."""

from __future__ import annotations

from dataclasses import dataclass, field

from unlearnspn.certificates import Envelope, Kind, Opening, Receipt
from unlearnspn.spn.report import Report


@dataclass(frozen=True)
class Outcome:
    """A change that was made, or would be.

    `certificate` is the entry in the ledger, None after a dry run; `report` tells what the model did, None without one.
    """

    certificate: Envelope | None = field(repr=False)
    report: Report | None
    #: How many records were removed, added and skipped, since they were there already; and how many there are now.
    removed: int
    added: int
    remaining: int
    skipped: int = 0
    #: What opens the certificate's commitment. The vault keeps nothing of it.
    openings: tuple[Opening, ...] = field(default=(), repr=False)

    def receipts(self) -> list[Receipt]:
        """Return what requesters get: one for a subject with all its records, or one for each record."""
        if self.certificate is None or not self.openings:
            return []
        if any(opening.item.kind is Kind.SUBJECT for opening in self.openings):
            return [Receipt.of(self.certificate, self.openings)]
        return [Receipt.of(self.certificate, [opening]) for opening in self.openings]

    def receipt(self) -> Receipt:
        """Return one receipt for everything that was removed."""
        if self.certificate is None or not self.openings:
            raise ValueError("nothing was removed, so there is no receipt")
        return Receipt.of(self.certificate, self.openings)

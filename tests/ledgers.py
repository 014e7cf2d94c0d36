"""Ledgers for tests: made by hand, without a vault."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import Any

from unlearnspn.certificates import (
    Action,
    Commitments,
    Counts,
    Digests,
    Envelope,
    Item,
    Kind,
    Link,
    Opening,
    Receipt,
    Request,
    SigningKey,
    Statement,
    commit,
    state_removal,
)

#: Deep runs try that many times as much.
EFFORT = int(os.environ.get("UNLEARNSPN_FUZZ", "1"))
SOFTWARE = "unlearnspn 0.1.0"
SETTINGS = hashlib.sha256(b"settings").hexdigest()
VAULT = "5f0c" * 8


def commitments(n: int) -> Commitments:
    """Return commitments that stand for the model after some entry."""
    digests = (hashlib.sha256(f"{part} {n}".encode()).hexdigest() for part in ("model", "state"))
    return Digests(*digests).commit(bytes(32))


def request(name: str = "r-1", operator: str = "registry") -> Request:
    return Request(name, "2026-01-31T09:30:00Z", "2026-01-31T09:30:01Z", operator)


@dataclass
class MadeLedger:
    """A ledger that grows entry by entry."""

    key: SigningKey = field(default_factory=SigningKey.generate)
    vault: str = VAULT
    envelopes: list[Envelope] = field(default_factory=list)

    @property
    def entries(self) -> list[bytes]:
        return [envelope.encoded for envelope in self.envelopes]

    @property
    def last(self) -> Statement:
        return self.envelopes[-1].statement

    def link(self) -> Link:
        return Link(self.vault, len(self.envelopes), self.envelopes[-1].digest if self.envelopes else None)

    def add(self, statement: Statement, *keys: SigningKey) -> Envelope:
        self.envelopes.append(Envelope.sign(statement, keys or (self.key,)))
        return self.envelopes[-1]

    def init(self) -> Envelope:
        return self.add(Statement(Action.INIT, self.link(), request(), SOFTWARE, introduced=self.key.public))

    def ingest(self, n: int) -> Envelope:
        return self.add(Statement(Action.INGEST, self.link(), request(), SOFTWARE, Counts(0, n, n)))

    def fit(self) -> Envelope:
        counts = Counts(0, 0, self.last.counts.remaining)
        after = commitments(len(self.envelopes))
        return self.add(Statement(Action.FIT, self.link(), request(), SOFTWARE, counts, None, after, SETTINGS))

    def remove(self, *ids: int | str, **changes: Any) -> tuple[Envelope, list[Opening]]:
        root, openings = commit([Item(Kind.RECORD, each) for each in ids])
        counts = Counts(len(ids), 0, self.last.counts.remaining - len(ids))
        after = commitments(len(self.envelopes))
        arguments = {"counts": counts, "before": self.last.after, "after": after, "settings": SETTINGS} | changes
        statement = state_removal(self.link(), request(), SOFTWARE, commitment=root, **arguments)
        return self.add(statement), openings

    def rotate(self) -> Envelope:
        new, counts = SigningKey.generate(), Counts(0, 0, self.last.counts.remaining)
        after = self.last.after
        statement = Statement(
            Action.KEY_ROTATION, self.link(), request(), SOFTWARE, counts, after, after, SETTINGS, introduced=new.public
        )
        envelope = self.add(statement, self.key, new)
        self.key = new
        return envelope


def make_ledger(removals: int = 2, rotated: bool = True) -> MadeLedger:
    """Return a ledger of a vault with 100 records, some removals, and a key rotation between them."""
    ledger = MadeLedger()
    ledger.init()
    ledger.ingest(100)
    ledger.fit()
    for number in range(removals):
        ledger.remove(f"c-{number}")
        if rotated and number == 0:
            ledger.rotate()
    return ledger


def make_receipt(ledger: MadeLedger, *ids: int | str) -> tuple[Receipt, Envelope]:
    """Remove records, and return the receipt for the first of them."""
    envelope, openings = ledger.remove(*ids)
    return Receipt.of(envelope, openings[:1]), envelope

"""The ledger as a hash chain: each entry names the digest of the one before, and continues its state and counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from unlearnspn.certificates.envelope import Envelope
from unlearnspn.certificates.errors import CertificateError
from unlearnspn.certificates.findings import Audit, Finding
from unlearnspn.certificates.keys import PublicKey
from unlearnspn.certificates.statement import Action, Statement

ENCODING, SIGNATURE, LINK, CONTINUITY, DATES, TRUST, HEAD = (
    "encoding",
    "signature",
    "link",
    "continuity",
    "dates",
    "public key",
    "last entry",
)
_PASSED = {
    ENCODING: "readable, in the one form that it may have: {n}",
    SIGNATURE: "signed by the key in use at the time: {n}",
    LINK: "naming the one before by its digest, none missing between them: {n}",
    CONTINUITY: "continuing state and counts of the one before: {n}",
    DATES: "completed after it was received, and not before the one before: {n}",
}
#: What keeps schema, parameters and seed as they were.
_KEEPS_SETTINGS = (Action.REMOVAL, Action.ADDITION, Action.CORRECTION, Action.KEY_ROTATION, Action.EXPORT)
#: What keeps records and model as they were.
_KEEPS_STATE = (Action.KEY_ROTATION, Action.EXPORT)


@dataclass
class ChainCheck:
    """Checks a ledger entry by entry; after something that is wrong it goes on with the next entry.

    `unlearnspn.certificates.audit_ledger` is the short way. This one is for whoever reads entries as they come.
    """

    n_entries: int = 0
    head: str | None = None
    vault: str | None = None
    key: PublicKey | None = None
    last: Statement | None = None
    #: All keys that signed, the first one first.
    keys: list[PublicKey] = field(default_factory=list)
    failures: list[Finding] = field(default_factory=list)

    def add(self, encoded: bytes) -> Envelope | None:
        """Check the next entry, and return it unless it cannot be read."""
        number = self.n_entries
        self.n_entries += 1
        try:
            envelope = Envelope.decode(encoded)
            statement = envelope.statement
        except CertificateError as error:
            self._fail(ENCODING, number, str(error))
            self.head, self.last = None, None
            return None
        self._check_signatures(envelope, statement, number)
        self._check_link(statement, number)
        for message in _breaks(self.last, statement):
            self._fail(CONTINUITY, number, message)
        for message in misdated(self.last, statement):
            self._fail(DATES, number, message)
        self.head, self.last = envelope.digest, statement
        return envelope

    def findings(self) -> Iterator[Finding]:
        """Return what was found so far: every failure, and the checks without any."""
        if self.n_entries == 0:
            yield Finding(False, ENCODING, "the ledger is empty: not even its first entry is there")
            return
        failed = {finding.check for finding in self.failures}
        for check, message in _PASSED.items():
            if check not in failed:
                yield Finding(True, check, message.format(n=_count(self.n_entries)))
        yield from self.failures

    def trust(self, trusted: PublicKey) -> Finding:
        """Tell whether a key that is known from elsewhere vouches for the chain.

        It does if it signed an entry: what came before is in its hash, what came after was introduced by it.
        """
        if trusted in self.keys:
            return Finding(True, TRUST, f"the key {trusted.id[:16]}… vouches for the ledger")
        known = shorten(key.id for key in self.keys)
        message = f"the key {trusted.id[:16]}… signed nothing in this ledger; those that did: {known}"
        return Finding(False, TRUST, message)

    def _check_signatures(self, envelope: Envelope, statement: Statement, number: int) -> None:
        introduced = statement.introduced
        signers = [key for key in (self.key, introduced) if key is not None]
        if not signers:
            self._fail(SIGNATURE, number, "no key has been introduced that could have signed it")
        elif envelope.key_ids != tuple(key.id for key in signers):
            wanted = shorten(key.id for key in signers)
            self._fail(SIGNATURE, number, f"it must be signed by {wanted}, but names {shorten(envelope.key_ids)}")
        elif not all(envelope.signed_by(key) for key in signers):
            self._fail(SIGNATURE, number, "the signature does not fit: statement or signature were changed")
        elif introduced is not None:
            self.keys.append(introduced)
        if introduced is not None:
            self.key = introduced

    def _check_link(self, statement: Statement, number: int) -> None:
        link = statement.link
        if link.entry != number:
            self._fail(LINK, number, f"it says it is entry {link.entry}: entries are missing, repeated or out of order")
        if (statement.action is Action.INIT) != (number == 0):
            self._fail(LINK, number, f"a ledger starts with init and has no other; this is {statement.action}")
        if self.vault is None:
            self.vault = link.vault
        elif link.vault != self.vault:
            self._fail(LINK, number, f"it belongs to the vault {link.vault[:50]}, not to {self.vault[:50]}")
        if number > 0 and link.previous != self.head:
            found = "cannot be read" if self.head is None else f"has {self.head[:16]}…"
            message = f"it follows an entry with the digest {str(link.previous)[:16]}…, but entry {number - 1} {found}"
            self._fail(LINK, number, message)

    def _fail(self, check: str, number: int, message: str) -> None:
        self.failures.append(Finding(False, check, message, number))


def check_chain(
    entries: Iterable[bytes], trusted: PublicKey | None = None, head: str | None = None
) -> tuple[Audit, ChainCheck]:
    """Check a whole ledger; return the findings, and what was learned on the way.

    A chain cannot tell that its last entries are missing. So somebody who has seen a certificate or the digest of an
    entry (`head`) can ask whether it is still there.
    """
    check, found = ChainCheck(), head is None
    for encoded in entries:
        check.add(encoded)
        found = found or check.head == head
    findings = list(check.findings())
    if trusted is not None:
        findings.append(check.trust(trusted))
    if head is not None:
        message = f"the entry with the digest {head[:16]}… is {'there' if found else 'missing: the end was cut off'}"
        findings.append(Finding(found, HEAD, message))
    return Audit.of(findings, check.head), check


def _breaks(last: Statement | None, statement: Statement) -> Iterator[str]:
    """Say in which ways a statement does not continue the one before; after an unreadable one nothing is known."""
    if statement.link.entry == 0:
        if statement.before is not None or statement.after is not None or any(vars(statement.counts).values()):
            yield "a new vault has no model and no records"
        return
    if last is None:
        return
    if statement.before != last.after:
        yield f"its state before is not the one that entry {last.link.entry} left"
    counts = statement.counts
    if counts.remaining != last.counts.remaining - counts.removed + counts.added:
        yield f"{last.counts.remaining} - {counts.removed} + {counts.added} records do not leave {counts.remaining}"
    changes = statement.after != statement.before or counts.removed or counts.added
    if statement.action in _KEEPS_STATE and changes:
        yield f"{statement.action} must not change the model or the records"
    if statement.action in _KEEPS_SETTINGS and last.settings is not None and statement.settings != last.settings:
        yield f"{statement.action} must not change schema, parameters or seed"


def misdated(last: Statement | None, statement: Statement) -> Iterator[str]:
    """Say which dates of a statement cannot be; those of one form are in order if their texts are."""
    request = statement.request
    if request.completed < request.received:
        yield f"it was completed on {request.completed}, before it was received on {request.received}"
    if last is not None and request.completed < last.request.completed:
        yield f"it was completed on {request.completed}, before entry {last.link.entry} on {last.request.completed}"


def shorten(key_ids: Iterable[str]) -> str:
    """Name keys by the beginnings of their fingerprints."""
    return ", ".join(f"{key_id[:16]}…" for key_id in key_ids) or "nobody"


def _count(n: int) -> str:
    return "1 entry" if n == 1 else f"{n:,} entries"

"""What an auditor can check without the vault: one certificate, a ledger, a receipt. With a vault, ask the vault."""

from __future__ import annotations

from collections.abc import Iterable

from unlearnspn.certificates.chain import SIGNATURE, check_chain, shorten
from unlearnspn.certificates.commitment import Item
from unlearnspn.certificates.envelope import Envelope
from unlearnspn.certificates.errors import CertificateError
from unlearnspn.certificates.findings import Audit, Finding
from unlearnspn.certificates.keys import PublicKey
from unlearnspn.certificates.receipt import Receipt
from unlearnspn.certificates.statement import Action

RECEIPT = "receipt"


def audit_certificate(encoded: bytes, key: PublicKey) -> Audit:
    """Check one certificate with a public key alone."""
    try:
        envelope = Envelope.decode(encoded)
        statement = envelope.statement
    except CertificateError as error:
        return Audit((Finding(False, "encoding", str(error)),))
    entry = statement.link.entry
    readable = Finding(True, "encoding", "the certificate is readable, in the one form that it may have", entry)
    return Audit((readable, _signed(envelope, key, entry)))


def audit_ledger(entries: Iterable[bytes], key: PublicKey | None = None, head: str | None = None) -> Audit:
    """Check a ledger: encodings, signatures, links, digests that continue; and that a key and an entry belong to it."""
    return check_chain(entries, key, head)[0]


def audit_receipt(receipt: Receipt, certificate: Envelope, wanted: Item | None = None) -> Audit:
    """Check that what a receipt is about was among the removed; `wanted` is what the requester knows themselves.

    Whether the certificate is genuine is another question (`audit_certificate`).
    """
    statement = certificate.statement
    entry = statement.link.entry
    if statement.action is not Action.REMOVAL:
        return Audit((Finding(False, RECEIPT, f"the certificate is about {statement.action}, not a removal", entry),))
    findings = []
    if (receipt.vault, receipt.entry, receipt.certificate) != (statement.link.vault, entry, certificate.digest):
        message = (
            f"the receipt is for entry {receipt.entry} with the digest {receipt.certificate[:16]}…, "
            f"not for this one with {certificate.digest[:16]}…"
        )
        findings.append(Finding(False, RECEIPT, message, entry))
    if wanted is not None and wanted not in receipt.items:
        findings.append(Finding(False, RECEIPT, f"the receipt is not about the {wanted.kind} {wanted.id!r}", entry))
    for opening in receipt.openings:
        ok = opening.root() == statement.commitment
        tail = "was among the removed" if ok else "does not fit the commitment of the certificate"
        findings.append(Finding(ok, RECEIPT, f"the {opening.item.kind} {opening.item.id!r} {tail}", entry))
    return Audit.of(findings)


def _signed(envelope: Envelope, key: PublicKey, entry: int) -> Finding:
    introduced = envelope.statement.introduced
    signers = [key] if introduced is None or introduced == key else [key, introduced]
    if envelope.key_ids == tuple(signer.id for signer in signers):
        if all(envelope.signed_by(signer) for signer in signers):
            return Finding(True, SIGNATURE, f"it was signed by the key {key.id[:16]}…", entry)
        return Finding(False, SIGNATURE, "the signature does not fit: statement or signature were changed", entry)
    message = f"it says it was signed by {shorten(envelope.key_ids)}, not by {shorten([key.id])} alone"
    return Finding(False, SIGNATURE, f"{message}: give the key that was in use then, or the whole ledger", entry)

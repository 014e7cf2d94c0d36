"""Certificates: signed statements of what was done to a vault, chained to a ledger, that anyone can check.

An auditor needs this package and a public key, no vault and no model; nothing heavy is imported.
"""

from unlearnspn.certificates.chain import ChainCheck, check_chain
from unlearnspn.certificates.commitment import Item, Kind, Opening, commit
from unlearnspn.certificates.dates import utc_now
from unlearnspn.certificates.envelope import Envelope
from unlearnspn.certificates.errors import CertificateError, KeyFileError
from unlearnspn.certificates.findings import Audit, Finding
from unlearnspn.certificates.keyfile import KeyFile
from unlearnspn.certificates.keys import PublicKey, SigningKey
from unlearnspn.certificates.receipt import Receipt
from unlearnspn.certificates.state import Commitments, Digests, new_nonce
from unlearnspn.certificates.statement import Action, Counts, Link, Request, Statement, state_removal
from unlearnspn.certificates.verifying import audit_certificate, audit_ledger, audit_receipt

__all__ = [
    "Action",
    "Audit",
    "CertificateError",
    "ChainCheck",
    "Commitments",
    "Counts",
    "Digests",
    "Envelope",
    "Finding",
    "Item",
    "KeyFile",
    "KeyFileError",
    "Kind",
    "Link",
    "Opening",
    "PublicKey",
    "Receipt",
    "Request",
    "SigningKey",
    "Statement",
    "audit_certificate",
    "audit_ledger",
    "audit_receipt",
    "check_chain",
    "commit",
    "new_nonce",
    "state_removal",
    "utc_now",
]

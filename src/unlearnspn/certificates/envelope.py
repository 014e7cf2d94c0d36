"""Signed envelopes: DSSE, version 1, around in-toto statements.

What is signed is not JSON but the payload's bytes with their type and lengths (`pre_authentication_encoding`). The
envelope itself is canonical JSON, and names the signing keys by their fingerprints. So every byte of it counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unlearnspn.certificates.canonical import decode_base64, decode_json, encode_base64, encode_json
from unlearnspn.certificates.errors import CertificateError
from unlearnspn.certificates.fields import Fields
from unlearnspn.certificates.keys import PublicKey, SigningKey
from unlearnspn.certificates.statement import PAYLOAD_TYPE, Statement


def pre_authentication_encoding(payload_type: str, payload: bytes) -> bytes:
    """Return the bytes that DSSE signs.

    >>> pre_authentication_encoding("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


@dataclass(frozen=True)
class Signature:
    """A signature, and the fingerprint of the key that made it."""

    key_id: str
    value: bytes


@dataclass(frozen=True)
class Envelope:
    """A certificate: a signed statement, and the bytes in which it is stored and handed out.

    >>> from unlearnspn.certificates.statement import Action, Link, Request
    >>> key = SigningKey.generate()
    >>> request = Request("r-1", "2026-01-31T09:30:00Z", "2026-01-31T09:30:01Z", "registry")
    >>> first = Statement(Action.INIT, Link("0" * 32, 0, None), request, "unlearnspn 0.1.0", introduced=key.public)
    >>> envelope = Envelope.sign(first, [key])
    >>> Envelope.decode(envelope.encoded).statement == first, envelope.signed_by(key.public)
    (True, True)
    """

    encoded: bytes
    payload: bytes
    signatures: tuple[Signature, ...]

    @classmethod
    def sign(cls, statement: Statement, keys: Sequence[SigningKey]) -> Envelope:
        """Sign a statement, with two keys if one of them introduces the other."""
        payload = statement.encode()
        message = pre_authentication_encoding(PAYLOAD_TYPE, payload)
        signatures = tuple(Signature(key.public.id, key.sign(message)) for key in keys)
        document = {
            "payload": encode_base64(payload),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [{"keyid": each.key_id, "sig": encode_base64(each.value)} for each in signatures],
        }
        return cls(encode_json(document), payload, signatures)

    @classmethod
    def decode(cls, encoded: bytes) -> Envelope:
        """Read an envelope; whether its signatures are right is another question."""
        document = decode_json(encoded, "the certificate")
        fields = Fields(document, "the certificate", {"payload", "payloadType", "signatures"})
        if fields.text("payloadType") != PAYLOAD_TYPE:
            raise CertificateError(f"the certificate's payload is {fields.text('payloadType')!r}, not {PAYLOAD_TYPE}")
        payload = decode_base64(fields.text("payload"), "the certificate's payload")
        return cls(encoded, payload, tuple(_read_signature(item) for item in fields.items("signatures")))

    @cached_property
    def statement(self) -> Statement:
        """What was signed."""
        return Statement.decode(self.payload)

    @property
    def digest(self) -> str:
        """SHA-256 of the stored bytes: what the next entry of the ledger refers to."""
        return hashlib.sha256(self.encoded).hexdigest()

    @property
    def key_ids(self) -> tuple[str, ...]:
        """The fingerprints of the keys that are said to have signed."""
        return tuple(signature.key_id for signature in self.signatures)

    def signed_by(self, key: PublicKey) -> bool:
        """Tell whether this key signed, and is named for it."""
        message = pre_authentication_encoding(PAYLOAD_TYPE, self.payload)
        return any(each.key_id == key.id and key.verifies(message, each.value) for each in self.signatures)


def _read_signature(item: Any) -> Signature:
    fields = Fields(item, "a signature", {"keyid", "sig"})
    return Signature(fields.digest("keyid"), decode_base64(fields.text("sig"), "a signature"))

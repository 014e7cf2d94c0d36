"""Receipts: what a requester gets, and nobody keeps, to show that their record was among the removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unlearnspn.certificates.canonical import decode_json, encode_json
from unlearnspn.certificates.commitment import Item, Kind, Opening, describe_opening
from unlearnspn.certificates.envelope import Envelope
from unlearnspn.certificates.errors import CertificateError
from unlearnspn.certificates.fields import Fields

RECEIPT_TYPE = "urn:unlearnspn:receipt:v1"
_PATH_LIMIT = 64


@dataclass(frozen=True)
class Receipt:
    """Opens the commitment of one certificate for one requester: a record, or a subject with all of its records.

    It holds the requester's ids and salts, so it belongs to the requester alone: hand it over, and keep no copy.
    """

    vault: str
    entry: int
    #: SHA-256 of the certificate that it belongs to.
    certificate: str
    openings: tuple[Opening, ...]

    @classmethod
    def of(cls, certificate: Envelope, openings: Sequence[Opening]) -> Receipt:
        """Return the receipt of one requester for a certificate."""
        link = certificate.statement.link
        return cls(link.vault, link.entry, certificate.digest, tuple(openings))

    def encode(self) -> bytes:
        """Write the receipt as canonical JSON, on one line."""
        document = {
            "_type": RECEIPT_TYPE,
            "vault": self.vault,
            "entry": self.entry,
            "certificate": self.certificate,
            "removed": [describe_opening(opening) for opening in self.openings],
        }
        return encode_json(document) + b"\n"

    @classmethod
    def decode(cls, encoded: bytes) -> Receipt:
        """Read a receipt, with or without its line end."""
        document = decode_json(encoded.removesuffix(b"\n").removesuffix(b"\r"), "the receipt")
        fields = Fields(document, "the receipt", {"_type", "vault", "entry", "certificate", "removed"})
        if fields.text("_type") != RECEIPT_TYPE:
            raise CertificateError(f"the receipt is of type {fields.text('_type')!r}, not {RECEIPT_TYPE}")
        openings = tuple(_read_opening(item) for item in fields.items("removed"))
        if not openings:
            raise CertificateError("the receipt is about nobody: it lists nothing that was removed")
        return cls(fields.text("vault"), fields.number("entry"), fields.digest("certificate"), openings)

    @property
    def items(self) -> list[Item]:
        """The records and subjects that it is about."""
        return [opening.item for opening in self.openings]


def _read_opening(document: Any) -> Opening:
    fields = Fields(document, "the receipt's item", {"kind", "id", "salt", "place", "path"})
    kind, name, path = fields.text("kind"), fields.value("id"), fields.texts("path")
    if kind not in list(Kind):
        raise CertificateError(f"the receipt's item is of kind {kind!r}, which is neither a record nor a subject")
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise CertificateError("the receipt's id must be a string or an integer")
    if len(path) > _PATH_LIMIT:
        raise CertificateError(f"the receipt's path has {len(path)} steps, more than any tree")
    hashes = [Fields({"hash": step}, "the receipt's path", {"hash"}).digest("hash") for step in path]
    salt = bytes.fromhex(fields.digest("salt"))
    return Opening(Item(Kind(kind), name), salt, fields.number("place"), tuple(map(bytes.fromhex, hashes)))

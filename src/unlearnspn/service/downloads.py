"""Certificates, the ledger and the public key as files, for the API and the console."""

from __future__ import annotations

from fastapi import Response

from unlearnspn.certificates import Envelope
from unlearnspn.certificates.bundle import write_bundle
from unlearnspn.certificates.page import render_page
from unlearnspn.service.desk_service import DeskService
from unlearnspn.service.errors import NotThereError


def export_of(service: DeskService) -> Response:
    """Return the whole ledger as a file."""
    bundle = write_bundle(envelope.encoded for envelope in service.ledger.entries())
    return Response(bundle, media_type="application/jsonl", headers=_as_file("ledger.jsonl"))


def certificate_of(service: DeskService, entry: int) -> Response:
    """Return a certificate as a file for machines."""
    envelope = entry_of(service, entry)
    content = write_bundle([envelope.encoded])
    return Response(content, media_type="application/json", headers=_as_file(f"certificate-{entry}.json"))


def page_of(service: DeskService, entry: int) -> Response:
    """Return a certificate as a file for people."""
    content = render_page(entry_of(service, entry))
    return Response(content, media_type="text/html", headers=_as_file(f"certificate-{entry}.html"))


def key_of(service: DeskService) -> Response:
    """Return the public key as a file."""
    return Response(service.vault.public_key.pem(), media_type="application/x-pem-file", headers=_as_file("public.pem"))


def entry_of(service: DeskService, number: int) -> Envelope:
    """Return an entry of the ledger, or raise."""
    envelopes = service.ledger.entries()
    if number >= len(envelopes):
        raise NotThereError(f"the ledger has no entry {number}")
    return envelopes[number]


def _as_file(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}

"""The ledger and its certificates."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from unlearnspn.certificates import Action
from unlearnspn.exchange.outcomes import describe_entry
from unlearnspn.service.api.bodies import JobAnswer
from unlearnspn.service.api.callers import Caller, Service, allowed
from unlearnspn.service.api.describing import answers
from unlearnspn.service.api.strict_json import StrictRoute
from unlearnspn.service.downloads import certificate_of, entry_of, export_of, key_of, page_of
from unlearnspn.service.roles import Scope

router = APIRouter(tags=["ledger"], route_class=StrictRoute)
Number = Annotated[int, Path(ge=0, le=1 << 53)]
Reader = Annotated[Caller, allowed(Scope.READ_LEDGER)]


@router.get("/ledger")
def entries(
    service: Service,
    caller: Reader,
    first: Annotated[int, Query(ge=0, le=1 << 53)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    action: Action | None = None,
    request_id: Annotated[str | None, Query(max_length=200)] = None,
) -> list[dict[str, Any]]:
    """Return entries, from one on."""
    found = [
        envelope
        for envelope in service.ledger.entries()[first:]
        if (action is None or envelope.statement.action is action)
        and (request_id is None or envelope.statement.request.id == request_id)
    ]
    return [describe_entry(envelope) for envelope in found[:limit]]


@router.get("/ledger/head")
def head(service: Service, caller: Reader) -> dict[str, Any]:
    """Return the last entry and its digest, which an auditor keeps."""
    last = service.ledger.entries()[-1]
    return {"entry": last.statement.link.entry, "digest": last.digest}


@router.get("/ledger/export", response_class=Response, responses=answers("application/jsonl"))
def export(service: Service, caller: Reader) -> Response:
    """Return the whole ledger as an in-toto bundle, one certificate on each line."""
    return export_of(service)


@router.get("/ledger/{entry}")
def one_entry(entry: Number, service: Service, caller: Reader) -> dict[str, Any]:
    """Return an entry."""
    return describe_entry(entry_of(service, entry))


@router.get("/ledger/{entry}/certificate", response_class=Response, responses=answers("application/json"))
def certificate(entry: Number, service: Service, caller: Reader) -> Response:
    """Return a certificate: the signed envelope, letter by letter."""
    return certificate_of(service, entry)


@router.get("/ledger/{entry}/page", response_class=Response, responses=answers("text/html"))
def page(entry: Number, service: Service, caller: Reader) -> Response:
    """Return a certificate as a page for people, to be printed."""
    return page_of(service, entry)


@router.get("/key", response_class=Response, responses=answers("application/x-pem-file"))
def public_key(service: Service, caller: Reader) -> Response:
    """Return the public key that verifies certificates."""
    return key_of(service)


@router.post("/verifications", status_code=202, tags=["jobs"])
def verify(service: Service, caller: Annotated[Caller, allowed(Scope.VERIFY)]) -> JobAnswer:
    """Have everything verified, in the background: file, ledger, and that learning from scratch gives the same."""
    return JobAnswer.of(service.start_verification(who=caller.name))

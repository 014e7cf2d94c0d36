"""Requests of people: filing, deciding, carrying out."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path

from unlearnspn.service.api.bodies import (
    DenyBody,
    EraseBody,
    ExtendBody,
    FileBody,
    HoldBody,
    NoteBody,
    RecordsBody,
    RequestAnswer,
    SearchBody,
    SubjectBody,
    answer_of,
)
from unlearnspn.service.api.callers import Caller, Service, allowed
from unlearnspn.service.api.strict_json import StrictRoute
from unlearnspn.service.api.tables import records_for_vault
from unlearnspn.service.roles import Scope
from unlearnspn.service.searching import Wanted, find_requests
from unlearnspn.tables.times import written

router = APIRouter(tags=["requests"], route_class=StrictRoute)
Id = Annotated[str, Path(max_length=200)]
Reader = Annotated[Caller, allowed(Scope.READ_REQUESTS)]
Writer = Annotated[Caller, allowed(Scope.WRITE_REQUESTS)]
Eraser = Annotated[Caller, allowed(Scope.ERASE)]


@router.get("/requests")
def all_requests(service: Service, caller: Reader) -> list[RequestAnswer]:
    """Return all requests, those that are due first before others, and what is closed last."""
    return [RequestAnswer.of(request) for request in service.desk.requests()]


@router.post("/requests/search")
def search(body: SearchBody, service: Service, caller: Reader) -> list[RequestAnswer]:
    """Return the requests that are looked for."""
    wanted = Wanted(body.person, frozenset(body.states or ()), frozenset(body.wishes or ()), bool(body.late))
    return [RequestAnswer.of(request) for request in find_requests(service.desk.requests(), wanted)]


@router.post("/requests", status_code=201)
def file(body: FileBody, service: Service, caller: Writer) -> RequestAnswer:
    """File a request. It may be repeated under its id."""
    request = service.file(
        body.wish,
        body.person,
        who=caller.name,
        received=body.received,
        request_id=body.request_id,
        note=body.note,
    )
    return RequestAnswer.of(request)


@router.get("/requests/{request_id}")
def one_request(request_id: Id, service: Service, caller: Reader) -> RequestAnswer:
    """Return a request."""
    return RequestAnswer.of(service.desk.get(request_id))


@router.get("/requests/{request_id}/related")
def related(request_id: Id, service: Service, caller: Reader) -> list[RequestAnswer]:
    """Return the other requests of the same person; open ones for the same are likely duplicates."""
    return [RequestAnswer.of(request) for request in service.desk.related(request_id)]


@router.post("/requests/{request_id}/verify-identity")
def verify_identity(request_id: Id, service: Service, caller: Writer) -> RequestAnswer:
    """Say that the requester is the person."""
    return RequestAnswer.of(service.verify_identity(request_id, who=caller.name))


@router.post("/requests/{request_id}/extend")
def extend(request_id: Id, body: ExtendBody, service: Service, caller: Writer) -> RequestAnswer:
    """Set a later date, once, by up to two months."""
    return RequestAnswer.of(service.extend(request_id, body.until, who=caller.name, reason=body.reason))


@router.post("/requests/{request_id}/deny")
def deny(request_id: Id, body: DenyBody, service: Service, caller: Writer) -> RequestAnswer:
    """Refuse a request."""
    return RequestAnswer.of(service.deny(request_id, ground=body.ground, who=caller.name, reason=body.reason))


@router.post("/requests/{request_id}/withdraw")
def withdraw(request_id: Id, service: Service, caller: Writer) -> RequestAnswer:
    """Close a request that the person does not make any more."""
    return RequestAnswer.of(service.withdraw(request_id, who=caller.name))


@router.post("/requests/{request_id}/notes")
def note(request_id: Id, body: NoteBody, service: Service, caller: Writer) -> RequestAnswer:
    """Put a remark on the timeline."""
    return RequestAnswer.of(service.note(request_id, body.text, who=caller.name))


@router.post("/requests/{request_id}/try-out")
def try_out(request_id: Id, service: Service, caller: Eraser) -> dict[str, Any]:
    """Return what the erasure would do; nothing is changed."""
    return answer_of(service.desk.try_out(request_id))


@router.post("/requests/{request_id}/erase")
def erase(request_id: Id, body: EraseBody, service: Service, caller: Eraser) -> dict[str, Any]:
    """Carry the erasure out. Repeated, it returns the same certificate; receipts are in the first answer alone."""
    return answer_of(service.erase(request_id, ground=body.ground, who=caller.name))


@router.post("/requests/{request_id}/access")
def access(request_id: Id, service: Service, caller: Annotated[Caller, allowed(Scope.READ_RECORDS)]) -> dict[str, Any]:
    """Return all records of the person, and close the request."""
    held = service.answer_access(request_id, who=caller.name)
    return {"records": [{name: written(value) for name, value in record.items()} for record in held.as_dicts()]}


@router.post("/requests/{request_id}/correct")
def correct(
    request_id: Id, body: RecordsBody, service: Service, caller: Annotated[Caller, allowed(Scope.WRITE_RECORDS)]
) -> dict[str, Any]:
    """Replace values of the person's records: ids, and just the columns that change."""
    return answer_of(service.correct(request_id, records_for_vault(service, body.records), who=caller.name))


@router.get("/holds")
def holds(service: Service, caller: Reader) -> list[dict[str, str]]:
    """Return the legal holds."""
    return [vars(hold) for hold in service.desk.holds()]


@router.post("/holds", status_code=204)
def hold(body: HoldBody, service: Service, caller: Writer) -> None:
    """Block the erasure of a person until the hold is lifted."""
    service.hold(body.subject, who=caller.name, reason=body.reason)


@router.post("/holds/lift", status_code=204)
def lift(body: SubjectBody, service: Service, caller: Writer) -> None:
    """Allow the erasure of a person again."""
    service.lift(body.subject, who=caller.name)

"""Removals, additions and corrections that other systems ask for, each once by the id of its request."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from unlearnspn.certificates.statement import TEXT_LIMIT
from unlearnspn.service.api.bodies import FitBody, JobAnswer, PersonBody, RemovalBody, answer_of
from unlearnspn.service.api.callers import Caller, Service, allowed
from unlearnspn.service.api.strict_json import StrictRoute
from unlearnspn.service.api.tables import TAKES_RECORDS, Records, records_for_vault
from unlearnspn.service.roles import Scope
from unlearnspn.tables.times import written

router = APIRouter(tags=["records"], route_class=StrictRoute)
RequestId = Annotated[
    str,
    Query(
        min_length=1,
        max_length=TEXT_LIMIT,
        pattern=r"^[A-Za-z0-9._:-]+$",
        description="The id of the request, by which it is carried out once. No personal data.",
    ),
]
Eraser = Annotated[Caller, allowed(Scope.ERASE)]
Reader = Annotated[Caller, allowed(Scope.READ_RECORDS)]
Writer = Annotated[Caller, allowed(Scope.WRITE_RECORDS)]


@router.post("/removals")
def remove(body: RemovalBody, service: Service, caller: Eraser) -> dict[str, Any]:
    """Erase a person whose identity the caller has verified. Repeated, it returns the same certificate."""
    return answer_of(
        service.remove(
            body.person, who=caller.name, ground=body.ground, request_id=body.request_id, received=body.received
        )
    )


@router.post("/removals/try-out")
def try_out(body: PersonBody, service: Service, caller: Eraser) -> dict[str, Any]:
    """Return what the erasure of a person would do; nothing is changed."""
    return answer_of(service.try_out(body.person))


@router.post("/access")
def access(body: PersonBody, service: Service, caller: Reader) -> dict[str, Any]:
    """Return what is held on a person."""
    held = service.look_up(body.person, who=caller.name)
    return {"records": [{name: written(value) for name, value in record.items()} for record in held.as_dicts()]}


@router.post("/additions", openapi_extra=TAKES_RECORDS)
def add(
    request_id: RequestId, sent: Records, service: Service, caller: Writer, allow_returning: bool = False
) -> dict[str, Any]:
    """Add records, with a column of ids. Repeated, it returns the same certificate."""
    records = records_for_vault(service, sent.read())
    return answer_of(service.add(records, who=caller.name, request_id=request_id, allow_returning=allow_returning))


@router.post("/corrections", openapi_extra=TAKES_RECORDS)
def correct(request_id: RequestId, sent: Records, service: Service, caller: Writer) -> dict[str, Any]:
    """Replace values of records: a column of ids, and the columns that change."""
    return answer_of(service.replace(records_for_vault(service, sent.read()), who=caller.name, request_id=request_id))


@router.post("/fits", status_code=202)
def fit(body: FitBody, service: Service, caller: Writer) -> JobAnswer:
    """Have a model learned from all records, in the background."""
    return JobAnswer.of(
        service.start_fit(who=caller.name, request_id=body.request_id, parameters=dict(body.parameters))
    )

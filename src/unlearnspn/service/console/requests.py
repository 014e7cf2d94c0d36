"""A request: who it is about, what may be done with it, and what has been done."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response

from unlearnspn.service.console import answering, correcting, erasing
from unlearnspn.service.console.request_page import change, show
from unlearnspn.service.console.typed import read_ground, read_text, read_until
from unlearnspn.service.console.visitors import Visit, sender, visitor
from unlearnspn.service.roles import Scope

router = APIRouter(include_in_schema=False)
for part in (erasing, answering, correcting):
    router.include_router(part.router)
Writer = Annotated[Visit, sender(Scope.WRITE_REQUESTS)]


@router.get("/requests/{request_id:path}")
def one_request(request: Request, request_id: str, visit: Annotated[Visit, visitor(Scope.READ_REQUESTS)]) -> Response:
    """Show a request."""
    return show(request, visit, request_id)


@router.post("/requests/{request_id:path}/verify")
def verify(request: Request, request_id: str, visit: Writer) -> Response:
    """Say that the requester is the person."""
    service = visit.service
    return change(request, visit, request_id, "verify", lambda: service.verify_identity(request_id, who=visit.who))


@router.post("/requests/{request_id:path}/extend")
def extend(request: Request, request_id: str, visit: Writer) -> Response:
    """Set a later date."""

    def act() -> None:
        until = read_until(visit.text("until"), visit.service.desk.get(request_id))
        visit.service.extend(request_id, until, who=visit.who, reason=read_text(visit, "reason", "the reason"))

    return change(request, visit, request_id, "extend", act)


@router.post("/requests/{request_id:path}/deny")
def deny(request: Request, request_id: str, visit: Writer) -> Response:
    """Refuse a request."""

    def act() -> None:
        ground, reason = read_ground(visit), read_text(visit, "reason", "the reason")
        visit.service.deny(request_id, ground=ground, who=visit.who, reason=reason)

    return change(request, visit, request_id, "deny", act)


@router.post("/requests/{request_id:path}/withdraw")
def withdraw(request: Request, request_id: str, visit: Writer) -> Response:
    """Close a request that the person does not make any more."""
    return change(request, visit, request_id, "withdraw", lambda: visit.service.withdraw(request_id, who=visit.who))


@router.post("/requests/{request_id:path}/note")
def note(request: Request, request_id: str, visit: Writer) -> Response:
    """Put a remark on the timeline."""

    def act() -> None:
        visit.service.note(request_id, read_text(visit, "text", "the remark"), who=visit.who)

    return change(request, visit, request_id, "note", act)

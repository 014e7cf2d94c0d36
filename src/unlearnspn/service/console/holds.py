"""Legal holds: duties to keep what is held on a person, which block erasure until they are lifted."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response

from unlearnspn.service.console.desk_pages import desk_page, path_of, refused
from unlearnspn.service.console.rendering import go_to
from unlearnspn.service.console.typed import MOST_NAME, read_text
from unlearnspn.service.console.visitors import Visit, sender, visitor
from unlearnspn.service.roles import Scope

router = APIRouter(include_in_schema=False)
Writer = Annotated[Visit, sender(Scope.WRITE_REQUESTS)]


@router.get("/holds")
def all_holds(request: Request, visit: Annotated[Visit, visitor(Scope.READ_REQUESTS)]) -> Response:
    """List the legal holds."""
    return _holds(request, visit)


@router.post("/holds")
def place(request: Request, visit: Writer) -> Response:
    """Block the erasure of a person."""
    try:
        subject = read_text(visit, "subject", "the subject", MOST_NAME)
        visit.service.hold(subject, who=visit.who, reason=read_text(visit, "reason", "the reason"))
    except Exception as error:
        return _refusal(request, visit, error)
    return _back(visit)


@router.post("/holds/lift")
def lift(request: Request, visit: Writer) -> Response:
    """Allow the erasure of a person again."""
    try:
        visit.service.lift(read_text(visit, "subject", "the subject", MOST_NAME), who=visit.who)
    except Exception as error:
        return _refusal(request, visit, error)
    return _back(visit)


def _back(visit: Visit) -> Response:
    """Go back to the request from whose page the form was sent, or to the holds."""
    request_id = visit.text("request")
    return go_to(path_of(request_id) if request_id else "/holds")


def _refusal(request: Request, visit: Visit, error: Exception) -> Response:
    problem = refused(error)
    return _holds(request, visit, problem.status.value, problem.detail)


def _holds(request: Request, visit: Visit, status: int = 200, problem: str = "") -> Response:
    typed = {name: visit.text(name) for name in ("subject", "reason")}
    return desk_page(
        request, visit, "holds.html", status, holds=visit.service.desk.holds(), typed=typed, problem=problem
    )

"""What is held on a person: looked at, and handed over."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response

from unlearnspn.service.console.desk_pages import desk_page
from unlearnspn.service.console.records import files_of, records_of
from unlearnspn.service.console.request_page import answer
from unlearnspn.service.console.visitors import Visit, sender
from unlearnspn.service.desk_service import Person
from unlearnspn.service.roles import Scope
from unlearnspn.vault import HeldRecords

router = APIRouter(include_in_schema=False)
Reader = Annotated[Visit, sender(Scope.READ_RECORDS)]
MOST_SHOWN = 500


@router.post("/requests/{request_id:path}/find")
def held(request: Request, request_id: str, visit: Reader) -> Response:
    """Show what is held on the person."""

    def act() -> Response:
        asked = visit.service.desk.get(request_id)
        found = visit.service.look_up(Person.of(asked), who=visit.who, about=request_id)
        return _records(request, visit, request_id, found, is_answer=False)

    return answer(request, visit, request_id, "find", act)


@router.post("/requests/{request_id:path}/access")
def access(request: Request, request_id: str, visit: Reader) -> Response:
    """Close a request for access, and offer all records as files."""

    def act() -> Response:
        found = visit.service.answer_access(request_id, who=visit.who)
        return _records(request, visit, request_id, found, is_answer=True)

    return answer(request, visit, request_id, "access", act)


def _records(request: Request, visit: Visit, request_id: str, held: HeldRecords, is_answer: bool) -> Response:
    return desk_page(
        request,
        visit,
        "held.html",
        asked=visit.service.desk.get(request_id),
        records=records_of(held, visit.service.vault.info()),
        files=files_of(held, f"access-{request_id}"),
        is_answer=is_answer,
        most=MOST_SHOWN,
    )

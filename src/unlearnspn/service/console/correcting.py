"""Correcting the records of a person by a form."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response

from unlearnspn.service.api.tables import records_for_vault
from unlearnspn.service.console.correction_form import CorrectionForm
from unlearnspn.service.console.desk_pages import desk_page, path_of, refused
from unlearnspn.service.console.rendering import go_to
from unlearnspn.service.console.request_page import answer
from unlearnspn.service.console.visitors import Visit, sender
from unlearnspn.service.desk_service import Person
from unlearnspn.service.errors import InvalidInputError
from unlearnspn.service.roles import Scope
from unlearnspn.vault import Wish

router = APIRouter(include_in_schema=False)


@router.post("/requests/{request_id:path}/correct")
def correct(request: Request, request_id: str, visit: Annotated[Visit, sender(Scope.WRITE_RECORDS)]) -> Response:
    """Show the person's records as a form; once that is sent, replace the values that were changed."""

    def act() -> Response:
        visit.require(Scope.READ_RECORDS)
        return _save(request, request_id, visit) if visit.text("save") else _form(request, request_id, visit)

    return answer(request, visit, request_id, "correct", act)


def _form(request: Request, request_id: str, visit: Visit, status: int = 200, problem: str = "") -> Response:
    service = visit.service
    asked = service.desk.ready(request_id, Wish.CORRECT)
    held = service.look_up(Person.of(asked), who=visit.who, about=request_id)
    form = CorrectionForm.of(service.vault, held)
    if problem:
        form = form.filled(visit.fields)
    return desk_page(request, visit, "correct.html", status, asked=asked, form=form, problem=problem)


def _save(request: Request, request_id: str, visit: Visit) -> Response:
    service = visit.service
    held = service.vault.access(**Person.of(service.desk.ready(request_id, Wish.CORRECT)).as_arguments())
    try:
        records = CorrectionForm.of(service.vault, held).changes(visit.fields)
        if not records:
            raise InvalidInputError("no value was changed")
        service.correct(request_id, records_for_vault(service, records), who=visit.who)
    except Exception as error:
        problem = refused(error)
        return _form(request, request_id, visit, problem.status.value, problem.detail)
    return go_to(path_of(request_id))

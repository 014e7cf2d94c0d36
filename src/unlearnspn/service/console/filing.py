"""New requests: one by a form, many by a table."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from unlearnspn.certificates import utc_now
from unlearnspn.service.console.csv_files import decode
from unlearnspn.service.console.desk_pages import desk_page, path_of, refused
from unlearnspn.service.console.importing import ImportRefusedError, read_requests
from unlearnspn.service.console.rendering import go_to
from unlearnspn.service.console.typed import (
    read_person,
    read_received,
    read_request_id,
    read_wish,
    short,
)
from unlearnspn.service.console.visitors import Visit, sender, visitor
from unlearnspn.service.roles import Scope
from unlearnspn.vault import InboxRequest

router = APIRouter(include_in_schema=False)
Writer = Annotated[Visit, sender(Scope.WRITE_REQUESTS)]
_FIELDS = ("wish", "subject", "ids", "received", "request_id", "note")


@router.get("/requests/new")
def empty_form(request: Request, visit: Annotated[Visit, visitor(Scope.WRITE_REQUESTS)]) -> Response:
    """Ask for a new request."""
    return _form(request, visit, {})


@router.post("/requests/new")
def filled_form(request: Request, visit: Writer) -> Response:
    """Ask for a new request of a person who was found; not by the address, which would name them."""
    return _form(request, visit, {name: visit.text(name) for name in _FIELDS})


@router.post("/requests")
def file(request: Request, visit: Writer) -> Response:
    """File a request."""
    typed = {name: visit.text(name) for name in _FIELDS}
    try:
        filed = _file(visit, typed)
    except Exception as error:
        problem = refused(error)
        return _form(request, visit, typed, problem.status.value, problem=problem.detail)
    return go_to(path_of(filed.id))


def _file(visit: Visit, typed: dict[str, str]) -> InboxRequest:
    service = visit.service
    return service.file(
        read_wish(typed["wish"]),
        read_person(service.vault, typed["subject"], typed["ids"].splitlines()),
        who=visit.who,
        received=read_received(typed["received"]),
        request_id=read_request_id(typed["request_id"]),
        note=short(typed["note"], "the remark"),
    )


@router.post("/requests/import")
async def import_table(request: Request, visit: Writer) -> Response:
    """File all requests of a table, or none."""
    _, content = await visit.file("file")
    return await run_in_threadpool(_import, request, visit, content)


def _import(request: Request, visit: Visit, content: bytes) -> Response:
    pasted = visit.text("table")
    try:
        new = read_requests(visit.service.vault, decode(content) if content else pasted)
        filed = visit.service.file_all(new, who=visit.who)
    except ImportRefusedError as error:
        return _form(request, visit, {"table": pasted}, 422, faults=error.faults)
    except Exception as error:
        problem = refused(error)
        return _form(request, visit, {"table": pasted}, problem.status.value, import_problem=problem.detail)
    return desk_page(request, visit, "imported.html", filed=filed)


def _form(request: Request, visit: Visit, typed: dict[str, str], status: int = 200, **shown: Any) -> Response:
    values = dict.fromkeys((*_FIELDS, "table"), "") | typed
    shown = {"problem": "", "import_problem": "", "faults": []} | shown
    info = visit.service.vault.info()
    return desk_page(
        request, visit, "new_request.html", status, typed=values, today=utc_now()[:10], id_kind=info.id_kind, **shown
    )

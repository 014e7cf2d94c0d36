"""Finding a person: by subject, by the id of a record, or by values of columns."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response

from unlearnspn.service.console.desk_pages import desk_page, refused
from unlearnspn.service.console.records import Records, records_of
from unlearnspn.service.console.typed import read_person
from unlearnspn.service.console.visitors import Visit, sender, visitor
from unlearnspn.service.errors import InvalidInputError
from unlearnspn.service.roles import Scope
from unlearnspn.vault import HeldRecords

router = APIRouter(include_in_schema=False)
MOST_HITS = 100


@router.get("/find")
def ask(request: Request, visit: Annotated[Visit, visitor(Scope.READ_RECORDS)]) -> Response:
    """Ask who is looked for."""
    return _page(request, visit)


@router.post("/find")
def find(request: Request, visit: Annotated[Visit, sender(Scope.READ_RECORDS)]) -> Response:
    """List the records that are looked for."""
    try:
        held = _found(visit)
    except Exception as error:
        problem = refused(error)
        return _page(request, visit, problem.status.value, problem=problem.detail)
    info = visit.service.vault.info()
    return _page(request, visit, found=records_of(held, info))


def _found(visit: Visit) -> HeldRecords:
    service, subject, record = visit.service, visit.text("subject"), visit.text("id")
    wanted = _wanted(visit)
    if (bool(subject), bool(record), bool(wanted)).count(True) != 1:
        raise InvalidInputError("say who is looked for: by a subject, by the id of a record, or by values")
    if wanted:
        return service.find_like(wanted, who=visit.who, limit=MOST_HITS)
    return service.look_up(read_person(service.vault, subject, [record] if record else []), who=visit.who)


def _wanted(visit: Visit) -> dict[str, str]:
    """Return what was typed for columns, which forms know by their numbers: names may be anything."""
    columns = visit.service.vault.info().columns
    typed = {name: visit.text(f"value.{place}") for place, name in enumerate(columns)}
    return {name: text for name, text in typed.items() if text}


def _page(request: Request, visit: Visit, status: int = 200, **shown: Any) -> Response:
    found: Records | None = None
    shown = {"problem": "", "found": found} | shown
    info = visit.service.vault.info()
    typed = {name: text for name in visit.fields if (text := visit.text(name))}
    return desk_page(
        request,
        visit,
        "find.html",
        status,
        columns=list(info.families.items()),
        has_subjects=info.subject_column is not None,
        typed=typed,
        most=MOST_HITS,
        **shown,
    )

"""Erasing a person: what it would do, the last question, and what it has done."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response

from unlearnspn.service.console.desk_pages import desk_page
from unlearnspn.service.console.network import draw_change
from unlearnspn.service.console.records import File, file_of
from unlearnspn.service.console.request_page import answer
from unlearnspn.service.console.typed import read_ground
from unlearnspn.service.console.visitors import Visit, sender
from unlearnspn.service.desk_service import Person
from unlearnspn.service.roles import Scope
from unlearnspn.vault import InboxError, Outcome, Wish
from unlearnspn.vault.desk import require_ground

router = APIRouter(include_in_schema=False)
Eraser = Annotated[Visit, sender(Scope.ERASE)]
_MOST_OPERATIONS = 200


@router.post("/requests/{request_id:path}/try-out")
def try_out(request: Request, request_id: str, visit: Eraser) -> Response:
    """Show what the erasure would do."""

    def act() -> Response:
        service = visit.service
        preview = service.preview(request_id)
        report, change = preview.outcome.report, preview.change
        return desk_page(
            request,
            visit,
            "try_out.html",
            asked=service.desk.get(request_id),
            outcome=preview.outcome,
            report=report,
            change=change,
            picture=draw_change(change.before, change.after, report.recoded) if change and report else None,
            holds=service.desk.holds_on(request_id),
            most=_MOST_OPERATIONS,
        )

    return answer(request, visit, request_id, "try-out", act)


@router.post("/requests/{request_id:path}/erase")
def erase(request: Request, request_id: str, visit: Eraser) -> Response:
    """Ask once more; once that was confirmed, erase."""

    def act() -> Response:
        asked = visit.service.desk.get(request_id)
        if visit.text("confirmed") or asked.is_carried_out:
            ground = asked.ground if asked.is_carried_out else read_ground(visit)
            return _erased(request, visit, request_id, ground)
        return _ask_once_more(request, visit, request_id)

    return answer(request, visit, request_id, "erase", act)


def _ask_once_more(request: Request, visit: Visit, request_id: str) -> Response:
    service, ground = visit.service, read_ground(visit)
    asked, holds = service.desk.ready(request_id, Wish.ERASE), service.desk.holds_on(request_id)
    require_ground(ground, asked.subject, asked.ids)
    if holds:
        raise InboxError(f"there is a legal hold on {holds[0].subject!r}: lift it first")
    return desk_page(
        request,
        visit,
        "erase.html",
        asked=asked,
        ground=ground,
        n_records=len(service.vault.records_of(**Person.of(asked).as_arguments())),
        others=[other for other in service.desk.related(request_id) if other.is_open],
    )


def _erased(request: Request, visit: Visit, request_id: str, ground: str) -> Response:
    desk = visit.service.desk
    others = [other.id for other in desk.related(request_id) if other.is_open]
    outcome = visit.service.erase(request_id, ground=ground, who=visit.who)
    closed = [other for other in map(desk.get, others) if not other.is_open]
    return desk_page(
        request,
        visit,
        "erased.html",
        asked=desk.get(request_id),
        outcome=outcome,
        receipt=receipt_of(outcome),
        closed=closed,
    )


def receipt_of(outcome: Outcome, name: str = "receipt.json") -> File | None:
    """Return the receipts of an erasure as a file, one a line; None if they were handed out before."""
    receipts = b"".join(receipt.encode() for receipt in outcome.receipts())
    return file_of(name, receipts, "application/json") if receipts else None

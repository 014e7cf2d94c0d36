"""Several requests at once: what is to happen to each is shown first, and what became of it afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Request, Response

from unlearnspn.service.console import grounds
from unlearnspn.service.console.desk_pages import desk_page
from unlearnspn.service.console.erasing import receipt_of
from unlearnspn.service.console.records import File
from unlearnspn.service.console.typed import read_ground, read_text
from unlearnspn.service.console.visitors import Visit, sender
from unlearnspn.service.errors import InvalidInputError
from unlearnspn.service.problems import explain
from unlearnspn.service.roles import Scope
from unlearnspn.vault import InboxRequest, Wish
from unlearnspn.vault.deadlines import due_after, latest_extension

router = APIRouter(include_in_schema=False)
ACTIONS = ("verify", "extend", "withdraw", "deny", "erase")
MOST = 500


@dataclass(frozen=True)
class Candidate:
    """A request that was chosen, and why nothing can be done with it: the name of a text, or nothing."""

    request: InboxRequest
    obstacle: str


@dataclass(frozen=True)
class Result:
    """What became of a request."""

    id: str
    error: str = ""
    entry: int | None = None
    receipt: File | None = None


@router.post("/requests/several")
def several(request: Request, visit: Annotated[Visit, sender(Scope.WRITE_REQUESTS)]) -> Response:
    """Ask once more; once that was confirmed, do it."""
    action = visit.text("do")
    if action not in ACTIONS:
        raise InvalidInputError("say what is to be done with the requests")
    if action == "erase":
        visit.require(Scope.ERASE)
    chosen = list(dict.fromkeys(visit.texts("id")))
    if len(chosen) > MOST:
        raise InvalidInputError(f"choose at most {MOST} requests at once")
    if chosen and visit.text("confirmed"):
        try:
            act = _action(visit, action)
        except InvalidInputError as error:
            return _ask_once_more(request, visit, action, chosen, 422, str(error))
        results = [_result(request_id, act) for request_id in chosen]
        return desk_page(request, visit, "several_done.html", action=action, results=results)
    return _ask_once_more(request, visit, action, chosen)


def _ask_once_more(
    request: Request, visit: Visit, action: str, chosen: list[str], status: int = 200, problem: str = ""
) -> Response:
    requests = [visit.service.desk.get(request_id) for request_id in chosen]
    candidates = [Candidate(each, _obstacle(visit, each, action)) for each in requests]
    wishes = frozenset(each.request.wish for each in candidates)
    return desk_page(
        request,
        visit,
        "several.html",
        status,
        action=action,
        ready=[each.request for each in candidates if not each.obstacle],
        not_ready=[each for each in candidates if each.obstacle],
        erasure_grounds=grounds.ERASURE,
        refusal_grounds=grounds.refusals(wishes),
        problem=problem,
        typed={name: visit.text(name) for name in ("ground", "ground_text", "reason", "months")},
    )


def _obstacle(visit: Visit, asked: InboxRequest, action: str) -> str:
    if not asked.is_open:
        return "closed"
    if action == "verify" and asked.verified_by is not None:
        return "verified"
    if action == "extend" and asked.is_extended:
        return "extended"
    if action == "erase":
        return _obstacle_to_erasure(visit, asked)
    return ""


def _obstacle_to_erasure(visit: Visit, asked: InboxRequest) -> str:
    if asked.wish is not Wish.ERASE:
        return "wish"
    if asked.verified_by is None:
        return "not_verified"
    return "held" if visit.service.desk.holds_on(asked.id) else ""


def _action(visit: Visit, action: str) -> Callable[[str], Result]:
    """Return what is done with each request; what was typed is read first."""
    service, who = visit.service, visit.who
    if action == "erase":
        ground = read_ground(visit)
        return lambda request_id: _erase(visit, request_id, ground)
    if action == "deny":
        ground, reason = read_ground(visit), read_text(visit, "reason", "the reason")
        return lambda request_id: _done(service.deny(request_id, ground=ground, who=who, reason=reason))
    if action == "extend":
        reason = read_text(visit, "reason", "the reason")
        return lambda request_id: _done(
            service.extend(request_id, _until(visit, service.desk.get(request_id)), who=who, reason=reason)
        )
    if action == "verify":
        return lambda request_id: _done(service.verify_identity(request_id, who=who))
    return lambda request_id: _done(service.withdraw(request_id, who=who))


def _until(visit: Visit, asked: InboxRequest) -> str:
    """Return the date a month later, or the last one that the law allows."""
    return due_after(asked.due) if visit.text("months") == "1" else latest_extension(asked.received)


def _done(asked: InboxRequest) -> Result:
    return Result(asked.id)


def _erase(visit: Visit, request_id: str, ground: str) -> Result:
    outcome = visit.service.erase(request_id, ground=ground, who=visit.who)
    assert outcome.certificate is not None
    entry = outcome.certificate.statement.link.entry
    return Result(request_id, entry=entry, receipt=receipt_of(outcome, f"receipt-{entry}.json"))


def _result(request_id: str, act: Callable[[str], Result]) -> Result:
    try:
        return act(request_id)
    except Exception as error:
        return Result(request_id, error=explain(error).detail)

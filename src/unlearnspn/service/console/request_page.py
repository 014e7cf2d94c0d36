"""The page of a request, as it is or with a word on what could not be done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import Request, Response

from unlearnspn.service.console import grounds
from unlearnspn.service.console.desk_pages import desk_page, path_of, refused
from unlearnspn.service.console.rendering import go_to
from unlearnspn.service.console.visitors import Visit
from unlearnspn.vault.deadlines import latest_extension

#: What people had typed into forms of the page before something could not be done.
_TYPED = ("reason", "ground", "ground_text", "text", "until")


def show(
    request: Request, visit: Visit, request_id: str, status: int = 200, problem: str = "", refused_form: str = ""
) -> Response:
    """Return the page of a request; a form that was refused keeps what was typed."""
    desk = visit.service.desk
    asked = desk.get(request_id)
    others = desk.related(request_id)
    holds = desk.holds_on(request_id)
    subjects = {asked.subject} if asked.subject is not None else visit.service.vault.subjects_of(asked.ids)
    return desk_page(
        request,
        visit,
        "request.html",
        status,
        asked=asked,
        others=others,
        duplicates=[other for other in others if asked.is_open and other.is_open and other.wish == asked.wish],
        holds=holds,
        subject=next(iter(subjects)) if len(subjects) == 1 else None,
        latest=latest_extension(asked.received)[:10],
        erasure_grounds=grounds.ERASURE,
        refusal_grounds=grounds.refusals(frozenset({asked.wish})),
        problem=problem,
        refused_form=refused_form,
        typed={name: visit.text(name) for name in _TYPED} if refused_form else dict.fromkeys(_TYPED, ""),
    )


def refusal(request: Request, visit: Visit, request_id: str, error: Exception, form: str) -> Response:
    """Return the page of a request with a word on why a form was refused, or raise."""
    problem = refused(error)
    return show(request, visit, request_id, problem.status.value, problem.detail, form)


def change(request: Request, visit: Visit, request_id: str, form: str, act: Callable[[], Any]) -> Response:
    """Change a request, and show it."""
    try:
        act()
    except Exception as error:
        return refusal(request, visit, request_id, error, form)
    return go_to(path_of(request_id))


def answer(request: Request, visit: Visit, request_id: str, form: str, act: Callable[[], Response]) -> Response:
    """Return a page of its own, or else that of the request with a word on why there is none."""
    try:
        return act()
    except Exception as error:
        return refusal(request, visit, request_id, error, form)

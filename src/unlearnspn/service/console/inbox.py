"""The inbox: all requests, those that are due first before others; filters and search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from unlearnspn.service.console import filing, finding, holds, several
from unlearnspn.service.console.desk_pages import desk_page
from unlearnspn.service.console.listing import Relations
from unlearnspn.service.console.typed import MOST_NAME, short
from unlearnspn.service.console.visitors import Visit, sender, visitor
from unlearnspn.service.roles import Scope
from unlearnspn.service.searching import Wanted, find_requests
from unlearnspn.vault import InboxRequest, State, Wish

router = APIRouter(include_in_schema=False)
for part in (filing, several, holds, finding):
    router.include_router(part.router)
_MOST_DIGITS = 9


@router.get("/")
def inbox(
    request: Request,
    visit: Annotated[Visit, visitor(Scope.READ_REQUESTS)],
    state: Annotated[str, Query(max_length=20)] = "",
    wish: Annotated[str, Query(max_length=20)] = "",
    late: Annotated[str, Query(max_length=20)] = "",
    number: Annotated[int, Query(alias="page", ge=1, le=1 << 40)] = 1,
) -> Response:
    """List the requests, filtered if asked; what a filter does not know is any."""
    filters = {"state": state if state in list(State) else "", "wish": wish if wish in list(Wish) else ""}
    filters["late"] = "yes" if late else ""
    return _listed(request, visit, filters, "", number)


@router.post("/search")
def search(request: Request, visit: Annotated[Visit, sender(Scope.READ_REQUESTS)]) -> Response:
    """List the requests of a person; not by the address, since that would name them."""
    number = visit.text("page")
    is_number = number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS
    person = short(visit.text("person"), "the search", MOST_NAME)
    return _listed(request, visit, {"state": "", "wish": "", "late": ""}, person, int(number) if is_number else 1)


def _listed(request: Request, visit: Visit, filters: dict[str, str], person: str, number: int) -> Response:
    requests = visit.service.desk.requests()
    wanted = Wanted(
        person,
        frozenset({State(filters["state"])} if filters["state"] else ()),
        frozenset({Wish(filters["wish"])} if filters["wish"] else ()),
        bool(filters["late"]),
    )
    page = Relations(requests).page(find_requests(requests, wanted), number)
    return desk_page(
        request,
        visit,
        "inbox.html",
        page=page,
        filters=filters,
        person=person,
        counts=_counts(requests),
        held={hold.subject for hold in visit.service.desk.holds()},
        link=lambda **changed: _link(filters | changed),
    )


def _link(filters: dict[str, Any]) -> str:
    query = urlencode({name: value for name, value in filters.items() if value})
    return f"/?{query}" if query else "/"


def _counts(requests: Sequence[InboxRequest]) -> dict[str, int]:
    counts = dict.fromkeys(map(str, State), 0)
    for each in requests:
        counts[each.state] += 1
    return counts | {"": len(requests), "late": sum(each.is_late for each in requests)}

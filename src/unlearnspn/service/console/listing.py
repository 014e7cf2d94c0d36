"""Requests as lines of a list: those of one person together, how much time is left, and likely duplicates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unlearnspn.service.searching import likely_duplicates
from unlearnspn.vault import InboxRequest

LINES_OF_A_PAGE = 50


@dataclass(frozen=True)
class Line:
    """A request in a list."""

    request: InboxRequest
    #: How many other requests the same person has made.
    n_others: int
    duplicates: list[str]
    #: Whether the line before is about the same person.
    follows: bool


@dataclass(frozen=True)
class Page:
    """Some lines of a list that may be long."""

    lines: list[Line]
    n_requests: int
    number: int
    n_pages: int


class Relations:
    """Which requests are about the same person."""

    def __init__(self, requests: Sequence[InboxRequest]) -> None:
        self._requests = requests
        self._by_name: defaultdict[Any, list[InboxRequest]] = defaultdict(list)
        for request in requests:
            for name in _names(request):
                self._by_name[name].append(request)

    def others(self, request: InboxRequest) -> list[InboxRequest]:
        """Return the other requests of a person."""
        found = {other.id: other for name in _names(request) for other in self._by_name[name]}
        found.pop(request.id, None)
        return list(found.values())

    def together(self, wanted: Sequence[InboxRequest]) -> list[tuple[InboxRequest, bool]]:
        """Return requests in their order, but each after the first of its person; and whether it was moved there."""
        left = {request.id: request for request in wanted}
        arranged: list[tuple[InboxRequest, bool]] = []
        for request in wanted:
            if left.pop(request.id, None) is None:
                continue
            arranged.append((request, False))
            for other in self.others(request):
                if other.is_open == request.is_open and left.pop(other.id, None) is not None:
                    arranged.append((other, True))
        return arranged

    def page(self, wanted: Sequence[InboxRequest], number: int) -> Page:
        """Return a page of a list, counted from 1; the last one if there are not so many."""
        arranged = self.together(wanted)
        n_pages = max(-(-len(arranged) // LINES_OF_A_PAGE), 1)
        number = min(max(number, 1), n_pages)
        duplicates = likely_duplicates(self._requests)
        start = (number - 1) * LINES_OF_A_PAGE
        lines = [
            Line(request, len(self.others(request)), duplicates.get(request.id, []), follows and place > 0)
            for place, (request, follows) in enumerate(arranged[start : start + LINES_OF_A_PAGE])
        ]
        return Page(lines, len(arranged), number, n_pages)


def _names(request: InboxRequest) -> list[tuple[str, Any]]:
    return [("id", item) for item in request.ids] if request.subject is None else [("subject", request.subject)]

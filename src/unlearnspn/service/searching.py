"""Which requests somebody looks for, and how much time is left for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from unlearnspn.vault import InboxRequest, State, Wish


@dataclass(frozen=True)
class Wanted:
    """What requests are looked for; what is empty is any."""

    person: str | None = None
    states: frozenset[State] = frozenset()
    wishes: frozenset[Wish] = frozenset()
    is_late: bool = False


def find_requests(requests: Iterable[InboxRequest], wanted: Wanted) -> list[InboxRequest]:
    """Return those of some requests that are looked for, in their order; a person by a part of subject or id."""
    text = (wanted.person or "").strip().casefold()
    return [
        request
        for request in requests
        if (not wanted.states or request.state in wanted.states)
        and (not wanted.wishes or request.wish in wanted.wishes)
        and (not wanted.is_late or request.is_late)
        and (not text or any(text in name.casefold() for name in _names(request)))
    ]


def _names(request: InboxRequest) -> list[str]:
    return [request.id, request.subject or "", *map(str, request.ids)]


def likely_duplicates(requests: Iterable[InboxRequest]) -> dict[str, list[str]]:
    """Return, by the id of each open request, the ids of other open ones of the same person for the same."""
    groups: dict[tuple[Wish, object], list[str]] = {}
    for request in requests:
        if request.is_open:
            for name in [request.subject] if request.subject is not None else request.ids:
                groups.setdefault((request.wish, name), []).append(request.id)
    found: dict[str, list[str]] = {}
    for group in groups.values():
        for request_id in group:
            others = [other for other in group if other != request_id]
            if others:
                found[request_id] = sorted({*found.get(request_id, ()), *others})
    return found

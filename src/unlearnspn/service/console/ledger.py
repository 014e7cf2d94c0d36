"""The ledger: entries, certificates, verification."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from unlearnspn.certificates import Action
from unlearnspn.certificates.describing import describe
from unlearnspn.service.console import jobs
from unlearnspn.service.console.entries import PAGE, Sought, find_entries, line_of
from unlearnspn.service.console.formats import Formats
from unlearnspn.service.console.rendering import language_of, page
from unlearnspn.service.console.texts import text
from unlearnspn.service.console.visitors import Visit, sender, visitor
from unlearnspn.service.downloads import certificate_of, entry_of, export_of, key_of, page_of
from unlearnspn.service.errors import InvalidInputError
from unlearnspn.service.roles import SCOPES_OF_ROLES, Scope

router = APIRouter(include_in_schema=False)
router.include_router(jobs.router)
Number = Annotated[int, Path(ge=0, le=1 << 53)]
Reader = Annotated[Visit, visitor(Scope.READ_LEDGER)]
Seeker = Annotated[Visit, sender(Scope.READ_LEDGER)]


@router.get("/ledger")
def all_entries(
    request: Request,
    visit: Reader,
    action: Annotated[str, Query(max_length=40)] = "",
    number: Annotated[int, Query(alias="page", ge=1, le=1 << 40)] = 1,
) -> Response:
    """List the entries, the newest first."""
    return _entries(request, visit, Sought(_read_action(action)), number)


@router.post("/ledger")
def search(request: Request, visit: Seeker) -> Response:
    """List the entries that somebody looks for; not by the address, since a name may be looked for."""
    number = visit.text("page")
    is_number = number.isascii() and number.isdigit() and len(number) < 10
    sought = Sought(_read_action(visit.text("action")), visit.text("text"))
    return _entries(request, visit, sought, int(number) if is_number else 1)


def _entries(request: Request, visit: Visit, sought: Sought, number: int) -> Response:
    language = language_of(request)
    formats = Formats(language)
    entries = visit.service.ledger.entries()
    found = find_entries(entries, sought)
    n_pages = max(1, -(-len(found) // PAGE))
    number = min(max(number, 1), n_pages)
    shown = found[(number - 1) * PAGE : number * PAGE]
    return page(
        request,
        visit.session,
        "ledger.html",
        lines=[line_of(statement, partial(text, language), formats) for statement in shown],
        n_found=formats.count(len(found)),
        sought=sought,
        actions=list(Action),
        number=number,
        n_pages=n_pages,
        head=entries[-1],
        verification=jobs.last_of(visit.service, "verification"),
        formats=formats,
    )


def _read_action(name: str) -> Action | None:
    try:
        return Action(name) if name else None
    except ValueError as error:
        raise InvalidInputError("there are no entries of this kind") from error


@router.get("/ledger/export.jsonl")
def export(visit: Reader) -> Response:
    """Return the whole ledger as a file."""
    return export_of(visit.service)


@router.get("/key.pem")
def public_key(visit: Reader) -> Response:
    """Return the key that verifies certificates as a file."""
    return key_of(visit.service)


@router.get("/ledger/{entry}")
def certificate(request: Request, entry: Number, visit: Reader) -> Response:
    """Show a certificate, to be read and printed."""
    envelope = entry_of(visit.service, entry)
    statement = envelope.statement
    return page(
        request,
        visit.session,
        "certificate.html",
        envelope=envelope,
        statement=statement,
        sections=describe(envelope),
        line=line_of(statement, partial(text, language_of(request)), Formats(language_of(request))),
        n_entries=len(visit.service.ledger.entries()),
        has_request=_is_in_inbox(visit, statement.request.id),
    )


def _is_in_inbox(visit: Visit, request_id: str) -> bool:
    if Scope.READ_REQUESTS not in SCOPES_OF_ROLES[visit.session.user.role]:
        return False

    def find(inbox: Any) -> bool:
        return inbox.find(request_id) is not None

    return visit.service.vault.read_inbox(find)


@router.get("/ledger/{entry}/certificate.json")
def certificate_file(entry: Number, visit: Reader) -> Response:
    """Return a certificate as a file for machines."""
    return certificate_of(visit.service, entry)


@router.get("/ledger/{entry}/page.html")
def certificate_page(entry: Number, visit: Reader) -> Response:
    """Return a certificate as a file for people."""
    return page_of(visit.service, entry)

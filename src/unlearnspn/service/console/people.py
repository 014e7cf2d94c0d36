"""Users and tokens, and who may change them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Request, Response

from unlearnspn.service.accounts import LONGEST, SHORTEST
from unlearnspn.service.console import account, audit
from unlearnspn.service.console.formats import Formats
from unlearnspn.service.console.rendering import go_to, language_of, page
from unlearnspn.service.console.visitors import Visit, sender, visitor
from unlearnspn.service.errors import ConflictError, InvalidInputError
from unlearnspn.service.problems import explain
from unlearnspn.service.roles import SCOPES_OF_TOKENS, Role, Scope, read_role
from unlearnspn.service.tokens import LONGEST as MOST_DAYS

router = APIRouter(include_in_schema=False)
for part in (account, audit):
    router.include_router(part.router)
Reader = Annotated[Visit, visitor(Scope.READ_AUDIT)]
Writer = Annotated[Visit, sender(Scope.WRITE_PEOPLE)]


@dataclass(frozen=True)
class Told:
    """What the page says besides: a problem, or a token that is shown this once."""

    problem: str = ""
    status: int = 200
    token: str = ""
    #: What was filled in stays in the form: a name, never a password.
    user: str = ""
    token_name: str = ""


@router.get("/people")
def people(request: Request, visit: Reader) -> Response:
    """List users and tokens."""
    return _people(request, visit, Told())


@router.post("/people")
def add(request: Request, visit: Writer) -> Response:
    """Make a user."""
    name, password = visit.text("name"), account.password_of(visit, "password")
    try:
        account.require_length(password)
        user = visit.service.accounts.add(name, read_role(visit.text("role")), password)
    except (InvalidInputError, ConflictError) as error:
        return _people(request, visit, _problem(error, user=name))
    visit.service.audit.write(visit.who, "user added", user.name)
    return go_to("/people")


@router.post("/people/remove")
def remove(request: Request, visit: Writer) -> Response:
    """Remove a user; the last officer stays."""
    name = visit.text("name")
    try:
        visit.service.accounts.remove(name)
    except ConflictError as error:
        return _people(request, visit, _problem(error))
    visit.service.audit.write(visit.who, "user removed", name)
    return go_to("/people")


@router.post("/people/password")
def set_password(request: Request, visit: Writer) -> Response:
    """Give a user another password."""
    name, password = visit.text("name"), account.password_of(visit, "password")
    try:
        account.require_length(password)
        visit.service.accounts.set_password(name, password)
    except InvalidInputError as error:
        return _people(request, visit, _problem(error))
    visit.service.audit.write(visit.who, "password set", name)
    return go_to("/people")


@router.post("/people/tokens")
def add_token(request: Request, visit: Writer) -> Response:
    """Make a token, and show it this once: nobody can see it later."""
    name, days = visit.text("token"), visit.text("days")
    try:
        number = int(days) if days.isascii() and days.isdigit() and len(days) < 9 else 0
        token, secret = visit.service.tokens.add(name, visit.texts("scope"), number, visit.who)
    except InvalidInputError as error:
        return _people(request, visit, _problem(error, token_name=name))
    visit.service.audit.write(visit.who, "token made", f"{token.name} ({token.id})")
    return _people(request, visit, Told(token=secret))


@router.post("/people/tokens/revoke")
def revoke(visit: Writer) -> Response:
    """Have a token open nothing any more."""
    token_id = visit.text("token")
    visit.service.tokens.remove(token_id)
    visit.service.audit.write(visit.who, "token revoked", token_id)
    return go_to("/people")


def _problem(error: Exception, user: str = "", token_name: str = "") -> Told:
    return Told(str(error), explain(error).status.value, user=user, token_name=token_name)


def _people(request: Request, visit: Visit, told: Told) -> Response:
    return page(
        request,
        visit.session,
        "people.html",
        told.status,
        users=visit.service.accounts.all(),
        roles=list(Role),
        tokens=visit.service.tokens.all(),
        scopes=[scope.value for scope in Scope if scope in SCOPES_OF_TOKENS],
        told=told,
        shortest=SHORTEST,
        longest=LONGEST,
        most_days=MOST_DAYS,
        formats=Formats(language_of(request)),
    )

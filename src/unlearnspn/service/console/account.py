"""Everybody's own password."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response

from unlearnspn.service.accounts import LONGEST, SHORTEST
from unlearnspn.service.console.rendering import go_to, page
from unlearnspn.service.console.visitors import Visit, sender, visitor
from unlearnspn.service.errors import InvalidInputError, NotSignedInError, TooManyAttemptsError

router = APIRouter(include_in_schema=False)


@router.get("/account")
def account(request: Request, visit: Annotated[Visit, visitor(None)]) -> Response:
    """Ask for the old and the new password."""
    return _account(request, visit)


@router.post("/account")
def change_password(request: Request, visit: Annotated[Visit, sender(None)]) -> Response:
    """Set another password, and have the user sign in with it."""
    old, new, repeated = (password_of(visit, name) for name in ("old", "new", "repeated"))
    if new != repeated:
        return _account(request, visit, "first.different", 422)
    if not SHORTEST <= len(new) <= LONGEST:
        return _account(request, visit, "account.length", 422)
    service, address = visit.service, "" if request.client is None else request.client.host
    try:
        # Who finds a browser open must not guess passwords either.
        service.attempts.begin(visit.who, address)
        service.accounts.check(visit.who, old)
    except TooManyAttemptsError as error:
        response = _account(request, visit, "sign_in.too_many", 429)
        response.headers["retry-after"] = str(error.seconds)
        return response
    except NotSignedInError:
        service.audit.write(visit.who, "password change refused", visit.who)
        return _account(request, visit, "account.wrong", 403)
    service.attempts.succeeded(visit.who, address)
    service.accounts.set_password(visit.who, new)
    service.audit.write(visit.who, "own password changed", visit.who)
    return go_to("/sign-in")


def password_of(visit: Visit, name: str) -> str:
    """Return a password as it was typed, spaces and all."""
    value = visit.fields.get(name, "")
    return value if isinstance(value, str) else ""


def require_length(password: str) -> None:
    """Raise if a password is too short or too long."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidInputError(f"a password has {SHORTEST} to {LONGEST} characters")


def _account(request: Request, visit: Visit, problem: str = "", status: int = 200) -> Response:
    return page(request, visit.session, "account.html", status, problem=problem, shortest=SHORTEST, longest=LONGEST)

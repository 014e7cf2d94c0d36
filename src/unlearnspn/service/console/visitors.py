"""Who looks at a page, or has sent a form: signed in, allowed, and from a page of their own session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Annotated, Any, cast

from fastapi import Depends, Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser

from unlearnspn.service.desk_service import DeskService
from unlearnspn.service.errors import ForbiddenError, InvalidInputError
from unlearnspn.service.roles import SCOPES_OF_ROLES, Scope
from unlearnspn.service.sessions import Session

_MOST_FIELDS = 5000
#: What a form sends stays in memory: nothing of it is to be left on a disk.
_NEVER_ON_DISK = 1 << 40


def service_of(request: Request) -> DeskService:
    """Return the service that a request is for."""
    return cast(DeskService, request.app.state.service)


def cookie_name(request: Request) -> str:
    """Return what the cookie of sessions is called; browsers keep a name that begins so from being set elsewhere."""
    return "__Host-session" if request.app.state.with_tls else "session"


def session_of(request: Request) -> Session:
    """Return the session of whoever asks, or raise."""
    return service_of(request).sessions.check(request.cookies.get(cookie_name(request), ""))


@dataclass(frozen=True)
class Visit:
    """Somebody who is signed in, and the service."""

    session: Session
    service: DeskService
    fields: FormData

    @property
    def who(self) -> str:
        """The name of the user."""
        return self.session.user.name

    def text(self, name: str) -> str:
        """Return a field of the form; one that was not sent is empty."""
        value = self.fields.get(name, "")
        return value.strip() if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str]:
        """Return all values of a field."""
        return [value for value in self.fields.getlist(name) if isinstance(value, str)]

    def require(self, scope: Scope) -> None:
        """Raise unless the user has a scope."""
        _require(self.session, scope)

    async def file(self, name: str) -> tuple[str, bytes]:
        """Return the name and the content of a file that was sent; both are empty if there was none."""
        value = self.fields.get(name)
        if not isinstance(value, UploadFile):
            return "", b""
        content = await value.read()
        await value.close()
        return value.filename or "", content


def _require(session: Session, scope: Scope | None) -> None:
    if scope is not None and scope not in SCOPES_OF_ROLES[session.user.role]:
        raise ForbiddenError(f"your role, {session.user.role}, may not do this")


def visitor(scope: Scope | None) -> Any:
    """Return what a page depends on that only users with a scope may see, or all who are signed in."""

    def check(request: Request) -> Visit:
        session = session_of(request)
        _require(session, scope)
        return Visit(session, service_of(request), FormData())

    return Depends(cast(Callable[..., Visit], check))


def sender(scope: Scope | None) -> Any:
    """Return what a form depends on that only users with a scope may send, or all who are signed in."""

    async def check(request: Request, fields: Fields) -> Visit:
        session = session_of(request)
        csrf = fields.get("csrf")
        session.require_own_form(csrf if isinstance(csrf, str) else None)
        _require(session, scope)
        return Visit(session, service_of(request), fields)

    return Depends(check)


async def read_fields(request: Request) -> AsyncIterator[FormData]:
    """Read a form that was sent from a page of this service; what it brought is gone once it was answered."""
    if not _is_from_here(request):
        raise ForbiddenError("this form was sent from a page of somebody else")
    fields = await _parse(request)
    try:
        yield fields
    finally:
        await fields.close()


async def _parse(request: Request) -> FormData:
    kind = request.headers.get("content-type", "")
    try:
        if kind.startswith("multipart/form-data"):
            parser = MultiPartParser(
                request.headers, request.stream(), max_fields=_MOST_FIELDS, max_part_size=_NEVER_ON_DISK
            )
            parser.spool_max_size = _NEVER_ON_DISK
            return await parser.parse()
        if kind.startswith("application/x-www-form-urlencoded"):
            return await FormParser(request.headers, request.stream()).parse()
    except MultiPartException as error:
        raise InvalidInputError("this form cannot be read") from error
    return FormData()


def _is_from_here(request: Request) -> bool:
    """Tell whether a form is from a page of this service, by what browsers say of it."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    if origin is None:
        return True
    scheme, _, host = origin.partition("://")
    return host == request.headers.get("host") and (scheme == "https" or not request.app.state.with_tls)


Fields = Annotated[FormData, Depends(read_fields)]

"""Who calls, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, cast

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from unlearnspn.service.desk_service import DeskService
from unlearnspn.service.errors import ForbiddenError, NotSignedInError
from unlearnspn.service.roles import Scope

_BEARER = HTTPBearer(auto_error=False, description="A token that an officer has made on the page of people.")


@dataclass(frozen=True)
class Caller:
    """A system that has presented a token."""

    name: str
    scopes: frozenset[Scope]


async def desk_service(request: Request) -> DeskService:
    """Return the service that a request is for."""
    return cast(DeskService, request.app.state.service)


Service = Annotated[DeskService, Depends(desk_service)]
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]


def allowed(*scopes: Scope) -> Any:
    """Return what a path depends on that only callers with one of some scopes may call."""

    def check(service: Service, credentials: Credentials) -> Caller:
        if credentials is None:
            raise NotSignedInError("pass a token: Authorization: Bearer …")
        token = service.tokens.check(credentials.credentials)
        if token.scopes.isdisjoint(scopes):
            raise ForbiddenError(f"this token has not the scope {' or '.join(scopes)}")
        return Caller(f"{token.name} (token {token.id})", token.scopes)

    return Depends(check)

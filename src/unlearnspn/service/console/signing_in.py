"""The first password, signing in and out, and the choice of a language."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from unlearnspn.service.accounts import User
from unlearnspn.service.console.rendering import LANGUAGE_COOKIE, go_to, page
from unlearnspn.service.console.texts import languages
from unlearnspn.service.console.visitors import Fields, cookie_name, service_of, session_of
from unlearnspn.service.errors import ForbiddenError, NotSignedInError, ServiceError, TooManyAttemptsError

router = APIRouter(include_in_schema=False)


@router.get("/first")
def first(request: Request, key: str = "") -> Response:
    """Ask for the first password."""
    if service_of(request).accounts.first_key is None:
        return go_to("/sign-in")
    return page(request, None, "first.html", key=key, problem=None)


@router.post("/first")
async def set_first(request: Request, fields: Fields) -> Response:
    """Make the first user."""
    return await run_in_threadpool(_set_first, request, fields)


def _set_first(request: Request, fields: Fields) -> Response:
    service, key = service_of(request), str(fields.get("key", ""))
    name, password, repeated = (str(fields.get(field, "")) for field in ("name", "password", "repeated"))
    try:
        if password != repeated:
            return page(request, None, "first.html", 422, key=key, problem="first.different")
        user = service.accounts.add_first(key, name, password)
    except ServiceError as error:
        status = 403 if isinstance(error, ForbiddenError) else 422
        return page(request, None, "first.html", status, key=key, problem=str(error))
    service.audit.write(user.name, "first password set", user.name)
    return _signed_in(request, user)


@router.get("/sign-in")
def sign_in_page(request: Request) -> Response:
    """Ask for name and password."""
    return page(request, None, "sign_in.html", problem=None)


@router.post("/sign-in")
async def sign_in(request: Request, fields: Fields) -> Response:
    """Begin a session."""
    return await run_in_threadpool(_sign_in, request, fields)


def _sign_in(request: Request, fields: Fields) -> Response:
    service = service_of(request)
    name, password = str(fields.get("name", "")).strip(), str(fields.get("password", ""))
    address = "" if request.client is None else request.client.host
    try:
        service.attempts.begin(name, address)
        user = service.accounts.check(name, password)
    except TooManyAttemptsError as error:
        response = page(request, None, "sign_in.html", 429, problem="sign_in.too_many")
        response.headers["retry-after"] = str(error.seconds)
        return response
    except NotSignedInError:
        # What was typed is not kept: it may be a password in the wrong field.
        service.audit.write("", "sign-in refused", address)
        return page(request, None, "sign_in.html", 401, problem="sign_in.wrong")
    service.attempts.succeeded(name, address)
    service.audit.write(user.name, "signed in", address)
    return _signed_in(request, user)


def _signed_in(request: Request, user: User) -> Response:
    response = go_to("/")
    response.set_cookie(
        cookie_name(request),
        service_of(request).sessions.start(user),
        httponly=True,
        samesite="strict",
        secure=request.app.state.with_tls,
        path="/",
    )
    return response


@router.post("/sign-out")
def sign_out(request: Request, fields: Fields) -> Response:
    """End the session."""
    service, session = service_of(request), session_of(request)
    session.require_own_form(str(fields.get("csrf", "")))
    service.sessions.end(session)
    service.audit.write(session.user.name, "signed out")
    response = go_to("/sign-in")
    # Browsers heed this only if it is like the cookie that was set.
    response.delete_cookie(
        cookie_name(request), path="/", secure=request.app.state.with_tls, httponly=True, samesite="strict"
    )
    return response


@router.post("/language")
def choose(request: Request, fields: Fields) -> Response:
    """Keep the choice of a language in a cookie."""
    response, code = go_to("/"), str(fields.get("language", ""))
    if code in languages():
        response.set_cookie(
            LANGUAGE_COOKIE,
            code,
            max_age=31_536_000,
            httponly=True,
            samesite="strict",
            secure=request.app.state.with_tls,
            path="/",
        )
    return response

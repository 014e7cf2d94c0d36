"""The application: API and console over one service."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unlearnspn import __version__
from unlearnspn.service import api, console
from unlearnspn.service.api.describing import describe_problems
from unlearnspn.service.console.visitors import session_of
from unlearnspn.service.desk_service import DeskService
from unlearnspn.service.errors import EndingError, NotSignedInError, ServiceError, TooManyAttemptsError, WrongHostError
from unlearnspn.service.guards import BodyLimits, KnownHosts, SafeHeaders
from unlearnspn.service.problems import explain

_LOG = logging.getLogger("unlearnspn.service")
_API = "/api/"
_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")


@dataclass(frozen=True)
class AppOptions:
    """How the application is reached, and how much it takes."""

    #: Names by which browsers may call it.
    hosts: Sequence[str] = ("127.0.0.1", "localhost", "[::1]")
    with_tls: bool = False
    most_bytes: int = 64 << 20
    #: Of those who have neither signed in nor a token.
    most_unknown_bytes: int = 64 << 10
    body_seconds: float = 30.0


class AsciiJSON(JSONResponse):
    """JSON that can hold any text, whatever characters it is made of."""

    def render(self, content: Any) -> bytes:
        """Write something as JSON."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def create_app(service: DeskService, options: AppOptions | None = None) -> FastAPI:
    """Return the application."""
    options = options or AppOptions()
    app = FastAPI(
        title="unlearnspn",
        version=__version__,
        description="Requests of people whose records a model was learned from: erased exactly, with a certificate.",
        default_response_class=AsciiJSON,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
    )
    app.state.service = service
    app.state.with_tls = options.with_tls
    app.include_router(api.router)
    describe_problems(app)
    console.install(app)
    for kind in (RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _answer_problem)
    # The last one that is added is the first to be asked.
    app.add_middleware(
        BodyLimits,
        most_bytes=options.most_bytes,
        most_unknown=min(options.most_unknown_bytes, options.most_bytes),
        seconds=options.body_seconds,
        is_known=lambda scope: _is_known(Request({**scope, "app": app})),
    )
    app.add_middleware(KnownHosts, hosts=options.hosts)
    app.add_middleware(_Answers, service=service)
    app.add_middleware(SafeHeaders, with_tls=options.with_tls)
    return app


def _is_known(request: Request) -> bool:
    """Tell whether whoever asks has signed in, or presents a token."""
    try:
        if not _is_api(request):
            return bool(session_of(request))
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and bool(request.app.state.service.tokens.check(token.strip()))
    except ServiceError:
        return False


def _is_api(request: Request) -> bool:
    # Not by the address as a whole: what it is said to be may be no address.
    return str(request.scope["path"]).startswith(_API)


class _Answers:
    """Turns errors into answers, and takes note of how many answers there were and how long they took."""

    def __init__(self, app: ASGIApp, service: DeskService) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        except asyncio.CancelledError:
            # The service ends, and the server would log this like an error that nobody expected.
            if not status:
                ending = EndingError("the service ends: ask again later")
                await _respond_in_any_case(Request(scope), ending)(scope, receive, send_and_note)
        except Exception as error:
            _log_unexpected(error)
            if status:
                raise ConnectionError("an answer was begun and could not be completed") from None
            await _respond_in_any_case(Request(scope), error)(scope, receive, send_and_note)
        own = getattr(scope.get("route"), "path", "unknown")
        path = f"{_API}…{own}" if str(scope["path"]).startswith(_API) and not own.startswith(_API) else own
        self._service.metrics.answered(path, status, time.perf_counter() - began)


def _log_unexpected(error: Exception) -> None:
    """Log where something happened that should not, and nothing of what was asked: that may name a person."""
    if explain(error).status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    _LOG.error("%s at %s", type(error).__name__, where)


def _respond_in_any_case(request: Request, error: Exception) -> Response:
    try:
        return _respond(request, error)
    except Exception as another:
        _log_unexpected(another)
        # What is not caught here is logged elsewhere, with all that was asked.
        return PlainTextResponse("something went wrong here", HTTPStatus.INTERNAL_SERVER_ERROR)


async def _answer_problem(request: Request, error: Exception) -> Response:
    return _respond(request, error)


def _respond(request: Request, error: Exception) -> Response:
    if not _is_api(request):
        if isinstance(error, WrongHostError):
            return PlainTextResponse(str(error), HTTPStatus.BAD_REQUEST)
        return console.answer_problem(request, error)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return _problem(422, "Unprocessable Entity", f"{where}: {first['msg']}")
    if isinstance(error, HTTPException):
        headers = {name.lower(): value for name, value in (error.headers or {}).items()}
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["allow"] = ", ".join(_methods_at(request))
        return _problem(error.status_code, error.detail, error.detail, headers)
    problem, headers = explain(error), {}
    if isinstance(error, NotSignedInError):
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, TooManyAttemptsError):
        headers["retry-after"] = str(error.seconds)
    return _problem(problem.status.value, problem.status.phrase, problem.detail, headers)


def _methods_at(request: Request) -> list[str]:
    """Return which methods a path has: each has a route of its own, and the first of them knows only its own."""
    asked = {name: request.scope[name] for name in ("type", "path", "root_path", "headers")}
    return [
        method
        for method in _METHODS
        if any(route.matches(asked | {"method": method})[0] is Match.FULL for route in request.app.routes)
    ]


def _problem(status: int, title: str, detail: str, headers: dict[str, str] | None = None) -> Response:
    content = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return AsciiJSON(content, status, headers, media_type="application/problem+json")

"""The console: pages for people, rendered here."""

from __future__ import annotations

from importlib.resources import files

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from unlearnspn.service.console import inbox, ledger, model, people, requests, signing_in
from unlearnspn.service.console.rendering import go_to, page
from unlearnspn.service.console.visitors import session_of
from unlearnspn.service.errors import NotSignedInError
from unlearnspn.service.problems import explain
from unlearnspn.service.sessions import Session


def install(app: FastAPI) -> None:
    """Add the pages to an application."""
    app.mount("/static", StaticFiles(directory=str(files("unlearnspn.service.console") / "static")))
    for part in (signing_in, inbox, requests, ledger, model, people):
        app.include_router(part.router)


def answer_problem(request: Request, error: Exception) -> Response:
    """Return the page that says what went wrong; who is not signed in is asked to."""
    if isinstance(error, NotSignedInError):
        return go_to("/sign-in")
    status, detail = _explain(error)
    return page(request, _session(request), "problem.html", status, detail=detail)


def _explain(error: Exception) -> tuple[int, str]:
    if isinstance(error, HTTPException):
        return error.status_code, error.detail
    if isinstance(error, RequestValidationError):
        # Pages are reached by links, so nobody but who types addresses sees this.
        return 404, "there is no such page"
    problem = explain(error)
    return problem.status.value, problem.detail


def _session(request: Request) -> Session | None:
    try:
        return session_of(request)
    except NotSignedInError:
        return None

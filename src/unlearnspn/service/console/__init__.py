"""The console: pages for people, rendered here."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response
from starlette.responses import PlainTextResponse

from unlearnspn.service.problems import explain


def install(app: FastAPI) -> None:
    """Add the pages to an application."""


def answer_problem(request: Request, error: Exception) -> Response:
    """Return the page that says what went wrong."""
    problem = explain(error)
    return PlainTextResponse(problem.detail, problem.status.value)

"""What the pages of the desk share: how dates are written, known grounds, and what was refused said on the page."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import Request, Response

from unlearnspn.service.console import grounds
from unlearnspn.service.console.formats import Formats
from unlearnspn.service.console.rendering import language_of, page
from unlearnspn.service.console.visitors import Visit
from unlearnspn.service.problems import Problem, explain
from unlearnspn.vault.errors import UnknownRequestError

_OWN_FAULT = 500


def desk_page(request: Request, visit: Visit, template: str, status: int = 200, **values: Any) -> Response:
    """Return a page of the desk."""
    shared = {"formats": Formats(language_of(request)), "known_grounds": grounds.ALL}
    return page(request, visit.session, template, status, **shared, **values)


def refused(error: Exception) -> Problem:
    """Return what a form is refused for, or raise if that is not for its page to say."""
    problem = explain(error)
    if problem.status >= _OWN_FAULT or isinstance(error, UnknownRequestError):
        raise error
    return problem


def path_of(request_id: str) -> str:
    """Return the address of a request's page."""
    return f"/requests/{quote(request_id, safe='')}"

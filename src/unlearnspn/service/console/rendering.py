"""Pages from templates, in the language of whoever looks at them. All that is put into a page is escaped."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from fastapi import Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse

from unlearnspn.service.console.texts import choose_language, languages, text
from unlearnspn.service.roles import SCOPES_OF_ROLES, Scope
from unlearnspn.service.sessions import Session

LANGUAGE_COOKIE = "language"


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("unlearnspn.service.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def language_of(request: Request) -> str:
    """Return the language of whoever asks."""
    return choose_language(request.cookies.get(LANGUAGE_COOKIE), request.headers.get("accept-language", ""))


def page(request: Request, session: Session | None, template: str, status: int = 200, **values: Any) -> Response:
    """Return a page; templates know `t` for texts, `may` for scopes, and who is signed in."""
    language = language_of(request)
    scopes = frozenset[Scope]() if session is None else SCOPES_OF_ROLES[session.user.role]
    content = (
        _environment()
        .get_template(template)
        .render(
            t=partial(text, language),
            language=language,
            languages=languages(),
            user=None if session is None else session.user,
            csrf="" if session is None else session.csrf,
            may=lambda name: Scope(name) in scopes,
            here=request.url.path,
            **values,
        )
    )
    return HTMLResponse(content, status)


def go_to(path: str) -> Response:
    """Send a browser to another page once a form was dealt with."""
    return RedirectResponse(path, 303)

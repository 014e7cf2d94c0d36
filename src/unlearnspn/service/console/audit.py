"""The audit log."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from unlearnspn.service.console.formats import Formats
from unlearnspn.service.console.rendering import language_of, page
from unlearnspn.service.console.texts import names, text
from unlearnspn.service.console.visitors import Visit, visitor
from unlearnspn.service.roles import Scope

router = APIRouter(include_in_schema=False)
#: Entries on a page.
PAGE = 100


@router.get("/audit")
def audit(
    request: Request,
    visit: Annotated[Visit, visitor(Scope.READ_AUDIT)],
    before: Annotated[int | None, Query(ge=1, le=1 << 62)] = None,
) -> Response:
    """List what was done, the newest first."""
    # One more, to know whether there are older ones.
    entries = visit.service.audit.entries(before, PAGE + 1)
    language = language_of(request)
    return page(
        request,
        visit.session,
        "audit.html",
        entries=[(entry, deed(language, entry.what)) for entry in entries[:PAGE]],
        older=entries[PAGE - 1].number if len(entries) > PAGE else None,
        is_newest=before is None,
        formats=Formats(language),
    )


def deed(language: str, what: str) -> str:
    """Return what was done in the words of a language; what nobody has translated stays as it is.

    >>> deed("de", "signed in"), deed("de", "something else")
    ('angemeldet', 'something else')
    """
    name = "deed." + re.sub("[^a-z]+", "_", what)
    return text(language, name) if name in names(language) else what

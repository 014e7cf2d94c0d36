"""How the description of the API tells what is answered beside what was asked for."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI

#: A problem as RFC 9457 has it.
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, and what to do."},
    },
}
_REFERENCE = {"$ref": "#/components/schemas/Problem"}
_MEANINGS = {
    HTTPStatus.BAD_REQUEST: "The service is not reached by this name, or what was sent cannot be read.",
    HTTPStatus.UNAUTHORIZED: "There is no token, or it is not known, or too old.",
    HTTPStatus.FORBIDDEN: "The token has not the scope.",
    HTTPStatus.NOT_FOUND: "There is no such request, record, subject, entry or job.",
    HTTPStatus.REQUEST_TIMEOUT: "The body came too slowly.",
    HTTPStatus.CONFLICT: "It cannot be done as things are now; nothing was changed.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too large.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "Nobody reads bodies of this type here.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "What was sent cannot be used; nothing was changed.",
    HTTPStatus.SERVICE_UNAVAILABLE: "The vault cannot be used for now; nothing was changed.",
}
#: What any path may answer, as RFC 9457 has it.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status.value: {"description": meaning, "content": {"application/problem+json": {"schema": _REFERENCE}}}
    for status, meaning in _MEANINGS.items()
}


def describe_problems(app: FastAPI) -> None:
    """Have the description of an application say what a problem is."""
    describe = app.openapi

    def described() -> dict[str, Any]:
        schema = describe()
        schema["components"]["schemas"]["Problem"] = _PROBLEM
        return schema

    app.openapi = described  # type: ignore[method-assign]


def answers(media_type: str) -> dict[int | str, dict[str, Any]]:
    """Return how a path says that it answers with a file."""
    schema = {} if media_type == "application/json" else {"type": "string"}
    return {200: {"description": "The file.", "content": {media_type: {"schema": schema}}}}


def or_arrow(media_type: str) -> dict[int | str, dict[str, Any]]:
    """Return how a path says that it answers with JSON, or with an Arrow stream if that is asked for."""
    return {200: {"content": {media_type: {"schema": {"type": "string", "format": "binary"}}}}}

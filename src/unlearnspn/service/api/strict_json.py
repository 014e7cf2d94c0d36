"""JSON that can be read in one way only: no name twice in an object, no numbers that JSON does not have."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.exceptions import HTTPException
from fastapi.routing import APIRoute

from unlearnspn.errors import listing, repeated
from unlearnspn.service.errors import InvalidInputError


def read_strictly(body: bytes) -> Any:
    """Return what a body says, or raise.

    >>> read_strictly(b'{"subject": "p-7"}')
    {'subject': 'p-7'}
    >>> read_strictly(b'{"subject": "p-7", "subject": "p-8"}')
    Traceback (most recent call last):
    ...
    unlearnspn.service.errors.InvalidInputError: the body says 'subject' more than once in one object
    """
    try:
        return json.loads(body.decode("utf-8"), object_pairs_hook=_object, parse_constant=_refuse_constant)
    except RecursionError:
        raise InvalidInputError("the body is nested too deeply") from None
    except ValueError as error:
        raise InvalidInputError(f"the body is no JSON in UTF-8: {error}") from error


class StrictRoute(APIRoute):
    """A path whose bodies are read strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer = super().get_route_handler()

        async def read_and_answer(request: Request) -> Response:
            return await answer(_StrictRequest(request.scope, request.receive))

        return read_and_answer


class _StrictRequest(Request):
    async def json(self) -> Any:
        try:
            return read_strictly(await self.body())
        except InvalidInputError as error:
            # What reads bodies lets no other error through.
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise InvalidInputError(
            f"the body says {listing(repeated(name for name, _ in pairs))} more than once in one object"
        )
    return made


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")

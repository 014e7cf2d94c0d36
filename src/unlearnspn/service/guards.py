"""What stands before every request: limits on its size and its time, and headers that browsers heed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unlearnspn.service.errors import InvalidInputError, NotSignedInError, TooLargeError, TooSlowError, WrongHostError

_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ]
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_FILES = "/static/"
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\[\]:]+)(:\d{1,5})?", re.ASCII)
_MOST_DIGITS = 15


class SafeHeaders:
    """Gives every answer the headers that keep browsers from running or keeping what they should not."""

    def __init__(self, app: ASGIApp, with_tls: bool) -> None:
        self._app = app
        self._headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
        if with_tls:
            self._headers.append((b"strict-transport-security", b"max-age=31536000"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_file = str(scope["path"]).startswith(_FILES)
        caching = (b"cache-control", b"max-age=3600" if is_file else b"no-store")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers, caching]
            await send(message)

        await self._app(scope, receive, send_with_headers)


class KnownHosts:
    """Refuses what was sent to another name: pages of others must not reach this service under theirs."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        named = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        found = _HOST.fullmatch(named[0].lower()) if len(named) == 1 else None
        if found is None or found["name"] not in self._hosts:
            raise WrongHostError("the service is not reached by this name: whoever runs it can add it with --name")
        await self._app(scope, receive, send)


class BodyLimits:
    """Refuses bodies that are too large, and those that come too slowly.

    Of those whom nobody knows less is taken, since it is all kept in memory.
    """

    def __init__(
        self, app: ASGIApp, most_bytes: int, most_unknown: int, seconds: float, is_known: Callable[[Scope], bool]
    ) -> None:
        self._app = app
        self._most_bytes = most_bytes
        self._most_unknown = most_unknown
        self._seconds = seconds
        self._is_known = is_known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        told = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not told.isdigit() or len(told) > _MOST_DIGITS:
            raise InvalidInputError("the length of the body is no number, or too large a one")
        most = await self._most_for(scope, int(told))
        await self._app(scope, await self._whole(scope, receive, most), send)

    async def _most_for(self, scope: Scope, n_bytes: int) -> int:
        """Return how many bytes whoever asks may send, if so many are not too many already."""
        if n_bytes <= self._most_unknown:
            return self._most_unknown
        if n_bytes > self._most_bytes:
            raise TooLargeError(f"the body has more than {self._most_bytes:,} bytes")
        if not await run_in_threadpool(self._is_known, scope):
            raise NotSignedInError(f"sign in, or pass a token, before you send more than {self._most_unknown:,} bytes")
        return self._most_bytes

    async def _whole(self, scope: Scope, receive: Receive, most: int) -> Receive:
        """Receive the whole body, and return what hands it on."""
        parts: list[bytes] = []
        n_bytes, is_whole = 0, False
        try:
            async with asyncio.timeout(self._seconds):
                while not is_whole:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        break
                    parts.append(message.get("body", b""))
                    n_bytes += len(parts[-1])
                    if n_bytes > most:
                        most = await self._most_for(scope, n_bytes)
                    is_whole = not message.get("more_body", False)
        except TimeoutError:
            raise TooSlowError(f"the body did not come within {self._seconds:g} seconds") from None
        whole = [{"type": "http.request", "body": b"".join(parts), "more_body": False}] if is_whole else []

        async def hand_on() -> MutableMapping[str, Any]:
            return whole.pop() if whole else await receive()

        return hand_on

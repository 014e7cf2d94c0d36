"""What stands before every request: limits on its size and its time, and headers that browsers heed."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unlearnspn.service.errors import ServiceError

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


class BodyLimits:
    """Refuses bodies that are too large, and those that come too slowly."""

    def __init__(self, app: ASGIApp, most_bytes: int, seconds: float) -> None:
        self._app = app
        self._most_bytes = most_bytes
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        told = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not told.isdigit() or int(told) > self._most_bytes:
            await _refuse(send, 413, f"the body has more than {self._most_bytes:,} bytes")
            return
        try:
            received = await self._whole(receive)
        except _RefusedError as error:
            await _refuse(send, error.status, str(error))
            return
        await self._app(scope, received, send)

    async def _whole(self, receive: Receive) -> Receive:
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
                    if n_bytes > self._most_bytes:
                        raise _RefusedError(413, f"the body has more than {self._most_bytes:,} bytes")
                    is_whole = not message.get("more_body", False)
        except TimeoutError:
            raise _RefusedError(408, f"the body did not come within {self._seconds:g} seconds") from None
        whole = [{"type": "http.request", "body": b"".join(parts), "more_body": False}] if is_whole else []

        async def hand_on() -> MutableMapping[str, Any]:
            return whole.pop() if whole else await receive()

        return hand_on


class _RefusedError(ServiceError):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def _refuse(send: Send, status: int, message: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{message}\n".encode()})

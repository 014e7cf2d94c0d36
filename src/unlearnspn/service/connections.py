"""Connections over which requests come: one on which a request does not come to an end of its head is closed.

Otherwise a few hundred connections that send nothing, or half a line, would keep everybody else out. The same is true
of the rest of a body that was answered before it was whole: nobody waits for it for long.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Within which the head of a request must have come, since the connection was made or the head began; and what is left
#: of its body since it was answered.
HEAD_SECONDS = 10.0
#: Within which clients must have agreed that a connection ends, once the service ends: with TLS some never do.
_LAST_SECONDS = 1.0


class ImpatientProtocol(H11Protocol):
    """HTTP as uvicorn speaks it, with an end to waiting."""

    head_seconds = HEAD_SECONDS
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Go on waiting if the head of a request is not complete."""
        super().data_received(data)
        if not self._is_incomplete:
            self._stop_waiting()
        elif self._waiting is None:
            self._wait()

    def on_response_complete(self) -> None:
        """Begin to wait for the rest of a body that was answered already."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY and self._waiting is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Close the connection, or have it closed when its request is answered."""
        super().shutdown()
        if self.transport.is_closing():
            self.loop.call_later(_LAST_SECONDS, self.transport.abort)

    @property
    def _is_incomplete(self) -> bool:
        """Whether a head, or a body that nobody reads, has yet to come to its end."""
        is_answered = self.conn.our_state in (h11.DONE, h11.MUST_CLOSE)
        return self.conn.their_state is h11.IDLE or (self.conn.their_state is h11.SEND_BODY and is_answered)

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.head_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if self._is_incomplete:
            self.transport.abort()

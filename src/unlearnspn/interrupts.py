"""Ctrl-C while something must not be left half done: it waits until that is done, and is delivered then."""

from __future__ import annotations

# Not `signal` itself, which looks every handler up among its enumerations: that takes ten times as long.
import _signal  # type: ignore[import-not-found]
from collections.abc import Callable
from signal import SIGINT
from threading import get_ident
from types import FrameType

_NUMBER = int(SIGINT)


class _Gate:
    """Stands in the place of the handler of Ctrl-C, and has it wait unless it is open."""

    __slots__ = ("handler", "is_open", "is_waiting", "thread")

    def __init__(self, handler: Callable[[int, FrameType | None], object]) -> None:
        self.handler = handler
        self.thread = get_ident()
        self.is_open = self.is_waiting = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self.is_open:
            self.is_waiting = True
            return
        # Whoever is interrupted must be able to clean up, whatever comes next.
        self.is_open = False
        self.handler(number, frame)
        self.is_open = True


class Uninterrupted:
    """Where Ctrl-C has to wait until the end.

    Other threads are not interrupted anyway. Nor is anything to be done where Ctrl-C is ignored, ends the process, or
    is seen to by other code than Python's.
    """

    __slots__ = ("_gate", "_is_own", "_was_open")

    def __enter__(self) -> Uninterrupted:
        self._gate: _Gate | None = None
        self._is_own, self._was_open = False, True
        handler = _signal.getsignal(_NUMBER)
        if isinstance(handler, _Gate):
            if handler.thread == get_ident():
                self._was_open, handler.is_open, self._gate = handler.is_open, False, handler
        elif callable(handler):
            self._is_own, self._gate = True, _Gate(handler)
            try:
                _signal.signal(_NUMBER, self._gate)
            except ValueError:  # as in any thread but the main one
                self._gate = None
        return self

    def __exit__(self, *_: object) -> None:
        gate = self._gate
        if gate is not None:
            if self._is_own:
                _signal.signal(_NUMBER, gate.handler)
            _open(gate, self._was_open)

    def except_here(self) -> _Opening:
        """Return where Ctrl-C interrupts, as it did before; but once, so that it can be seen to in peace."""
        return _Opening(self._gate, self._was_open)


class _Opening:
    __slots__ = ("_gate", "_was_open")

    def __init__(self, gate: _Gate | None, was_open: bool) -> None:
        self._gate, self._was_open = gate, was_open

    def __enter__(self) -> None:
        if self._gate is not None:
            _open(self._gate, self._was_open)

    def __exit__(self, *_: object) -> None:
        if self._gate is not None:
            self._gate.is_open = False


def _open(gate: _Gate, was_open: bool) -> None:
    """Open a gate, if it was before, and deliver what has been waiting."""
    gate.is_open = was_open
    if was_open and gate.is_waiting:
        gate.is_waiting = False
        gate(_NUMBER, None)

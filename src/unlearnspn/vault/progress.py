"""Telling those who wait what is being done."""

from __future__ import annotations

from collections.abc import Callable

#: Is told what is being done, how much of it is done, and how much there is to do (0 if nobody knows).
Progress = Callable[[str, int, int], None]


def tell(progress: Progress | None, what: str, done: int) -> None:
    """Tell whoever wants to know."""
    if progress is not None:
        progress(what, done, 1)

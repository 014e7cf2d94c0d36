"""Telling those who wait what is being done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Is told what is being done, how much of it is done, and how much there is to do (0 if nobody knows).
Progress = Callable[[str, int, int], None]

#: Wide enough for digests, when there is no terminal to say how wide it is.
_WIDTH = 120


def tell(progress: Progress | None, what: str, done: int) -> None:
    """Tell whoever wants to know."""
    if progress is not None:
        progress(what, done, 1)


@contextmanager
def shown(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """Show a bar on stderr if that is wanted, until what is done is done; or tell whoever is passed."""
    if progress is None or progress is False or callable(progress):
        yield progress or None
        return
    from rich.console import Console  # noqa: PLC0415  # only who wants a bar waits for the import
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    console = Console(file=sys.stderr, highlight=False, width=None if sys.stderr.isatty() else _WIDTH)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total or None)

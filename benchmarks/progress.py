"""The progress bar: on stderr, and drawn between measurements only, lest its thread slows what is timed."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class Bar:
    """A bar for one piece of work at a time."""

    def __init__(self, shown: bool = True) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(
            *columns, console=Console(stderr=True), auto_refresh=False, transient=True, disable=not shown
        )
        self._task = self._progress.add_task("", total=None, visible=False)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, what: str, steps: int) -> None:
        """Start another piece of work."""
        self._progress.reset(self._task, total=steps, description=what, visible=True)
        self._progress.refresh()

    def step(self) -> None:
        """Say that one more step is done."""
        self._progress.update(self._task, advance=1, refresh=True)

"""A group of commands in which errors are messages with exit codes, not tracebacks."""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer.core import TyperGroup

from unlearnspn.cli.exits import fail, hints


class GuardedGroup(TyperGroup):
    """Ends every error of its commands with one message on stderr and an exit code that means something."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # whatever a table holds can be shown on any terminal
                stream.reconfigure(errors="backslashreplace")
        try:
            with hints():
                return super().invoke(ctx)
        except _ours() as error:
            raise error
        except BrokenPipeError:
            raise
        except (Exception, KeyboardInterrupt) as error:
            fail(error)


def _ours() -> tuple[type[BaseException], ...]:
    """Return what the library of the command line raises to say something: usage errors, exits, refusals."""
    usage = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
    return (usage, typer.Exit, typer.Abort)


def examples(*lines: str) -> str:
    """Return the end of a help text: examples, a paragraph each, since those keep their line ends."""
    return "\n\n".join(["Examples:", *(f"$ unlearnspn {line}" for line in lines)])

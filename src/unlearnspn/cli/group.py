"""A group of commands in which errors are messages with exit codes, not tracebacks."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from unlearnspn.cli.exits import ExitCode, fail, fail_as_json, hints

#: Where a context says whether errors are to be JSON.
_AS_JSON = "unlearnspn.json"


class GuardedGroup(TyperGroup):
    """Ends every error of its commands with one message on stderr and an exit code that means something.

    With `--json` anywhere on the command line that message is JSON, also if the command line itself is wrong.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what is before the name of the command."""
        ctx.meta[_AS_JSON] = "--json" in args
        try:
            return super().parse_args(ctx, args)
        except _usage_error() as error:
            _end_usage_error(ctx, error)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # whatever a table holds can be shown on any terminal
                stream.reconfigure(errors="backslashreplace")
        try:
            with hints():
                return super().invoke(ctx)
        except _usage_error() as error:
            _end_usage_error(ctx, error)
        except (typer.Exit, BrokenPipeError):
            raise
        except typer.Abort:
            if ctx.meta[_AS_JSON]:
                fail_as_json(int(ExitCode.FAILED), "aborted")
            raise
        except (Exception, KeyboardInterrupt) as error:
            fail(error, ctx.meta[_AS_JSON])


def _usage_error() -> type[Exception]:
    """Return what the library of the command line raises to say that the command line is wrong."""
    return next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def _end_usage_error(ctx: Any, error: Any) -> NoReturn:
    """Leave it to the library to show what is wrong, unless a machine is to read it."""
    if ctx.meta[_AS_JSON]:
        fail_as_json(error.exit_code, error.format_message())
    raise error


def examples(*lines: str) -> str:
    """Return the end of a help text: examples, a paragraph each, since those keep their line ends."""
    return "\n\n".join(["Examples:", *(f"$ unlearnspn {line}" for line in lines)])

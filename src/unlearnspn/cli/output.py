"""What commands print: results on stdout, for people or as JSON; everything else on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from unlearnspn.exchange.numbers import only_finite
from unlearnspn.progress import Progress, shown

#: Wide enough for digests, when there is no terminal to say how wide it is.
_WIDTH = 120


def console() -> Console:
    """Return the console for results."""
    return _console(sys.stdout)


def notices() -> Console:
    """Return the console for everything that is no result."""
    return _console(sys.stderr)


def print_json(document: Any) -> None:
    """Print a result for machines: one JSON document, in ASCII; null stands for infinite numbers."""
    typer.echo(json.dumps(only_finite(document), indent=2, allow_nan=False))


def print_notice(text: str) -> None:
    """Print a line that is no result."""
    typer.echo(text, err=True)


@contextmanager
def progress(wanted: bool = True) -> Iterator[Progress]:
    """Show how far a longer piece of work has come, if somebody looks."""
    with shown(wanted and sys.stderr.isatty()) as tell:
        yield tell or (lambda what, done, total: None)


def _console(stream: Any) -> Console:
    terminal = stream.isatty()
    width = None if terminal or "COLUMNS" in os.environ else _WIDTH
    return Console(file=stream, highlight=False, width=width)

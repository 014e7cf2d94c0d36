"""All commands together."""

from __future__ import annotations

import gc
from typing import Annotated

import typer

from unlearnspn import __version__
from unlearnspn.cli import (
    asking,
    demonstrating,
    evidence,
    holding,
    keys,
    lifecycle,
    looking,
    recording,
    removing,
    serving,
)
from unlearnspn.cli.group import GuardedGroup

_EPILOG = (
    "Exit codes: 0 all right; 1 a check failed, or the answer was no; 2 wrong usage; 3 not there; 4 input that cannot "
    "be used; 5 a vault or a file that cannot be used; 6 somebody else is changing the vault; 7 removed, but the "
    "receipt could not be written; 130 interrupted."
)

_ALLOCATIONS_BETWEEN_COLLECTIONS = 100_000

app = typer.Typer(
    cls=GuardedGroup, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="markdown", epilog=_EPILOG
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"unlearnspn {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Sum-product networks for tabular data that can forget: removal equals retraining, bit for bit."""
    # What is imported stays: looking again and again for what of it may go takes a tenth of a short command's time.
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS)


for group in (lifecycle, recording, removing, holding, asking, looking, evidence, keys, serving, demonstrating):
    group.register(app)

"""The command line."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from unlearnspn import __version__, demo
from unlearnspn.bench import commands as bench

app = typer.Typer(no_args_is_help=True, add_completion=False)
app.add_typer(bench.app, name="bench")


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


@app.command("demo")
def run_demo(
    removals: Annotated[
        int,
        typer.Option(
            min=1,
            max=demo.MAX_REMOVALS,
            help="How many patients to remove one by one, and as many again in one batch.",
        ),
    ] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Who is held out and removed; also the seed of the model.")] = 0,
    progress: Annotated[bool, typer.Option(help="Show a progress bar.")] = True,
) -> None:
    """Remove patients from a model, and compare it with retraining after every request.

    Exits with 1 if any model is not equal to the one retrained.
    """
    if not demo.run(Console(highlight=False), removals=removals, seed=seed, progress=progress):
        raise typer.Exit(1)

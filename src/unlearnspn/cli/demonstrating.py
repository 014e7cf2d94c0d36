"""`demo`: the library at work."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from unlearnspn.cli.group import examples


def run_demo(
    removals: Annotated[
        int, typer.Option(min=1, help="How many patients to remove one by one, and as many again in one batch.")
    ] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Who is held out and removed; also the seed of the model.")] = 0,
    progress: Annotated[bool, typer.Option(help="Show a progress bar.")] = True,
) -> None:
    """Remove patients from a model, and compare it with retraining after every request.

    Exits with 1 if any model is not equal to the one retrained.
    """
    from unlearnspn import demo  # noqa: PLC0415

    if removals > demo.MAX_REMOVALS:
        raise typer.BadParameter(
            f"{removals} is more than {demo.MAX_REMOVALS} of {demo.N_PATIENTS} patients: some must be left",
            param_hint="--removals",
        )
    if not demo.run(Console(highlight=False), demo.make_plan(removals, seed), progress=progress):
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", epilog=examples("demo", "demo --removals 20 --seed 3"))(run_demo)

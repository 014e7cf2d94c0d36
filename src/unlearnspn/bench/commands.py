"""The commands `unlearnspn bench …`; what they need beyond the library is imported when one is run."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal

import typer

from unlearnspn.bench.peers.environment import EnvironmentFailed

app = typer.Typer(
    no_args_is_help=True,
    help="Measure removal, training, scale, likelihood and serving. Needs: pip install 'unlearnspn\\[bench]'.",
)

_FILES = (
    "The folder of the data sets, as published: abalone.data, adult.data (UCI), plants.uci.data (UCI's plants.data), "
    "and NAME.train.data, NAME.valid.data, NAME.test.data of the binary density estimation sets (nltcs, msnbc, "
    "plants). Without it, what PyPI packages carry is used."
)
Data = Annotated[Path | None, typer.Option("--data", exists=True, file_okay=False, help=_FILES)]
Json = Annotated[
    Path | None,
    typer.Option("--json", dir_okay=False, help="A file for the results, as JSON. [default: bench-COMMAND.json]"),
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", dir_okay=False, help="A file for a picture (png, svg, pdf). [default: bench-COMMAND.png]"),
]
WriteFiles = Annotated[
    bool, typer.Option("--files/--no-files", help="Write both files even if neither --json nor --plot names them.")
]
Quick = Annotated[bool, typer.Option("--quick", help="A small run, of less than about two minutes.")]
ShowProgress = Annotated[bool, typer.Option("--progress/--no-progress", help="Show a progress bar.")]
Environments = Annotated[
    Path | None,
    typer.Option(
        "--environments",
        file_okay=False,
        help="Where SPFlow's and deeprob-kit's environments are kept; made on first use (Python 3.11).",
    ),
]
UsePeers = Annotated[bool, typer.Option("--peers/--no-peers", help="Measure SPFlow and deeprob-kit too.")]
Seeds = Annotated[int | None, typer.Option(min=1, help="How many samples of rows. [default: 10, quick: 1]")]


@app.command()
def paper(
    data: Data = None,
    seeds: Seeds = None,
    removals: Annotated[int | None, typer.Option(min=1, help="Removals a seed. [default: 100, quick: 20]")] = None,
    peers: UsePeers = True,
    environments: Environments = None,
    quick: Quick = False,
    json: Json = None,
    plot: Plot = None,
    files: WriteFiles = True,
    progress: ShowProgress = True,
) -> None:
    """Do the paper's experiment: removals one by one against retraining, ours and SPFlow's.

    Also training and held-out likelihood against SPFlow and deeprob-kit. Each removal is checked against a fresh fit.
    The whole takes hours, nearly all of them SPFlow's on Plants; --no-peers takes minutes.
    """
    module = _load("paper")
    plan = module.Plan.of(data, seeds, removals, peers, environments, quick)
    _deliver(module, plan, json, plot, files, progress)


@app.command()
def scale(
    data: Data = None,
    sizes: Annotated[
        str | None, typer.Option(help="Rows of the generated tables. [default: 1e4,1e5,1e6; quick: 1e3,1e4]")
    ] = None,
    columns: Annotated[
        int | None, typer.Option(min=5, max=1000, help="Their columns. [default: 50, quick: 20]")
    ] = None,
    removals: Annotated[int | None, typer.Option(min=2, help="Removals one by one. [default: 200, quick: 50]")] = None,
    batches: Annotated[
        int | None, typer.Option(min=1, max=50, help="Batches of 1 % of the rows. [default: 15, quick: 5]")
    ] = None,
    min_rows: Annotated[
        int | None, typer.Option(min=1, help="Nodes of at most so many records are not split. [default: SPN's]")
    ] = None,
    quick: Quick = False,
    json: Json = None,
    plot: Plot = None,
    files: WriteFiles = True,
    progress: ShowProgress = True,
) -> None:
    """Measure training, memory, removals and batches as tables grow: generated ones, flights, and all of Adult.

    Each table is measured in a process of its own, whose peak of memory is shown; --sizes 1e7 --columns 20 is to run in
    24 GiB.
    """
    module = _load("scale")
    plan = module.Plan.of(data, sizes, columns, removals, batches, min_rows, quick)
    _deliver(module, plan, json, plot, files, progress)


@app.command()
def quality(
    data: Annotated[Path, typer.Option("--data", exists=True, file_okay=False, help=_FILES)],
    names: Annotated[str | None, typer.Option(help="Only these sets, separated by commas.")] = None,
    models: Annotated[str, typer.Option(help="Which: naive, chow-liu, ensemble.")] = "chow-liu,ensemble",
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time.")] = 1,
    quick: Quick = False,
    json: Json = None,
    plot: Plot = None,
    files: WriteFiles = True,
    progress: ShowProgress = True,
) -> None:
    """Tune models on held-out rows of the binary density estimation sets, and report their test log-likelihood."""
    module = _load("quality")
    _deliver(module, module.Plan.of(data, names, models, jobs, quick), json, plot, files, progress)


@app.command()
def serve(
    data: Data = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="How often each scores. [default: 7, quick: 3]")] = None,
    binary: Annotated[
        Literal["bernoulli", "categorical"], typer.Option(help="The peers' leaf for two categories.")
    ] = "bernoulli",
    peers: UsePeers = True,
    environments: Environments = None,
    quick: Quick = False,
    json: Json = None,
    plot: Plot = None,
    files: WriteFiles = True,
    progress: ShowProgress = True,
) -> None:
    """Time log-densities against SPFlow and deeprob-kit, on networks of the same size."""
    module = _load("serve")
    _deliver(module, module.Plan.of(data, repeats, binary, peers, environments, quick), json, plot, files, progress)


def _load(name: str) -> ModuleType:
    """Import a benchmark, or say what has to be installed."""
    try:
        import_module("unlearnspn.bench.requirements")
    except ImportError as error:
        typer.echo(f"{error.name} is missing: pip install 'unlearnspn[bench]'", err=True)
        raise typer.Exit(2) from error
    return import_module(f"unlearnspn.bench.{name}")


def _deliver(
    benchmark: ModuleType, plan: Any, json: Path | None, plot: Path | None, by_default: bool, progress: bool
) -> None:
    """Run a benchmark; a peer that cannot be installed is no reason for a traceback."""
    delivery = import_module("unlearnspn.bench.delivery")
    files = delivery.Files.chosen(benchmark.NAME, json, plot, by_default)
    try:
        delivery.deliver(benchmark, plan, files, progress)
    except EnvironmentFailed as error:
        typer.echo(f"{error}\n--no-peers measures without SPFlow and deeprob-kit", err=True)
        raise typer.Exit(2) from error

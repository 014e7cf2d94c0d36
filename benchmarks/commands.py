"""The commands of `python -m benchmarks`; the module of a benchmark is imported when it is run."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal

import typer

from benchmarks.datasets import DataMissingError
from benchmarks.delivery import deliver
from benchmarks.extras import ExtraMissingError
from benchmarks.files import Files
from benchmarks.peers.environment import EnvironmentFailed
from benchmarks.timing import one_thread

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Measure removal, training, scale, clusters, likelihood, samples, serving, what a user meets first, and what "
    "else there is to be done when records are to be removed.",
)

_WITHOUT_PEERS = "\n--no-peers measures without libraries that need environments of their own"
_FILES = (
    "The folder of the data sets, as published: abalone.data, adult.data (UCI), plants.uci.data (UCI's plants.data), "
    "and NAME.train.data, NAME.valid.data, NAME.test.data of the binary density estimation sets (nltcs, msnbc, "
    "plants). Without it, what PyPI packages carry is used."
)
Data = Annotated[Path | None, typer.Option("--data", exists=True, file_okay=False, help=_FILES)]
Folder = Annotated[Path, typer.Option("--data", exists=True, file_okay=False, help=_FILES)]
Json = Annotated[
    Path | None,
    typer.Option("--json", dir_okay=False, help="A file for the results, as JSON."),
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
        help="Where environments of other libraries are kept; made on first use (Python 3.11).",
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
    module = _module("paper")
    plan = module.Plan.of(data, seeds, removals, peers, environments, quick)
    _deliver(module, plan, json, plot, files, progress)


@app.command()
def scale(
    data: Data = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            help="Rows of the generated tables. [default: 1e4,1e5,1e6; quick: 1e3,1e4; 2e3 if there are several "
            "numbers of columns]"
        ),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Their columns, as in 50,200,500,1500. [default: 50, quick: 20]")
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
    module = _module("scale")
    plan = module.Plan.of(data, sizes, columns, removals, batches, min_rows, quick)
    _deliver(module, plan, json, plot, files, progress)


@app.command()
def cluster(
    sizes: Annotated[
        str | None, typer.Option(help="Rows of the generated tables. [default: 1e5,1e6,1e7; quick: 1e4,1e5]")
    ] = None,
    columns: Annotated[str | None, typer.Option(help="Their columns. [default: 20]")] = None,
    workers: Annotated[str | None, typer.Option(help="How many workers a cluster has. [default: 1,2]")] = None,
    removals: Annotated[int | None, typer.Option(min=1, max=1000, help="Removals one by one. [default: 20]")] = None,
    quick: Quick = False,
    json: Json = None,
    plot: Plot = None,
    files: WriteFiles = True,
    progress: ShowProgress = True,
) -> None:
    """Measure the fit of a Dask table on clusters of this machine against the local one: time, bytes and memory.

    Each is done in fresh processes, and must give the same digests. It needs the extra `dask`; with 10,000,000 rows it
    takes about 1 GB in the folder for temporary files.
    """
    module = _module("cluster")
    _deliver(module, module.Plan.of(sizes, columns, workers, removals, quick), json, plot, files, progress)


@app.command()
def quality(
    data: Folder,
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
    module = _module("quality")
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
    module = _module("serve")
    _deliver(module, module.Plan.of(data, repeats, binary, peers, environments, quick), json, plot, files, progress)


@app.command()
def vault(
    folder: Annotated[Path | None, typer.Option(exists=True, help="Where to put the vault.")] = None,
    removals: Annotated[int | None, typer.Option(min=1, help="Removals one by one. [default: 200, quick: 10]")] = None,
    quick: Quick = False,
    json: Json = None,
    progress: ShowProgress = True,
) -> None:
    """Time a vault of 336,776 flights: filling, opening, every request with its certificate, verifying."""
    module = _module("vault")
    _show(module, module.Plan(folder, removals or (10 if quick else 200), quick), json, progress)


@app.command()
def service(
    seconds: Annotated[float | None, typer.Option(min=1.0, help="Of each phase. [default: 60, quick: 2]")] = None,
    clients: Annotated[int | None, typer.Option(min=1, max=256, help="How many score. [default: 32]")] = None,
    quick: Quick = False,
    json: Json = None,
    progress: ShowProgress = True,
) -> None:
    """Put load on the service: clients score while records are removed; no answer may be wrong or missing.

    The same clients score without and with removals in one run. It needs the extra `serve`.
    """
    module = _module("service")
    _show(module, module.Plan.of(seconds, clients, quick), json, progress)


@app.command("first-use")
def first_use(
    data: Data = None,
    against: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="The Python of an environment with another version."),
    ] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Processes for each figure. [default: 3]")] = None,
    quick: Quick = False,
    json: Json = None,
    progress: ShowProgress = True,
) -> None:
    """Measure what a user meets, each figure in fresh processes with default settings.

    CPU seconds of the import, of commands on a vault, and of first uses; then removals from the first one on. With
    --against the same figures of another version stand beside them.
    """
    module = _module("first_use")
    _show(module, module.Plan.of(data, against, repeats, quick), json, progress)


@app.command()
def exactness(
    data: Data = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time; times are clean with one.")] = 1,
    quick: Quick = False,
    json: Json = None,
    progress: ShowProgress = True,
) -> None:
    """Compare every removal on real data with retraining, bit for bit; end with an error if any differs."""
    module = _module("exactness")
    _show(module, module.Plan(data, jobs, quick), json, progress)


@app.command("cluster-exactness")
def cluster_exactness(
    data: Data = None, quick: Quick = False, json: Json = None, progress: ShowProgress = True
) -> None:
    """Compare models of Dask tables on 1 to 3 worker processes with local ones, bit for bit; end with an error if any
    differs. Adult and flights, in 1, 5 and 17 partitions, after removals, batches, additions and corrections.
    """
    module = _module("cluster_exactness")
    _show(module, module.Plan(data, quick), json, progress)


@app.command()
def imputation(
    data: Folder,
    share: Annotated[float, typer.Option(help="Which share of the cells is blanked.")] = 0.2,
    min_std: Annotated[float, typer.Option(help="The model's, as a share of the columns' deviations.")] = 0.05,
    seeds: Annotated[int, typer.Option(min=1, help="How often, with other blanks and other rows.")] = 3,
    quick: Quick = False,
    json: Json = None,
    progress: ShowProgress = True,
) -> None:
    """Blank cells of Adult, fill them in, and compare with means and modes."""
    module = _module("imputation")
    _show(module, module.Plan(data, share, min_std, 1 if quick else seeds, quick), json, progress)


@app.command()
def synthetic(
    data: Data = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many splits. [default: 5, quick: 1]")] = None,
    peers: Annotated[bool, typer.Option("--peers/--no-peers", help="Ask SDMetrics and SDV, too.")] = True,
    environments: Environments = None,
    quick: Quick = False,
    json: Json = None,
    progress: ShowProgress = True,
) -> None:
    """Measure samples, gaps, classes and outliers of the default models, beside SDV's and scikit-learn's.

    Samples are judged by SDMetrics. Where its environment cannot be made, that section is left out.
    """
    module = _module("synthetic")
    _show(module, module.Plan.of(data, seeds, peers, environments, quick), json, progress)


@app.command()
def alternatives(
    data: Data = None,
    names: Annotated[str | None, typer.Option(help="Only these tables, separated by commas.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many splits. [default: 5, quick: 1]")] = None,
    epsilons: Annotated[str, typer.Option(help="The ε of private networks.")] = "0.1,1,3,10",
    shards: Annotated[str, typer.Option(help="The numbers of shards.")] = "5,10,20",
    parts: Annotated[
        str | None, typer.Option(help="Only these: likelihood, costs, membership, versions, epsilon.")
    ] = None,
    models: Annotated[
        int | None, typer.Option(min=8, help="Models of the membership attack. [default: 32, quick: 16]")
    ] = None,
    synthesised: Annotated[
        int | None, typer.Option(min=0, help="Models of the attack on MST. [default: 16, quick: 0]")
    ] = None,
    peers: Annotated[bool, typer.Option("--peers/--no-peers", help="Ask MST and SDMetrics, too.")] = True,
    environments: Environments = None,
    quick: Quick = False,
    json: Json = None,
    plot: Plot = None,
    files: WriteFiles = True,
    progress: ShowProgress = True,
) -> None:
    """Compare unlearning with keeping the model, retraining, SISA, and differential privacy.

    Likelihood, samples, what removals cost, and what attackers learn of those who left: from the model afterwards, and
    from the models before and after. It needs OpenDP, which the extra `benchmarks` has. A quick run takes some minutes.
    """
    module = _module("alternatives")
    options = (names, seeds, epsilons, shards, parts, models, synthesised, peers, environments, quick)
    plan = module.Plan.of(data, *options)
    _deliver(module, plan, json, plot, files, progress)


@app.command()
def defaults(
    data: Folder,
    seeds: Annotated[int, typer.Option(min=1, help="How many samples of rows.")] = 8,
    json: Json = None,
    progress: ShowProgress = True,
) -> None:
    """Show held-out log-likelihood when one parameter at a time is another than by default."""
    module = _module("defaults")
    _show(module, module.Plan(data, seeds), json, progress)


def _module(name: str) -> ModuleType:
    return import_module(f"benchmarks.{name}")


def _deliver(
    benchmark: ModuleType, plan: Any, json: Path | None, plot: Path | None, by_default: bool, progress: bool
) -> None:
    """Run a benchmark that draws a picture, with one thread for BLAS and OpenMP."""
    _run(benchmark, plan, Files.chosen(benchmark.NAME, json, plot, by_default), progress, limited=True)


def _show(benchmark: ModuleType, plan: Any, json: Path | None, progress: bool) -> None:
    """Run a benchmark that prints tables, with as many threads as a user has."""
    _run(benchmark, plan, Files(json, None), progress, limited=False)


def _run(benchmark: Any, plan: Any, files: Files, progress: bool, limited: bool) -> None:
    """Run a benchmark; data, a package or a peer that is not there is no reason for a traceback."""
    try:
        with one_thread() if limited else nullcontext():
            deliver(benchmark, plan, files, progress)
    except (DataMissingError, ExtraMissingError, EnvironmentFailed) as error:
        typer.echo(f"{error}{_WITHOUT_PEERS if isinstance(error, EnvironmentFailed) else ''}", err=True)
        raise typer.Exit(2) from error

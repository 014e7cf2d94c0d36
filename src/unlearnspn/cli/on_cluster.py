"""`fit --cluster`: a model of a folder of Parquet files, learned by the workers of a Dask cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.text import Text

from unlearnspn.cli.exits import CommandError, ExitCode
from unlearnspn.cli.output import console, print_json, progress


def fit_on_cluster(
    source: Path, address: str, model: Path, id_column: str | None, parameters: dict[str, Any], json: bool
) -> None:
    """Learn from all Parquet files of a folder, and keep the model in another."""
    if not source.exists():
        raise CommandError(ExitCode.NOT_FOUND, f"there is no {source}")
    dd, distributed = _import_dask()
    from unlearnspn import SPN  # noqa: PLC0415

    try:
        client = distributed.Client(address)
    except (OSError, ValueError) as error:
        raise CommandError(ExitCode.NOT_FOUND, f"no cluster answers at {address}: {error}") from error
    with client, progress(not json) as tell:
        spn = SPN(**parameters).fit(dd.read_parquet(source.absolute()), ids=id_column, progress=tell)
        spn.save(model)
        told = {"model": str(model), "records": spn.n_records_, "digest": spn.digest(), "state": spn.state_digest()}
    if json:
        print_json(told)
        return
    console().print(Text(f"learned from {spn.n_records_:,} records, kept in {model}"))
    console().print(Text(f"model digest {told['digest']}"))


def _import_dask() -> tuple[Any, Any]:
    try:
        import dask.dataframe as dd  # noqa: PLC0415
        import distributed  # noqa: PLC0415
    except ImportError as error:
        raise CommandError(ExitCode.USAGE, f"--cluster needs Dask: pip install 'unlearnspn[dask]' ({error})") from error
    return dd, distributed

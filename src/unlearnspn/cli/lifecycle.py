"""A vault and its model: `init`, `fit`, `info`, `export`."""

from __future__ import annotations

import json as json_module
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from unlearnspn.cli import options as given
from unlearnspn.cli.exits import printable
from unlearnspn.cli.group import examples
from unlearnspn.cli.on_cluster import fit_on_cluster
from unlearnspn.cli.opening import describe, is_vault, load_circuit, open_vault, require_free
from unlearnspn.cli.output import console, print_json, print_notice, progress
from unlearnspn.exchange.outcomes import describe_outcome

if TYPE_CHECKING:
    from unlearnspn.circuit import Circuit
    from unlearnspn.vault import Outcome, Vault


class CircuitFormat(StrEnum):
    """What a circuit can be written as."""

    CIRCUIT = "circuit"
    JSON = "json"
    DOT = "dot"


def init(
    vault: Annotated[Path, typer.Argument(metavar="VAULT", help="The file to make.", show_default=False)],
    guard: Annotated[
        bool, typer.Option("--guard", help="Tell when removed ids or subjects come back. Keeps keyed hashes of them.")
    ] = False,
    request: given.RequestId = None,
    operator: given.Operator = None,
    private_key: given.Key = None,
    json: given.Json = False,
) -> None:
    """Make a new vault: one file, and beside it the private key that signs its certificates (VAULT.key)."""
    from unlearnspn.vault import Vault  # noqa: PLC0415

    taken = private_key is not None and private_key.exists()
    with Vault.create(vault, key=private_key, guard=guard, operator=operator, request_id=request) as opened:
        info = opened.info()
    if json:
        print_json({"path": info.path, "vault": info.vault, "key": info.key_id, "key_was_there": taken})
        return
    if taken:
        print_notice(f"signed with the private key that was in {private_key} already")
    console().print(Text(f"vault {info.vault} in {vault}"))
    console().print(Text(f"public key {info.key_id}: `unlearnspn keys show {vault} --export FILE` is for auditors"))


def fit(
    vault: Annotated[
        Path,
        typer.Argument(
            metavar="VAULT",
            help="The file of the vault; with --cluster, a folder of Parquet files.",
            show_default=False,
        ),
    ],
    min_rows: Annotated[
        int | None,
        typer.Option(
            "--min-rows",
            min=1,
            help="Sets of records up to this size are not split. Default: by how many there are.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="The seed of the model. Default: 0.")] = None,
    min_category_count: Annotated[
        int | None,
        typer.Option(
            "--min-category-count", min=1, help="Leave out categories that fewer records have. Default: 1, none."
        ),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another parameter of SPN, its value as JSON. Repeatable."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ADDRESS", help="Learn on a Dask cluster, such as tcp://scheduler:8786."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="FOLDER", help="With --cluster: the folder for the model.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="With --cluster: the column of the records' ids.")
    ] = None,
    request: given.RequestId = None,
    operator: given.Operator = None,
    private_key: given.Key = None,
    json: given.Json = False,
) -> None:
    """Learn a model from all records; one that is there is replaced.

    With --cluster the records are those of a folder of Parquet files, and stay on the workers of the cluster, which
    must see both folders.
    """
    parameters = dict(map(_parameter, set or ()))
    given_here = {"min_rows": min_rows, "random_state": seed, "min_category_count": min_category_count}
    parameters |= {name: value for name, value in given_here.items() if value is not None}
    if cluster is not None:
        if model is None:
            raise typer.BadParameter("--cluster needs --model FOLDER, for the model to be kept in")
        _require_known(parameters)
        fit_on_cluster(vault, cluster, model, id_column, parameters, json)
        return
    if model is not None or id_column is not None:
        raise typer.BadParameter("--model and --id are for --cluster ADDRESS")
    with open_vault(vault, write=True, key=private_key) as opened:
        _require_known(parameters)
        with progress(not json) as tell:
            outcome = opened.fit(progress=tell, request_id=request, operator=operator, **parameters)
        info = opened.info()
    if json:
        print_json(describe_outcome(outcome) | {"model_digest": info.digests.model if info.digests else None})
        return
    console().print(Text(f"learned from {outcome.remaining:,} records"))
    if info.digests is not None:
        console().print(Text(f"model digest {info.digests.model}"))


def show_info(vault: given.VaultPath, json: given.Json = False) -> None:
    """Show what a vault is and holds, without a single value."""
    with open_vault(vault) as opened:
        info = opened.info()
    digests = None if info.digests is None else vars(info.digests)
    parameters = None if info.parameters is None else {name: describe(value) for name, value in info.parameters.items()}
    if json:
        print_json(vars(info) | {"digests": digests, "parameters": parameters, "columns": list(info.columns)})
        return
    lines = {
        "vault": info.vault,
        "records": f"{info.n_records:,}",
        "columns": ", ".join(f"{name!r} ({family})" for name, family in info.families.items()) or "none yet",
        "ids": f"column {info.id_column!r}, {info.id_kind}" if info.id_column else info.id_kind or "none yet",
        "subjects": f"column {info.subject_column!r}" if info.subject_column else "none",
        "model": "none yet" if digests is None else digests["model"],
        "state": "none yet" if digests is None else digests["state"],
        "parameters": ", ".join(f"{name}={value}" for name, value in (parameters or {}).items()) or "none yet",
        "ledger": f"{info.n_entries:,} entries",
        "key": info.key_id,
        "guard": "on" if info.guard else "off",
        "size": f"{info.file_bytes:,} bytes",
    }
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in lines.items():
        table.add_row(name, Text(printable(value)))
    console().print(table)


def export(
    vault: given.VaultPath,
    output: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.", show_default=False)],
    format: Annotated[
        CircuitFormat | None,
        typer.Option("--format", help="circuit, json (.json) or Graphviz's dot (.dot). Default: as FILE is called."),
    ] = None,
    request: given.RequestId = None,
    operator: given.Operator = None,
    private_key: given.Key = None,
    json: given.Json = False,
) -> None:
    """Write the serving circuit alone into a file: it answers questions, and holds no record and no state.

    The ledger takes note of who took which model, and when. Where the vault cannot be written, the circuit is exported
    all the same, and a notice says that it was not entered.
    """
    from unlearnspn.vault.exports import write_circuit  # noqa: PLC0415

    require_free(output)
    suffixes = {".json": CircuitFormat.JSON, ".dot": CircuitFormat.DOT}
    form = format or suffixes.get(output.suffix.lower(), CircuitFormat.CIRCUIT)
    if is_vault(vault):
        circuit, entry = _export(
            vault,
            private_key,
            lambda opened: opened.export(output, format=form.value, request_id=request, operator=operator),
        )
    else:
        circuit, entry = load_circuit(vault), None
        write_circuit(circuit, output, form.value)
    if json:
        print_json({"path": str(output), "columns": circuit.columns, "digest": circuit.digest(), "entry": entry})
    else:
        console().print(Text(f"{circuit!r} in {output}"))


def _export(path: Path, key: Path | None, export: Callable[[Vault], Outcome]) -> tuple[Circuit, int | None]:
    """Export the circuit, and enter that into the ledger if the vault can be written; return the entry's number."""
    from unlearnspn.certificates import KeyFileError  # noqa: PLC0415
    from unlearnspn.vault import VaultError  # noqa: PLC0415

    try:
        with open_vault(path, write=True, key=key) as opened:
            certificate = export(opened).certificate
            assert certificate is not None
            return opened.circuit_, certificate.statement.link.entry
    except (VaultError, KeyFileError) as error:
        with open_vault(path) as opened:
            export(opened)
            print_notice(f"This was not entered into the ledger: {error}")
            return opened.circuit_, None


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog=examples("init people.uspn", "init people.uspn --guard"))(init)
    app.command(
        epilog=examples(
            "fit people.uspn",
            "fit people.uspn --min-rows 100 --set factorization='\"chow-liu\"'",
            "fit people/ --cluster tcp://scheduler:8786 --id customer --model model/",
        )
    )(fit)
    app.command("info", epilog=examples("info people.uspn --json"))(show_info)
    app.command(epilog=examples("export people.uspn people.circuit", "export people.uspn people.json"))(export)


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"--set {text!r} must be NAME=VALUE, such as threshold=2.0")
    try:
        return name.strip(), json_module.loads(value)
    except ValueError:
        return name.strip(), value


def _require_known(parameters: dict[str, Any]) -> None:
    from unlearnspn.parameters import Parameters  # noqa: PLC0415

    known = Parameters.names()
    unknown = sorted(name for name in parameters if name not in known)
    if unknown:
        raise typer.BadParameter(f"there is no parameter {', '.join(unknown)}; there are {', '.join(known)}")

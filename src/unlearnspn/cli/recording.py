"""Records into a vault: `ingest`, `learn`, `rectify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from unlearnspn.cli import options as given
from unlearnspn.cli.group import examples
from unlearnspn.cli.opening import open_vault
from unlearnspn.cli.output import console, print_json, progress
from unlearnspn.cli.reporting import show_outcome
from unlearnspn.exchange.outcomes import describe_outcome
from unlearnspn.progress import Progress

if TYPE_CHECKING:
    from unlearnspn.sources import Options
    from unlearnspn.vault import Outcome, Vault

Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical", metavar="COLUMN", help="A column of codes, though they look like numbers. Repeatable."
    ),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option("--numeric", metavar="COLUMN", help="A column of numbers; any other cell is an error. Repeatable."),
]
AllowReturning = Annotated[
    bool,
    typer.Option("--allow-returning", help="Take records in again that were removed, where the vault guards that."),
]


def ingest(
    vault: given.VaultPath,
    source: given.Source,
    id: Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="The column of the record ids.")] = None,
    subject: Annotated[
        str | None, typer.Option("--subject", metavar="COLUMN", help="The column that says whose records they are.")
    ] = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    missing: given.Missing = None,
    format: given.FileFormat = None,
    delimiter: given.Delimiter = ",",
    encoding: given.Encoding = None,
    table: given.Table = None,
    query: given.Query = None,
    allow_returning: AllowReturning = False,
    request: given.RequestId = None,
    operator: given.Operator = None,
    private_key: given.Key = None,
    json: given.Json = False,
) -> None:
    """Store records in a vault; if it has a model, that learns them.

    What columns hold is read off the first table: numbers if all cells are, true and false, or else texts. Records that
    are there already with the same values are skipped, so an ingest that was interrupted can be run again.
    """
    reading = _options(categorical, numeric, missing, format, delimiter, encoding, table, query)
    with open_vault(vault, write=True, key=private_key) as opened, progress(not json) as tell:
        records = _read(opened, source, reading, tell, id, subject)
        first = not opened.info().columns
        outcome = opened.ingest(
            records,
            ids=id,
            subjects=subject,
            allow_returning=allow_returning,
            progress=tell,
            request_id=request,
            operator=operator,
        )
        families = opened.info().families
    if json:
        print_json(describe_outcome(outcome) | {"columns": families})
        return
    show_outcome(console(), outcome)
    if first:
        console().print(
            "columns: " + ", ".join(f"{name!r} {family}" for name, family in families.items()), markup=False
        )


def learn(
    vault: given.VaultPath,
    source: given.Source,
    missing: given.Missing = None,
    format: given.FileFormat = None,
    delimiter: given.Delimiter = ",",
    encoding: given.Encoding = None,
    table: given.Table = None,
    query: given.Query = None,
    allow_returning: AllowReturning = False,
    dry_run: given.DryRun = False,
    request: given.RequestId = None,
    operator: given.Operator = None,
    private_key: given.Key = None,
    json: given.Json = False,
) -> None:
    """Add records whose ids are new; the model learns them."""
    reading = _options(None, None, missing, format, delimiter, encoding, table, query)
    with open_vault(vault, write=not dry_run, key=private_key) as opened, progress(not json) as tell:
        records = _read(opened, source, reading, tell)
        outcome = opened.learn(
            records, dry_run=dry_run, allow_returning=allow_returning, request_id=request, operator=operator
        )
    _tell(outcome, json)


def rectify(
    vault: given.VaultPath,
    source: given.Source,
    missing: given.Missing = None,
    format: given.FileFormat = None,
    delimiter: given.Delimiter = ",",
    encoding: given.Encoding = None,
    table: given.Table = None,
    query: given.Query = None,
    dry_run: given.DryRun = False,
    request: given.RequestId = None,
    operator: given.Operator = None,
    private_key: given.Key = None,
    json: given.Json = False,
) -> None:
    """Replace the values of records that are there; the old ones are erased. Columns that the source lacks stay."""
    reading = _options(None, None, missing, format, delimiter, encoding, table, query)
    with open_vault(vault, write=not dry_run, key=private_key) as opened, progress(not json) as tell:
        records = _read(opened, source, reading, tell)
        outcome = opened.rectify(records, dry_run=dry_run, request_id=request, operator=operator)
    _tell(outcome, json)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    fixed = "people.uspn people.csv --id customer --subject person"
    database = "people.uspn postgresql://localhost/crm --table customers --id customer"
    app.command(epilog=examples(f"ingest {fixed}", "ingest people.uspn more.parquet", f"ingest {database}"))(ingest)
    app.command(epilog=examples("learn people.uspn new.csv", "learn people.uspn new.csv --dry-run"))(learn)
    app.command(epilog=examples("rectify people.uspn corrected.csv --request 2026-17"))(rectify)


def _read(
    vault: Vault, source: str, reading: Options, tell: Progress, id: str | None = None, subject: str | None = None
) -> Any:
    from unlearnspn.exchange.tables import options_of  # noqa: PLC0415
    from unlearnspn.sources import read_source  # noqa: PLC0415

    return read_source(source, options_of(vault.info(), reading, id, subject), lambda *done: tell("read", *done))


def _tell(outcome: Outcome, json: bool) -> None:
    if json:
        print_json(describe_outcome(outcome))
    else:
        show_outcome(console(), outcome)


def _options(
    categorical: list[str] | None,
    numeric: list[str] | None,
    missing: list[str] | None,
    format: Any,
    delimiter: str,
    encoding: str | None,
    table: str | None,
    query: str | None,
) -> Options:
    from unlearnspn.sources import Options  # noqa: PLC0415

    return Options(
        format=format,
        delimiter="\t" if delimiter == "\\t" else delimiter,
        encoding=encoding,
        missing=frozenset(missing or ()),
        texts=frozenset(categorical or ()),
        numbers=frozenset(numeric or ()),
        table=table,
        query=query,
    )

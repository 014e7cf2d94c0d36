"""What a vault holds, for people and for safekeeping: `access` and `backup`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from unlearnspn.cli import options as given
from unlearnspn.cli.exits import printable
from unlearnspn.cli.group import examples
from unlearnspn.cli.opening import open_vault, require_free, write_new
from unlearnspn.cli.output import console, print_json, print_notice

if TYPE_CHECKING:
    from unlearnspn.vault import HeldRecords


class RecordFormat(StrEnum):
    """How records are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def access(
    vault: given.VaultPath,
    subject: Annotated[
        str | None, typer.Option("--subject", metavar="SUBJECT", help="Whose records are shown, all of them.")
    ] = None,
    id: Annotated[list[str] | None, typer.Option("--id", metavar="ID", help="The id of a record. Repeatable.")] = None,
    format: Annotated[RecordFormat, typer.Option("--format", help="How the records are printed.")] = RecordFormat.TABLE,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE",
            callback=given.require_rows_name,
            help="A new file for them, CSV, .tsv or .jsonl, for its owner only.",
        ),
    ] = None,
    json: given.Json = False,
) -> None:
    """Show what is held on a person: all of their records, as they came. Exits with 3 if there is none."""
    if (subject is None) == (not id):
        raise typer.BadParameter("say whose records to show, or which: --subject or --id")
    from unlearnspn.exchange.tables import format_rows, write_rows  # noqa: PLC0415
    from unlearnspn.tables.times import written  # noqa: PLC0415

    require_free(output)
    with open_vault(vault) as opened:
        names = None if not id else [opened.read_id(text) for text in dict.fromkeys(id)]
        records = opened.access(names, subject=subject)
    if output is not None:
        write_new(output, format_rows(records.columns, records.rows, output), private=True)
        print_notice(f"{_count(len(records))} in {output}: hand it over, and keep no copy")
    elif json or format is RecordFormat.JSON:
        rows = [{name: written(value) for name, value in record.items()} for record in records.as_dicts()]
        print_json({"subject": subject, "records": rows})
    elif format is RecordFormat.CSV:
        write_rows(records.columns, records.rows, None)
    else:
        console().print(_table(records))


def backup(
    vault: given.VaultPath,
    output: Annotated[Path, typer.Argument(metavar="FILE", help="A new file for the copy.", show_default=False)],
    json: given.Json = False,
) -> None:
    """Copy a vault as it is now, whatever others do meanwhile. The private key is not copied.

    Whoever leaves the vault later stays in the copy: keep copies for a limited time, and after restoring one carry
    out again what its ledger lacks.
    """
    require_free(output)
    with open_vault(vault) as opened:
        opened.backup(output)
    with open_vault(output) as copy:
        info, head = copy.info(), copy.log()[-1].digest
    if json:
        print_json({"path": str(output), "records": info.n_records, "entries": info.n_entries, "head": head})
        return
    console().print(Text(f"{_count(info.n_records)} and {info.n_entries:,} entries of the ledger in {output}"))
    print_notice(
        "Erasure does not reach this copy: whoever leaves the vault from now on is still in it. Delete it when its "
        "time is over; after restoring it, carry out again every request that came after its last entry."
    )


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        epilog=examples(
            "access people.uspn --subject p-17",
            "access people.uspn --subject p-17 --format csv",
            "access people.uspn --id c-1042 --output c-1042.jsonl",
        )
    )(access)
    app.command(epilog=examples("backup people.uspn monday.uspn"))(backup)


def _table(records: HeldRecords) -> Table:
    from unlearnspn.tables.times import written  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in records.columns:
        table.add_column(Text(printable(str(name))), overflow="fold")
    for row in records.rows:
        table.add_row(*(Text("" if value is None else printable(str(written(value)))) for value in row))
    return table


def _count(n: int) -> str:
    return "1 record" if n == 1 else f"{n:,} records"

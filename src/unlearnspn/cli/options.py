"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unlearnspn.sources.formats import Format

#: Names of formats for tables that rows are not written in.
_NOT_WRITTEN = {".arrow", ".ddb", ".duckdb", ".feather", ".json", ".parquet", ".pq", ".xlsx"}


def require_rows_name(output: Path | None) -> Path | None:
    """Refuse a file for rows that is called as if it held a format that they are not written in."""
    suffix = "" if output is None else output.suffix.lower()
    if suffix in _NOT_WRITTEN:
        raise typer.BadParameter(f"rows cannot be written as {suffix}: call the file .csv, .tsv, .jsonl or .ndjson")
    return output


VaultPath = Annotated[Path, typer.Argument(metavar="VAULT", help="The file of the vault.", show_default=False)]
ModelPath = Annotated[
    Path, typer.Argument(metavar="VAULT", help="The file of the vault, or an exported circuit.", show_default=False)
]
Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A file (.csv, .tsv, .jsonl, .parquet, .duckdb) or the URL of a database.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what it would do, and change nothing.")]
RequestId = Annotated[
    str | None,
    typer.Option("--request", metavar="ID", help="The id of the request, for the ledger. No names: it stays there."),
]
Operator = Annotated[
    str | None,
    typer.Option("--operator", metavar="NAME", envvar="UNLEARNSPN_OPERATOR", help="Who does this. Default: the user."),
]
Key = Annotated[
    Path | None,
    typer.Option(
        "--private-key",
        metavar="FILE",
        envvar="UNLEARNSPN_KEY",
        help="The private key, if it is not beside the vault.",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="For the same random rows each time.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        dir_okay=False,
        callback=require_rows_name,
        help="A file for the rows, CSV, .tsv or .jsonl. Default: print them.",
    ),
]
Given = Annotated[
    list[str] | None,
    typer.Option(
        "--given", metavar="CONDITION", help="What is known, such as 'city = Ulm' or 'age >= 60'. Repeatable."
    ),
]

# -- how a source is read --------------------------------------------------------------------------------------------

FileFormat = Annotated[
    Format | None, typer.Option("--format", help="The format of the file, if its name does not tell.")
]
Delimiter = Annotated[str, typer.Option("--delimiter", help="What separates the cells of a CSV file.")]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="How the file is encoded. Default: UTF-8, or what its mark says.")
]
Missing = Annotated[
    list[str] | None,
    typer.Option("--missing", metavar="TEXT", help="A cell that stands for nothing, such as NA. Repeatable."),
]
Table = Annotated[str | None, typer.Option("--table", metavar="NAME", help="The table of a database.")]
Query = Annotated[str | None, typer.Option("--query", metavar="SQL", help="A query to a database.")]

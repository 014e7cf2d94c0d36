"""Tables in and out: sources and JSON records read as the vault knows them, answers as CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unlearnspn.errors import InvalidTableError, listing
from unlearnspn.exchange.numbers import only_finite
from unlearnspn.sources import Options
from unlearnspn.storage.errors import explained
from unlearnspn.storage.files import write_file
from unlearnspn.tables import Column, Family, Table, is_missing, read_table
from unlearnspn.tables.cells import is_double
from unlearnspn.tables.names import Label
from unlearnspn.tables.times import objects_of, written

if TYPE_CHECKING:
    from unlearnspn.circuit import Circuit
    from unlearnspn.vault.info import Info

_JSON_LINES, _TABS = {".jsonl", ".ndjson"}, ".tsv"


def options_of(info: Info, options: Options, id_column: str | None = None, subject: str | None = None) -> Options:
    """Return how records are read as the vault has them: ids and subjects are texts, unless it has numbers as ids."""
    id_column = id_column or _as_text(info.id_column)
    asked_subject, subject = subject, subject or _as_text(info.subject_column)
    if id_column is None:
        raise InvalidTableError("name the column that holds the ids of the records: --id COLUMN")
    named = {name for name in (id_column, subject) if name is not None}
    whole = {id_column} if info.id_kind == "integers" else set()
    return replace(
        options,
        texts=options.texts | (named - whole),
        integers=options.integers | whole,
        optional=frozenset() if subject is None or asked_subject is not None else frozenset({subject}),
        known={name: Family(family) for name, family in info.families.items()},
    )


def _as_text(name: Label) -> str | None:
    """Return a column's name as files have it."""
    return None if name is None else str(name)


def options_for(circuit: Circuit, options: Options) -> Options:
    """Return how rows are read that a circuit is to be asked about."""
    domains = circuit.domains
    known = {column.name: column.family for column in domains.columns}
    if isinstance(domains.id_column, str):
        known.setdefault(domains.id_column, Family.TEXT)
    return replace(options, known=known)


def rows_for(circuit: Circuit, table: Table) -> tuple[Table, list[Any] | None]:
    """Return rows with all columns of a circuit, those that they lack missing; and their ids if they have any."""
    domains = circuit.domains
    ids = None
    if domains.id_column in table.names and domains.id_column not in domains.names:
        ids = table.columns[table.names.index(str(domains.id_column))].objects().tolist()
    columns = {column.name: column for column in table.columns}
    common = [name for name in domains.names if name in columns]
    if not common:
        raise InvalidTableError(f"the source has none of the columns {listing(domains.names)}")
    empty = np.full(table.n_rows, -1, np.int64)
    wanted = [columns.get(name) or Column(name, Family.EMPTY, empty, distinct=[]) for name in domains.names]
    return Table(wanted, table.n_rows, True), ids


def to_array(table: Table) -> Any:
    """Return a table as an array of objects, in which what is missing is None."""
    array = np.empty((table.n_rows, len(table.columns)), object)
    for place, column in enumerate(table.columns):
        array[:, place] = [None if is_missing(value) else value for value in column.objects().tolist()]
    return array


def rows_of(answer: Any, circuit: Circuit) -> list[list[Any]]:
    """Return a table that a circuit has answered with, as rows of JSON values."""
    whole = {column.name for column in circuit.origin.columns if column.type.whole}
    columns = []
    times = {column.name: column.type.time for column in circuit.origin.columns}
    for name, column in zip(circuit.domains.names, read_table(answer).columns, strict=True):
        values = column.objects().tolist()
        own = times.get(name)
        if column.family.is_time and own is not None:
            values = objects_of(own, column.values)
        columns.append([_plain(value, name in whole) for value in values])
    return [list(row) for row in zip(*columns, strict=True)]


def write_rows(names: Sequence[str], rows: Iterable[Sequence[Any]], output: Path | None) -> None:
    """Write rows as CSV, or with tabs or as JSON Lines if the file is called so; without a file they are printed."""
    text = format_rows(names, rows, output)
    if output is None:
        sys.stdout.write(text)
    else:
        with explained("write", output):
            write_file(output, [text.encode("utf-8", "surrogatepass")])


def format_rows(names: Sequence[str], rows: Iterable[Sequence[Any]], output: Path | None) -> str:
    """Return rows as text: CSV, or with tabs or as JSON Lines if the file that they are for is called so."""
    suffix = "" if output is None else output.suffix.lower()
    return _json_lines(names, rows) if suffix in _JSON_LINES else _csv(names, rows, "\t" if suffix == _TABS else ",")


def _csv(names: Sequence[str], rows: Iterable[Sequence[Any]], delimiter: str) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return buffer.getvalue()


def _json_lines(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    records = (dict(zip(names, map(written, row), strict=True)) for row in rows)
    return "".join(json.dumps(only_finite(record), allow_nan=False) + "\n" for record in records)


def _plain(value: Any, whole: bool) -> Any:
    if is_missing(value):
        return None
    if isinstance(value, float | int) and not isinstance(value, bool):
        if not is_double(value):
            return value
        return int(value) if whole and float(value).is_integer() else float(value)
    return written(value)


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else written(value)

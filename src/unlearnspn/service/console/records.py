"""Records of people as tables on pages, and as files."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unlearnspn.exchange.tables import format_rows
from unlearnspn.tables.times import written
from unlearnspn.vault import HeldRecords
from unlearnspn.vault.info import Info


@dataclass(frozen=True)
class Record:
    """One record: its id, whose it is, and all of its cells as texts; None is missing."""

    id: str
    subject: str | None
    cells: tuple[str | None, ...]


@dataclass(frozen=True)
class Records:
    """Some records as a table."""

    columns: tuple[str, ...]
    rows: tuple[Record, ...]

    def __len__(self) -> int:
        return len(self.rows)


def records_of(held: HeldRecords, info: Info) -> Records:
    """Return records as texts; before the columns of values there are one of ids and perhaps one of subjects."""
    has_subjects = len(held.columns) == len(info.columns) + 2
    rows = tuple(Record(str(row[0]), row[1] if has_subjects else None, tuple(map(shown, row))) for row in held.rows)
    return Records(held.columns, rows)


def shown(value: Any) -> str | None:
    """Return a value as a text; None is missing.

    >>> shown(3.0), shown(2.5), shown(True), shown(None), shown("a")
    ('3', '2.5', 'true', None, 'a')
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(written(value))


@dataclass(frozen=True)
class File:
    """A file that is offered on a page, in the page itself: nothing of it is kept here."""

    name: str
    link: str


def file_of(name: str, content: bytes, kind: str) -> File:
    """Return a file whose content is in its link."""
    return File(name, f"data:{kind};base64,{base64.b64encode(content).decode()}")


def files_of(held: HeldRecords, name: str) -> list[File]:
    """Return records as files: a table, and JSON."""
    table = format_rows(held.columns, held.rows, None).encode("utf-8", "surrogatepass")
    records = [{column: written(value) for column, value in record.items()} for record in held.as_dicts()]
    document = json.dumps({"records": records}, indent=1, allow_nan=False).encode()
    return [
        file_of(f"{Path(name).name}.csv", table, "text/csv;charset=utf-8"),
        file_of(f"{Path(name).name}.json", document, "application/json"),
    ]

"""Requests that come as a table: every row is checked before the first is entered."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from unlearnspn.errors import RecordIdError, listing
from unlearnspn.service.console.csv_files import delimiter_of
from unlearnspn.service.console.typed import read_person, read_received, read_request_id, read_wish, short
from unlearnspn.service.errors import InvalidInputError, ServiceError
from unlearnspn.vault import InboxRequest, NewRequest, Vault

COLUMNS = ("wish", "subject", "ids", "received", "request_id", "note")
MOST_ROWS = 5000
_SHOWN_FAULTS = 100
T = TypeVar("T")


@dataclass(frozen=True)
class Fault:
    """What is wrong with a line of a table."""

    line: int
    what: str


class ImportRefusedError(ServiceError):
    """Some lines of a table cannot be requests; nothing was entered."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(f"{len(faults)} lines cannot be read, and nothing was entered")
        self.faults = faults[:_SHOWN_FAULTS]


def read_requests(vault: Vault, text: str) -> list[NewRequest]:
    """Read all requests of a table, or raise and name each line that is wrong."""
    known = {request.id: request for request in vault.desk.requests()}
    new: list[NewRequest] = []
    faults: list[Fault] = []
    seen: dict[str, int] = {}
    for line, row in _rows(text):
        try:
            request = _read_row(vault, row)
            _require_free(request, known, seen)
        except (InvalidInputError, RecordIdError) as error:
            faults.append(Fault(line, str(error)))
            continue
        if request.request_id is not None:
            seen[request.request_id] = line
        new.append(request)
    if faults:
        raise ImportRefusedError(faults)
    if not new:
        raise InvalidInputError("the table has no rows")
    return new


def _rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    text = text.lstrip("\ufeff")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text), strict=True)
    columns = _or_refuse(lambda: _read_columns(next(reader, [])))
    n_rows, begun = 0, reader.line_num + 1
    while (row := _or_refuse(lambda: next(reader, None), begun)) is not None:
        line, begun = begun, reader.line_num + 1
        if not any(cell.strip() for cell in row):
            continue
        n_rows += 1
        if n_rows > MOST_ROWS:
            raise InvalidInputError(f"the table has more than {MOST_ROWS:,} rows: send it in parts")
        if len(row) > len(columns):
            raise ImportRefusedError([Fault(line, f"there are {len(row)} cells for {len(columns)} columns")])
        yield line, dict.fromkeys(COLUMNS, "") | dict(zip(columns, map(str.strip, row), strict=False))


def _or_refuse(read: Callable[[], T], line: int = 1) -> T:
    try:
        return read()
    except csv.Error as error:
        raise ImportRefusedError([Fault(line, f"this is no CSV: {error}")]) from None


def _read_columns(names: list[str]) -> list[str]:
    columns = [name.strip().lower() for name in names]
    unknown = [name for name in columns if name not in COLUMNS]
    if unknown or "wish" not in columns or len(set(columns)) < len(columns):
        found = f"; the table has {listing(columns)}" if columns else ""
        raise InvalidInputError(
            f"the first line names the columns, each once, of these: {', '.join(COLUMNS)}; wish is needed{found}"
        )
    return columns


def _read_row(vault: Vault, row: dict[str, str]) -> NewRequest:
    person = read_person(vault, row["subject"], row["ids"].split())
    return NewRequest(
        read_wish(row["wish"]),
        person.subject,
        person.ids,
        read_received(row["received"]),
        read_request_id(row["request_id"]),
        short(row["note"], "the note"),
    )


def _require_free(request: NewRequest, known: dict[str, InboxRequest], seen: dict[str, int]) -> None:
    """Raise if the id of a request is that of another one."""
    if request.request_id is None:
        return
    if request.request_id in seen:
        line = seen[request.request_id]
        raise InvalidInputError(f"the id {request.request_id!r} is that of line {line} already")
    other = known.get(request.request_id)
    if other is None or other.is_nameless:
        return
    if (other.wish, other.subject, other.ids) != (request.wish, request.subject, request.ids):
        raise InvalidInputError(f"there is another request {request.request_id!r} already")

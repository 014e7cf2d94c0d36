"""CSV: each column as its distinct cells and, for each row, which of them it has; types are for later."""

from __future__ import annotations

import csv
import os
from array import array
from collections import defaultdict
from collections.abc import Iterator
from itertools import count, islice
from typing import Any, BinaryIO

import numpy as np

from unlearnspn.errors import InvalidTableError, listing
from unlearnspn.sources.cells import Cells
from unlearnspn.sources.decoding import decode_lines
from unlearnspn.sources.names import require_names
from unlearnspn.sources.options import Options, Progress

_ROWS = 8192


def read_csv(file: BinaryIO, options: Options, progress: Progress | None = None) -> list[Cells]:
    """Read a CSV file with a header; whatever is wrong with it is named by its line."""
    if len(options.delimiter) != 1:
        raise InvalidTableError(f"the delimiter must be one character, not {options.delimiter!r}")
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    reader = csv.reader(decode_lines(file, options.encoding), delimiter=options.delimiter, strict=True)
    rows = _rows(reader)
    header = _header(next(rows, None), options.delimiter)
    columns = [_Growing() for _ in header]
    while batch := list(islice(rows, _ROWS)):
        _require_width(batch, len(header), reader.line_num)
        for column, cells in zip(columns, zip(*batch, strict=True), strict=True):
            column.extend(cells)
        if progress is not None:
            progress(file.tell(), size)
    return [column.finish(name) for name, column in zip(header, columns, strict=True)]


class _Growing:
    """A column that is being read."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._places = array("q")

    def extend(self, cells: tuple[str, ...]) -> None:
        self._places.extend(map(self._numbers.__getitem__, cells))

    def finish(self, name: str) -> Cells:
        return Cells(name, list(self._numbers), np.frombuffer(self._places, np.int64))


def _rows(reader: Any) -> Iterator[list[str]]:
    """Return the rows that are not blank."""
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InvalidTableError(f"line {reader.line_num}: {_explain(error)}") from error
        if row:
            yield row


def _explain(error: csv.Error) -> str:
    text = str(error)
    if "field limit" in text:
        return f"a cell has more than {csv.field_size_limit():,} characters: shorten it, or leave the column out"
    if "unexpected end" in text:
        return "a quote is opened and never closed: write quotes within quoted cells twice"
    if "expected after" in text:
        return "something follows a closing quote: write quotes within quoted cells twice"
    if "new-line character" in text:
        return "a carriage return is in the middle of the line: quote the cell, or convert the line ends"
    return text


def _header(names: list[str] | None, delimiter: str) -> list[str]:
    if names is None:
        raise InvalidTableError("the file is empty: it has not even a line with the names of the columns")
    nameless = [place + 1 for place, name in enumerate(names) if not name.strip()]
    if nameless:
        raise InvalidTableError(f"the first line must name all columns, but these have no name: {listing(nameless)}")
    require_names(names)
    other = next((mark for mark in ";\t|," if mark != delimiter and mark in names[0]), None)
    if len(names) == 1 and other is not None:
        raise InvalidTableError(f"the first line names one column only, {names[0][:80]!r}: is {other!r} the delimiter?")
    return names


def _require_width(rows: list[list[str]], width: int, last_line: int) -> None:
    for place, row in enumerate(rows):
        if len(row) != width:
            # Cells with line ends make this the last line it can be in; without any it is this one.
            line = last_line - (len(rows) - 1 - place)
            raise InvalidTableError(
                f"line {line} has {len(row)} cells, but the first line names {width} columns; "
                "quote cells that hold the delimiter"
            )

"""JSON Lines: one object on each line, whose values are numbers, texts, booleans or null."""

from __future__ import annotations

import json
import os
from typing import Any

from unlearnspn.errors import InvalidTableError, listing, repeated
from unlearnspn.sources.decoding import decode_lines, open_source
from unlearnspn.sources.names import MOST_COLUMNS, require_names
from unlearnspn.sources.options import Options, Progress

_LINES = 8192


def read_json_lines(
    path: str | os.PathLike[str], options: Options, progress: Progress | None = None
) -> dict[str, list[Any]]:
    """Read a file of JSON objects; what an object lacks is missing."""
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    with open_source(path) as file:
        size = os.fstat(file.fileno()).st_size
        for number, line in enumerate(decode_lines(file, options.encoding), 1):
            if not line.strip():
                continue
            for name, value in _read_object(line, number).items():
                columns.setdefault(name, [None] * n_rows).append(None if value in options.missing else value)
            if len(columns) > MOST_COLUMNS:
                require_names(list(columns))
            n_rows += 1
            for values in columns.values():
                if len(values) < n_rows:
                    values.append(None)
            if progress is not None and number % _LINES == 0:
                progress(file.tell(), size)
    if not columns:
        raise InvalidTableError("the file holds no JSON objects")
    return columns


def _read_object(line: str, number: int) -> dict[str, Any]:
    try:
        pairs = json.loads(line, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InvalidTableError(f"line {number} is no JSON: {reason}") from error
    if not isinstance(pairs, _Pairs):
        raise InvalidTableError(f'line {number} is no JSON object such as {{"age": 17, "city": "Ulm"}}')
    twice = repeated(name for name, _ in pairs)
    if twice:
        raise InvalidTableError(f"line {number} has {listing(twice)} more than once")
    for name, value in pairs:
        if isinstance(value, list | _Pairs):
            raise InvalidTableError(
                f"line {number} holds a list or an object in {name!r}: give its parts names of their own"
            )
    return dict(pairs)


class _Pairs(list[tuple[str, Any]]):
    """An object as it was written, with names that may be repeated."""

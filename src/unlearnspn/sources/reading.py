"""One door for all sources: a path or a URL goes in, a table with typed columns comes out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from unlearnspn.errors import InvalidTableError, listing
from unlearnspn.sources.cells import Cells, infer_family, to_column
from unlearnspn.sources.csv_files import read_csv
from unlearnspn.sources.databases import read_url
from unlearnspn.sources.decoding import open_source
from unlearnspn.sources.duckdb_files import read_duckdb
from unlearnspn.sources.formats import Format
from unlearnspn.sources.json_lines import read_json_lines
from unlearnspn.sources.names import require_names
from unlearnspn.sources.options import Options, Progress
from unlearnspn.sources.parquet_files import read_parquet
from unlearnspn.sources.sqlite_files import read_sqlite
from unlearnspn.tables import Column, Family, Table, read_table
from unlearnspn.tables.columns import read_objects
from unlearnspn.tables.origins import CellType, ColumnOrigin, Library, Origin
from unlearnspn.tables.times import DATES, DAY, USUAL_TYPES

_SUFFIXES = {
    ".csv": Format.CSV,
    ".tsv": Format.CSV,
    ".txt": Format.CSV,
    ".jsonl": Format.JSON_LINES,
    ".ndjson": Format.JSON_LINES,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
    ".duckdb": Format.DUCKDB,
    ".ddb": Format.DUCKDB,
}
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def read_source(location: str, options: Options | None = None, progress: Progress | None = None) -> Table:
    """Read a table from a file or from a database.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("customer,age,city\\n007,17,Ulm\\n008,,Bonn\\n")
    ...     table = read_source(str(path), Options(texts=frozenset({"customer"})))
    >>> [(column.name, str(column.family)) for column in table.columns]
    [('customer', 'text'), ('age', 'number'), ('city', 'text')]
    """
    options = options or Options()
    if _URL.match(location):
        columns = _from_objects(_read_database(location, options), options)
        if location.startswith("sqlite"):
            columns = [_untyped(column, options) for column in columns]
    else:
        columns = _read_file(Path(location), options, progress)
    return _table(columns, options)


def read_csv_content(content: bytes, options: Options | None = None) -> Table:
    """Read the content of a CSV file, where there is no file.

    >>> [str(column.family) for column in read_csv_content(b"age,city\\n17,Ulm\\n").columns]
    ['number', 'text']
    """
    options = options or Options()
    return _table([to_column(cells, options) for cells in read_csv(BytesIO(content), options)], options)


def read_json(records: Sequence[Mapping[str, Any]], options: Options | None = None) -> Table:
    """Read records that came as JSON objects: numbers, texts, booleans and null; what an object lacks is missing.

    >>> [str(column.family) for column in read_json([{"age": 17, "since": "2024-05-01"}, {"age": None}]).columns]
    ['number', 'date']
    """
    options = options or Options()
    names = list(dict.fromkeys(name for record in records for name in record))
    if not names:
        raise InvalidTableError("the table has no rows, or no columns")
    require_names(names)
    columns = {name: [record.get(name) for record in records] for name in names}
    return _table([_untyped(each, options) for each in _from_objects(columns, options)], options)


def _table(columns: list[Column], options: Options) -> Table:
    """Return columns as a table, with a word on what answers are to look like."""
    _require_names(columns, options)
    n_rows = len(columns[0])
    if n_rows == 0:
        raise InvalidTableError("the table has no rows")
    return Table(columns, n_rows, True, Origin(Library.NUMPY, tuple(map(_origin, columns))))


def _origin(column: Column) -> ColumnOrigin:
    """Say what answers are to look like: whole numbers if there are no others, dates if there is no time with any."""
    if column.family.is_time:
        midnights = column.family is Family.DATE and not (np.mod(column.values, DAY) > 0.0).any()
        held = DATES if midnights else USUAL_TYPES[column.family]
        return ColumnOrigin(column.name, column.name, CellType("O", of=held))
    if column.family is not Family.NUMBER:
        return ColumnOrigin(column.name, column.name, CellType("O"))
    if column.distinct is not None and all(isinstance(value, int) for value in column.distinct):
        fits = all(-(2**63) <= value < 2**63 for value in column.distinct)
        return ColumnOrigin(column.name, column.name, CellType("<i8" if fits else "O"))
    numbers = column.numbers()
    whole = bool(np.all(np.isnan(numbers) | (numbers == np.rint(numbers))))
    return ColumnOrigin(column.name, column.name, CellType("<i8" if whole else "<f8"))


def _read_file(path: Path, options: Options, progress: Progress | None) -> list[Column]:
    if path.suffix.lower() == ".tsv" and options.delimiter == ",":
        options = replace(options, delimiter="\t")
    match _format_of(path, options):
        case Format.CSV:
            with open_source(path) as file:
                return [to_column(cells, options) for cells in read_csv(file, options, progress)]
        case Format.JSON_LINES:
            return [
                _untyped(each, options) for each in _from_objects(read_json_lines(path, options, progress), options)
            ]
        case Format.PARQUET:
            records = read_parquet(path)
            require_names(records.column_names)
            return [_as_asked(column, options) for column in read_table(records).columns]
        case Format.DUCKDB:
            return _from_objects(read_duckdb(str(path), options), options)


def _read_database(url: str, options: Options) -> dict[str, list[Any]]:
    if url.startswith("duckdb://"):
        return read_duckdb(url.removeprefix("duckdb://").removeprefix("/"), options)
    if url.startswith(("sqlite://", "sqlite+pysqlite://")):
        return read_sqlite(url, options)
    return read_url(url, options)


def _format_of(path: Path, options: Options) -> Format:
    if options.format is not None:
        return options.format
    found = _SUFFIXES.get(path.suffix.lower())
    if found is None:
        raise InvalidTableError(
            f"what {path.name!r} holds is not told by its name: say which format it has ({', '.join(Format)})"
        )
    return found


def _from_objects(columns: dict[str, list[Any]], options: Options) -> list[Column]:
    return [_as_asked(read_objects(name, values), options) for name, values in columns.items()]


def _untyped(column: Column, options: Options) -> Column:
    """Return a column of a source that has no type for dates: texts that all are ones by ISO 8601 are dates."""
    if column.family is not Family.TEXT or column.distinct is None or column.name in options.texts:
        return column
    known = options.known.get(column.name)
    if not (infer_family(column.distinct) if known is None else known).is_time:
        return column
    cells = Cells(column.name, [*column.distinct, ""], np.where(column.values < 0, len(column.distinct), column.values))
    return to_column(cells, options)


def _as_asked(column: Column, options: Options) -> Column:
    """Return a column that has types of its own, with numbers as texts where these are codes, or as whole ones."""
    if column.name in options.integers and column.family is Family.NUMBER and column.distinct is None:
        numbers = column.numbers()
        whole = bool(np.all(numbers == np.rint(numbers)))
        return replace(column, values=column.values.astype(np.int64)) if whole else column
    if column.name in options.texts and column.family in (Family.NUMBER, Family.BOOLEAN):
        return read_objects(column.name, [_write(value) for value in column.objects().tolist()])
    return column


def _write(value: Any) -> str | None:
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def _require_names(columns: list[Column], options: Options) -> None:
    names = [column.name for column in columns]
    unknown = sorted((options.texts | options.numbers | options.integers) - options.optional - set(names))
    if unknown:
        raise InvalidTableError(f"there is no column {listing(unknown)}; the table has {listing(names)}")

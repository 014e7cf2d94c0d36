"""The formats of files; alone in a module, since the command line names them before anything is read."""

from enum import StrEnum


class Format(StrEnum):
    """What a file can be."""

    CSV = "csv"
    JSON_LINES = "jsonl"
    PARQUET = "parquet"
    DUCKDB = "duckdb"

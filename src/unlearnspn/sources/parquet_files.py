"""Parquet files, read by pyarrow."""

from __future__ import annotations

import os
from typing import Any

from unlearnspn.errors import InvalidTableError
from unlearnspn.sources.decoding import open_source
from unlearnspn.sources.libraries import load_library


def read_parquet(path: str | os.PathLike[str]) -> Any:
    """Read a Parquet file as an Arrow table."""
    parquet = load_library("pyarrow.parquet", "Parquet files", "files")
    with open_source(path) as file:
        try:
            # Checksums are there to be compared: what is damaged must not be learned from.
            return parquet.read_table(file, page_checksum_verification=True)
        except (OSError, ValueError, NotImplementedError) as error:
            raise InvalidTableError(f"this is no readable Parquet file: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0][:200]

"""Where tables come from: CSV, JSON Lines and Parquet files, SQL databases, DuckDB; and files of ids."""

from unlearnspn.sources.ids_files import read_ids_file
from unlearnspn.sources.options import Format, Options
from unlearnspn.sources.reading import read_source

__all__ = ["Format", "Options", "read_ids_file", "read_source"]

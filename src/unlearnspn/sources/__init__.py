"""Where tables come from: CSV, JSON Lines and Parquet files, SQL databases, DuckDB; and files of ids."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unlearnspn.sources.formats import Format
    from unlearnspn.sources.ids_files import read_ids_file
    from unlearnspn.sources.options import Options
    from unlearnspn.sources.reading import read_csv_content, read_json, read_source

__all__ = ["Format", "Options", "read_csv_content", "read_ids_file", "read_json", "read_source"]

#: Imported when asked for: the command line must know the formats, and nothing of what reads them.
_MODULES = {
    "Format": "formats",
    "Options": "options",
    "read_csv_content": "reading",
    "read_ids_file": "ids_files",
    "read_json": "reading",
    "read_source": "reading",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

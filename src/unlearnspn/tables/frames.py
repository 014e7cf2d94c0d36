"""Tables with named columns, of all libraries that narwhals knows."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from unlearnspn.errors import InvalidTableError, listing, repeated
from unlearnspn.tables.columns import Column, read_series
from unlearnspn.tables.holders import holder_of, import_library
from unlearnspn.tables.origins import Library
from unlearnspn.tables.reading import OpenTable

_LIBRARIES = {
    nw.Implementation.PANDAS: Library.PANDAS,
    nw.Implementation.POLARS: Library.POLARS,
    nw.Implementation.PYARROW: Library.PYARROW,
}


def as_frame(X: Any) -> Any:
    """Return X as a narwhals frame, or None if it is no table with named columns."""
    if type(X).__name__ == "RecordBatch" and hasattr(X, "__arrow_c_array__"):  # narwhals knows tables only
        X = import_library("pyarrow").table(X)
    if type(X).__name__ == "DuckDBPyRelation":  # which narwhals takes for a query that is still to be asked
        import_library("pyarrow")
        X = X.to_arrow_table() if hasattr(X, "to_arrow_table") else X.arrow()
    try:
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            raise InvalidTableError("X is a lazy frame: pass X.collect()")
        if not isinstance(frame, nw.DataFrame):
            return None
        names = [str(name) for name in frame.columns]
    except nw.exceptions.DuplicateError as error:
        raise InvalidTableError(f"column names must be unique: {' '.join(str(error).split())}") from error
    twice = repeated(names)
    if twice:
        raise InvalidTableError(
            f"column names must be unique, also if 0 is written '0', but {listing(twice)} occur more than once"
        )
    return frame


def open_frame(frame: Any) -> OpenTable:
    """Find out which library holds a frame, and what its columns are called."""
    if frame.implementation not in _LIBRARIES:
        frame = nw.from_native(frame.to_pandas())
    library, labels = _LIBRARIES[frame.implementation], list(frame.columns)
    names, series = [str(label) for label in labels], list(frame.iter_columns())
    holder = holder_of(library)

    def read(position: int) -> Column:
        return read_series(names[position], series[position], holder)

    def own_column(position: int) -> Any:
        return series[position].to_native()

    return OpenTable(library, frame.to_native(), names, labels, len(frame), read, own_column)

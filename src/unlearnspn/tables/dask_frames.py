"""Tables of Dask: told from others without importing Dask, and answered partition by partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Ask = Callable[[Any], Any]


def is_dask(X: Any) -> bool:
    """Tell whether something is Dask's.

    >>> is_dask([[1.5, "a"]])
    False
    """
    return type(X).__module__.partition(".")[0] == "dask"


def at_hand(X: Any) -> Any:
    """Return a table of Dask as one that is here, and any other as it is: the records that a request brings are few.

    >>> at_hand([[1.5, "a"]])
    [[1.5, 'a']]
    """
    return X.compute() if is_dask(X) else X


def lazy_numbers(ask: Ask, X: Any, name: str) -> Any:
    """Return a series of Dask that has a number for each row, asked for when it is computed."""
    return X.map_partitions(_as_series, ask, name, meta=(name, "float64"))


def lazy_table(ask: Ask, X: Any) -> Any:
    """Return a table of Dask like another one, asked for when it is computed."""
    return X.map_partitions(_unless_empty, ask, meta=X._meta)


def lazy_columns(ask: Ask, X: Any, columns: list[Any]) -> Any:
    """Return a table of Dask that has some columns of numbers, asked for when it is computed."""
    return X.map_partitions(_as_frame, ask, columns, meta=_frame(np.zeros((0, len(columns))), columns, None))


def lazy_labels(ask: Ask, X: Any, name: str, like: Any) -> Any:
    """Return a series of Dask that has a label for each row, asked for when it is computed."""
    return X.map_partitions(_as_labels, ask, name, like, meta=_series(like[:0], name, None))


def _as_series(part: Any, ask: Ask, name: str) -> Any:
    return _series(ask(part) if len(part) else np.zeros(0), name, part.index)


def _as_labels(part: Any, ask: Ask, name: str, like: Any) -> Any:
    return _series(ask(part).astype(like.dtype) if len(part) else like[:0], name, part.index)


def _as_frame(part: Any, ask: Ask, columns: list[Any]) -> Any:
    return _frame(ask(part) if len(part) else np.zeros((0, len(columns))), columns, part.index)


def _unless_empty(part: Any, ask: Ask) -> Any:
    return ask(part) if len(part) else part


def _series(values: Any, name: str, index: Any) -> Any:
    import pandas as pd  # noqa: PLC0415  # only tables of Dask come here, which bring it along

    return pd.Series(values, index=index, name=name)


def _frame(values: Any, columns: list[Any], index: Any) -> Any:
    import pandas as pd  # noqa: PLC0415

    return pd.DataFrame(values, index=index, columns=columns)

"""Columns that identify: nearly every record has a category of its own, which the model then shows in clear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.errors import IdentifyingColumnWarning, listing, warn_outside

#: Of fewer values nothing is said: in so small a table most values may well be there once.
LEAST_VALUES = 30


def identifies(counts: npt.NDArray[np.integer[Any]]) -> bool:
    """Tell whether a column identifies, given how often each of its categories occurs.

    It does if there are 30 values or more, and more than half of them occur once.

    >>> identifies(np.ones(40, int)), identifies(np.full(40, 2)), identifies(np.ones(5, int))
    (True, False, False)
    """
    n_values = int(counts.sum())
    return n_values >= LEAST_VALUES and 2 * int(np.count_nonzero(counts == 1)) > n_values


def warn_of(columns: Sequence[Any], what: str) -> None:
    """Warn of columns that identify, and say what shows their values."""
    if columns:
        warn_outside(
            f"nearly every record has a value of its own in {_columns(columns)}, and {what} these values in clear: "
            "leave such columns out, make them coarser, or leave rare categories out with min_category_count",
            IdentifyingColumnWarning,
        )


def _columns(columns: Sequence[Any]) -> str:
    return f"column {columns[0]!r}" if len(columns) == 1 else f"columns {listing(columns)}"

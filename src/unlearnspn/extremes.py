"""The smallest and the largest number of each column, as records come and go."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


class Extremes:
    """The smallest and the largest number of each column.

    Where a record that has one of them leaves, the column is looked through again when somebody asks.

    >>> values = np.array([[3.0], [1.0], [np.nan]])
    >>> extremes = Extremes(1)
    >>> extremes.among(values, np.ones(3, np.bool_)).tolist()
    [[1.0], [3.0]]
    >>> extremes.shift(values, np.array([0]), np.array([], np.int64))
    >>> extremes.among(values, np.array([False, True, True])).tolist()
    [[1.0], [1.0]]
    """

    def __init__(self, n_columns: int) -> None:
        self._ends = np.full((2, n_columns), np.nan)
        self._is_known = np.zeros(n_columns, np.bool_)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays may come from a file that is mapped read-only.
        vars(self).update({name: np.require(array, requirements="W") for name, array in state.items()})

    def copied(self) -> Extremes:
        """Return what no change to this reaches."""
        copied = copy(self)
        copied._ends, copied._is_known = self._ends.copy(), self._is_known.copy()
        return copied

    def shift(self, values: Floats, minus: Rows, plus: Rows) -> None:
        """Take some rows of the columns' values out, and put others in."""
        if minus.size:
            leaving = values[minus]
            lost = ((leaving <= self._ends[0]) | (leaving >= self._ends[1])).any(axis=0)
            self._is_known &= ~lost
            # Nothing of a record stays here when it is gone.
            self._ends[:, lost] = np.nan
        if plus.size:
            coming = values[plus]
            self._ends[0] = np.fmin(self._ends[0], np.fmin.reduce(coming))
            self._ends[1] = np.fmax(self._ends[1], np.fmax.reduce(coming))

    def among(self, values: Floats, live: Flags) -> Floats:
        """Return the smallest and the largest number of each column among the live rows, [2, column]; NaN if none."""
        for column in np.flatnonzero(~self._is_known).tolist():
            own = values[live, column]
            self._ends[:, column] = [ends.reduce(own, initial=np.nan) for ends in (np.fmin, np.fmax)]
        self._is_known[:] = True
        return self._ends.copy()

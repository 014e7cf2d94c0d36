"""What statistics read of the records: their codes under an encoding, cell by cell.

One object holds all arrays, so that compiled code gets at them without asking for each of them again.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@cython.cclass
class CodedRows:
    """The arrays of the records, by row, and of their encoding, by variable."""

    def __init__(
        self,
        codes: Array,
        features: Array,
        values: Array,
        levels: Array,
        keys: Array,
        live: Array,
        is_numeric: Array,
        place: Array,
        sizes: Array,
        prints: Array,
        hides: Array,
    ) -> None:
        #: So that arrays live as long as this does.
        self.arrays = (codes, features, values, levels, keys, live, is_numeric, place, sizes, prints, hides)
        self.codes = codes
        self.features = features
        self.bits = values.view(np.int64)
        self.has_long_levels = levels.dtype == np.int32
        nothing = np.zeros((0, 0), np.int32)
        self.long_levels = levels if self.has_long_levels else nothing
        self.short_levels = nothing.astype(np.int16) if self.has_long_levels else levels
        self.keys = keys
        self.live = live.view(np.uint8)
        self.is_numeric = is_numeric.view(np.uint8)
        self.place = place
        self.sizes = sizes
        self.prints = prints
        self.hides = hides.view(np.uint8)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def level(self, row: cython.Py_ssize_t, column: cython.Py_ssize_t) -> cython.longlong:
        """Return the level of a category, -1 if it is missing; `column` is that among the categorical ones."""
        return self.long_levels[row, column] if self.has_long_levels else self.short_levels[row, column]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def value(self, row: cython.Py_ssize_t, v: cython.Py_ssize_t) -> cython.longlong:
        """Return something that tells values of a variable apart; -1 for a missing one."""
        bits: cython.longlong
        if not self.is_numeric[v]:
            return self.level(row, self.place[v])
        bits = self.bits[row, self.place[v]]
        if (bits >> 52) & 0x7FF == 0x7FF:
            return -1
        return bits if bits << 1 else 0  # zeros of either sign are equal

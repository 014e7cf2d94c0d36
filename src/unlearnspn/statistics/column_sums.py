"""Exact sums of floats in words: a count, then the limbs of the sum and of the sum of squares, in a column's `Window`.

Limbs are always carried through, so the same values have the same limbs, whatever the way they came.
"""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.exact_sums import Limbs, add_value, carry, exponent_part

from unlearnspn.statistics.moments import Window

#: Limbs of exact sums, after a count.
Words = npt.NDArray[np.int64]
#: The bits of doubles.
Bits = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]


@cython.cfunc
def _limbs(window: Window) -> Limbs:
    low, n_first, n_second = window
    return Limbs(low, n_first, n_second)


def count_parts(bits: Bits, rows: Rows, column: cython.Py_ssize_t, parts: Words, sign: cython.longlong) -> None:
    """Count into which parts the exponents of some rows fall."""
    cells: cython.longlong[:, :] = bits
    chosen: cython.longlong[:] = rows
    counts: cython.longlong[::1] = parts
    part: cython.longlong
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(chosen.shape[0]):
            part = exponent_part(cells[chosen[i], column])
            if part >= 0:
                counts[part] += sign


def add_values(
    words: Words,
    at: cython.Py_ssize_t,
    bits: Bits,
    rows: Rows,
    column: cython.Py_ssize_t,
    window: Window,
    sign: cython.longlong,
) -> None:
    """Put some rows of a column into moments that start at a word, or take them out."""
    sums: cython.longlong[::1] = words
    cells: cython.longlong[:, :] = bits
    chosen: cython.longlong[:] = rows
    limbs: Limbs = _limbs(window)
    moments: cython.p_longlong = cython.address(sums[at])
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(chosen.shape[0]):
            add_value(moments, cells[chosen[i], column], limbs, sign)
        carry(moments, limbs)

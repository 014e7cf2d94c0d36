"""Where the numbers of a column lie: in which bin, how many deviations from the centre, how many in each cell."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import floor, rint
from cython.cimports.unlearnspn.const_types import const_float64
from cython.cimports.unlearnspn.rows import features

#: What features mean, for Python.
FEATURE_STD: int = features.FEATURE_STD
FEATURE_LIMIT: int = features.FEATURE_LIMIT
FEATURE_MISSING: int = features.FEATURE_MISSING

_STD = cython.declare(cython.double, FEATURE_STD)
_LIMIT = cython.declare(cython.double, FEATURE_LIMIT)
_MISSING = cython.declare(cython.short, FEATURE_MISSING)


@cython.cdivision(True)
def code_numbers(
    values: cython.double[:, :],
    place: cython.Py_ssize_t,
    rows: cython.longlong[:],
    edges: const_float64[::1],
    centre: cython.double,
    scale: cython.double,
    codes: cython.uchar[:, :],
    features: cython.short[:, :],
    variable: cython.Py_ssize_t,
) -> None:
    """Write codes and features of some rows of a column of values into a column of each."""
    value: cython.double
    scaled: cython.double
    row: cython.Py_ssize_t
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(rows.shape[0]):
            row = rows[i]
            value = values[row, place]
            if value != value:  # missing
                codes[row, variable] = 0
                features[row, variable] = _MISSING
                continue
            codes[row, variable] = cython.cast(cython.uchar, _count_below(edges, value) + 1)
            scaled = rint((value - centre) / scale * _STD)
            features[row, variable] = cython.cast(cython.short, min(max(scaled, -_LIMIT), _LIMIT))


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _count_below(edges: const_float64[::1], value: cython.double) -> cython.Py_ssize_t:
    """Count the edges below a value; they are sorted."""
    place: cython.Py_ssize_t = 0
    number: cython.Py_ssize_t = edges.shape[0]
    half: cython.Py_ssize_t
    while number > 0:
        half = (number + 1) >> 1
        place += half if edges[place + half - 1] < value else 0  # no branch: either is as likely as the other
        number -= half
    return place


@cython.cdivision(True)
def count_cells(
    values: const_float64[::1], width: cython.double, start: cython.double, n_cells: cython.Py_ssize_t
) -> npt.NDArray[np.int64]:
    """Count the values in each of some cells, the first of which starts at so many widths."""
    counts = np.zeros(n_cells, np.int64)
    numbers: cython.longlong[::1] = counts
    place: cython.double
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(values.shape[0]):
            place = floor(values[i] / width) - start
            if place >= 0.0 and place < n_cells:
                numbers[cython.cast(cython.Py_ssize_t, place)] += 1
    return counts

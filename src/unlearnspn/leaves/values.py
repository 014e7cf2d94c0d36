"""Values of a column as leaves of numbers see them: their logarithms, or the bins that they fall into."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import INFINITY
from cython.cimports.unlearnspn.const_types import const_float64, const_int64
from cython.cimports.unlearnspn.portable_math import log

from unlearnspn.coding import Levels
from unlearnspn.slices import Counts, Rows

Floats = npt.NDArray[np.float64]


def log_values(values: Floats, rows: Rows, column: int) -> Floats:
    """Return the logarithms of some rows as a table of one column; NaN for what is missing."""
    logs = np.full((rows.size, 1), np.nan)
    _write_logs(values, rows, column, logs)
    return logs


@cython.cfunc
def _write_logs(
    values: const_float64[:, ::1], rows: const_int64[:], column: cython.Py_ssize_t, logs: cython.double[:, ::1]
) -> cython.void:
    i: cython.Py_ssize_t
    value: cython.double
    with cython.nogil:
        for i in range(rows.shape[0]):
            value = values[rows[i], column]
            if value > 0.0:
                logs[i, 0] = log(value)


def bin_values(values: Floats, rows: Rows, column: int, start: float, width: float, n_bins: int) -> Levels:
    """Return the bin of each row as a table of one column: `n_bins` for those outside, -1 for those missing."""
    bins = np.full((rows.size, 1), -1, np.int32)
    _write_bins(values, rows, column, start, width, n_bins, bins)
    return bins


@cython.cfunc
@cython.cdivision(True)
def _write_bins(
    values: const_float64[:, ::1],
    rows: const_int64[:],
    column: cython.Py_ssize_t,
    start: cython.double,
    width: cython.double,
    n_bins: cython.int,
    bins: cython.int[:, ::1],
) -> cython.void:
    i: cython.Py_ssize_t
    value: cython.double
    place: cython.double
    with cython.nogil:
        for i in range(rows.shape[0]):
            value = values[rows[i], column]
            if value == value:
                # Compared as a float: it may be too large for an integer.
                place = (value - start) / width
                bins[i, 0] = cython.cast(cython.int, place) if 0.0 <= place < n_bins else n_bins


def log_densities(counts: Counts, width: float) -> Floats:
    """Return the log-density in each bin, of which some record has one; -inf in those that none has."""
    densities = np.empty(counts.size)
    _write_densities(counts, counts.sum(), width, densities)
    return densities


@cython.cfunc
@cython.cdivision(True)
def _write_densities(
    counts: const_int64[::1], total: cython.longlong, width: cython.double, densities: cython.double[::1]
) -> cython.void:
    i: cython.Py_ssize_t
    share: cython.double
    for i in range(counts.shape[0]):
        densities[i] = -INFINITY
        if counts[i] > 0:
            # In two steps: the quotient itself may be too large for a double.
            share = cython.cast(cython.double, counts[i]) / cython.cast(cython.double, total)
            densities[i] = log(share) - log(width)

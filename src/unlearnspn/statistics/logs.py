"""A table of count·ln(count), as integers, for the counts that occur most."""

from __future__ import annotations

from functools import cache

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.portable_math import x_log_x
from cython.cimports.unlearnspn.statistics.g_test import Logs

_TABULATED = 1 << 16


@cache
def x_log_x_table() -> npt.NDArray[np.int64]:
    """Tabulate count·ln(count), with 24 fractional bits."""
    table = np.empty(_TABULATED, np.int64)
    view: cython.longlong[::1] = table
    count: cython.Py_ssize_t
    with cython.nogil:
        for count in range(view.shape[0]):
            view[count] = x_log_x(count)
    return table


@cython.cfunc
def tabulated_logs() -> Logs:
    """Return the table for inner loops; it lives as long as the process."""
    table: cython.longlong[::1] = x_log_x_table()
    return Logs(cython.address(table[0]), table.shape[0])

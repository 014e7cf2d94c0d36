"""Where the values of a circuit's units are kept while it is evaluated.

Values are forgotten when nobody needs them any more, so that those of many rows fit into the processor's cache.
"""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.const_types import const_int32, const_int64

from unlearnspn.circuit.exponentials import exponentials
from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.layout import Floats, Layout, Starts, is_input


class Schedule(NamedTuple):
    """Where the values of units are kept."""

    #: The line of each unit's values; -1 for inputs that only products and trees use.
    lines: Starts
    n_lines: int
    #: The weights themselves, not their logarithms.
    weights: Floats

    @classmethod
    def of(cls, layout: Layout) -> Schedule:
        """Plan the evaluation of a circuit."""
        lines, n_lines = _give_lines(layout, *_uses(layout))
        return cls(lines, n_lines, exponentials(layout.log_weights))

    @classmethod
    def of_every_unit(cls, layout: Layout) -> Schedule:
        """Plan the evaluation of a circuit that keeps all values."""
        return cls(np.arange(len(layout)), len(layout), exponentials(layout.log_weights))


def _uses(layout: Layout) -> tuple[npt.NDArray[np.bool_], Starts]:
    """Return which units' values are kept, and by which unit each is used for the last time.

    Inputs that only products and trees use are looked at by these, and not kept.
    """
    users = np.repeat(np.arange(len(layout)), np.diff(layout.child_starts))
    last_use = np.full(len(layout), -1)
    np.maximum.at(last_use, layout.children, users)
    keep = ~is_input(layout.units)
    keep[layout.children[layout.units[users] == Unit.SUM]] = True
    keep[len(layout) - 1] = True
    return keep, last_use


def _give_lines(layout: Layout, keep: npt.NDArray[np.bool_], last_use: Starts) -> tuple[Starts, int]:
    """Return the line of each unit's values, which others get when they are not needed, and how many there are."""
    is_kept: cython.uchar[::1] = keep.view(np.uint8)
    last_users: cython.longlong[::1] = last_use
    child_starts: const_int64[::1] = layout.child_starts
    children: const_int32[::1] = layout.children
    result = np.full(keep.size, -1)
    lines: cython.longlong[::1] = result
    free: cython.longlong[::1] = np.empty(keep.size, np.int64)
    n_lines: cython.Py_ssize_t = 0
    n_free: cython.Py_ssize_t = 0
    u: cython.Py_ssize_t
    i: cython.Py_ssize_t
    with cython.nogil:
        for u in range(lines.shape[0]):
            if is_kept[u] and n_free:
                n_free -= 1
                lines[u] = free[n_free]
            elif is_kept[u]:
                lines[u] = n_lines
                n_lines += 1
            for i in range(child_starts[u], child_starts[u + 1]):
                child = children[i]
                if last_users[child] == u and lines[child] >= 0:
                    last_users[child] = -1
                    free[n_free] = lines[child]
                    n_free += 1
    return result, n_lines

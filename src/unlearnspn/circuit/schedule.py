"""In which order a circuit is evaluated, and where values are kept meanwhile.

Sums that mix the same parts, as those do that stand for the outcomes of one variable in a tree, are evaluated together:
what has to be done for each part is done once. Values are forgotten when nobody needs them any more, so that those of
many rows fit into the processor's cache.
"""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.const_types import const_int32, const_int64

from unlearnspn.circuit.exponentials import exponentials
from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.layout import Floats, Layout, Starts, starts_of


class Schedule(NamedTuple):
    """What is evaluated when, and where its values are kept."""

    #: With unit u the units `members[member_starts[u]:member_starts[u + 1]]` are evaluated: itself, itself and other
    #: sums of the same parts, or nothing.
    member_starts: Starts
    members: Starts
    #: The line that each unit's values are kept in; -1 for inputs that only products use.
    lines: Starts
    n_lines: int
    #: The weights themselves, not their logarithms.
    weights: Floats

    @classmethod
    def of(cls, layout: Layout) -> Schedule:
        """Plan the evaluation of a circuit."""
        leaders = _find_leaders(layout)
        members = np.argsort(leaders, kind="stable")
        starts = starts_of(np.bincount(leaders, minlength=len(layout)))
        lines, n_lines = _give_lines(layout, *_uses(layout, leaders), starts, members)
        return cls(starts, members, lines, n_lines, np.exp(layout.log_weights))

    @classmethod
    def of_every_unit(cls, layout: Layout) -> Schedule:
        """Plan the evaluation of a circuit one unit after another, keeping all values."""
        every = np.arange(len(layout))
        return cls(np.arange(len(layout) + 1), every, every, len(layout), exponentials(layout.log_weights))


def _find_leaders(layout: Layout) -> Starts:
    """Return for each sum the first one with the same parts, for all others themselves."""
    leaders, sums = np.arange(len(layout)), np.flatnonzero(layout.units == Unit.SUM)
    starts, counts = layout.child_starts[sums], np.diff(layout.child_starts)[sums]
    # Sums of the same parts have the same first part; whether all others are the same is looked at afterwards.
    _, first, groups = np.unique(layout.children[starts], return_index=True, return_inverse=True)
    leading = first[groups]
    alike = counts == counts[leading]
    compared = np.where(alike, counts, 0)
    edges = np.repeat(np.arange(sums.size), compared)
    offsets = np.arange(edges.size) - np.repeat(np.cumsum(compared) - compared, compared)
    differs = layout.children[starts[edges] + offsets] != layout.children[starts[leading][edges] + offsets]
    alike[edges[differs]] = False
    leaders[sums[alike]] = sums[leading[alike]]
    return leaders


def _uses(layout: Layout, leaders: Starts) -> tuple[npt.NDArray[np.bool_], Starts]:
    """Return which units' values are kept, and with which unit each is used for the last time.

    Inputs that only products use are added straight into these, and not kept.
    """
    users = np.repeat(np.arange(len(layout)), np.diff(layout.child_starts))
    last_use = np.full(len(layout), -1)
    np.maximum.at(last_use, layout.children, leaders[users])
    keep = layout.units <= Unit.PRODUCT
    keep[layout.children[layout.units[users] == Unit.SUM]] = True
    keep[len(layout) - 1] = True
    return keep, last_use


def _give_lines(
    layout: Layout, keep: npt.NDArray[np.bool_], last_use: Starts, starts: Starts, members: Starts
) -> tuple[Starts, int]:
    """Return the line of each unit's values, which others get when they are not needed, and how many there are."""
    is_kept: cython.uchar[::1] = keep.view(np.uint8)
    last_users: cython.longlong[::1] = last_use
    child_starts: const_int64[::1] = layout.child_starts
    children: const_int32[::1] = layout.children
    member_starts: cython.longlong[::1] = starts
    each_member: cython.longlong[::1] = members
    result = np.full(keep.size, -1)
    lines: cython.longlong[::1] = result
    free: cython.longlong[::1] = np.empty(keep.size, np.int64)
    n_lines: cython.Py_ssize_t = 0
    n_free: cython.Py_ssize_t = 0
    u: cython.Py_ssize_t
    i: cython.Py_ssize_t
    with cython.nogil:
        for u in range(lines.shape[0]):
            for i in range(member_starts[u], member_starts[u + 1]):
                member = each_member[i]
                if is_kept[member] and n_free:
                    n_free -= 1
                    lines[member] = free[n_free]
                elif is_kept[member]:
                    lines[member] = n_lines
                    n_lines += 1
            for i in range(child_starts[u], child_starts[u + 1]):
                child = children[i]
                if last_users[child] == u and lines[child] >= 0:
                    last_users[child] = -1
                    free[n_free] = lines[child]
                    n_free += 1
    return result, n_lines

"""In which order a circuit is evaluated, and where values are kept meanwhile.

Sums that mix the same parts, as those do that stand for the outcomes of one variable in a tree, are evaluated together:
what has to be done for each part is done once. Values are forgotten when nobody needs them any more, so that those of
many rows fit into the processor's cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.layout import Floats, Indices, Layout, Starts, starts_of
from unlearnspn.compiling import elements, late_kernel


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
        lines, n_lines = _give_lines(*_uses(layout, leaders), layout.child_starts, layout.children, starts, members)
        return cls(starts, members, lines, n_lines, np.exp(layout.log_weights))


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
    offsets = np.arange(edges.size) - np.repeat(starts_of(compared)[:-1], compared)
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
    keep[-1] = True
    return keep, last_use


@late_kernel(elements)
def _give_lines(
    keep: npt.NDArray[np.bool_],
    last_use: Starts,
    child_starts: Starts,
    children: Indices,
    starts: Starts,
    members: Starts,
) -> tuple[Starts, int]:
    """Return the line of each unit's values, which others get when they are not needed, and how many there are."""
    lines, free = np.full(keep.size, -1), np.empty(keep.size, np.int64)
    n_lines, n_free = 0, 0
    for u in range(keep.size):
        for member in members[starts[u] : starts[u + 1]]:
            if keep[member] and n_free:
                n_free -= 1
                lines[member] = free[n_free]
            elif keep[member]:
                lines[member] = n_lines
                n_lines += 1
        for child in children[child_starts[u] : child_starts[u + 1]]:
            if last_use[child] == u and lines[child] >= 0:
                last_use[child] = -1
                free[n_free] = lines[child]
                n_free += 1
    return lines, n_lines

"""In which order a circuit is evaluated, and where values are kept meanwhile.

Sums that mix the same parts, as those do that stand for the outcomes of one variable in a tree, are evaluated together:
what has to be done for each part is done once. Values are forgotten when nobody needs them any more, so that those of
many rows fit into the processor's cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unlearnspn.arrays import equal
from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.layout import Floats, Indices, Layout, Starts, Units
from unlearnspn.compiling import kernel

_SUM, _PRODUCT = int(Unit.SUM), int(Unit.PRODUCT)


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
        leaders = _find_leaders(layout.units, layout.child_starts, layout.children)
        members = np.argsort(leaders, kind="stable")
        starts = np.searchsorted(leaders[members], np.arange(len(layout) + 1))
        lines, n_lines = _give_lines(layout.units, layout.child_starts, layout.children, leaders, starts, members)
        return cls(starts, members, lines, n_lines, np.exp(layout.log_weights))


@kernel
def _find_leaders(units: Units, child_starts: Starts, children: Indices) -> Starts:
    """Return for each sum the first one with the same parts, for all others themselves."""
    leaders, first_with = np.arange(units.size), np.full(units.size, -1)
    for u in range(units.size):
        if units[u] != _SUM:
            continue
        parts = children[child_starts[u] : child_starts[u + 1]]
        other = first_with[parts[0]]
        if other < 0:
            first_with[parts[0]] = u
        elif equal(parts, children[child_starts[other] : child_starts[other + 1]]):
            leaders[u] = other
    return leaders


@kernel
def _give_lines(
    units: Units, child_starts: Starts, children: Indices, leaders: Starts, starts: Starts, members: Starts
) -> tuple[Starts, int]:
    """Return the line of each unit's values, which others have as soon as they are not needed, and how many there are.

    Inputs that only products use are added straight into these, and need none.
    """
    last_use, keep = np.full(units.size, -1), units <= _PRODUCT
    keep[-1] = True
    for u in range(units.size):
        for child in children[child_starts[u] : child_starts[u + 1]]:
            last_use[child] = max(last_use[child], leaders[u])
            keep[child] |= units[u] == _SUM
    lines, free = np.full(units.size, -1), np.empty(units.size, np.int64)
    n_lines, n_free = 0, 0
    for u in range(units.size):
        for member in members[starts[u] : starts[u + 1]]:
            if not keep[member]:
                continue
            if n_free:
                n_free -= 1
                lines[member] = free[n_free]
            else:
                lines[member] = n_lines
                n_lines += 1
        for child in children[child_starts[u] : child_starts[u + 1]]:
            if last_use[child] == u and lines[child] >= 0:
                last_use[child] = -1
                free[n_free] = lines[child]
                n_free += 1
    return lines, n_lines

"""Connected components of the graph of dependent pairs."""

from __future__ import annotations

from unlearnspn.compiling import kernel
from unlearnspn.slices import Counts


@kernel
def find(parents: Counts, i: int) -> int:
    """Return the smallest member of the component of `i`."""
    while parents[i] != i:
        parents[i] = parents[parents[i]]
        i = parents[i]
    return i


@kernel
def join(parents: Counts, i: int, j: int) -> None:
    """Make one component of two."""
    a, b = find(parents, i), find(parents, j)
    parents[max(a, b)] = min(a, b)

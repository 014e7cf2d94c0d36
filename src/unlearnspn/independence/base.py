"""What an independence test must offer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from unlearnspn.slices import Rows, Slice

S = TypeVar("S")

#: For each variable of the scope, the number of its group; groups are numbered by their first variable.
Groups = npt.NDArray[np.int64]


@runtime_checkable
class IndependenceTest(Protocol[S]):
    """A pairwise test of independence; variables linked by dependent pairs form groups.

    The statistics `S` are a pure function of the set of records: `revise(learn(A | B), B, C)` must equal
    `learn(A | C)`. Whether a pair is dependent must not depend on the other variables of the scope nor on the address
    of the node, so that a group found at a product node is never asked again among the same records. A revision leaves
    statistics as they were and returns others; or it changes them in place and returns them, which says that groups are
    the same, and that the opposite revision takes all back; then they have a method `copy`.
    `unlearnspn.checks.check_independence` runs the contract.
    """

    def learn(self, data: Slice, rows: Rows) -> S:
        """Gather the statistics of some rows."""

    def revise(self, statistics: S, data: Slice, minus: Rows, plus: Rows, rows: Callable[[], Rows]) -> S:
        """Take rows out and put others in; `rows()` lists those that are there afterwards.

        Returns the same object, changed, or another one, and then the given one is what it was. What is changed in
        place must become what it was by the opposite revision, and have a method `copy`.
        """

    def groups(self, statistics: S, data: Slice) -> Groups:
        """Return the groups of mutually independent variables."""

    def fingerprint(self, statistics: S, data: Slice) -> bytes:
        """Return bytes that are equal exactly if the statistics are, whatever codes the categories have."""

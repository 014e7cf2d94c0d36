"""What a clustering must offer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from unlearnspn.slices import Counts, Rows, Slice

S = TypeVar("S")

Labels = npt.NDArray[np.int64]


@runtime_checkable
class Clustering(Protocol[S]):
    """A partition of the records of a node, learned into statistics `S` that can be revised.

    The statistics are a pure function of the set of records: `revise(learn(A | B), B, C)` must equal `learn(A | C)`.
    Which cluster a record belongs to depends on them and on the record alone. A revision leaves them as they were and
    returns others; or it changes them in place and returns them, which says that every record stays in its cluster, and
    that the opposite revision takes all back; then they have a method `copy`.
    `unlearnspn.checks.check_clustering` runs the contract.
    """

    def learn(self, data: Slice, rows: Rows) -> S:
        """Find the clusters of some rows."""

    def revise(self, statistics: S, data: Slice, minus: Rows, plus: Rows, rows: Callable[[], Rows]) -> S:
        """Take rows out and put others in; `rows()` lists those that are there afterwards.

        Returns the same object, changed, or another one, and then the given one is what it was. What is changed in
        place must become what it was by the opposite revision, and have a method `copy`.
        """

    def assign(self, statistics: S, data: Slice, rows: Rows) -> Labels:
        """Return the cluster of each row."""

    def sizes(self, statistics: S) -> Counts:
        """Return the number of rows of each cluster; an empty cluster is none."""

    def assigns_like(self, statistics: S, other: S) -> bool:
        """Tell whether both are sure to put every row into the same cluster."""

    def fingerprint(self, statistics: S, data: Slice) -> bytes:
        """Return bytes that are equal exactly if the statistics are, whatever codes the categories have."""

"""What changes for a node: rows that leave it, and rows that come."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

import cython

from unlearnspn.rows.sorted_rows import difference, merged
from unlearnspn.slices import Counts, Rows


@cython.final
@cython.cclass
class Change:
    """Rows that leave a node (`minus`), and rows that come (`plus`), both in increasing order.

    Called, it gives all rows after the change. `by_cluster`, if it is there, gives these cluster by cluster, and where
    each ends; those that come are the last.
    """

    def __init__(self, minus: Rows, plus: Rows, find_rows: Callable[[], Rows]) -> None:
        self.minus = minus
        self.plus = plus
        self.leaving = minus
        self.coming = plus
        #: How many rows leave or come, and by how many records the node grows.
        self.size = self.coming.shape[0] + self.leaving.shape[0]
        self.growth = self.coming.shape[0] - self.leaving.shape[0]
        self._find = find_rows
        self._found = cast("Rows | None", None)
        self.by_cluster = cast("Callable[[], tuple[Rows, Counts]] | None", None)

    def rows(self) -> Rows:
        """Return all rows after the change, in increasing order; found only when asked for, and only once."""
        if self._found is None:
            self._found = self._find()
        return self._found

    def __call__(self) -> Rows:
        """Return all rows after the change."""
        return self.rows()

    def parts(self) -> Iterable[Rows]:
        """Return all rows after the change in some number of arrays."""
        return [self.rows()]

    def rows_before(self) -> Rows:
        """Return all rows before the change, in increasing order."""
        return merged(difference(self.rows(), self.plus), self.minus)

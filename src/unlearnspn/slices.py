"""What a node sees of the table: some variables, under a key of its own; the rows come separately."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unlearnspn.coding import Encoding
from unlearnspn.exact_sum import Rows
from unlearnspn.records import Records

Scope = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

__all__ = ["Counts", "Flags", "Rows", "Scope", "Slice"]


@dataclass(frozen=True, eq=False, slots=True)
class Slice:
    """The records, the encoding that holds for them, the variables of a node, and the key of its address.

    `records.codes` and `records.features` are indexed [row, variable] by all variables of the table; `scope` lists
    those that belong to the node. Nothing is copied.
    """

    records: Records
    encoding: Encoding
    scope: Scope
    key: int

    @property
    def variable(self) -> int:
        """The variable of a slice that has only one."""
        return int(self.scope[0])

"""Bringing rows of a table to the processor before they are worked on.

Rows of a node lie anywhere in memory, and to fetch one takes as long as to count it. In a loop that does nothing else
the processor fetches many at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.arrays import put
from unlearnspn.compiling import kernel
from unlearnspn.exact_sum import Rows

#: So many bytes come at once.
_LINE = 64
#: What no sum of what was touched can be, but for all the compiler knows: so it cannot leave a loop out.
_NEVER = np.int64(-(1 << 62))
#: So many rows stay in the processor's cache.
FEW = 256
#: And so few need no copy to stay there.
_FEW_ROWS = 64


@kernel
def fetch(table: npt.NDArray[Any], rows: Rows) -> None:
    """Touch each line of memory of some rows, which should be few enough to stay in the processor's cache."""
    step = _LINE // table.itemsize
    total = np.int64(0)
    for row in rows:
        for column in range(0, table.shape[1], step):
            total += np.int64(table[row, column])
        total += np.int64(table[row, table.shape[1] - 1])
    assert total != _NEVER


@kernel
def close_together(table: npt.NDArray[Any], rows: Rows) -> tuple[npt.NDArray[Any], Rows]:
    """Return a table and rows of it with the same cells: for many of them a copy, in which they follow each other.

    For whoever reads them column by column, each time all over memory.
    """
    if rows.size < _FEW_ROWS or table.shape[1] == 0:
        return table, rows
    copy = np.empty((rows.size, table.shape[1]), table.dtype)
    for first in range(0, rows.size, FEW):
        few = rows[first : first + FEW]
        fetch(table, few)
        for i in range(few.size):
            put(copy[first + i], 0, table[few[i]])
    return copy, np.arange(rows.size)

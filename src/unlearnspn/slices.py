"""What a node sees of the table: some variables, under a key of its own; the rows come separately."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unlearnspn.coding import Encoding, NumericCoder
from unlearnspn.records import Records
from unlearnspn.rows.coded import CodedRows

Rows = npt.NDArray[np.int64]
Scope = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

__all__ = ["Counts", "Flags", "Rows", "Scope", "Slice", "code_rows", "hidden_values"]


class Slice:
    """The records, the encoding that holds for them, the variables of a node, and the key of its address.

    `records.codes` and `records.features` are indexed [row, variable] by all variables of the table; `scope` lists
    those that belong to the node. Nothing is copied.
    """

    __slots__ = ("coded", "encoding", "key", "records", "scope")

    def __init__(
        self, records: Records, encoding: Encoding, scope: Scope, key: int, coded: CodedRows | None = None
    ) -> None:
        self.records = records
        self.encoding = encoding
        self.scope = scope
        self.key = key
        #: The records as compiled statistics read them.
        self.coded = code_rows(records, encoding) if coded is None else coded

    def of(self, scope: Scope, key: int) -> Slice:
        """Return what a node of other variables sees."""
        return Slice(self.records, self.encoding, scope, key, self.coded)

    @property
    def variable(self) -> int:
        """The variable of a slice that has only one."""
        return int(self.scope[0])


def hidden_values(encoding: Encoding) -> Flags:
    """Return of which variables a code may stand for different values."""
    return np.array([isinstance(c, NumericCoder) or c.grouped for c in encoding.coders], np.bool_)


def code_rows(records: Records, encoding: Encoding) -> CodedRows:
    """Return what statistics read of the records."""
    return CodedRows(
        records.codes,
        records.features,
        records.values,
        records.levels,
        records.keys,
        records.live,
        records.is_numeric,
        records.place,
        encoding.sizes,
        encoding.prints,
        hidden_values(encoding),
    )

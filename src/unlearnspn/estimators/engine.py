"""What an estimator needs of the engine behind it: a model, or an ensemble of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit import Circuit
from unlearnspn.ids import RecordId
from unlearnspn.settings import Settings
from unlearnspn.spn.report import Report
from unlearnspn.tables import Table
from unlearnspn.tables.origins import Origin


class Engine(Protocol):
    """Records and what was learned from them; a pure function of settings and records.

    `circuit`, digests and `n_records` may be asked for in any thread at any time. For all else requests must be kept
    away, but for `revise`, which has others wait.
    """

    #: What the records' table was like, so that tables are given back alike.
    origin: Origin | None
    #: The type of the array in which classes are given back; empty for the one that suits them.
    label_dtype: str

    @property
    def settings(self) -> Settings:
        """Everything besides the records that is the same for all that was learned."""

    @property
    def ids(self) -> list[RecordId]:
        """The ids of the records held, in order."""

    @property
    def last_id(self) -> RecordId:
        """The largest id."""

    @property
    def n_records(self) -> int:
        """How many records are held."""

    @property
    def string_ids(self) -> bool:
        """Whether the ids are texts."""

    def holds(self, ids: Sequence[RecordId]) -> npt.NDArray[np.bool_]:
        """Tell of each id whether a record that is held has it."""

    @property
    def circuit(self) -> Circuit:
        """The circuit that serves what was learned."""

    def follow(self, before: Any) -> None:
        """Take the place of another engine of the same kind: whoever asked that one does not wait for this one."""

    def check_support(self, table: Table) -> None:
        """Raise unless the leaves can model the values of a table beside those of the records held."""

    @property
    def digests(self) -> tuple[str, str]:
        """The digests of the released model, and of everything kept."""

    def snapshot(self) -> Engine:
        """Return the same once more, which no request to this one changes."""

    def export(self) -> tuple[list[RecordId], Table]:
        """Return all records, with their ids."""

    def held(self, ids: Sequence[RecordId]) -> Table:
        """Return some records that are held, in this order."""

    def relearning(self) -> Callable[[], tuple[str, str]]:
        """Return what learns from scratch on the records now held and gives the digests; requests may come before."""

    def revise(
        self, minus: Sequence[RecordId], ids: Sequence[RecordId], table: Table | None, dry_run: bool = False
    ) -> Report:
        """Remove some records and add others, all or nothing."""

"""What an estimator needs of the engine behind it: a model, or an ensemble of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from unlearnspn.circuit import Circuit
from unlearnspn.ids import RecordId
from unlearnspn.model import Settings
from unlearnspn.report import Report
from unlearnspn.tables import Table
from unlearnspn.tables.origins import Origin


class Engine(Protocol):
    """Records and what was learned from them; a pure function of settings and records."""

    #: What the records' table was like, so that tables are given back alike.
    origin: Origin | None

    @property
    def settings(self) -> Settings:
        """Everything besides the records that is the same for all that was learned."""

    @property
    def index(self) -> Mapping[RecordId, Any]:
        """The ids of the records held."""

    @property
    def circuit(self) -> Circuit:
        """The circuit that serves what was learned."""

    def check_support(self, table: Table) -> None:
        """Raise unless the leaves can model the values of a table beside those of the records held."""

    def digest(self) -> str:
        """Digest the released model."""

    def state_digest(self) -> str:
        """Digest everything kept."""

    def relearn(self) -> Engine:
        """Learn from scratch on the records now held."""

    def revise(
        self, minus: Sequence[RecordId], ids: Sequence[RecordId], table: Table | None, dry_run: bool = False
    ) -> Report:
        """Remove some records and add others, all or nothing."""

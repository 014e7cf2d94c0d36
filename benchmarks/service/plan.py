"""How much load, for how long, on which table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Plan:
    """A generated table in a vault, clients that score, and one that removes."""

    n_rows: int = 20_000
    n_columns: int = 15
    clients: int = 32
    #: Of each phase: without removals, then with removals.
    seconds: float = 30.0
    rows_asked: int = 10
    #: Between two removals.
    pause: float = 0.1
    left_out: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, seconds: float | None, clients: int | None, quick: bool) -> Plan:
        """Return the plan that options ask for; None stands for the default."""
        n_rows = 2000 if quick else cls.n_rows
        return cls(n_rows, clients=clients or cls.clients, seconds=seconds or (2.0 if quick else cls.seconds))

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on."""
        names = ("n_rows", "n_columns", "clients", "seconds", "rows_asked", "pause")
        return {name: getattr(self, name) for name in names}

"""How much load, for how long, on which table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.service.wrk import MISSING, Wrk


@dataclass(frozen=True)
class Plan:
    """A generated table in a vault, clients that score, and one that removes."""

    n_rows: int = 20_000
    n_columns: int = 15
    clients: int = 32
    #: Of each phase: without removals, then with removals; by our own clients, then by wrk.
    seconds: float = 60.0
    rows_asked: int = 10
    #: Between two removals.
    pause: float = 0.1
    by_wrk: bool = True
    left_out: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, seconds: float | None, clients: int | None, quick: bool) -> Plan:
        """Return the plan that options ask for; None stands for the default."""
        return cls(
            n_rows=2000 if quick else cls.n_rows,
            clients=clients or cls.clients,
            seconds=seconds or (2.0 if quick else cls.seconds),
            by_wrk=Wrk.is_here(),
            left_out=[] if Wrk.is_here() else [MISSING],
        )

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on."""
        names = ("n_rows", "n_columns", "clients", "seconds", "rows_asked", "pause", "by_wrk")
        return {name: getattr(self, name) for name in names}

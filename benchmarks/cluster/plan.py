"""Which tables are learned, by how many workers, and how many records leave then."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.options import read_numbers
from benchmarks.scale.plan import Case

#: Up to so many rows, models are verified at the end, which is another fit.
_VERIFIED_UP_TO = 1_000_000


@dataclass(frozen=True)
class Plan:
    """How much of it to do."""

    cases: tuple[Case, ...]
    #: The sizes of the clusters.
    workers: tuple[int, ...] = (1, 2)
    removals: int = 20
    left_out: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, sizes: str | None, columns: str | None, workers: str | None, removals: int | None, quick: bool) -> Plan:
        """Return the plan that options ask for; None stands for the default."""
        rows = read_numbers(
            sizes or ("1e4,1e5" if quick else "1e5,1e6,1e7"), "--sizes", 1000, "a table has at least 1,000 rows"
        )
        widths = read_numbers(columns or "20", "--columns", 5, "a table has at least five columns")
        numbers = read_numbers(workers or "1,2", "--workers", 1, "a cluster has at least one worker")
        cases = tuple(Case("generated", n_rows, n_columns) for n_rows in rows for n_columns in widths)
        return cls(cases, tuple(numbers), removals or cls.removals)

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on."""
        tables = [{"n_rows": case.n_rows, "n_columns": case.n_columns} for case in self.cases]
        return {"tables": tables, "workers": list(self.workers), "removals": self.removals}


def is_verified(case: Case) -> bool:
    """Tell whether a model is verified at the end."""
    return case.n_rows is not None and case.n_rows <= _VERIFIED_UP_TO

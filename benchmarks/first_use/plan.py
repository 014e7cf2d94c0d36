"""How much is measured, and with which interpreters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.datasets import Dataset, load, split_missing
from benchmarks.generated import generate

#: The sets that records are removed from, and the columns of a generated table in place of one.
SETS = {"abalone": 9, "adult": 15, "msnbc": 17, "plants": 69}
N_ROWS = 1000


@dataclass(frozen=True)
class Plan:
    """Tables and repetitions; `against` is the Python of an environment with another version of the library."""

    folder: Path | None = None
    against: Path | None = None
    repeats: int = 3
    removals: int = 100
    used_rows: int = 30_000
    vault_rows: int = 20_000
    quick: bool = False

    @classmethod
    def of(cls, folder: Path | None, against: Path | None, repeats: int | None, quick: bool) -> Plan:
        """Return the plan that options ask for; None stands for the default."""
        if quick:
            return cls(folder, against, repeats or 1, 10, 1000, 1000, quick)
        return cls(folder, against, repeats or cls.repeats)

    @property
    def left_out(self) -> list[str]:
        """What is not measured, and why."""
        reasons = split_missing([*SETS, "flights"], self.folder)[1]
        return [*reasons, "flights is not part of a quick run"] if self.quick else reasons

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on."""
        names = ("repeats", "removals", "used_rows", "vault_rows", "quick")
        return {name: getattr(self, name) for name in names} | {"against": str(self.against or "")}

    def removal_tables(self) -> list[Dataset]:
        """Return the tables that records are removed from one by one."""
        at_hand = split_missing(SETS, self.folder)[0]
        tables = [
            load(name, self.folder).sample(N_ROWS, seed=0) if name in at_hand else generate(N_ROWS, n_columns)
            for name, n_columns in SETS.items()
        ]
        if not self.quick and not split_missing(["flights"], None)[1]:
            tables.append(load("flights"))
        return tables

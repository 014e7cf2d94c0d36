"""Which tables are measured, and how many removals."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.datasets import Dataset, load, split_missing
from benchmarks.generated import generate
from benchmarks.options import read_numbers
from unlearnspn import SPN

FROM_ELSEWHERE = ("adult", "flights")


@dataclass(frozen=True)
class Case:
    """A table, by what it is made of; it can be loaded again, and is the same then."""

    name: str
    #: Rows and columns if the table is generated.
    n_rows: int | None = None
    n_columns: int | None = None
    folder: Path | None = None

    def __str__(self) -> str:
        return self.name if self.n_rows is None else f"{self.n_rows:,} by {self.n_columns:,}"

    def is_generated(self, n_rows: int, n_columns: int | None = None) -> bool:
        """Tell whether it is the generated table of this size."""
        return self.n_rows == n_rows and n_columns in (None, self.n_columns)

    def load(self) -> Dataset:
        """Return the table."""
        if self.n_rows is None or self.n_columns is None:
            return load(self.name, self.folder)
        return generate(self.n_rows, self.n_columns)

    def load_some(self, n_rows: int) -> Dataset:
        """Return some rows of it, without making those of a generated table that are not asked for."""
        if self.n_rows is None or self.n_columns is None:
            return self.load().sample(n_rows, seed=0)
        return generate(min(n_rows, self.n_rows), self.n_columns)


@dataclass(frozen=True)
class Plan:
    """How much of it to do."""

    cases: tuple[Case, ...]
    removals: int = 200
    #: How many batches leave at the end, and the share of the rows in each.
    batches: int = 15
    batch_share: float = 0.01
    min_rows: int | str = SPN().min_rows
    left_out: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        folder: Path | None,
        sizes: str | None,
        columns: str | None,
        removals: int | None,
        batches: int | None,
        min_rows: int | None,
        quick: bool,
    ) -> Plan:
        """Return the plan that options ask for; None stands for the default."""
        names, left_out = split_missing(FROM_ELSEWHERE, folder)
        if quick:
            left_out += [f"{name} is not part of a quick run" for name in names]
            names = []
        widths = read_numbers(columns or ("20" if quick else "50"), "--columns", 5, "a table has at least five columns")
        usual = "1e3,1e4" if quick else "1e4,1e5,1e6"
        usual = usual if len(widths) == 1 else "2e3"
        rows = read_numbers(sizes or usual, "--sizes", 1000, "a table has at least 1,000 rows")
        cases = [Case(name, folder=folder) for name in names]
        cases += [Case("generated", n_rows, n_columns) for n_rows in rows for n_columns in widths]
        removals = removals or (50 if quick else cls.removals)
        batches = batches or (5 if quick else cls.batches)
        return cls(tuple(cases), removals, batches, min_rows=min_rows or cls.min_rows, left_out=left_out)

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on."""
        cases = [{key: value for key, value in asdict(case).items() if key != "folder"} for case in self.cases]
        names = ("removals", "batches", "batch_share", "min_rows")
        return {"tables": cases, **{name: getattr(self, name) for name in names}}

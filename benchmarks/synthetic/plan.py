"""Which tables, how many splits, and the Python that has SDMetrics and SDV."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.peers.environment import SDV, EnvironmentFailed, python_of
from benchmarks.synthetic.tables import TRAIN_SHARE, Split, Table, at_hand, load_tables

#: Tables of more rows are split once.
LARGE = 10_000
_NOT_QUICK = ("digits",)


@dataclass(frozen=True)
class Plan:
    """How much of it to do; `sdv` is the Python of SDV's environment, None to go without."""

    folder: Path | None
    names: list[str]
    seeds: int = 5
    sdv: Path | None = None
    quick: bool = False
    left_out: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, folder: Path | None, seeds: int | None, peers: bool, environments: Path | None, quick: bool) -> Plan:
        """Return the plan that options ask for; None stands for the default."""
        names, left_out = at_hand(folder)
        if quick:
            left_out += [f"{name} is not part of a quick run" for name in _NOT_QUICK]
            names = [name for name in names if name not in _NOT_QUICK]
        python, reason = _find_sdv(environments) if peers else (None, "as asked for")
        if reason is not None:
            left_out.append(f"SDMetrics and SDV, {reason}")
        return cls(folder, names, seeds or (1 if quick else cls.seeds), python, quick, left_out)

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on."""
        return {
            "tables": self.names,
            "train_share": TRAIN_SHARE,
            "seeds": self.seeds,
            "peers": [] if self.sdv is None else list(SDV.requirements),
            "quick": self.quick,
        }

    def tables(self) -> list[Table]:
        """Load the tables."""
        return load_tables(self.names, self.folder, self.quick)

    def seeds_of(self, table: Table) -> range:
        """Return the seeds of a table's splits."""
        return range(1 if len(table.frame) > LARGE else self.seeds)

    def over_splits(self, table: Table, measure: Callable[[Split, int], dict[str, float]]) -> dict[str, Figure]:
        """Measure each split of a table, given its seed, and return the means and deviations of what was found."""
        found = [measure(table.split(seed), seed) for seed in self.seeds_of(table)]
        return {key: Figure.of([each[key] for each in found]) for key in found[0]}

    def note(self) -> str:
        """Say what a figure is the mean of."""
        if self.seeds == 1:
            return "One random split, 70/30."
        return f"Random splits, 70/30: mean ± deviation over {self.seeds}; tables of more than {LARGE:,} rows have one."


def _find_sdv(environments: Path | None) -> tuple[Path | None, str | None]:
    """Return the Python of SDV's environment, or why there is none: the rest can be measured without."""
    try:
        return python_of(SDV, environments), None
    except EnvironmentFailed as error:
        return None, str(error).strip().splitlines()[-1]

"""How the defaults were chosen: held-out log-likelihood when one parameter at a time is another one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.datasets import Dataset, load, split_missing
from benchmarks.paper.plan import N_HELD_OUT, N_ROWS
from benchmarks.progress import Bar
from benchmarks.reports import Column, Section
from unlearnspn import SPN

NAME = "defaults"

NAMES = ["abalone", "adult", "msnbc", "nltcs", "plants"]
VARIANTS: list[dict[str, Any]] = [
    {},
    *({"min_rows": value} for value in (50, 100)),
    *({"threshold": value} for value in (2.0, 5.0)),
    *({"n_clusters": value} for value in (2, 4, 16)),
    *({"max_rounds": value} for value in (1, 10)),
    {"n_clusters": 2, "max_rounds": 1},
    {"n_clusters": 2, "max_rounds": 10, "epsilon": 0.5},
    {"factorization": "naive"},
    *({"n_bins": value} for value in (6, 9, 17)),
    *({"alpha": value} for value in (0.1, 1.0)),
    *({"min_std": value} for value in (0.01, 0.2)),
]


def held_out(everything: Dataset, variant: dict[str, Any], seeds: int) -> float:
    """Return the median, over some samples, of what rows that were not learned get."""
    scores = []
    for seed in range(seeds):
        sample = everything.sample(N_ROWS + N_HELD_OUT, seed).frame
        spn = everything.spn(SPN, random_state=seed, **variant).fit(sample.iloc[:N_ROWS])
        scores.append(float(spn.score(sample.iloc[N_ROWS:])))
    return median(scores)


@dataclass(frozen=True)
class Plan:
    """Which data sets, and how many samples of each."""

    folder: Path
    seeds: int = 8

    @property
    def left_out(self) -> list[str]:
        """What is not at hand."""
        return split_missing(NAMES, self.folder)[1]

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on."""
        return {"seeds": self.seeds}


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Learn with every variant."""
    data = {name: load(name, plan.folder) for name in split_missing(NAMES, plan.folder)[0]}
    columns = [Column("variant", "parameters"), *(Column(name, name, 2) for name in data)]
    notes = [
        f"The median, over {plan.seeds} samples of {N_ROWS:,} rows, of the mean log-density of {N_HELD_OUT:,} others."
    ]
    section = Section("defaults", "Held-out log-likelihood", columns, notes=notes)
    bar.begin("fitting", len(VARIANTS))
    for variant in VARIANTS:
        label = ", ".join(f"{key}={value}" for key, value in variant.items()) or "default"
        scores = {name: held_out(everything, variant, plan.seeds) for name, everything in data.items()}
        section.rows.append({"variant": label, **scores})
        bar.step()
    yield section

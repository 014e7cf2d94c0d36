"""Removing records gives, bit for bit, the model that training without them gives: on real data, in some settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.checking import NotRetrainedError
from benchmarks.datasets import FROM_FOLDER, FROM_SKLEARN, Dataset, load, split_missing
from benchmarks.progress import Bar
from benchmarks.reports import Column, Row, Section
from benchmarks.timing import Stopwatch
from unlearnspn import SPN

NAME = "exactness"

SEED = 0
N_SCORED = 200
SCORE_EVERY = 10
SETTINGS: dict[str, Callable[..., SPN]] = {
    "default": SPN,
    "paper": SPN.from_paper,
    # With 200 records a node the small data sets are not split at all.
    "default, min_rows=20": partial(SPN, min_rows=20),
    "paper, min_rows=20": partial(SPN.from_paper, min_rows=20),
}


@dataclass(frozen=True)
class Size:
    """How much to run: rows of the sample, removals one by one, then removals in one batch."""

    rows: int
    singles: int
    batch: int


FULL, SMALL, QUICK = Size(1000, 100, 100), Size(1000, 60, 40), Size(300, 20, 20)
SMALL_BELOW = 400


@dataclass(frozen=True)
class Task:
    """One data set in one setting."""

    name: str
    setting: str
    folder: Path | None
    quick: bool


@dataclass
class Outcome:
    """What was compared, what differed, and how long each removal and each retraining took."""

    task: Task
    comparisons: int = 0
    mismatches: list[str] = field(default_factory=list)
    unlearn: list[float] = field(default_factory=list)
    retrain: list[float] = field(default_factory=list)

    def compare(self, what: str, equal: bool) -> None:
        """Count a comparison, and note what differs."""
        self.comparisons += 1
        if not equal:
            self.mismatches.append(f"{self.task.name} ({self.task.setting}): {what}")

    def as_row(self) -> Row:
        """Return the numbers of comparisons, and the mean times."""
        unlearn, retrain = fmean(self.unlearn), fmean(self.retrain)
        return {
            "data": self.task.name,
            "setting": self.task.setting,
            "comparisons": self.comparisons,
            "mismatches": len(self.mismatches),
            "unlearn_ms": 1e3 * unlearn,
            "retrain_ms": 1e3 * retrain,
            "ratio": retrain / unlearn,
        }


@dataclass
class Check:
    """A model that forgets, the records it should still have, and rows to score."""

    data: Dataset
    make: Callable[..., SPN]
    scored: pd.DataFrame
    outcome: Outcome

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(SEED)
        self.left = self.data.frame.index.tolist()
        self.spn = self.data.spn(self.make).fit(self.data.frame, ids=self.left)

    def remove(self, number: int, score: bool) -> tuple[float, float]:
        """Remove the first records, compare with retraining, and return the seconds of both."""
        gone, self.left = self.left[:number], self.left[number:]
        with Stopwatch() as unlearning:
            self.spn.unlearn(gone)
        # In another order each time: the model is a function of the set of records.
        order = self.rng.permutation(self.left).tolist()
        rest, fresh = self.data.frame.loc[order], self.data.spn(self.make)
        with Stopwatch() as retraining:
            fresh.fit(rest, ids=order)
        self._compare(fresh, f"{len(gone)} removed, {len(order)} left", score)
        return unlearning.seconds, retraining.seconds

    def _compare(self, fresh: SPN, when: str, score: bool) -> None:
        self.outcome.compare(f"digest, {when}", self.spn.digest() == fresh.digest())
        self.outcome.compare(f"state digest, {when}", self.spn.state_digest() == fresh.state_digest())
        if score:
            ours, theirs = self.spn.score_samples(self.scored), fresh.score_samples(self.scored)
            self.outcome.compare(f"scores, {when}", ours.tobytes() == theirs.tobytes())


def size_of(data: Dataset, quick: bool) -> Size:
    """Return how much of a data set to run."""
    if quick:
        return QUICK
    return SMALL if len(data.frame) < SMALL_BELOW else FULL


def run(task: Task) -> Outcome:
    """Remove records one by one and in a batch, and compare after each request."""
    everything = load(task.name, task.folder)
    size = size_of(everything, task.quick)
    data, make, outcome = everything.sample(size.rows, SEED), SETTINGS[task.setting], Outcome(task)
    check = Check(data, make, everything.sample(N_SCORED, SEED + 1).frame, outcome)
    for number in range(1, size.singles + 1):
        unlearned, retrained = check.remove(1, score=number % SCORE_EVERY == 0)
        outcome.unlearn.append(unlearned)
        outcome.retrain.append(retrained)
    check.remove(size.batch, score=True)
    return outcome


@dataclass(frozen=True)
class Plan:
    """Which data sets, how many rows, and how many processes at a time; times are clean with one."""

    folder: Path | None = None
    jobs: int = 1
    quick: bool = False

    @property
    def left_out(self) -> list[str]:
        """What is not at hand."""
        return split_missing(FROM_FOLDER, self.folder)[1]

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on."""
        return {"jobs": self.jobs, "quick": self.quick}

    def tasks(self) -> list[Task]:
        """Return every data set at hand in every setting."""
        names = split_missing([*FROM_FOLDER, *FROM_SKLEARN], self.folder)[0]
        return [Task(name, setting, self.folder, self.quick) for name, setting in product(names, SETTINGS)]


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Compare after each removal; raise if any two models differ."""
    columns = [
        Column("data", "data set"),
        Column("setting", "setting"),
        Column("comparisons", "comparisons"),
        Column("mismatches", "mismatches"),
        Column("unlearn_ms", "unlearn\nms", 2),
        Column("retrain_ms", "retrain\nms", 2),
        Column("ratio", "retrain /\nunlearn", 1),
    ]
    section, tasks = Section("exactness", "Removals against retraining", columns), plan.tasks()
    bar.begin("removing", len(tasks))
    mismatches = []
    with ProcessPoolExecutor(plan.jobs) as pool:
        for outcome in pool.map(run, tasks):
            section.rows.append(outcome.as_row())
            mismatches += outcome.mismatches
            bar.step()
    comparisons = sum(int(str(row["comparisons"])) for row in section.rows)
    section.notes = [f"{comparisons:,} comparisons, {len(mismatches)} mismatches", *mismatches]
    yield section
    if mismatches:
        raise NotRetrainedError(f"{len(mismatches)} of {comparisons} comparisons differ")

"""Check that removing records gives, bit for bit, the model that training without them gives.

python benchmarks/exactness.py [FOLDER] [--quick] [--jobs N]

Without a folder only the data sets of scikit-learn are run. Timings are clean with --jobs 1.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from statistics import mean

import numpy as np
import pandas as pd
from rich.progress import track

from unlearnspn import SPN
from unlearnspn.bench.datasets import FROM_FOLDER, FROM_SKLEARN, Dataset, load
from unlearnspn.bench.timing import Stopwatch
from unlearnspn.compiling import compile_always

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
        self.comparisons += 1
        if not equal:
            self.mismatches.append(f"{self.task.name} ({self.task.setting}): {what}")

    def __str__(self) -> str:
        unlearn, retrain = mean(self.unlearn), mean(self.retrain)
        return (
            f"{self.task.name:<14} {self.task.setting:<21} {self.comparisons:>11} {len(self.mismatches):>10} "
            f"{unlearn * 1e3:>10.2f} {retrain * 1e3:>10.2f} {retrain / unlearn:>6.1f}"
        )


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
    if quick:
        return QUICK
    return SMALL if len(data.frame) < SMALL_BELOW else FULL


def warm_up(data: Dataset, make: Callable[..., SPN]) -> None:
    """Have everything compiled before time is taken."""
    ids = data.frame.index.tolist()
    spn = data.spn(make).fit(data.frame, ids=ids)
    for removed in ids[:3]:
        spn.unlearn([removed])
    spn.unlearn(ids[3:40])


def run(task: Task) -> Outcome:
    everything = load(task.name, task.folder)
    size = size_of(everything, task.quick)
    data, make, outcome = everything.sample(size.rows, SEED), SETTINGS[task.setting], Outcome(task)
    warm_up(data, make)
    check = Check(data, make, everything.sample(N_SCORED, SEED + 1).frame, outcome)
    for number in range(1, size.singles + 1):
        unlearned, retrained = check.remove(1, score=number % SCORE_EVERY == 0)
        outcome.unlearn.append(unlearned)
        outcome.retrain.append(retrained)
    check.remove(size.batch, score=True)
    return outcome


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="the folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="fewer rows and removals")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    compile_always()
    options = parse(arguments)
    names = [*(FROM_FOLDER if options.folder else ()), *FROM_SKLEARN]
    tasks = [Task(name, setting, options.folder, options.quick) for name, setting in product(names, SETTINGS)]
    with ProcessPoolExecutor(options.jobs) as pool:
        outcomes = list(track(pool.map(run, tasks), "Removing", total=len(tasks)))
    print(f"{'data set':<14} {'setting':<21} comparisons mismatches unlearn ms retrain ms  ratio")
    for outcome in outcomes:
        print(outcome)
    mismatches = [mismatch for outcome in outcomes for mismatch in outcome.mismatches]
    for mismatch in mismatches:
        print(f"MISMATCH {mismatch}", file=sys.stderr)
    print(f"{sum(outcome.comparisons for outcome in outcomes)} comparisons, {len(mismatches)} mismatches")
    return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main())

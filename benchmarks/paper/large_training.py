"""Training on whole splits of binary data, against deeprob-kit, at a likelihood that is no worse."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.datasets import TUNING_SHARE, load_binary, split_for_tuning
from benchmarks.figures import Figure, at_least
from benchmarks.paper.peer_trials import options_of
from benchmarks.paper.training import FIT_OR_CIRCUIT, Seconds, least, train
from benchmarks.peers.client import Worker
from benchmarks.peers.libraries import DEEPROB_KIT, OURS
from benchmarks.reports import Cell, Column, Row, Section
from unlearnspn import SPN

Params = dict[str, Any]

#: The split that is learned, of the sets that are compared.
SPLITS = {"nltcs": "train", "msnbc": "valid"}
TIMES_DEEPROB_KIT = at_least(5.0)
GRID: list[Params] = [
    {"n_clusters": n_clusters, "max_rounds": max_rounds, "min_rows": min_rows, "threshold": threshold}
    for (n_clusters, max_rounds), min_rows, threshold in product(
        [(2, 1), (8, 0)], [100, 200, 500, 1000, 2000], [3.0, 5.0]
    )
]
_DEEPROB_KIT = options_of(DEEPROB_KIT, has_numbers=False)
_REPEATS = 3


@dataclass(frozen=True)
class Problem:
    """Binary rows to learn, and rows to score at the end."""

    name: str
    learned: pd.DataFrame
    test: pd.DataFrame

    @classmethod
    def load(cls, folder: Path, name: str) -> Problem:
        """Load the splits of a set."""
        return cls(name, load_binary(folder, name, SPLITS[name]).frame, load_binary(folder, name, "test").frame)

    def for_tuning(self) -> Problem:
        """Return the problem in which the last of the rows to learn are scored instead of the test rows."""
        return Problem(self.name, *split_for_tuning(self.learned))


@dataclass(frozen=True)
class Fit:
    """The seconds of a training, and the mean log-density of the rows to score."""

    seconds: Seconds
    score: float


def problems_at_hand(folder: Path | None) -> list[str]:
    """Return the sets whose splits are in a folder."""
    if folder is None:
        return []
    files = {name: [folder / f"{name}.{part}.data" for part in (split, "test")] for name, split in SPLITS.items()}
    return [name for name, needed in files.items() if all(file.exists() for file in needed)]


def fit_ours(problem: Problem, params: Params) -> Fit:
    """Train from the data frame on; both outcomes of a variable are known, hence Bernoulli leaves."""
    leaves = dict.fromkeys(problem.learned.columns, "bernoulli")
    spn = SPN(categorical_features="all", leaves=leaves, **params)
    seconds = train(spn, problem.learned)
    return Fit(seconds, float(spn.score(problem.test)))


def fit_deeprob_kit(worker: Worker, problem: Problem, seed: int) -> Fit:
    """Train deeprob-kit from an array on."""
    rows, n_categories = problem.learned.to_numpy(float), [2] * problem.learned.shape[1]
    seconds = worker.learn(rows, n_categories, **_DEEPROB_KIT, random_state=seed).seconds
    # What it has learned scores as it is: there is nothing to derive.
    return Fit(Seconds(seconds, seconds), float(worker.score(problem.test.to_numpy(float)).mean(dtype=float)))


def best_of_ours(problem: Problem, params: Params) -> Fit:
    """Train several times, and return the least times; the models do not differ."""
    return _best(fit_ours(problem, params) for _ in range(_REPEATS))


def best_of_deeprob_kit(worker: Worker, problem: Problem) -> Fit:
    """Train with several seeds, by which likelihood differs a lot, and return the best of each."""
    return _best(fit_deeprob_kit(worker, problem, seed) for seed in range(_REPEATS))


def _best(fits: Iterable[Fit]) -> Fit:
    seconds, scores = zip(*((fit.seconds, fit.score) for fit in fits), strict=True)
    return Fit(least(seconds), max(scores))


def choose(problem: Problem) -> Params:
    """Return the parameters with the highest likelihood."""
    return max(GRID, key=lambda params: fit_ours(problem, params).score)


def compare(problem: Problem, deeprob_kit: Worker | None) -> list[Row]:
    """Let deeprob-kit learn, choose our parameters by rows that are neither learned nor tested, and compare."""
    params = choose(problem.for_tuning())
    ours = best_of_ours(problem, params)
    if deeprob_kit is None:
        return [_row(problem, OURS, params, ours)]
    theirs = best_of_deeprob_kit(deeprob_kit, problem)
    targets: dict[str, Cell] = {
        "ratio": Figure(theirs.seconds.fit / ours.seconds.fit, None, TIMES_DEEPROB_KIT),
        "circuit_ratio": theirs.seconds.to_circuit / ours.seconds.to_circuit,
        "test": Figure(ours.score, None, at_least(theirs.score)),
    }
    return [_row(problem, OURS, params, ours) | targets, _row(problem, DEEPROB_KIT, _DEEPROB_KIT, theirs)]


def new_section() -> Section:
    """Return the section, without rows yet."""
    columns = [
        Column("data", "data set"),
        Column("rows", "rows"),
        Column("library", "library"),
        Column("parameters", "parameters", wrap=True),
        Column("train_s", "fit\ns", 3),
        Column("circuit_s", "circuit\ns", 3),
        Column("ratio", "fit, times\nfaster", 1),
        Column("circuit_ratio", "circuit,\ntimes", 1),
        Column("test", "test log-\nlikelihood", 3),
    ]
    notes = [
        f"The least of {_REPEATS} trainings; of deeprob-kit, with a seed each, also the best likelihood.",
        FIT_OR_CIRCUIT,
        f"Our parameters: of {len(GRID)} combinations the best on the last {TUNING_SHARE:.0%} of the rows when the "
        "others are learned. The test rows choose nothing.",
    ]
    return Section("large", "Training on whole splits", columns, notes=notes)


def _row(problem: Problem, library: str, params: Params, fit: Fit) -> Row:
    return {
        "data": problem.name,
        "rows": len(problem.learned),
        "library": library,
        "parameters": ", ".join(f"{name}={value}" for name, value in params.items()),
        "train_s": fit.seconds.fit,
        "circuit_s": fit.seconds.to_circuit,
        "test": fit.score,
    }

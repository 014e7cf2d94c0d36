"""Networks of the same size, learned from the same rows, and the time that each library takes to score others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from benchmarks.coded import Rows, coded
from benchmarks.datasets import load
from benchmarks.peers.client import Learned, Worker
from benchmarks.peers.libraries import DEEPROB_KIT, OURS, SPFLOW, SPFLOW_OPTIONS
from benchmarks.serve.plan import N_LEARNED, SEED, Plan

#: As the paper did, and deeprob-kit as it does by default.
_PEER_OPTIONS: dict[str, dict[str, Any]] = {
    SPFLOW: SPFLOW_OPTIONS,
    DEEPROB_KIT: {"min_rows_slice": 200, "random_state": SEED},
}
#: Independent leaves and two clusters, as theirs: trees would make ours several times as large.
_OWN_OPTIONS: dict[str, Any] = {"factorization": "naive", "n_clusters": 2}
#: What is tried for ours, until the network is large enough: fewer rows a node, then more dependence as well.
_MIN_ROWS = [*range(600, 200, -50), *range(200, 0, -10)]
_THRESHOLDS = [None, 1.0, 0.3]


@dataclass(frozen=True)
class Problem:
    """Rows to learn from and rows to score, with codes for categories; 0 categories means numeric."""

    name: str
    n_categories: list[int]
    learned: Rows
    scored: Rows

    @classmethod
    def pose(cls, name: str, plan: Plan) -> Problem:
        """Draw the rows of a problem."""
        rows, n_categories = coded(load(name, plan.folder))
        rng = np.random.default_rng(SEED)
        learned = rows[rng.choice(len(rows), min(N_LEARNED, len(rows)), replace=False)]
        return cls(name, n_categories, learned, rows[rng.choice(len(rows), plan.n_scored)])


@dataclass
class Result:
    """One library on one problem: its network, and the seconds of each time it scored."""

    library: str
    learned: Learned
    options: dict[str, Any]
    seconds: list[float] = field(default_factory=list)

    def rate(self, n_rows: int) -> float:
        """Return the rows per second of the best time."""
        return n_rows / min(self.seconds)


def compare(workers: dict[str, Worker], problem: Problem, plan: Plan) -> list[Result]:
    """Have all libraries learn a network, then score in turn; ours comes first."""
    peers = list(_learn_peers(workers, problem, plan.binary))
    ours = _learn_ours(workers[OURS], problem, max((peer.learned.units for peer in peers), default=1))
    results = [ours, *peers]
    for worker in workers.values():
        worker.read(problem.scored)
        worker.time_scores()  # what a library imports or caches at its first call does not count
    for _ in range(plan.repeats):
        for result in results:
            result.seconds.append(workers[result.library].time_scores())
    return results


def _learn_peers(workers: dict[str, Worker], problem: Problem, binary: str) -> Iterator[Result]:
    for library, chosen in _PEER_OPTIONS.items():
        if library in workers:
            options = {**chosen, "binary": binary}
            yield Result(library, workers[library].learn(problem.learned, problem.n_categories, **options), options)


def _learn_ours(worker: Worker, problem: Problem, least_units: int) -> Result:
    """Learn a network of at least so many units, with as many rows a node as gives one."""
    for threshold, min_rows in product(_THRESHOLDS, _MIN_ROWS):
        options = {**_OWN_OPTIONS, "min_rows": min_rows, "threshold": threshold, "random_state": SEED}
        learned = worker.learn(problem.learned, problem.n_categories, **options)
        if learned.units >= least_units:
            return Result(OURS, learned, options)
    raise RuntimeError(f"{problem.name}: no network of ours has {least_units} units")

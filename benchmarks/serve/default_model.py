"""The default model, which trees make larger than a peer's: complete rows, rows with gaps, and one row at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.coded import Rows
from benchmarks.peers.client import Learned, Worker
from benchmarks.serve.plan import SEED, Plan
from benchmarks.serve.scoring import Problem

#: The share of the cells that are blanked.
_GAPS = 0.5
#: How often one row is asked for.
_SINGLES = 50


@dataclass(frozen=True)
class Asked:
    """The default model of a problem, and the best seconds of all its rows and of one."""

    learned: Learned
    complete: float
    with_gaps: float
    one: float


def ask_default(worker: Worker, problem: Problem, plan: Plan) -> Asked:
    """Learn with default settings, and score."""
    learned = worker.learn(problem.learned, problem.n_categories, random_state=SEED)
    complete, with_gaps = (_best(worker, rows, plan.repeats) for rows in (problem.scored, _with_gaps(problem.scored)))
    return Asked(learned, complete, with_gaps, _best(worker, problem.scored[:1], _SINGLES))


def _best(worker: Worker, rows: Rows, repeats: int) -> float:
    worker.read(rows)
    worker.time_scores()  # what is prepared at the first call does not count
    return min(worker.time_scores() for _ in range(repeats))


def _with_gaps(rows: Rows) -> Rows:
    return np.where(np.random.default_rng(SEED).random(rows.shape) < _GAPS, np.nan, rows)

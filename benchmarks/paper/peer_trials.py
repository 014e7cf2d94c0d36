"""What peers take to learn samples, and which densities they give to rows held out; each is asked once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from benchmarks.paper.floors import deviation_floors
from benchmarks.paper.samples import Sample
from benchmarks.peers.client import Worker
from benchmarks.peers.libraries import DEEPROB_KIT, SPFLOW, SPFLOW_OPTIONS

Densities = npt.NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Trial:
    """The seconds of each training, and the log-densities of the rows held out, as learned and with wider Gaussians."""

    seconds: list[float]
    densities: Densities
    widened: Densities | None


def options_of(library: str, has_numbers: bool) -> dict[str, Any]:
    """Return how a peer learns: as the paper did, and deeprob-kit with its G-test where all columns are discrete."""
    if library == SPFLOW:
        return {**SPFLOW_OPTIONS, "binary": "bernoulli"}
    columns = "rdc" if has_numbers else "gvs"  # its G-test refuses tables that mix numbers and categories
    return {"split_rows": "kmeans", "split_cols": columns, "binary": "bernoulli"}


class PeerTrials:
    """The peers at work; a sample that was learned already is not learned again."""

    def __init__(self, environments: Path | None, trainings: int) -> None:
        self._environments = environments
        self._trainings = trainings
        self._stack = ExitStack()
        self._workers: dict[str, Worker] = {}
        self._trials: dict[tuple[str, str, int], Trial] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def worker(self, library: str) -> Worker:
        """Return a peer's worker, which is started when it is needed first."""
        if library not in self._workers:
            self._workers[library] = self._stack.enter_context(Worker(library, self._environments))
        return self._workers[library]

    def of(self, library: str, sample: Sample, in_turn: Callable[[], None] = lambda: None) -> Trial:
        """Have a sample learned and its other rows scored; what is to be compared comes after each training."""
        key = (library, *sample.key)
        if key not in self._trials:
            self._trials[key] = self._run(library, sample, in_turn)
        return self._trials[key]

    def _run(self, library: str, sample: Sample, in_turn: Callable[[], None]) -> Trial:
        worker, options = self.worker(library), options_of(library, bool(sample.numeric))
        if library == DEEPROB_KIT:
            options["random_state"] = sample.seed
        trainings = self._trainings if library == SPFLOW else 1
        # What the first call imports is no part of learning.
        worker.learn(sample.rows[:50], sample.n_categories, **options)
        seconds = []
        for _ in range(trainings):
            seconds.append(worker.learn(sample.rows, sample.n_categories, **options).seconds)
            in_turn()
        if not len(sample.held_out):
            return Trial(seconds, np.zeros(0), None)
        densities = worker.score(sample.held_out)
        if not sample.numeric:
            return Trial(seconds, densities, None)
        worker.widen(deviation_floors(sample.rows, sample.n_categories))
        return Trial(seconds, densities, worker.score(sample.held_out))

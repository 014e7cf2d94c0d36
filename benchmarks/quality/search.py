"""The search for parameters: by the tuning rows alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from benchmarks.quality.models import KINDS, Kind, Params
from benchmarks.quality.splits import load_splits

N_FINALISTS = 8


@dataclass(frozen=True)
class Candidate:
    """Parameters, and the log-likelihood that they give to the tuning rows."""

    params: Params
    tuning: float


def search(folder: Path, name: str, kind: Kind, quick: bool, jobs: int, done: Callable[[], None]) -> list[Candidate]:
    """Try all combinations with one seed, then the best ones with more seeds; return all, best first."""
    n_columns = load_splits(folder, name).learn.shape[1]
    trials = [{**params, "random_state": 0} for params in kind.candidates(n_columns, quick)]
    first = _ranked(_try_all(folder, name, kind, trials, jobs, done))
    seeds = kind.seeds_for(n_columns, quick)
    finals = [{**best.params, "random_state": seed} for best in first[:N_FINALISTS] for seed in seeds]
    return _ranked([*first, *_try_all(folder, name, kind, finals, jobs, done)])


def n_trials(folder: Path, name: str, kind: Kind, quick: bool) -> int:
    """Return how many fits a search makes."""
    n_columns = load_splits(folder, name).learn.shape[1]
    first = len(kind.candidates(n_columns, quick))
    return first + min(first, N_FINALISTS) * len(kind.seeds_for(n_columns, quick))


def _try_all(
    folder: Path, name: str, kind: Kind, trials: list[Params], jobs: int, done: Callable[[], None]
) -> Iterator[Candidate]:
    attempt = partial(_try_out, folder, name, kind.name)
    if jobs == 1:
        for params in trials:
            yield attempt(params)
            done()
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for candidate in pool.map(attempt, trials):
            yield candidate
            done()


def _try_out(folder: Path, name: str, kind: str, params: Params) -> Candidate:
    splits = load_splits(folder, name)
    spn = KINDS[kind].make(list(splits.learn.columns), params).fit(splits.learn)
    return Candidate(params, float(spn.score(splits.tune)))


def _ranked(candidates: Iterator[Candidate] | list[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: -candidate.tuning)

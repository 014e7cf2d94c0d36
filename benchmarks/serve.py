"""Time log-densities against SPFlow and deeprob-kit, in one run, on networks of the same size.

python benchmarks/serve.py FOLDER [--quick] [--json FILE]

Each library learns from the same 1,000 rows: the peers as they do by default, with the paper's 200 rows a slice; ours
with as many rows a node as give a network no smaller than the larger of theirs. Then all score the same rows in turn,
each in a process of its own that takes the time of the whole call, with one thread for BLAS and OpenMP; the best time
counts. At last another process loads our circuit and scores: it must not wait for the compiler again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from rich.console import Console

from datasets import Dataset, load
from peers.client import LIBRARIES, Worker

Rows = npt.NDArray[np.float64]

NAMES = ["abalone", "adult", "msnbc", "plants"]
OURS = "unlearnspn"
#: How many times a peer's rate ours is to be.
TARGETS = {"SPFlow": 20.0, "deeprob-kit": 10.0}
N_LEARNED, SEED = 1000, 0
#: What is tried for ours, until the network is large enough.
MIN_ROWS = [*range(600, 200, -50), *range(200, 0, -10)]


@dataclass(frozen=True)
class Problem:
    """Rows to learn from and rows to score, with codes for categories; 0 categories means numeric."""

    name: str
    n_categories: list[int]
    learned: Rows
    scored: Rows


@dataclass
class Result:
    """One library on one data set: its network, and the seconds of each time it scored."""

    library: str
    size: dict[str, int]
    seconds: list[float] = field(default_factory=list)
    #: Of our library: what it learned with, and the first two times that another process scored.
    options: dict[str, Any] = field(default_factory=dict)
    second_process: list[float] = field(default_factory=list)

    @property
    def units(self) -> int:
        return sum(self.size.values())

    def rate(self, n_rows: int) -> float:
        return n_rows / min(self.seconds)


def coded(data: Dataset) -> tuple[Rows, list[int]]:
    """Return a table as numbers; categories are numbered, and a missing one is a category, for peers can't learn it."""
    columns, n_categories = [], []
    for _, values in data.frame.items():
        if data.categorical_features == "all" or values.dtype.kind not in "iuf":
            codes, categories = pd.factorize(values, sort=True, use_na_sentinel=False)
            columns.append(codes.astype(np.float64))
            n_categories.append(len(categories))
        else:
            columns.append(values.to_numpy(np.float64))
            n_categories.append(0)
    return np.column_stack(columns), n_categories


def pose(name: str, folder: Path, n_scored: int) -> Problem:
    rows, n_categories = coded(load(name, folder))
    rng = np.random.default_rng(SEED)
    learned = rows[rng.choice(len(rows), N_LEARNED, replace=False)]
    return Problem(name, n_categories, learned, rows[rng.choice(len(rows), n_scored)])


def learn_peers(workers: dict[str, Worker], problem: Problem, binary: str) -> Iterator[Result]:
    options: dict[str, dict[str, Any]] = {
        "SPFlow": {"min_instances_slice": 200, "cpus": 1},
        "deeprob-kit": {"min_rows_slice": 200, "random_state": SEED},
    }
    for library, chosen in options.items():
        size = workers[library].learn(problem.learned, problem.n_categories, binary=binary, **chosen)
        yield Result(library, size)


def learn_ours(worker: Worker, problem: Problem, least_units: int) -> Result:
    """Learn a network of at least so many units, with as many rows a node as gives one."""
    for min_rows in MIN_ROWS:
        options = {"min_rows": min_rows, "random_state": SEED}
        result = Result(OURS, worker.learn(problem.learned, problem.n_categories, **options), options=options)
        if result.units >= least_units:
            return result
    raise RuntimeError(f"{problem.name}: no network of {least_units} units with min_rows={MIN_ROWS[-1]} or more")


def time_second_process(worker: Worker, problem: Problem) -> list[float]:
    """Load the circuit in a new process, and return the seconds of its first and second scoring."""
    with tempfile.TemporaryDirectory() as folder, Worker(OURS) as second:
        saved = Path(folder) / "circuit"
        worker.save(saved)
        second.load(saved)
        second.read(problem.scored)
        return [second.time_scores(), second.time_scores()]


def run(workers: dict[str, Worker], problem: Problem, repeats: int, binary: str) -> list[Result]:
    peers = list(learn_peers(workers, problem, binary))
    ours = learn_ours(workers[OURS], problem, max(peer.units for peer in peers))
    results = [ours, *peers]
    for worker in workers.values():
        worker.read(problem.scored)
        worker.time_scores()  # what compiles or caches does so before time counts
    for _ in range(repeats):
        for result in results:
            result.seconds.append(workers[result.library].time_scores())
    ours.second_process = time_second_process(workers[OURS], problem)
    return results


def lines(problem: Problem, results: list[Result]) -> Iterator[str]:
    n_rows = len(problem.scored)
    ours = results[0].rate(n_rows)
    for result in results:
        counts = "".join(f"{count:>9}" for count in (*result.size.values(), result.units))
        line = f"{problem.name:<9} {result.library:<12}{counts} {result.rate(n_rows) / 1e3:>10,.0f}"
        if result.library in TARGETS:
            ratio, target = ours / result.rate(n_rows), TARGETS[result.library]
            line += f" {ratio:>8.1f} {target:>7.0f}  {'reached' if ratio >= target else 'MISSED'}"
        yield line


def as_json(problem: Problem, results: list[Result]) -> dict[str, Any]:
    n_rows = len(problem.scored)
    libraries = [{**asdict(result), "rows_per_second": result.rate(n_rows)} for result in results]
    return {"data": problem.name, "rows_scored": n_rows, "libraries": libraries}


def busy() -> str | None:
    """Say so if others keep the machine busy: whoever uses all cores loses most by that."""
    cores = os.cpu_count() or 1
    load_average = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load_average < cores / 2:
        return None
    return (
        f"note: the load average is {load_average:.1f} on {cores} cores; these are not the figures of a quiet machine"
    )


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="the folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="fewer rows and repeats; no Plants")
    parser.add_argument("--repeats", type=int, default=7, help="how often each library scores")
    parser.add_argument(
        "--binary", choices=["bernoulli", "categorical"], default="bernoulli", help="the peers' leaf for two categories"
    )
    parser.add_argument("--environments", type=Path, help="where the peers' environments are kept")
    parser.add_argument("--json", type=Path, help="a file to write the results to")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    names, n_scored, repeats = (NAMES[:3], 10_000, 3) if options.quick else (NAMES, 100_000, options.repeats)
    if note := busy():
        print(note, file=sys.stderr)
    outcomes = []
    print("data set  library          sums products   leaves    units  k rows/s    ratio  target", flush=True)
    with ExitStack() as stack:
        workers = {name: stack.enter_context(Worker(name, options.environments)) for name in LIBRARIES}
        for name in names:
            problem = pose(name, options.folder, n_scored)
            with Console(stderr=True).status(f"{name}: learning and scoring"):
                results = run(workers, problem, repeats, options.binary)
            outcomes.append((problem, results))
            print("\n".join(lines(problem, results)), flush=True)
    print(f"\nseconds to score {n_scored:,} rows in a second process, the first time and the next:")
    for problem, results in outcomes:
        first, second = results[0].second_process
        print(f"{problem.name:<9} {first:.3f} {second:.3f}")
    if options.json:
        options.json.write_text(json.dumps([as_json(*outcome) for outcome in outcomes], indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Tune SPNs on held-out rows, with independent leaves and with Chow-Liu trees, and report their test log-likelihood.

python benchmarks/likelihood.py FOLDER [--quick] [--factorization naive|chow-liu] [--jobs N]

The choice is made by the tuning rows alone; the test rows are scored by the chosen model and, for comparison, by
default ones.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from rich.progress import track

from datasets import load_binary
from unlearnspn import SPN

Params = dict[str, Any]

MSNBC_LEARNED = 35_000
N_FINALISTS = 8
GRID: dict[str, list[Any]] = {
    "threshold": [2.0, 3.0, 5.0],
    "min_rows": [10, 30],
    "max_rounds": [1, 10],
    "epsilon": [0.1, 1.0],
    "alpha": [0.1, 0.5, 1.0],
}
SMALL_GRID: dict[str, list[Any]] = {
    "threshold": [2.0, 3.0],
    "min_rows": [10, 30],
    "max_rounds": [10],
    "epsilon": [0.1],
    "alpha": [0.1, 0.5, 1.0],
}
TREE_GRID: dict[str, list[Any]] = {
    "threshold": [1.0, 2.0, 3.0],
    "min_rows": [30, 100],
    "max_rounds": [1, 10],
    "n_clusters": [2, 3],
    "alpha": [0.3, 1.0],
}
SMALL_TREE_GRID: dict[str, list[Any]] = {
    "threshold": [0.5, 2.0],
    "min_rows": [15, 30],
    "max_rounds": [10],
    "n_clusters": [2, 3],
    "alpha": [0.3],
}


@dataclass(frozen=True)
class Benchmark:
    """A data set, what is known of it, and how much of which grid to run."""

    name: str
    factorization: str
    target: float | None
    learn_spn: float
    grid: dict[str, list[Any]]
    seeds: int


BENCHMARKS = [
    Benchmark("nltcs", "naive", -6.06, -6.11, GRID, 10),
    Benchmark("msnbc", "naive", -6.10, -6.11, GRID, 10),
    Benchmark("plants", "naive", None, -12.98, SMALL_GRID, 4),
    Benchmark("nltcs", "chow-liu", -6.05, -6.11, TREE_GRID, 10),
    Benchmark("plants", "chow-liu", -12.80, -12.98, SMALL_TREE_GRID, 2),
]
SMALL_GRIDS = {"naive": SMALL_GRID, "chow-liu": SMALL_TREE_GRID}


@dataclass(frozen=True)
class Splits:
    """Rows to learn from, to tune on, and to report on."""

    learn: pd.DataFrame
    tune: pd.DataFrame
    test: pd.DataFrame


@dataclass(frozen=True)
class Candidate:
    """One fit: its parameters and its log-likelihood on the tuning rows."""

    params: Params
    tuning: float


@cache
def load_splits(folder: Path, name: str) -> Splits:
    test = load_binary(folder, name, "test").frame
    valid = load_binary(folder, name, "valid").frame
    if name == "msnbc":  # its train split is not at hand
        return Splits(valid.iloc[:MSNBC_LEARNED], valid.iloc[MSNBC_LEARNED:], test)
    return Splits(load_binary(folder, name, "train").frame, valid, test)


def fit(rows: pd.DataFrame, params: Params) -> SPN:
    # In a tree, a variable that knows both of its outcomes needs no third alternative for what was never seen.
    trees = params.get("factorization") == "chow-liu"
    leaves = dict.fromkeys(rows.columns, "bernoulli") if trees else None
    return SPN(categorical_features="all", leaves=leaves, **params).fit(rows)


def try_out(folder: Path, name: str, params: Params) -> Candidate:
    splits = load_splits(folder, name)
    return Candidate(params, fit(splits.learn, params).score(splits.tune))


def combinations(benchmark: Benchmark, random_state: int) -> list[Params]:
    fixed = {"factorization": benchmark.factorization, "random_state": random_state}
    grid = benchmark.grid
    return [{**dict(zip(grid, values, strict=True)), **fixed} for values in product(*grid.values())]


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: -candidate.tuning)


def search(pool: ProcessPoolExecutor, folder: Path, benchmark: Benchmark) -> list[Candidate]:
    """Run the grid with one seed, then its best combinations with more seeds; return all, best first."""

    def run(stage: str, trials: list[Params]) -> list[Candidate]:
        folders, names = [folder] * len(trials), [benchmark.name] * len(trials)
        results = pool.map(try_out, folders, names, trials)
        return list(track(results, f"{benchmark.name}, {benchmark.factorization}, {stage}", total=len(trials)))

    first = ranked(run("grid", combinations(benchmark, 0)))
    seeds = range(1, benchmark.seeds)
    finals = [{**best.params, "random_state": seed} for best in first[:N_FINALISTS] for seed in seeds]
    return ranked([*first, *(run("seeds", finals) if finals else [])])


def report(folder: Path, benchmark: Benchmark, candidates: list[Candidate]) -> str:
    splits, best = load_splits(folder, benchmark.name), candidates[0]
    test = fit(splits.learn, best.params).score(splits.test)
    chosen = ", ".join(f"{name}={value}" for name, value in best.params.items())
    target = ""
    if benchmark.target is not None:
        verdict = "reached" if test >= benchmark.target else "MISSED"
        target = f"target {benchmark.target}: {verdict}; "
    thousand, default = splits.learn.sample(1000, random_state=0), {"factorization": benchmark.factorization}
    return "\n".join(
        [
            f"{benchmark.name}, {benchmark.factorization}: test {test:.4f} (tuning rows {best.tuning:.4f}); "
            f"{target}LearnSPN {benchmark.learn_spn}",
            f"  SPN({chosen}), best of {len(candidates)} fits by the tuning rows",
            f"  otherwise default, on all {len(splits.learn)} rows: "
            f"test {fit(splits.learn, default).score(splits.test):.4f}",
            f"  otherwise default, on 1000 rows: test {fit(thousand, default).score(splits.test):.4f}",
        ]
    )


def reduced(benchmark: Benchmark) -> Benchmark:
    return replace(benchmark, grid=SMALL_GRIDS[benchmark.factorization], seeds=1)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="the folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="a small grid and one seed; no Plants")
    parser.add_argument("--factorization", choices=["naive", "chow-liu"], help="only this one")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes at a time")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    benchmarks = [each for each in BENCHMARKS if options.factorization in (None, each.factorization)]
    if options.quick:
        benchmarks = [reduced(benchmark) for benchmark in benchmarks if benchmark.name != "plants"]
    with ProcessPoolExecutor(options.jobs) as pool:
        for benchmark in benchmarks:
            print(report(options.folder, benchmark, search(pool, options.folder, benchmark)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

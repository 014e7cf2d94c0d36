"""Compare ensembles with single networks, both with Chow-Liu trees, by the log-likelihood of test rows.

python benchmarks/ensembles.py FOLDER [--members N] [--dataset nltcs|plants]

The parameters are chosen by the tuning rows alone. For comparison: what the members have by themselves.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from likelihood import Params, Splits, load_splits
from unlearnspn import SPN, SPNEnsemble

#: What is tried, and the published log-likelihood of ID-SPN.
GRIDS: dict[str, dict[str, list[Any]]] = {
    "nltcs": {"subsample": [0.6, 0.8, 1.0], "min_rows": [30, 100], "threshold": [2.0, 3.0], "n_clusters": [2]},
    "plants": {"subsample": [0.8, 1.0], "min_rows": [60], "threshold": [2.0], "n_clusters": [2, 3]},
}
ID_SPN = {"nltcs": -6.02, "plants": -12.54}


@dataclass(frozen=True)
class Trial:
    """An ensemble, how well it does on the tuning rows, and how long it took to learn."""

    params: Params
    ensemble: SPNEnsemble
    tuning: float
    seconds: float


def common(rows: pd.DataFrame) -> Params:
    return {
        "categorical_features": "all",
        "factorization": "chow-liu",
        "leaves": dict.fromkeys(rows.columns, "bernoulli"),
        "max_rounds": 10,
    }


def try_out(splits: Splits, n_members: int, params: Params) -> Trial:
    started = time.perf_counter()
    ensemble = SPNEnsemble(n_members, **common(splits.learn), **params).fit(splits.learn)
    seconds = time.perf_counter() - started
    trial = Trial(params, ensemble, ensemble.score(splits.tune), seconds)
    print(f"  {params}: tuning rows {trial.tuning:.4f}, {seconds:.0f} s", flush=True)
    return trial


def single(splits: Splits, params: Params) -> float:
    """Return the test log-likelihood of one network of all records with an ensemble's parameters."""
    own = {name: value for name, value in params.items() if name != "subsample"}
    return SPN(**common(splits.learn), **own).fit(splits.learn).score(splits.test)


def removal_seconds(ensemble: SPNEnsemble, number: int = 10) -> float:
    """Return the mean time of single removals."""
    ids = ensemble.ids_[:number]
    return sum(ensemble.unlearn(item).seconds for item in ids) / number


def run(folder: Path, name: str, n_members: int) -> None:
    splits, grid = load_splits(folder, name), GRIDS[name]
    print(f"{name}, {n_members} members", flush=True)
    trials = [try_out(splits, n_members, dict(zip(grid, values, strict=True))) for values in product(*grid.values())]
    best = max(trials, key=lambda trial: trial.tuning)
    print(
        f"  chosen: {best.params}: test {best.ensemble.score(splits.test):.4f} "
        f"(one network {single(splits, best.params):.4f}, ID-SPN {ID_SPN[name]}); "
        f"learned in {best.seconds:.1f} s, a removal {1e3 * removal_seconds(best.ensemble):.0f} ms",
        flush=True,
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="the folder of the data sets")
    parser.add_argument("--members", type=int, default=20, help="how many members an ensemble has")
    parser.add_argument("--dataset", choices=list(GRIDS), help="only this one")
    options = parser.parse_args(arguments)
    for name in GRIDS:
        if options.dataset in (None, name):
            run(options.folder, name, options.members)
    return 0


if __name__ == "__main__":
    sys.exit(main())

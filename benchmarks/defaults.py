"""Show how the defaults were chosen: held-out log-likelihood when one parameter at a time is another one.

python benchmarks/defaults.py FOLDER [--seeds N]

Each figure is the median, over samples of 1,000 rows, of the mean log-density of rows that are not among them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median
from typing import Any

from rich.progress import track

from unlearnspn import SPN
from unlearnspn.bench.datasets import Dataset, load
from unlearnspn.bench.paper.plan import N_HELD_OUT, N_ROWS

NAMES = ["abalone", "adult", "msnbc", "nltcs", "plants"]
VARIANTS: list[dict[str, Any]] = [
    {},
    *({"min_rows": value} for value in (50, 100)),
    *({"threshold": value} for value in (2.0, 5.0)),
    *({"n_clusters": value} for value in (2, 4, 16)),
    *({"max_rounds": value} for value in (1, 10)),
    {"n_clusters": 2, "max_rounds": 1},
    {"n_clusters": 2, "max_rounds": 10, "epsilon": 0.5},
    {"factorization": "naive"},
    *({"n_bins": value} for value in (6, 9, 17)),
    *({"alpha": value} for value in (0.1, 1.0)),
    *({"min_std": value} for value in (0.01, 0.2)),
]


def held_out(everything: Dataset, variant: dict[str, Any], seeds: int) -> float:
    scores = []
    for seed in range(seeds):
        sample = everything.sample(N_ROWS + N_HELD_OUT, seed).frame
        spn = everything.spn(SPN, random_state=seed, **variant).fit(sample.iloc[:N_ROWS])
        scores.append(float(spn.score(sample.iloc[N_ROWS:])))
    return median(scores)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="the folder of the data sets")
    parser.add_argument("--seeds", type=int, default=8, help="how many samples")
    options = parser.parse_args(arguments)
    data = {name: load(name, options.folder) for name in NAMES}
    print(f"{'':<44}" + "".join(f"{name:>10}" for name in NAMES))
    for variant in track(VARIANTS, "Fitting"):
        label = ", ".join(f"{key}={value}" for key, value in variant.items()) or "default"
        scores = [held_out(everything, variant, options.seeds) for everything in data.values()]
        print(f"{label:<44}" + "".join(f"{score:>10.2f}" for score in scores))
    return 0


if __name__ == "__main__":
    sys.exit(main())

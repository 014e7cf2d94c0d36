"""The kinds of models that are tuned, and the parameters that are tried."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from unlearnspn import SPN, SPNEnsemble

Params = dict[str, Any]
Grid = dict[str, list[Any]]

#: A set with more columns than this is tried with less: its fits take seconds.
WIDE = 40


@dataclass(frozen=True)
class Kind:
    """A kind of model: the estimator, what it has fixed, what is tried, and how many seeds the best ones get."""

    name: str
    title: str
    estimator: type[SPN | SPNEnsemble]
    fixed: Params
    grid: Grid
    small_grid: Grid
    seeds: int
    seeds_if_wide: int

    @property
    def knows_outcomes(self) -> bool:
        """Whether leaves are Bernoulli: in a tree, both outcomes known leave no third one for what was never seen."""
        return bool(self.fixed["factorization"] == "chow-liu")

    @property
    def untuned(self) -> str:
        """What is fixed, and differs from the estimator's defaults in part; all else is by default before tuning."""
        fixed = ", ".join(f"{name}={value!r}" for name, value in self.fixed.items())
        return f"{self.estimator.__name__}({fixed}){' with Bernoulli leaves' if self.knows_outcomes else ''}"

    def make(self, columns: list[str], params: Params) -> SPN | SPNEnsemble:
        """Return an estimator of binary columns, not yet fitted."""
        leaves = dict.fromkeys(columns, "bernoulli") if self.knows_outcomes else None
        return self.estimator(categorical_features="all", leaves=leaves, **self.fixed, **params)

    def candidates(self, n_columns: int, quick: bool) -> list[Params]:
        """Return what is tried first: nothing but what is fixed, that with small nodes, and the grid."""
        grid = self.small_grid if quick or n_columns > WIDE else self.grid
        return [{}, {"min_rows": 200}, *(dict(zip(grid, values, strict=True)) for values in product(*grid.values()))]

    def seeds_for(self, n_columns: int, quick: bool) -> range:
        """Return the seeds that the best combinations are tried with beside 0."""
        return range(1, 1 if quick else self.seeds_if_wide if n_columns > WIDE else self.seeds)


INDEPENDENT = Kind(
    "naive",
    "single, independent leaves",
    SPN,
    {"factorization": "naive"},
    {
        "threshold": [2.0, 3.0, 5.0],
        "min_rows": [10, 30],
        "max_rounds": [1, 10],
        "n_clusters": [2],
        "epsilon": [0.1, 1.0],
        "alpha": [0.1, 0.5, 1.0],
    },
    {
        "threshold": [2.0, 3.0],
        "min_rows": [10, 30],
        "max_rounds": [10],
        "n_clusters": [2],
        "epsilon": [0.1],
        "alpha": [0.1, 0.5, 1.0],
    },
    seeds=10,
    seeds_if_wide=4,
)
TREES = Kind(
    "chow-liu",
    "single, Chow-Liu trees",
    SPN,
    {"factorization": "chow-liu"},
    {
        "threshold": [1.0, 2.0, 3.0],
        "min_rows": [30, 100],
        "max_rounds": [1, 10],
        "n_clusters": [2, 3],
        "alpha": [0.3, 1.0],
    },
    {"threshold": [0.5, 2.0], "min_rows": [15, 30], "max_rounds": [10], "n_clusters": [2, 3], "alpha": [0.3]},
    seeds=10,
    seeds_if_wide=2,
)
ENSEMBLE = Kind(
    "ensemble",
    "ensemble, Chow-Liu trees",
    SPNEnsemble,
    {"factorization": "chow-liu", "n_members": 20, "max_rounds": 10},
    {"threshold": [2.0, 3.0], "min_rows": [30, 60], "n_clusters": [2, 3]},
    {"threshold": [2.0], "min_rows": [60], "n_clusters": [2, 3]},
    seeds=1,
    seeds_if_wide=1,
)
KINDS = {kind.name: kind for kind in (INDEPENDENT, TREES, ENSEMBLE)}

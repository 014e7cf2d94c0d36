"""deeprob-kit 1.1.0, for the worker in its environment: learn and score."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from deeprob.spn.algorithms.inference import log_likelihood  # type: ignore[import-not-found]
from deeprob.spn.learning.wrappers import learn_estimator  # type: ignore[import-not-found]
from deeprob.spn.structure.leaf import Bernoulli, Categorical, Gaussian  # type: ignore[import-not-found]
from deeprob.spn.utils.filter import filter_nodes_by_type  # type: ignore[import-not-found]
from deeprob.spn.utils.statistics import compute_statistics  # type: ignore[import-not-found]

Rows = npt.NDArray[np.float64]


def learn(rows: Rows, n_categories: list[int], options: dict[str, Any]) -> Any:
    """Learn as `learn_estimator` does by default; `binary` says which leaf columns of two categories get."""
    options = dict(options)
    binary = {"bernoulli": Bernoulli, "categorical": Categorical}[options.pop("binary")]
    leaves = [Gaussian if n == 0 else binary if n == 2 else Categorical for n in n_categories]
    # From all categories, not from those learned from: it fails on a binary column that is constant.
    ranges = zip(rows.min(axis=0).tolist(), rows.max(axis=0).tolist(), strict=True)
    domains = [list(range(n)) if n else bounds for n, bounds in zip(n_categories, ranges, strict=True)]
    return learn_estimator(rows, leaves, domains, verbose=False, **options)


def widen(model: Any, least: list[float]) -> None:
    """Give Gaussian leaves at least these standard deviations, by column."""
    for leaf in filter_nodes_by_type(model, Gaussian):
        leaf.stddev = max(leaf.stddev, least[leaf.scope[0]])


def size(model: Any) -> dict[str, int]:
    """Count the sums, products and leaves."""
    counts = compute_statistics(model)
    return {"sums": counts["n_sum"], "products": counts["n_prod"], "leaves": counts["n_leaves"]}


def score(model: Any, rows: Rows) -> npt.NDArray[np.floating]:
    """Return the log-density of each row."""
    densities: npt.NDArray[np.floating] = log_likelihood(model, rows)
    return densities

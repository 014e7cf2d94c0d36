"""How good models are: held-out log-likelihood, and SDMetrics' quality report on samples."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.alternatives.methods import Trained, log_densities
from benchmarks.alternatives.tables import Split, usual_warnings
from benchmarks.synthetic import tables as synthetic_tables
from benchmarks.synthetic.sdv_client import COPULA, Scores, quality_of

#: SDMetrics gets so many rows at most.
_MOST_ROWS = 2_000


def mean_log_density(trained: Trained, split: Split) -> float:
    """Return the mean log-density of the rows held out."""
    return float(log_densities(trained.circuit(), split.held_out.frame).mean())


def quality_of_samples(python: Path, split: Split, models: dict[str, Trained], seed: int) -> dict[str, Scores]:
    """Return SDMetrics' scores of samples of each model against rows held out; of real rows under `train`."""
    real, held_out = (_readable(records.frame.iloc[:_MOST_ROWS]) for records in (split.private, split.held_out))
    samples = {}
    with usual_warnings():
        for name, trained in models.items():
            samples[name] = _readable(trained.circuit().sample(len(held_out), random_state=seed))
    scores = quality_of(python, synthetic_tables.Split(real, held_out), samples)
    return {name: found for name, found in scores.items() if name != COPULA}


def _readable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table as SDMetrics reads it: a missing category is one of its own."""
    texts = frame.columns.difference(frame.select_dtypes("number").columns)
    return frame.astype(dict.fromkeys(texts, object)).fillna(dict.fromkeys(texts, "?"))

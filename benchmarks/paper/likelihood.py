"""Held-out log-likelihood of models of 1,000 rows: ours, SPFlow's and deeprob-kit's."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.figures import Figure, at_least
from benchmarks.paper.peer_trials import PeerTrials
from benchmarks.paper.samples import Sample
from benchmarks.peers.libraries import DEEPROB_KIT, SPFLOW
from benchmarks.reports import Column, Row, Section
from unlearnspn import SPN

PEERS = {SPFLOW: "spflow", DEEPROB_KIT: "deeprob"}
#: Peers write the least float for minus infinity.
_IMPOSSIBLE = -1e30


def new_section() -> Section:
    """Return the section, without rows yet."""
    columns = [
        Column("data", "data set"),
        Column("ours", "ours", 3),
        Column("spflow", "SPFlow", 3),
        Column("deeprob", "deeprob-\nkit", 3),
        Column("spflow_widened", "SPFlow,\nour floor", 3),
        Column("deeprob_widened", "deeprob-kit,\nour floor", 3),
        Column("spflow_impossible", "-inf,\nSPFlow"),
        Column("deeprob_impossible", "-inf,\ndeeprob-kit"),
    ]
    notes = [
        "Median over seeds of the mean log-density of up to 2,000 rows not learned from. ours: SPN(). The target is "
        "the better peer; on tables with numbers, the better of them with our floor on their Gaussians' deviations.",
        "Rows that a peer holds impossible (-inf) are left out of its mean, and counted, over all seeds.",
    ]
    return Section("likelihood", "Held-out log-likelihood, 1,000 rows", columns, notes=notes)


def as_row(name: str, samples: list[Sample], trials: PeerTrials | None) -> Row:
    """Learn all samples of a data set, and return the medians."""
    row: Row = {"data": name}
    if trials is not None:
        for library, key in PEERS.items():
            row |= _peer_cells(key, [trials.of(library, sample) for sample in samples])
    bounds = [row[key] for key in _compared(row)]
    best = max((bound for bound in bounds if isinstance(bound, float)), default=None)
    row["ours"] = Figure(_median_score(samples), None, None if best is None else at_least(best))
    return row


def _compared(row: Row) -> list[str]:
    """Return the keys of the peers' figures that ours is compared with: those with our floor, if there are any."""
    widened = [f"{key}_widened" for key in PEERS.values() if f"{key}_widened" in row]
    return widened or [key for key in PEERS.values() if key in row]


def _peer_cells(key: str, trials: list[Any]) -> Row:
    row: Row = {
        key: median(mean_possible(trial.densities) for trial in trials),
        f"{key}_impossible": sum(count_impossible(trial.densities) for trial in trials),
    }
    if all(trial.widened is not None for trial in trials):
        row[f"{key}_widened"] = median(mean_possible(trial.widened) for trial in trials)
        row[f"{key}_widened_impossible"] = sum(count_impossible(trial.widened) for trial in trials)
    return row


def _median_score(samples: list[Sample], **params: Any) -> float:
    return median(score_ours(sample, **params) for sample in samples)


def score_ours(sample: Sample, **params: Any) -> float:
    """Learn what the peers learn, and return the mean log-density of the rows held out."""
    spn = SPN(categorical_features=[n > 0 for n in sample.n_categories], random_state=sample.seed, **params)
    return float(spn.fit(sample.rows).score(sample.held_out))


def mean_possible(densities: npt.NDArray[np.floating]) -> float:
    """Return the mean log-density of the rows that a model holds possible.

    >>> mean_possible(np.array([-1.0, -np.inf, -3.0]))
    -2.0
    """
    return float(densities[densities > _IMPOSSIBLE].mean(dtype=np.float64))


def count_impossible(densities: npt.NDArray[np.floating]) -> int:
    """Count the rows that a model holds impossible.

    >>> count_impossible(np.array([-1.0, -np.inf, np.finfo(float).min]))
    2
    """
    return int((~(densities > _IMPOSSIBLE)).sum())

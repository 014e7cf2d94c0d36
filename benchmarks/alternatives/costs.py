"""What a removal costs: seconds, and what has to be kept for it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import numpy as np

from benchmarks.alternatives.methods import Method, log_densities
from benchmarks.alternatives.tables import Split
from benchmarks.timing import Stopwatch

BATCH_SHARE = 0.01


@dataclass(frozen=True)
class Costs:
    """What one method took on one table."""

    train: float
    #: The median of several removals of one record, and with the first query after it.
    one: float
    one_and_answer: float
    #: 1 % of the private records at once.
    batch: float
    batch_and_answer: float
    bytes_per_record: float


def measure_costs(method: Method, split: Split, n_removals: int, seed: int) -> Costs:
    """Train, and remove private records one by one and in one batch; a query follows each time."""
    row = split.held_out.frame.iloc[:1]
    records = split.train
    with Stopwatch() as training:
        trained = method.train(records, seed)
        log_densities(trained.circuit(), row)
    kept = trained.kept_bytes() / len(records)
    if not method.acts:
        return Costs(training.seconds, 0.0, 0.0, 0.0, 0.0, kept)
    order = np.random.default_rng([seed, 6]).permutation(split.private.ids).tolist()
    n_batch = max(1, round(BATCH_SHARE * len(split.private)))
    requests = [[each] for each in order[:n_removals]] + [order[n_removals : n_removals + n_batch]]
    removing, answering = [], []
    for leaving in requests:
        with Stopwatch() as removal:
            trained.remove(leaving)
        with Stopwatch() as query:
            log_densities(trained.circuit(), row)
        removing.append(removal.seconds)
        answering.append(removal.seconds + query.seconds)
    return Costs(training.seconds, median(removing[:-1]), median(answering[:-1]), removing[-1], answering[-1], kept)

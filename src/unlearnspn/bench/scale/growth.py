"""What is measured of one table, in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unlearnspn import SPN
from unlearnspn.bench.checking import Digests, require_equal
from unlearnspn.bench.datasets import Dataset
from unlearnspn.bench.memory import resident_bytes
from unlearnspn.bench.scale.plan import Case
from unlearnspn.bench.timing import Stopwatch

_WARM_UP_ROWS = 2000
#: Up to so many rows, the model is compared with a fresh fit after so many removals; at the end in any case.
_CHECK_OFTEN_BELOW, _CHECK_EVERY = 50_000, 50


@dataclass(frozen=True)
class Growth:
    """What one table took."""

    n_rows: int
    n_columns: int
    train: float
    #: What stayed in memory when the table was gone; None where the system does not tell.
    kept_bytes: int | None
    unlearn: list[float]
    batches: list[float]
    #: After which requests both digests were compared with a fresh fit.
    checked: list[str]


def measure_growth(case: Case, removals: int, batches: int, batch_share: float, **params: Any) -> Growth:
    """Train, let the table go, remove records one by one and in batches, and compare with fresh fits.

    `params` are those of the estimator.
    """
    _warm_up(case, params)
    before = resident_bytes()
    spn, train = _train(case.load(), params)
    after = resident_bytes()
    data = case.load()  # again, and the same: for fresh fits
    rows = np.random.default_rng(0).permutation(len(data.frame))
    n_batch = max(1, round(batch_share * len(rows)))
    check = _Check(spn, data, params)
    seconds, in_batches = _remove(spn, rows[:removals].tolist(), check), []
    for start in range(removals, removals + batches * n_batch, n_batch):
        batch = rows[start : start + n_batch].tolist()
        with Stopwatch() as watch:
            spn.unlearn(batch)
        in_batches.append(watch.seconds)
    check(rows[: removals + batches * n_batch].tolist(), f"{batches} batches of {n_batch:,}")
    kept = None if before is None or after is None else after - before
    return Growth(*data.frame.shape, train, kept, seconds, in_batches, check.done)


def _warm_up(case: Case, params: dict[str, Any]) -> None:
    """Have everything compiled before time is taken or memory measured."""
    data = case.load_some(_WARM_UP_ROWS)
    spn = data.spn(**params).fit(data.frame)
    for leaving in range(20):
        spn.unlearn([leaving])
    spn.unlearn(list(range(20, 60)))


def _train(data: Dataset, params: dict[str, Any]) -> tuple[SPN, float]:
    spn = data.spn(**params)
    with Stopwatch() as watch:
        spn.fit(data.frame)
    return spn, watch.seconds


def _remove(spn: SPN, leaving: list[int], check: _Check) -> list[float]:
    seconds = []
    for number, name in enumerate(leaving, start=1):
        with Stopwatch() as watch:
            spn.unlearn([name])
        seconds.append(watch.seconds)
        often = len(check.data.frame) <= _CHECK_OFTEN_BELOW and number % _CHECK_EVERY == 0
        if often or number == len(leaving):
            check(leaving[:number], f"removal {number}")
    return seconds


class _Check:
    """Compares a model with fresh fits on what is left of its table."""

    def __init__(self, spn: SPN, data: Dataset, params: dict[str, Any]) -> None:
        self.spn = spn
        self.data = data
        self.params = params
        self.done: list[str] = []

    def __call__(self, gone: list[int], when: str) -> None:
        left = np.delete(np.arange(len(self.data.frame)), gone)
        fresh = self.data.spn(**self.params).fit(self.data.frame.iloc[left], ids=left)
        require_equal(Digests.of(self.spn), Digests.of(fresh), f"{self.data.name}, after {when}")
        self.done.append(when)

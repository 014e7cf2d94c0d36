"""What is measured of one table, in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.checking import Digests, require_equal
from benchmarks.datasets import Dataset
from benchmarks.memory import peak_bytes, resident_bytes
from benchmarks.scale.plan import Case
from benchmarks.timing import Stopwatch
from unlearnspn import SPN

#: Up to so many cells, the model is compared with a fresh fit after each single removal, or after so many of them;
#: after the last one, and after each batch, in any case.
_CHECK_EACH_UP_TO, _CHECK_OFTEN_UP_TO, _OFTEN = 100_000, 2_500_000, 50

#: So many queries are asked, each after another removal.
_QUERIES = 20


@dataclass(frozen=True)
class Growth:
    """What one table took."""

    n_rows: int
    n_columns: int
    train: float
    #: What stayed in memory when the table was gone, and the most that the process ever held, with the second model
    #: that the first is compared with; None where the system does not tell.
    kept_bytes: int | None
    peak_bytes: int | None
    unlearn: list[float]
    batches: list[float]
    #: After which of the single removals both digests were compared with a fresh fit; after a batch they always were.
    checked: list[int]
    #: The first query of all, for which the whole circuit is derived, and queries right after a removal.
    first_query: float
    next_queries: list[float]


def measure_growth(case: Case, removals: int, batches: int, batch_share: float, **params: Any) -> Growth:
    """Train, let the table go, remove records one by one and in batches, and compare with fresh fits.

    `params` are those of the estimator.
    """
    _load_modules(case)
    before = resident_bytes()
    spn, train = _train(case.load(), params)
    after = resident_bytes()
    data = case.load()  # again, and the same: for fresh fits
    n_rows = len(data.frame)
    order = np.random.default_rng(0).permutation(n_rows).tolist()
    n_batch, checked = max(1, round(batch_share * n_rows)), _checked(removals, data.frame.size)
    forgetting = _Forgetting(spn)
    singles = [
        forgetting.remove([name], f"removal {number}" if number in checked else None)
        for number, name in enumerate(order[:removals], start=1)
    ]
    starts = range(removals, removals + batches * n_batch, n_batch)
    in_batches = [
        forgetting.remove(order[start : start + n_batch], f"batch {number}")
        for number, start in enumerate(starts, start=1)
    ]
    row, leaving = data.frame.iloc[:1], order[removals + batches * n_batch :][:_QUERIES]
    first_query = _ask(spn, row)
    next_queries = []
    for name in leaving:
        forgetting.remove([name], "the removals before queries" if name == leaving[-1] else None)
        next_queries.append(_ask(spn, row))
    forgetting.require_equal_to_fresh_fits(data, params)
    kept = None if before is None or after is None else after - before
    return Growth(*data.frame.shape, train, kept, peak_bytes(), singles, in_batches, checked, first_query, next_queries)


def _load_modules(case: Case) -> None:
    """Use a few rows, for modules are loaded when they are needed first, and their memory is not the model's."""
    data = case.load_some(100)
    spn = data.spn().fit(data.frame)
    spn.unlearn([0])
    _ask(spn, data.frame.iloc[:1])


def _train(data: Dataset, params: dict[str, Any]) -> tuple[SPN, float]:
    spn = data.spn(**params)
    with Stopwatch() as watch:
        spn.fit(data.frame)
    return spn, watch.seconds


def _ask(spn: SPN, row: pd.DataFrame) -> float:
    """Return the seconds that it takes to score a row."""
    with Stopwatch() as watch:
        spn.score_samples(row)
    return watch.seconds


def _checked(removals: int, n_cells: int) -> list[int]:
    """Return after which single removals the model is compared with a fresh fit, which takes long on a large table.

    >>> _checked(3, 50_000), _checked(120, 500_000), _checked(200, 50_000_000)
    ([1, 2, 3], [50, 100, 120], [200])
    """
    every = 1 if n_cells <= _CHECK_EACH_UP_TO else _OFTEN if n_cells <= _CHECK_OFTEN_UP_TO else removals
    return sorted({*range(every, removals, every), removals})


@dataclass
class _Forgetting:
    """A model that records leave, and what it was after some requests.

    It is compared when all records have left: a fresh fit in between would take the caches of the next removal.
    """

    spn: SPN
    gone: list[int] = field(default_factory=list)
    moments: list[tuple[str, int, Digests]] = field(default_factory=list)

    def remove(self, leaving: list[int], when: str | None) -> float:
        """Remove records, note what the model is then if the moment has a name, and return the seconds."""
        with Stopwatch() as watch:
            self.spn.unlearn(leaving)
        self.gone += leaving
        if when is not None:
            self.moments.append((when, len(self.gone), Digests.of(self.spn)))
        return watch.seconds

    def require_equal_to_fresh_fits(self, data: Dataset, params: dict[str, Any]) -> None:
        """Raise unless the model was at each moment the one that what was left of its table gives."""
        for when, n_gone, digests in self.moments:
            left = np.delete(np.arange(len(data.frame)), self.gone[:n_gone])
            fresh = data.spn(**params).fit(data.frame.iloc[left], ids=left)
            require_equal(digests, Digests.of(fresh), f"{data.name}, after {when}")

"""Models of tables whose partitions lie on workers are the local ones, bit for bit: real data, real processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.checking import NotRetrainedError
from benchmarks.datasets import Dataset, load, split_missing
from benchmarks.extras import require_extra
from benchmarks.progress import Bar
from benchmarks.reports import Column, Row, Section
from unlearnspn import SPN

NAME = "cluster-exactness"

_KEY = "key of the record"
_NAMES = ("adult", "flights")
#: So many records leave, the first of them one by one; so many come back, and so many get the values of others.
_LEAVING, _SINGLES, _BACK, _CORRECTED = 200, 20, 50, 40
_QUICK_ROWS = 2000


@dataclass(frozen=True)
class Plan:
    """Which tables, in how many partitions, on how many workers."""

    folder: Path | None = None
    quick: bool = False
    workers: tuple[int, ...] = (1, 2, 3)
    partitions: tuple[int, ...] = (1, 5, 17)

    @property
    def left_out(self) -> list[str]:
        """What is not at hand."""
        return split_missing(_NAMES, self.folder)[1]

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on."""
        return {"quick": self.quick, "workers": list(self.workers), "partitions": list(self.partitions)}

    def tables(self) -> list[Dataset]:
        """Return the tables at hand, some rows of each if it is to be quick."""
        tables = [load(name, self.folder) for name in split_missing(_NAMES, self.folder)[0]]
        return [table.sample(_QUICK_ROWS, 0) for table in tables] if self.quick else tables


class Place(NamedTuple):
    """How many workers there are, and how many partitions the table has."""

    workers: int
    partitions: int

    @property
    def is_arrow(self) -> bool:
        """Whether the columns are Arrow's, which they are in every second number of partitions."""
        return self.partitions == 5


@dataclass
class Pair:
    """A model on workers and the local one, which get the same requests."""

    shared: SPN
    local: SPN
    comparisons: int = 0
    mismatches: list[str] = field(default_factory=list)

    def ask(self, what: str, method: str, *arguments: Any) -> None:
        """Send both a request, and compare."""
        for spn in (self.shared, self.local):
            getattr(spn, method)(*arguments)
        self.compare(what)

    def compare(self, what: str) -> None:
        """Compare both digests."""
        self._count(f"digest, {what}", self.shared.digest() == self.local.digest())
        self._count(f"state digest, {what}", self.shared.state_digest() == self.local.state_digest())

    def compare_circuits(self, what: str) -> None:
        """Compare all parameters of the circuits."""
        self._count(f"circuit, {what}", self.shared.to_circuit() == self.local.to_circuit())

    def verify(self) -> None:
        """Have the workers learn from scratch."""
        self._count("verify", bool(self.shared.verify()))

    def _count(self, what: str, equal: bool) -> None:
        self.comparisons += 1
        if not equal:
            self.mismatches.append(what)


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Compare after each request; raise if any two models differ."""
    require_extra("dask", "dask", "distributed", "pyarrow")
    from benchmarks.cluster.on_dask import cut, open_cluster  # noqa: PLC0415

    tables, section = plan.tables(), _section()
    places = [Place(*each) for each in product(plan.workers, plan.partitions)]
    bar.begin("comparing", len(tables) * len(places))
    mismatches: list[str] = []
    for data, place in product(tables, places):
        with open_cluster(place.workers):
            rows = _rows(data.frame, place)
            shared = data.spn().fit(cut(rows, place.partitions), ids=_KEY)
            pair = Pair(shared, data.spn().fit(rows, ids=_KEY))
            _ask_all(pair, rows)
        section.rows.append(_as_row(data, place, pair))
        mismatches += [f"{data.name}, {place}: {what}" for what in pair.mismatches]
        bar.step()
    comparisons = sum(int(str(row["comparisons"])) for row in section.rows)
    section.notes = [f"{comparisons:,} comparisons, {len(mismatches)} mismatches", *mismatches]
    yield section
    if mismatches:
        raise NotRetrainedError(f"{len(mismatches)} of {comparisons} comparisons differ")


def _rows(frame: pd.DataFrame, place: Place) -> pd.DataFrame:
    """Return the rows in another order for each place, with keys, as columns of pandas or of Arrow."""
    rng = np.random.default_rng([place.workers, place.partitions])
    frame = frame.reset_index(drop=True)
    rows = frame.assign(**{_KEY: np.arange(len(frame))}).iloc[rng.permutation(len(frame))]
    return rows.convert_dtypes(dtype_backend="pyarrow") if place.is_arrow else rows


def _ask_all(pair: Pair, rows: pd.DataFrame) -> None:
    """Remove records one by one and together, put some back, and give others the values of others."""
    keys, by_key = rows[_KEY].tolist(), rows.set_index(_KEY, drop=False)
    pair.compare("fit")
    pair.compare_circuits("fit")
    leaving, staying = keys[:_LEAVING], keys[_LEAVING : _LEAVING + _CORRECTED]
    for number, key in enumerate(leaving[:_SINGLES], start=1):
        pair.ask(f"removal {number}", "unlearn", key)
    pair.ask("batch", "unlearn", leaving[_SINGLES:])
    pair.ask("addition", "learn", by_key.loc[leaving[:_BACK]])
    pair.ask("correction", "rectify", by_key.loc[staying].assign(**{_KEY: staying[::-1]}))
    pair.compare_circuits("correction")
    pair.verify()


def _as_row(data: Dataset, place: Place, pair: Pair) -> Row:
    return {
        "data": data.name,
        "workers": place.workers,
        "partitions": place.partitions,
        "columns": "Arrow" if place.is_arrow else "pandas",
        "comparisons": pair.comparisons,
        "mismatches": len(pair.mismatches),
    }


def _section() -> Section:
    columns = [
        Column("data", "data set"),
        Column("workers", "workers"),
        Column("partitions", "partitions"),
        Column("columns", "columns"),
        Column("comparisons", "comparisons"),
        Column("mismatches", "mismatches"),
    ]
    return Section("cluster-exactness", "Models on clusters against local ones", columns)

"""How long a vault of 336,776 flights takes to fill, open and change, each change durable on the disk.

All 19 columns are learned from; the aircraft are the subjects. Opening is measured in new processes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.datasets import DataMissingError, flights_file, why_missing
from benchmarks.progress import Bar
from benchmarks.reports import Column, Row, Section
from benchmarks.timing import Stopwatch
from unlearnspn import Vault

NAME = "vault"

_OPEN = """
import sys, time
from unlearnspn import Vault
started = time.perf_counter()
with Vault.open(sys.argv[1]):
    print(time.perf_counter() - started)
"""
_QUICK_ROWS = 2000


@dataclass(frozen=True)
class Plan:
    """How many flights, how many of each request, and a folder on the disk that is to be measured."""

    folder: Path | None = None
    removals: int = 200
    quick: bool = False
    left_out: list[str] = field(default_factory=list)

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on."""
        return {"removals": self.removals, "quick": self.quick}

    def flights(self) -> pd.DataFrame:
        """Return the flights with a number each."""
        if reason := why_missing("flights", None):
            raise DataMissingError(reason)
        table = pd.read_csv(flights_file(), nrows=_QUICK_ROWS if self.quick else None)
        return table.assign(row=np.arange(len(table)))


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Fill a vault, open it, change it, ask it and verify it."""
    columns = [
        Column("what", "what"),
        Column("median_ms", "median\nms", 1),
        Column("p95_ms", "95 %\nms", 1),
        Column("least_ms", "least\nms", 1),
        Column("number", "number"),
    ]
    section = Section("vault", "A vault of flights", columns)
    table = plan.flights()
    with TemporaryDirectory(dir=plan.folder) as folder:
        path = Path(folder) / "flights.uspn"
        bar.begin("vault", 4)
        for part in (_fill, _change, _ask, _verify):
            section.rows += part(path, table, plan)
            bar.step()
        section.notes.append(f"{len(table):,} flights, a file of {path.stat().st_size / 1e6:.0f} MB")
    yield section


def _fill(path: Path, table: pd.DataFrame, plan: Plan) -> Iterator[Row]:
    with Vault.create(path) as vault:
        yield row_of("ingest", [_seconds(partial(vault.ingest, table, "row", table["tailnum"]))])
        yield row_of("fit, with storing", [_seconds(vault.fit)])
    yield row_of("open, in a new process", [_seconds_to_open(path) for _ in range(1 if plan.quick else 5)])


def _change(path: Path, table: pd.DataFrame, plan: Plan) -> Iterator[Row]:
    some = min(50, plan.removals)
    left = np.random.default_rng(0).permutation(table["row"].to_numpy()).tolist()
    with Vault.open(path, write=True) as vault:
        yield row_of("remove one", _times(vault.unlearn, (left.pop() for _ in range(plan.removals))))
        yield row_of("try the removal of one out", _times(partial(vault.unlearn, dry_run=True), left[:some]))
        corrected = (table.iloc[[left.pop()]].assign(dep_delay=3.0) for _ in range(some))
        yield row_of("correct one", _times(partial(vault.rectify, subjects=["-"]), corrected))
        common = table["tailnum"].value_counts().index[100:120]
        yield row_of("remove a subject", _times(lambda name: vault.unlearn(subject=name), common))
        batches = [vault.ids()[start::300] for start in range(2)]
        yield row_of(f"remove {len(batches[0]):,} in one batch", _times(vault.unlearn, batches))


def _ask(path: Path, table: pd.DataFrame, plan: Plan) -> Iterator[Row]:
    asked = table.drop(columns="row").iloc[:100]
    with Vault.open(path) as reader, Vault.open(path, write=True) as vault:
        ask = partial(reader.score_samples, asked)
        yield row_of("first answer, 100 rows", [_seconds(ask)])
        vault.unlearn(vault.ids()[7])
        yield row_of("first answer after a removal", [_seconds(ask)])
        yield row_of("next answer, 100 rows", [_seconds(ask) for _ in range(20)])


def _verify(path: Path, table: pd.DataFrame, plan: Plan) -> Iterator[Row]:
    with Vault.open(path) as vault, Stopwatch() as watch:
        failures = vault.verify().failures
    if failures:
        raise RuntimeError(f"the vault is not what it should be: {failures}")
    yield row_of("verify, with learning from scratch", [watch.seconds])


def row_of(what: str, seconds: list[float]) -> Row:
    """Return the quantiles of some times."""
    least, median, p95 = (1e3 * np.quantile(seconds, [0.0, 0.5, 0.95])).tolist()
    return {"what": what, "median_ms": median, "p95_ms": p95, "least_ms": least, "number": len(seconds)}


def _times(act: Callable[[Any], object], arguments: Iterable[Any]) -> list[float]:
    return [_seconds(partial(act, each)) for each in arguments]


def _seconds(act: Callable[[], object]) -> float:
    with Stopwatch() as watch:
        act()
    return watch.seconds


def _seconds_to_open(path: Path) -> float:
    return float(subprocess.run([sys.executable, "-c", _OPEN, path], capture_output=True, check=True).stdout)

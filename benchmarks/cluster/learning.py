"""What is measured of one table at one place, in a process of its own: in that process, or on a cluster it asks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pandas as pd

from benchmarks.checking import Digests, NotRetrainedError
from benchmarks.memory import peak_bytes
from benchmarks.timing import Stopwatch
from unlearnspn import SPN


class Traffic(NamedTuple):
    """What went between the coordinator and the workers."""

    n_rounds: int
    n_bytes: int
    #: Those of the largest round.
    most_bytes: int


class Place(Protocol):
    """Where a model is learned."""

    def read(self, folder: Path) -> Any:
        """Return a table, or what says how it is to be read."""

    def worker_peaks(self) -> list[int | None]:
        """Return the most bytes that each worker ever held."""

    def traffic_of(self, spn: SPN) -> Traffic | None:
        """Return what a model's questions have sent to and fro, if anything."""


class Here:
    """This process."""

    def read(self, folder: Path) -> Any:
        """Return the table."""
        return pd.read_parquet(folder)

    def worker_peaks(self) -> list[int | None]:
        """Return nothing: there are no workers."""
        return []

    def traffic_of(self, spn: SPN) -> Traffic | None:
        """Return None: nothing is sent."""
        return None


@dataclass(frozen=True)
class Task:
    """What is to be done with a table."""

    #: Where `write_table` has written it.
    folder: Path
    #: The ids of those that leave, one by one.
    leaving: tuple[int, ...]
    verify: bool


@dataclass(frozen=True)
class Learning:
    """What it took, and which models it gave."""

    #: On a cluster the workers read, as part of the fit.
    read: float
    fit: float
    #: After the fit: what this process ever held at most, and each worker; None where the system does not tell.
    peak: int | None
    worker_peaks: list[int | None]
    traffic: Traffic | None
    fitted: Digests
    unlearn: list[float]
    left: Digests
    #: The first time that the whole circuit is derived.
    derive: float
    verify: float | None

    @property
    def seconds(self) -> float:
        """From files to the model, whose digests are known then."""
        return self.read + self.fit


def learn_here(task: Task) -> Learning:
    """Do it in this process."""
    return learn(Here(), task)


def learn_on_workers(task: Task, n_workers: int) -> Learning:
    """Do it on a cluster of processes of this machine."""
    from benchmarks.cluster.on_dask import open_cluster  # noqa: PLC0415

    with open_cluster(n_workers) as place:
        return learn(place, task)


def learn(place: Place, task: Task) -> Learning:
    """Read, fit, remove records one by one, derive the circuit, and verify if that is asked for."""
    with Stopwatch() as reading:
        table = place.read(task.folder)
    with Stopwatch() as fitting:
        spn = SPN().fit(table)
    peak, worker_peaks, traffic, fitted = peak_bytes(), place.worker_peaks(), place.traffic_of(spn), Digests.of(spn)
    singles = [_remove(spn, name) for name in task.leaving]
    left = Digests.of(spn)
    with Stopwatch() as deriving:
        spn.to_circuit()
    verifying = _verify(spn) if task.verify else None
    return Learning(
        reading.seconds,
        fitting.seconds,
        peak,
        worker_peaks,
        traffic,
        fitted,
        singles,
        left,
        deriving.seconds,
        verifying,
    )


def _remove(spn: SPN, name: int) -> float:
    with Stopwatch() as watch:
        spn.unlearn([name])
    return watch.seconds


def _verify(spn: SPN) -> float:
    """Have the model learned anew where its records are, and return the seconds."""
    with Stopwatch() as watch:
        verification = spn.verify()
    if not verification:
        raise NotRetrainedError("after the removals: the model does not verify")
    return watch.seconds

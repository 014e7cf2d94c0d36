"""Training: ours with and without what removal needs, and SPFlow's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unlearnspn import SPN, model
from unlearnspn.bench.datasets import Dataset
from unlearnspn.bench.figures import Figure, at_least, at_most, times
from unlearnspn.bench.paper.plan import MAIN_DATA
from unlearnspn.bench.paper.samples import Sample
from unlearnspn.bench.reports import Column, Row, Section
from unlearnspn.bench.timing import Stopwatch

TIMES_SPFLOW, OVERHEAD = at_least(50.0), at_most(1.10)
_REPEATS = 3


@dataclass(frozen=True)
class Training:
    """The least seconds of some trainings on the same rows; None for what this version cannot do."""

    seconds: float
    without_state: float | None


def train(data: Dataset, params: dict[str, Any], make: Callable[..., SPN] = SPN) -> float:
    """Return the seconds of a training, from the data frame on."""
    spn = data.spn(make, **params)
    with Stopwatch() as watch:
        spn.fit(data.frame)
    return watch.seconds


def train_without_state(data: Dataset, params: dict[str, Any], make: Callable[..., SPN] = SPN) -> float | None:
    """Return the seconds of a training that keeps nothing for removals, from the data frame on.

    It is done by `unlearnspn.model.learn_without_state(estimator, frame)`. Where the library has no such function,
    there is nothing to compare with: the answer is None, and the column is left out.
    """
    learn = getattr(model, "learn_without_state", None)
    if learn is None:
        return None
    spn = data.spn(make, **params)
    with Stopwatch() as watch:
        learn(spn, data.frame)
    return watch.seconds


def time_training(sample: Sample, make: Callable[..., SPN]) -> Training:
    """Train several times, with and without state in turn."""
    params = {"random_state": sample.seed}
    pairs = [
        (train(sample.data, params, make), train_without_state(sample.data, params, make)) for _ in range(_REPEATS)
    ]
    without = [seconds for _, seconds in pairs if seconds is not None]
    return Training(min(seconds for seconds, _ in pairs), min(without, default=None))


def new_section() -> Section:
    """Return the section, without rows yet."""
    columns = [
        Column("data", "data set"),
        Column("setting", "setting"),
        Column("train_ms", "train\nms", 2),
        Column("without_state_ms", "without state\nms", 2),
        Column("overhead", "with /\nwithout", 3),
        Column("spflow_train_ms", "SPFlow trains\nms", 0),
        Column("spflow_ratio", "SPFlow trains /\nwe train", 1),
    ]
    notes = [f"From the data frame on, the least of {_REPEATS} trainings a seed; SPFlow's from an array."]
    return Section("training", "Training on 1,000 rows", columns, notes=notes)


def as_row(name: str, setting: str, runs: list[Training], spflow: list[float] | None) -> Row:
    """Return the row of a data set in a setting, given SPFlow's least seconds of a training for each seed."""
    meant = setting == "ours" and name in MAIN_DATA
    ours = [run.seconds for run in runs]
    row: Row = {"data": name, "setting": setting, "train_ms": Figure.of([1e3 * seconds for seconds in ours])}
    without = [run.without_state for run in runs if run.without_state is not None]
    if without:
        row["without_state_ms"] = Figure.of([1e3 * seconds for seconds in without])
        row["overhead"] = times(ours, without, OVERHEAD if meant else None)
    if spflow is not None:
        row["spflow_train_ms"] = Figure.of([1e3 * seconds for seconds in spflow])
        row["spflow_ratio"] = times(spflow, ours, TIMES_SPFLOW if meant else None)
    return row

"""Training: ours with and without what removal needs, and SPFlow's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from benchmarks.datasets import Dataset
from benchmarks.figures import Figure, at_least, at_most, times
from benchmarks.paper.peer_trials import PeerTrials
from benchmarks.paper.plan import MAIN_DATA, SETTINGS
from benchmarks.paper.samples import Sample
from benchmarks.peers.libraries import SPFLOW
from benchmarks.reports import Column, Row, Section
from benchmarks.timing import Stopwatch
from unlearnspn import SPN
from unlearnspn.ids import RecordId
from unlearnspn.model import learn_without_state
from unlearnspn.settings import Settings
from unlearnspn.tables import Table

TIMES_SPFLOW, OVERHEAD = at_least(50.0), at_most(1.10)
#: How often ours is trained for its own time, as often as a peer; and how often to compare it with and without state,
#: which differ by less than two trainings may.
_REPEATS, _COMPARED = 3, 9


#: What a note says where ours and a peer's training are compared.
FIT_OR_CIRCUIT = (
    "fit: until requests can come; targets are meant for it. circuit: until the circuit that scores stands as well, "
    "which is derived at the first query otherwise; a peer's training ends with a model that scores."
)


@dataclass(frozen=True)
class Training:
    """The least seconds of some trainings on the same rows."""

    #: Of `fit`.
    seconds: float
    #: Until the circuit stands, with all that requests need, and without.
    with_state: float
    without_state: float


class _WithoutState(SPN):
    """An estimator whose model is the circuit alone."""

    def _learn_engine(self, settings: Settings, ids: Sequence[RecordId], table: Table) -> Any:
        return learn_without_state(settings, ids, table)


class Seconds(NamedTuple):
    """The seconds of a training."""

    fit: float
    #: With `fit`.
    to_circuit: float


def train(spn: SPN, frame: pd.DataFrame) -> Seconds:
    """Train an estimator, from the data frame on."""
    with Stopwatch() as fitting:
        spn.fit(frame)
    with Stopwatch() as deriving:
        _ = spn.circuit_
    return Seconds(fitting.seconds, fitting.seconds + deriving.seconds)


def least(runs: Iterable[Seconds]) -> Seconds:
    """Return the least of each.

    >>> least([Seconds(1.0, 4.0), Seconds(2.0, 3.0)])
    Seconds(fit=1.0, to_circuit=3.0)
    """
    return Seconds(*map(min, zip(*runs, strict=True)))


@dataclass(frozen=True)
class Race:
    """The seconds of SPFlow's trainings on a sample, and of ours in each setting, which were timed in turn."""

    spflow: list[float]
    ours: dict[str, list[Seconds]]


def race(sample: Sample, trials: PeerTrials) -> Race:
    """Train on a sample in turn with SPFlow: the speed of a machine may change between two trainings of its own."""
    ours: dict[str, list[Seconds]] = {setting: [] for setting in SETTINGS}

    def train_ours() -> None:
        for setting, make in SETTINGS.items():
            models = [sample.data.spn(make, random_state=sample.seed) for _ in range(_REPEATS)]
            ours[setting].append(least(train(spn, sample.data.frame) for spn in models))

    spflow = trials.of(SPFLOW, sample, train_ours).seconds
    return Race(spflow, ours)


def train_without_state(data: Dataset, params: dict[str, Any], make: Callable[..., SPN] = SPN) -> float:
    """Return the seconds until the circuit stands of a training that keeps nothing for requests."""
    spn = _WithoutState(**data.spn(make, **params).get_params(deep=False))
    with Stopwatch() as watch:
        spn.fit(data.frame)
    return watch.seconds


def time_training(sample: Sample, make: Callable[..., SPN]) -> Training:
    """Train several times, with and without state in turn."""
    data, params, runs = sample.data, {"random_state": sample.seed}, []
    for _ in range(_COMPARED):
        seconds = train(data.spn(make, **params), data.frame)
        runs.append((*seconds, train_without_state(data, params, make)))
    fits, with_state, without_state = zip(*runs, strict=True)
    return Training(min(fits[:_REPEATS]), min(with_state), min(without_state))


def new_section() -> Section:
    """Return the section, without rows yet."""
    columns = [
        Column("data", "data set"),
        Column("setting", "setting"),
        Column("train_ms", "fit\nms", 1),
        Column("with_state_ms", "circuit\nms", 1),
        Column("without_state_ms", "stateless\nms", 1),
        Column("overhead", "circuit /\nstateless", 2),
        Column("spflow_train_ms", "SPFlow\nms", 0),
        Column("spflow_ratio", "SPFlow /\nfit", 0),
        Column("spflow_circuit_ratio", "SPFlow /\ncircuit", 0),
    ]
    notes = [
        f"From the data frame on, the least of {_REPEATS} trainings a seed, with and without state of {_COMPARED}, in "
        f"turn; SPFlow's from an array. Ratios to SPFlow: {_REPEATS} of ours after each of its own, the least of each.",
        FIT_OR_CIRCUIT,
        "stateless: until the circuit stands, without what only requests need: the answers that each node keeps, and "
        "the digest of all records.",
    ]
    return Section("training", "Training on 1,000 rows", columns, notes=notes)


def as_row(name: str, setting: str, runs: list[Training], races: list[Race] | None) -> Row:
    """Return the row of a data set in a setting, given how it went with SPFlow for each seed."""
    meant = setting == "ours" and name in MAIN_DATA
    ours = [run.seconds for run in runs]
    row: Row = {"data": name, "setting": setting, "train_ms": Figure.of([1e3 * seconds for seconds in ours])}
    state, without = [run.with_state for run in runs], [run.without_state for run in runs]
    row["with_state_ms"] = Figure.of([1e3 * seconds for seconds in state])
    row["without_state_ms"] = Figure.of([1e3 * seconds for seconds in without])
    row["overhead"] = times(state, without, OVERHEAD if meant else None)
    if races is not None:
        spflow, in_turn = [min(each.spflow) for each in races], [least(each.ours[setting]) for each in races]
        row["spflow_train_ms"] = Figure.of([1e3 * seconds for seconds in spflow])
        row["spflow_ratio"] = times(spflow, [each.fit for each in in_turn], TIMES_SPFLOW if meant else None)
        row["spflow_circuit_ratio"] = times(spflow, [each.to_circuit for each in in_turn])
    return row

"""Removals one by one, and retraining on what is left after each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from benchmarks.checking import Digests, require_equal
from benchmarks.figures import Figure, Target, at_least, times
from benchmarks.paper.plan import MAIN_DATA
from benchmarks.paper.samples import Sample
from benchmarks.reports import Column, Row, Section
from benchmarks.timing import Stopwatch
from unlearnspn import SPN
from unlearnspn.ids import RecordId

RATIO, RATIO_OF_PAPER, TIMES_SPFLOW = at_least(30.0), at_least(5.0), at_least(1000.0)
#: How often all records are removed.
_ROUNDS = 5


@dataclass
class Removals:
    """The seconds of each removal and of each retraining, in the same run."""

    unlearn: list[float]
    retrain: list[float]


def remove_one_by_one(sample: Sample, make: Callable[..., SPN], removals: int) -> Removals:
    """Remove records one after another, then retrain without each of them; raise if any two models are not equal.

    Removals follow each other as requests do, and trainings as well: neither finds its memory taken by the other.
    Both are timed until the model's digests are known, which a removal reports. All removals take less time than some
    trainings: they are done in several rounds, between which trainings are, so that both find the machine alike.
    """
    leaving = _leaving(sample, removals)
    rounds, unlearned, retrain, retrained = [], [], [], []
    for some in np.array_split(np.arange(len(leaving)), _ROUNDS):
        seconds, digests = _remove(sample, make, leaving)
        rounds.append(seconds)
        unlearned.append(digests)
        for place in some.tolist():
            seconds_of_one, expected = _retrain(sample, make, place + 1)
            retrain.append(seconds_of_one)
            retrained.append(expected)
    for digests in unlearned:
        for place, (found, expected) in enumerate(zip(digests, retrained, strict=True), start=1):
            require_equal(found, expected, f"{sample.data.name}, seed {sample.seed}, {place} removals")
    return Removals([fmean(seconds) for seconds in zip(*rounds, strict=True)], retrain)


def _leaving(sample: Sample, removals: int) -> list[RecordId]:
    """Return the records to remove; one is left at the end."""
    ids: list[RecordId] = sample.data.frame.index.tolist()
    return ids[: min(removals, len(ids) - 1)]


def _remove(sample: Sample, make: Callable[..., SPN], leaving: Sequence[RecordId]) -> tuple[list[float], list[Digests]]:
    """Learn, and remove records; return the seconds of each removal, and the digests after it."""
    data, seconds, digests = sample.data, [], []
    spn = data.spn(make, random_state=sample.seed).fit(data.frame, ids=data.frame.index.tolist())
    for name in leaving:
        with Stopwatch() as unlearning:
            spn.unlearn([name])
        seconds.append(unlearning.seconds)
        digests.append(Digests.of(spn))
    return seconds, digests


def _retrain(sample: Sample, make: Callable[..., SPN], n_removed: int) -> tuple[float, Digests]:
    """Learn without the first records; return the seconds, and the digests."""
    data = sample.data
    rest, left = data.frame.iloc[n_removed:], data.frame.index.tolist()[n_removed:]
    fresh = data.spn(make, random_state=sample.seed)
    with Stopwatch() as retraining:
        fresh.fit(rest, ids=left)
        digests = Digests.of(fresh)
    return retraining.seconds, digests


def new_section(removals: int, peer_trainings: int | None) -> Section:
    """Return the section, without rows yet."""
    columns = [
        Column("data", "data set"),
        Column("setting", "setting"),
        Column("unlearn_ms", "unlearn\none, ms", 2),
        Column("unlearn_total_s", "unlearn\nall, s", 3),
        Column("retrain_total_s", "retrain\nall, s", 3),
        Column("ratio", "retrain /\nunlearn"),
        Column("spflow_retrain_total_s", "SPFlow\nall, s", 0),
        Column("spflow_ratio", "SPFlow /\nunlearn", 0),
    ]
    notes = [
        f"{removals} removals a seed, each checked: digest and state digest are those of a fresh fit. "
        f"all: accumulated, of removals the mean of {_ROUNDS} rounds. Mean ± deviation over seeds; ratios are formed "
        "within a seed.",
        "Retraining starts from the data frame. Both end when the model's digests are known. ours: SPN(); paper: "
        "SPN.from_paper().",
    ]
    if peer_trainings is not None:
        notes.append(
            f"SPFlow's retraining: the mean of {peer_trainings} full training(s) a seed on the same rows, counted "
            "once for each removal."
        )
    return Section("removal", "Removals one by one against retraining, 1,000 rows", columns, notes=notes)


def as_row(name: str, setting: str, runs: list[Removals], spflow: list[float] | None) -> Row:
    """Return the row of a data set in a setting, given SPFlow's mean seconds of a training for each seed."""
    unlearn = [fmean(run.unlearn) for run in runs]
    retrain = [fmean(run.retrain) for run in runs]
    row: Row = {
        "data": name,
        "setting": setting,
        "unlearn_ms": Figure.of([1e3 * seconds for seconds in unlearn]),
        "retrain_ms": Figure.of([1e3 * seconds for seconds in retrain]),
        "unlearn_total_s": Figure.of([sum(run.unlearn) for run in runs]),
        "retrain_total_s": Figure.of([sum(run.retrain) for run in runs]),
        "ratio": times(retrain, unlearn, _ratio_target(name, setting)),
    }
    if spflow is not None:
        row["spflow_retrain_ms"] = Figure.of([1e3 * seconds for seconds in spflow])
        row["spflow_retrain_total_s"] = Figure.of([s * len(r.unlearn) for s, r in zip(spflow, runs, strict=True)])
        meant = setting == "ours" and name in MAIN_DATA
        row["spflow_ratio"] = times(spflow, unlearn, TIMES_SPFLOW if meant else None)
    return row


def _ratio_target(name: str, setting: str) -> Target | None:
    if name == "wine":
        return RATIO_OF_PAPER
    return {"ours": RATIO, "paper": RATIO_OF_PAPER}[setting] if name in MAIN_DATA else None

"""Removals one by one, and retraining on what is left after each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean

from unlearnspn import SPN
from unlearnspn.bench.checking import Digests, require_equal
from unlearnspn.bench.figures import Figure, Target, at_least, times
from unlearnspn.bench.paper.plan import MAIN_DATA
from unlearnspn.bench.paper.samples import Sample
from unlearnspn.bench.reports import Column, Row, Section
from unlearnspn.bench.timing import Stopwatch

RATIO, RATIO_OF_PAPER, TIMES_SPFLOW = at_least(30.0), at_least(5.0), at_least(1000.0)


@dataclass
class Removals:
    """The seconds of each removal and of each retraining, in the same run."""

    unlearn: list[float] = field(default_factory=list)
    retrain: list[float] = field(default_factory=list)


def remove_one_by_one(sample: Sample, make: Callable[..., SPN], removals: int) -> Removals:
    """Remove records one after another, then retrain without each of them; raise if any two models are not equal.

    Removals follow each other as requests do, and trainings as well: neither finds its memory taken by the other.
    Both are timed until the model's digests are known, which a removal reports.
    """
    data, seconds = sample.data, Removals()
    ids = data.frame.index.tolist()
    spn = data.spn(make, random_state=sample.seed).fit(data.frame, ids=ids)
    unlearned = []
    for leaving in ids[: min(removals, len(ids) - 1)]:
        with Stopwatch() as unlearning:
            spn.unlearn([leaving])
        seconds.unlearn.append(unlearning.seconds)
        unlearned.append(Digests.of(spn))
    for place, digests in enumerate(unlearned, start=1):
        rest, left, fresh = data.frame.iloc[place:], ids[place:], data.spn(make, random_state=sample.seed)
        with Stopwatch() as retraining:
            fresh.fit(rest, ids=left)
            expected = Digests.of(fresh)
        seconds.retrain.append(retraining.seconds)
        require_equal(digests, expected, f"{data.name}, seed {sample.seed}, {place} removals")
    return seconds


def warm_up(sample: Sample, make: Callable[..., SPN], removals: int) -> None:
    """Remove the same records before time is taken, for numba compiles, or loads, what is needed first then."""
    data, ids = sample.data, sample.data.frame.index.tolist()
    spn = data.spn(make, random_state=sample.seed).fit(data.frame, ids=ids)
    for leaving in ids[: min(removals, len(ids) - 1)]:
        spn.unlearn([leaving])


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
        "all: accumulated. Mean ± deviation over seeds; ratios are formed within a seed.",
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

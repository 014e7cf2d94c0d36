"""Tune, learn, and report on the test rows, beside published figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.figures import Figure, Target, at_least
from benchmarks.progress import Bar
from benchmarks.quality.models import ENSEMBLE, Kind
from benchmarks.quality.plan import Plan
from benchmarks.quality.search import Candidate, n_trials, search
from benchmarks.quality.splits import Splits, load_splits
from benchmarks.reports import Column, Row, Section
from benchmarks.timing import Stopwatch

NAME = "quality"


@dataclass(frozen=True)
class Published:
    """Test log-likelihoods of LearnSPN and ID-SPN in the literature."""

    learn_spn: float
    id_spn: float


PUBLISHED = {
    "nltcs": Published(-6.11, -6.02),
    "msnbc": Published(-6.11, -6.04),
    "plants": Published(-12.98, -12.54),
}
#: An ensemble is to come this near to ID-SPN, a single model to be as good as LearnSPN.
_NEAR = 1.01


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Tune and report every kind of model on every set."""
    section = _new_section(plan.kinds)
    for name in plan.names:
        for kind in plan.kinds:
            row = _measure_one(plan, name, kind, bar)
            section.rows.append(row)
            section.notes.append(f"{name}, {kind.title}: {row['parameters']} (best of {row['fits']} fits).")
        if not plan.claims(name):
            section.notes.append(
                f"{name}: its train split is not at hand; 90 % of the valid split were learned, and nothing is claimed."
            )
    yield section


def _measure_one(plan: Plan, name: str, kind: Kind, bar: Bar) -> Row:
    splits = load_splits(plan.folder, name)
    bar.begin(f"{name}: {kind.title}", n_trials(plan.folder, name, kind, plan.quick))
    with Stopwatch() as searching:
        candidates = search(plan.folder, name, kind, plan.quick, plan.jobs, bar.step)
    untuned, _ = _learn_and_score(kind, splits, {})
    test, seconds = _learn_and_score(kind, splits, candidates[0].params)
    row = _row(name, kind, candidates, splits)
    return row | {
        "test": Figure(test, None, _target(name, kind) if plan.claims(name) else None),
        "untuned_test": untuned,
        "train_s": seconds,
        "search_s": searching.seconds,
    }


def _learn_and_score(kind: Kind, splits: Splits, params: dict[str, object]) -> tuple[float, float]:
    """Return the mean log-density of the test rows, and the seconds of learning."""
    spn = kind.make(list(splits.learn.columns), params)
    with Stopwatch() as watch:
        spn.fit(splits.learn)
    return float(spn.score(splits.test)), watch.seconds


def _row(name: str, kind: Kind, candidates: list[Candidate], splits: Splits) -> Row:
    published, best = PUBLISHED.get(name), candidates[0]
    return {
        "data": name,
        "model": kind.title,
        "rows": len(splits.learn),
        "fits": len(candidates),
        "tuning": best.tuning,
        "learn_spn": published.learn_spn if published else None,
        "id_spn": published.id_spn if published else None,
        "parameters": ", ".join(f"{key}={value}" for key, value in best.params.items()),
    }


def _target(name: str, kind: Kind) -> Target | None:
    if name not in PUBLISHED:
        return None
    published = PUBLISHED[name]
    return at_least(_NEAR * published.id_spn if kind is ENSEMBLE else published.learn_spn)


def _new_section(kinds: list[Kind]) -> Section:
    columns = [
        Column("data", "set"),
        Column("model", "model"),
        Column("test", "test", 3),
        Column("untuned_test", "untuned", 3),
        Column("learn_spn", "LearnSPN,\npublished", 2),
        Column("id_spn", "ID-SPN,\npublished", 2),
        Column("train_s", "train\ns", 2),
        Column("search_s", "search\ns", 0),
    ]
    notes = [
        "Parameters are chosen by the tuning rows alone. Targets: a single model as good as LearnSPN, an ensemble "
        "within 1 % of ID-SPN.",
        *(f"{kind.title}, untuned: {kind.untuned}, all else by default." for kind in kinds),
    ]
    return Section("likelihood", "Test log-likelihood", columns, notes=notes)

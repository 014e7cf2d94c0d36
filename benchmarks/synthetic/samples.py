"""Samples: SDMetrics' quality report beside SDV's GaussianCopula, and one correlation."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.figures import Figure, Target, at_least, at_most
from benchmarks.progress import Bar
from benchmarks.reports import Column, Section
from benchmarks.synthetic.models import DEFAULT, MODELS
from benchmarks.synthetic.plan import Plan
from benchmarks.synthetic.sdv_client import COPULA, REAL_ROWS, quality_of
from benchmarks.synthetic.tables import Split

_LABELS = {**{model: model for model in MODELS}, COPULA: "SDV's GaussianCopula", REAL_ROWS: "real rows"}
#: The tables on which samples are to be better than the copula's, but for what is bounded by itself.
_TARGETED = ("breast_cancer", "wine", "abalone", "adult")
_TREND_TARGETS = {"abalone": 0.925, "adult": 0.9}
_CORRELATED_ROWS = 5000
_CORRELATION_TARGET = at_most(0.05)


def measure_quality(plan: Plan, python: Path, bar: Bar) -> Section:
    """Report on as many samples as there are rows held out, against these."""
    columns = [
        Column("data", "table"),
        Column("model", "model"),
        Column("shapes", "Column Shapes", 3),
        Column("trends", "Column Pair Trends", 3),
    ]
    notes = [
        "SDMetrics' quality report against the rows held out, of as many samples; real rows are those learned from. A "
        "missing category is one of its own. " + plan.note(),
        "Targets: better than SDV's GaussianCopula; pair trends of at least 0.925 on Abalone and 0.9 on Adult.",
    ]
    section = Section("quality", "Samples: SDMetrics' quality report", columns, notes=notes)
    tables = plan.tables()
    bar.begin("SDMetrics", len(tables))
    for table in tables:
        found = plan.over_splits(table, partial(_scores, python))
        targets = _targets(table.name, found)
        for model, label in _LABELS.items():
            cells = {key: found[f"{model} {key}"] for key in ("shapes", "trends")}
            if model == DEFAULT:
                cells = {key: Figure(cell.value, cell.std, targets.get(key)) for key, cell in cells.items()}
            section.rows.append({"data": table.name, "model": label, **cells})
        bar.step()
    return section


def _scores(python: Path, split: Split, seed: int) -> dict[str, float]:
    known = Split(_without_gaps(split.train), _without_gaps(split.held_out))
    n_rows = len(known.held_out)
    samples = {name: make().fit(known.train).sample(n_rows, random_state=seed) for name, make in MODELS.items()}
    found = quality_of(python, known, samples)
    return {f"{model} {key}": value for model, scores in found.items() for key, value in vars(scores).items()}


def _without_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """Make a missing category one of its own: SDMetrics counts it as one in pairs, and samples have none missing."""
    return frame.fillna(dict.fromkeys(frame.columns.difference(frame.select_dtypes("number").columns), "?"))


def _targets(name: str, found: dict[str, Figure]) -> dict[str, Target]:
    if name not in _TARGETED:
        return {}
    trends = _TREND_TARGETS.get(name, found[f"{COPULA} trends"].value)
    return {"shapes": at_least(found[f"{COPULA} shapes"].value), "trends": at_least(trends)}


def measure_correlation(plan: Plan, bar: Bar) -> Section:
    """Learn two numbers of which one is twice the other and noise, and return the correlation of samples."""
    columns = [Column("of", "of"), Column("correlation", "correlation", 3), Column("off", "away from the data's", 3)]
    notes = [f"{_CORRELATED_ROWS:,} rows and as many samples; random tables: {plan.seeds}."]
    section = Section("correlation", "Samples: x normal, w = 2x + noise", columns, notes=notes)
    bar.begin("correlation", plan.seeds)
    found: dict[str, list[float]] = {"data": [], **{name: [] for name in MODELS}}
    for seed in range(plan.seeds):
        data = _correlated(seed)
        found["data"].append(_correlation(data))
        for name, make in MODELS.items():
            found[name].append(_correlation(make().fit(data).sample(len(data), random_state=seed)))
        bar.step()
    section.rows.append({"of": "data", "correlation": Figure.of(found["data"])})
    for name in MODELS:
        off = [abs(of - real) for of, real in zip(found[name], found["data"], strict=True)]
        target = _CORRELATION_TARGET if name == DEFAULT else None
        section.rows.append({"of": name, "correlation": Figure.of(found[name]), "off": Figure.of(off, target)})
    return section


def _correlated(seed: int) -> pd.DataFrame:
    x, noise = np.random.default_rng(seed).normal(size=(2, _CORRELATED_ROWS))
    return pd.DataFrame({"x": x, "w": 2.0 * x + noise})


def _correlation(frame: pd.DataFrame) -> float:
    return float(np.corrcoef(frame["x"], frame["w"])[0, 1])

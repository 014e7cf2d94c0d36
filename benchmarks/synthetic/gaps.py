"""Gaps: `SPNImputer` beside scikit-learn's imputers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.preprocessing import StandardScaler

from benchmarks.figures import Figure, at_most
from benchmarks.imputation import blank
from benchmarks.progress import Bar
from benchmarks.reports import Column, Section
from benchmarks.synthetic.plan import Plan
from benchmarks.synthetic.tables import Split
from unlearnspn import SPNImputer

#: Returns rows filled in, given rows to learn from and those with gaps.
Fill = Callable[[pd.DataFrame, pd.DataFrame], Any]

_TABLES = ("abalone", "breast_cancer", "wine", "diabetes")
#: The share of the cells that are blanked.
_SHARE = 0.2
#: How many times IterativeImputer's error ours may be.
_TARGET = at_most(1.05)
_OURS, _ITERATIVE = "SPNImputer", "IterativeImputer"


def _fill_iteratively(train: pd.DataFrame, incomplete: pd.DataFrame) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return IterativeImputer(random_state=0).fit(train).transform(incomplete)


def _fill_by_neighbours(train: pd.DataFrame, incomplete: pd.DataFrame) -> Any:
    """Find the neighbours among standardised rows."""
    scaler = StandardScaler().fit(train)
    filled = KNNImputer().fit(scaler.transform(train)).transform(scaler.transform(incomplete))
    return scaler.inverse_transform(filled)


_FILLS: dict[str, Fill] = {
    _OURS: lambda train, incomplete: SPNImputer().fit(train).transform(incomplete),
    _ITERATIVE: _fill_iteratively,
    "KNNImputer": _fill_by_neighbours,
    "means": lambda train, incomplete: SimpleImputer().fit(train).transform(incomplete),
}


def measure_gaps(plan: Plan, bar: Bar) -> Section:
    """Blank cells, learn from rows with gaps, and fill in those held out."""
    columns = [
        Column("data", "table"),
        *(Column(name, name, 3) for name in _FILLS),
        Column("ratio", f"{_OURS} /\n{_ITERATIVE}", 3),
    ]
    notes = [
        f"{_SHARE:.0%} of the cells of the numeric columns are blanked, of the rows that are learned from and of those "
        "held out: root of the mean squared error of the latter, in deviations of the column. KNNImputer is given "
        f"standardised columns. {plan.note()}"
    ]
    section = Section("gaps", "Gaps: error of what is filled in", columns, notes=notes)
    tables = [table.only_numbers() for table in plan.tables() if table.name in _TABLES]
    bar.begin("gaps", len(tables))
    for table in tables:
        found = plan.over_splits(table, _errors)
        ratio = found.pop("ratio")
        section.rows.append({"data": table.name, **found, "ratio": Figure(ratio.value, ratio.std, _TARGET)})
        bar.step()
    return section


def _errors(split: Split, seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    train, _ = blank(split.train, _SHARE, rng)
    incomplete, blanked = blank(split.held_out, _SHARE, rng)
    deviations = split.train.std().to_numpy()

    def error(fill: Fill) -> float:
        off = (np.asarray(fill(train, incomplete)) - split.held_out.to_numpy()) / deviations
        return float(np.sqrt(np.mean(off[blanked] ** 2)))

    errors = {name: error(fill) for name, fill in _FILLS.items()}
    return errors | {"ratio": errors[_OURS] / errors[_ITERATIVE]}

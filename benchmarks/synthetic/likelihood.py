"""Held-out log-likelihood, and how much of it one outlier costs."""

from __future__ import annotations

import numpy as np

from benchmarks.figures import Figure, at_least, at_most
from benchmarks.progress import Bar
from benchmarks.reports import Column, Section
from benchmarks.synthetic.models import DEFAULT, MODELS, NAIVE
from benchmarks.synthetic.plan import Plan
from benchmarks.synthetic.tables import Split, Table
from unlearnspn import SPN

#: What the default model is to reach on the numeric columns.
_TARGETS = {"abalone": at_least(11.2), "breast_cancer": at_least(22.0), "wine": at_least(-20.5)}
#: How far an outlier is put from the column's mean, in its deviations.
DISTANCES = (10, 100, 1000)
_QUANTILE = 0.95
_OUTLIER_TARGET = at_most(15.0)


def measure_likelihood(plan: Plan, bar: Bar) -> Section:
    """Score the rows held out."""
    columns = [
        Column("data", "table"),
        Column("all_default", f"all columns\n{DEFAULT}", 2),
        Column("all_naive", "\nnaive", 2),
        Column("numeric_default", f"numeric columns\n{DEFAULT}", 2),
        Column("numeric_naive", "\nnaive", 2),
    ]
    section = Section(
        "likelihood", "Held-out log-likelihood, nats per row", columns, notes=[f"Naive: {NAIVE}. {plan.note()}"]
    )
    tables = plan.tables()
    bar.begin("likelihood", len(tables))
    for table in tables:
        everything, numbers = (plan.over_splits(each, _scores) for each in (table, _numbers_of(table)))
        numeric = numbers[DEFAULT]
        section.rows.append(
            {
                "data": table.name,
                "all_default": everything[DEFAULT],
                "all_naive": everything[NAIVE],
                "numeric_default": Figure(numeric.value, numeric.std, _TARGETS.get(table.name)),
                "numeric_naive": numbers[NAIVE],
            }
        )
        bar.step()
    return section


def _numbers_of(table: Table) -> Table:
    return Table(table.name, table.frame[table.numeric])


def _scores(split: Split, seed: int) -> dict[str, float]:
    return {name: float(make().fit(split.train).score(split.held_out)) for name, make in MODELS.items()}


def measure_outliers(plan: Plan, bar: Bar) -> Section:
    """Put one value of each held-out row far away, column by column, and return what the row loses."""
    columns = [
        Column("data", "table"),
        Column("distance", "deviations"),
        Column("mean", "mean\nnats", 1),
        Column("quantile", "95 %\nnats", 1),
    ]
    notes = [
        "What SPN() gives less to a held-out row if one number is put so many deviations above the column's mean; each "
        f"number of each row. {plan.note()}"
    ]
    section = Section("outliers", "What one outlier costs", columns, notes=notes)
    tables = plan.tables()
    bar.begin("outliers", len(tables))
    for table in tables:
        found = plan.over_splits(table, _losses)
        for distance in DISTANCES:
            mean = found[f"{distance} mean"]
            cells = {"mean": Figure(mean.value, mean.std, _OUTLIER_TARGET), "quantile": found[f"{distance} quantile"]}
            section.rows.append({"data": table.name, "distance": distance, **cells})
        bar.step()
    return section


def _losses(split: Split, seed: int) -> dict[str, float]:
    """Return mean and quantile of the nats that are lost, by distance; a constant column has no deviations."""
    spn = SPN().fit(split.train)
    before = spn.score_samples(split.held_out)
    numbers = split.train.select_dtypes("number")
    means, deviations = numbers.mean().to_dict(), numbers.std().to_dict()
    found: dict[str, float] = {}
    for distance in DISTANCES:
        far = {str(name): means[name] + distance * each for name, each in deviations.items() if each > 0.0}
        lost = [before - spn.score_samples(split.held_out.assign(**{name: value})) for name, value in far.items()]
        found |= {f"{distance} mean": float(np.mean(lost)), f"{distance} quantile": float(np.quantile(lost, _QUANTILE))}
    return found

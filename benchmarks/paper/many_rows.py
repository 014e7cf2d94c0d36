"""Training on many rows of mixed columns, against SPFlow."""

from __future__ import annotations

from benchmarks.figures import Figure
from benchmarks.paper.peer_trials import options_of
from benchmarks.paper.samples import Sample
from benchmarks.paper.training import FIT_OR_CIRCUIT, TIMES_SPFLOW, least, train
from benchmarks.peers.client import Worker
from benchmarks.peers.libraries import SPFLOW
from benchmarks.reports import Column, Row, Section

DATA, N_MANY = "adult", 20_000
_REPEATS = 3


def compare(sample: Sample, spflow: Worker | None) -> Row:
    """Train ours several times, and SPFlow, which takes half a minute, once."""
    data, seed = sample.data, sample.seed
    ours = least(train(data.spn(random_state=seed), data.frame) for _ in range(_REPEATS))
    row: Row = {"data": data.name, "rows": len(sample.rows), "train_s": ours.fit, "circuit_s": ours.to_circuit}
    if spflow is not None:
        options = options_of(SPFLOW, bool(sample.numeric))
        spflow.learn(sample.rows[:50], sample.n_categories, **options)  # what it imports is no part of learning
        theirs = spflow.learn(sample.rows, sample.n_categories, **options).seconds
        row["spflow_train_s"] = theirs
        row["spflow_ratio"] = Figure(theirs / ours.fit, None, TIMES_SPFLOW)
        row["spflow_circuit_ratio"] = theirs / ours.to_circuit
    return row


def new_section() -> Section:
    """Return the section, without rows yet."""
    columns = [
        Column("data", "data set"),
        Column("rows", "rows"),
        Column("train_s", "fit\ns", 3),
        Column("circuit_s", "circuit\ns", 3),
        Column("spflow_train_s", "SPFlow\ns", 1),
        Column("spflow_ratio", "SPFlow /\nfit", 1),
        Column("spflow_circuit_ratio", "SPFlow /\ncircuit", 1),
    ]
    notes = [
        f"SPN(), from the data frame on, the least of {_REPEATS} trainings; SPFlow's one training from an array.",
        FIT_OR_CIRCUIT,
    ]
    return Section("many", "Training on many rows", columns, notes=notes)

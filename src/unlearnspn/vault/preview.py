"""What a removal would do to the model: the network before and after, and how likely records are in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unlearnspn.circuit import Circuit
from unlearnspn.ids import RecordId
from unlearnspn.spn.views import NodeView
from unlearnspn.tables import Table
from unlearnspn.vault.contents import Contents
from unlearnspn.vault.forms import Form
from unlearnspn.vault.learned import Learned
from unlearnspn.vault.outcome import Outcome

#: Of the records that stay at most so many are scored, evenly spread.
_MOST_SCORED = 10_000


@dataclass(frozen=True)
class Likelihood:
    """The mean log-density of some records, in the model before and in the one after."""

    n_records: int
    before: float
    after: float


@dataclass(frozen=True)
class ModelChange:
    """The model before a removal, and after it."""

    before: NodeView
    after: NodeView
    of_removed: Likelihood
    of_others: Likelihood


@dataclass(frozen=True)
class Preview:
    """What a removal would do; `change` is None if there is no model before it, or none after it."""

    outcome: Outcome
    change: ModelChange | None


def preview_removal(contents: Contents, minus: Sequence[RecordId]) -> Preview:
    """Remove records in memory, and compare; whoever calls this throws the contents away afterwards."""
    learned, n_left = contents.learned, len(contents) - len(minus)
    if learned is None or n_left == 0:
        report = contents.revise(minus, None, dry_run=True)
        return Preview(Outcome(None, report, len(minus), 0, n_left), None)
    assert contents.form is not None
    removed, others = contents.held(minus).table, _others(learned, contents.form, minus)
    model = learned.model
    root, circuit = model.view(), model.circuit
    report = contents.revise(minus, None)
    assert report is not None
    change = ModelChange(
        root, model.view(), _likelihood(removed, circuit, model.circuit), _likelihood(others, circuit, model.circuit)
    )
    return Preview(Outcome(None, replace(report, dry_run=True), len(minus), 0, n_left), change)


def _others(learned: Learned, form: Form, minus: Sequence[RecordId]) -> Table:
    """Return some of the records that stay, evenly spread over all of them."""
    records = learned.model.records
    rows = np.setdiff1d(records.rows, records.find(minus))
    places = np.linspace(0, rows.size - 1, min(rows.size, _MOST_SCORED)).astype(np.int64)
    return learned.batch(form, rows[places]).table


def _likelihood(table: Table, before: Circuit, after: Circuit) -> Likelihood:
    means = [float(circuit.score_samples(table).mean()) for circuit in (before, after)]
    return Likelihood(table.n_rows, *means)

"""What a change demands of a node whose questions are asked again: nothing is changed here.

Compiled code does the same for what it knows (`walking`, `rebuilding`). This is for building blocks of users' own, for
RDC, and for whatever else compiled code leaves to Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unlearnspn.exact_sum import add_values, plain
from unlearnspn.hashing import sum_keys
from unlearnspn.learning import Decision, Learner, Place
from unlearnspn.marginals import add_codes
from unlearnspn.network import Factor, Node
from unlearnspn.node_rows import difference
from unlearnspn.slices import Rows, Scope, Slice

_MASK = (1 << 64) - 1


@dataclass(eq=False)
class Change:
    """What changes for a node: rows that leave it, and rows that come, both in increasing order."""

    minus: Rows
    plus: Rows
    find_rows: Callable[[], Rows]

    @cached_property
    def _rows(self) -> Rows:
        return self.find_rows()

    def rows(self) -> Rows:
        """Return all rows after the change, in increasing order; found only when asked for, and only once."""
        return self._rows

    @property
    def growth(self) -> int:
        """By how many records the node grows."""
        return int(self.plus.size - self.minus.size)

    @property
    def size(self) -> int:
        """How many rows leave or come."""
        return int(self.plus.size + self.minus.size)


def revise_operation(learner: Learner, node: Node, place: Place, change: Change, independence: Any = None) -> Decision:
    """ReviseOperation: ask the questions again, of the records as they are after the change."""
    data = learner.slice(place)
    assert node.marginals is not None
    marginals = node.marginals.copy()
    for rows, sign in ((change.minus, -1), (change.plus, 1)):
        if rows.size:
            add_codes(learner.records.codes, rows, place.scope, learner.encoding.sizes, marginals, sign)

    def ask_independence() -> object:
        if independence is not None:
            return independence
        if node.independence is None:
            return learner.independence.learn(data, change.rows())
        test = learner.independence
        return test.revise(node.independence, data, change.minus, change.plus, change.rows)

    def ask_clustering() -> object:
        if node.clustering is None:
            return learner.clustering.learn(data, change.rows())
        clustering = learner.clustering
        return clustering.revise(node.clustering, data, change.minus, change.plus, change.rows)

    n_records = node.n_records + change.growth
    return learner.decide(place, n_records, marginals, change.rows, ask_independence, ask_clustering)


def revise_statistics(learner: Learner, scope: Scope, statistics: Any, minus: Rows, plus: Rows) -> Any:
    """Revise the statistics of a leaf that only Python can revise."""
    data = Slice(learner.records, learner.encoding, scope, 0)
    return learner.leaves[int(scope[0])].revise(statistics, data, minus, plus)


def revise_factors(learner: Learner, node: Node, scopes: list[Scope], change: Change) -> tuple[Factor, ...]:
    """Match the leaves of a product by scope."""
    known = {factor.scope.tobytes(): factor for factor in node.factors}
    new = [scope for scope in scopes if scope.tobytes() not in known]
    learned = iter(learner.learn_factors(new, change.rows()) if new else ())
    return tuple(
        _revise_factor(learner, known[scope.tobytes()], change) if scope.tobytes() in known else next(learned)
        for scope in scopes
    )


def _revise_factor(learner: Learner, factor: Factor, change: Change) -> Factor:
    scope, statistics = factor
    if not learner.inside.has(scope):
        return Factor(scope, revise_statistics(learner, scope, statistics, change.minus, change.plus))
    if statistics is None:
        return factor
    if scope.size > 1:
        words = learner.shift_tree(statistics.copy(), scope, change.minus, -1)
        return Factor(scope, learner.shift_tree(words, scope, change.plus, 1))
    records, variable = learner.records, int(scope[0])
    words, window = statistics.copy(), plain(records.totals.window(variable))
    for rows, sign in ((change.minus, -1), (change.plus, 1)):
        add_values(words, 0, records.values.view(np.int64), rows, int(records.place[variable]), window, sign)
    return Factor(scope, words)


def changes_in_place(learner: Learner, place: Place, change: Change, decision: Decision) -> dict[int, Change]:
    """Sort the change by cluster: all other rows stay where they are, and all other clusters as they are."""
    data, clustering = learner.slice(place), learner.clustering
    rows = np.concatenate([change.minus, change.plus])
    labels = clustering.assign(decision.clustering, data, rows)
    left, came = labels[: change.minus.size], labels[change.minus.size :]
    changes = {}
    for c in set(labels.tolist()):
        minus, plus = change.minus[left == c], change.plus[came == c]
        changes[c] = Change(minus, plus, lambda plus=plus: plus)  # type: ignore[misc]
    return changes


def changes_by_moving(
    learner: Learner, before: Mapping[int, Rows], place: Place, change: Change, decision: Decision
) -> tuple[dict[int, Change], int]:
    """Find the rows that change sides, given those of each cluster before the change; tell how many there are."""
    changes, n_moved = {}, 0
    for c, rows in learner.split_rows(decision, place, change.rows()).items():
        own = np.sort(before[c]) if c in before else rows[:0]
        minus, plus = difference(own, rows), difference(rows, own)
        n_moved += len(difference(plus, change.plus))
        if minus.size or plus.size:
            changes[c] = Change(minus, plus, lambda rows=rows: rows)  # type: ignore[misc]
    return changes, n_moved


def revise_rows(learner: Learner, node: Node, change: Change) -> tuple[Rows | None, tuple[int, int]]:
    """Bring the rows that a node keeps, if it does, and their fingerprint up to date."""
    if node.rows is None:
        return None, node.members
    keys = learner.records.keys
    left, came = sum_keys(keys, change.minus), sum_keys(keys, change.plus)
    low, high = ((now - a + b) & _MASK for now, a, b in zip(node.members, left, came, strict=True))
    return change.rows(), (low, high)

"""UnlearnSPN, generalised: bring a node from S to S' = (S without minus) with plus, by propagating the change.

Removal, batch removal, addition and correction are this one function. Its result is what LearnSPN makes of S'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numba import njit

from unlearnspn.hashing import sum_keys
from unlearnspn.learning import Decision, Learner, Place
from unlearnspn.marginals import add_codes
from unlearnspn.network import Address, Node, Operation
from unlearnspn.report import ChangedOperation
from unlearnspn.slices import Rows, Slice

#: If more than this share of a cluster changes, it is learned anew, so that a large change is not walked in vain.
LEARN_ANEW_SHARE = 0.25

_MASK = (1 << 64) - 1


@dataclass(frozen=True, eq=False)
class Change:
    """What changes for a node: rows that leave it, and rows that come."""

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


@dataclass(eq=False)
class Revision:
    """One pass over a network; counts what it touches."""

    learner: Learner
    nodes_visited: int = 0
    subnetworks_learned: int = 0
    rows_moved: int = 0
    changed_operations: list[ChangedOperation] = field(default_factory=list)

    def revise(self, node: Node, place: Place, address: Address, change: Change) -> Node:
        """Return what LearnSPN would make of the node's records after the change."""
        if change.size == 0:
            return node
        self.nodes_visited += 1
        if node.operation is Operation.CREATE_LEAF:
            return self._revise_leaf(node, change)
        decision = self.revise_operation(node, place, change)
        if decision.operation is not node.operation:
            self.changed_operations.append(ChangedOperation(str(address), node.operation, decision.operation))
            self.subnetworks_learned += 1
            return self.learner.make(decision, place, change.rows())
        if decision.operation is Operation.SPLIT_DATA:
            return self._revise_split_data(node, place, address, change, decision)
        return self._revise_product(node, place, address, change, decision)

    def revise_operation(self, node: Node, place: Place, change: Change) -> Decision:
        """ReviseOperation: ask the questions again, of the records as they are after the change."""
        learner, data = self.learner, self.learner.slice(place)
        assert node.marginals is not None
        marginals = node.marginals.copy()
        for rows, sign in ((change.minus, -1), (change.plus, 1)):
            if rows.size:
                add_codes(learner.records.codes, rows, place.scope, learner.encoding.sizes, marginals, sign)

        def ask_independence() -> object:
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

    def _revise_leaf(self, node: Node, change: Change) -> Node:
        learner = self.learner
        data = Slice(learner.records, learner.encoding, node.scope, node.key)
        statistics = learner.leaf(node.scope).revise(node.statistics, data, change.minus, change.plus)
        rows, members = self._revise_rows(node, change)
        return Node(
            node.operation,
            node.key,
            node.scope,
            node.n_records + change.growth,
            statistics=statistics,
            rows=rows,
            members=members,
        )

    def _revise_product(self, node: Node, place: Place, address: Address, change: Change, decision: Decision) -> Node:
        """Match the children by scope: those still there are revised, only new scopes are learned."""
        known = {child.scope.tobytes(): child for child in node.children}
        connected = decision.operation is Operation.SPLIT_VARIABLES
        children = []
        for scope in self.learner.split_scope(decision, place):
            child = known.get(scope.tobytes())
            if child is None:
                self.subnetworks_learned += 1
                children.append(self.learner.learn_factor(decision, place, scope, change.rows()))
            elif child.operation is Operation.CREATE_LEAF:
                self.nodes_visited += 1
                children.append(self._revise_leaf(child, change))
            else:
                known_place = Place(child.scope, child.key, keeps_rows=False, connected=connected)
                children.append(self.revise(child, known_place, address.variables(child.scope), change))
        rows, members = self._revise_rows(node, change)
        return self.learner.node(
            decision,
            place,
            node.n_records + change.growth,
            rows=rows,
            members=members,
            children=tuple(children),
        )

    def _revise_split_data(
        self, node: Node, place: Place, address: Address, change: Change, decision: Decision
    ) -> Node:
        """Hand every change to the cluster it concerns, and rows that change sides from one to the other."""
        clustering = self.learner.clustering
        known = dict(zip(node.clusters, node.children, strict=True))
        if clustering.assigns_like(node.clustering, decision.clustering):
            changes = self._changes_in_place(known, place, change, decision)
        else:
            changes = self._changes_by_moving(known, place, change, decision)
        children = {}
        for c, size in enumerate(clustering.sizes(decision.clustering).tolist()):
            part = changes.get(c)
            if size == 0:
                continue
            if part is None:
                children[c] = known[c]
            elif c not in known or part.size > LEARN_ANEW_SHARE * size:
                children[c] = self._learn(place.cluster(c), part.rows())
            else:
                known_place = Place(place.scope, known[c].key, keeps_rows=True)
                children[c] = self.revise(known[c], known_place, address.cluster(c), part)
        return self.learner.node(
            decision,
            place,
            node.n_records + change.growth,
            children=tuple(children.values()),
            clusters=tuple(children),
        )

    def _changes_in_place(
        self, known: dict[int, Node], place: Place, change: Change, decision: Decision
    ) -> dict[int, Change]:
        """Sort the change by cluster: all other rows stay where they are, and all other clusters as they are."""
        data, clustering = self.learner.slice(place), self.learner.clustering
        rows = np.concatenate([change.minus, change.plus])
        labels = clustering.assign(decision.clustering, data, rows)
        left, came = labels[: change.minus.size], labels[change.minus.size :]
        changes = {}
        for c in set(labels.tolist()):
            minus, plus = change.minus[left == c], change.plus[came == c]
            changes[c] = Change(minus, plus, _rows_after(known.get(c), minus, plus))
        return changes

    def _changes_by_moving(
        self, known: dict[int, Node], place: Place, change: Change, decision: Decision
    ) -> dict[int, Change]:
        """Find the rows that change sides."""
        changes = {}
        for c, rows in self.learner.split_rows(decision, place, change.rows()).items():
            before = np.sort(known[c].gather_rows()) if c in known else rows[:0]
            plus = _difference(rows, before)
            changes[c] = Change(_difference(before, rows), plus, lambda rows=rows: rows)  # type: ignore[misc]
            self.rows_moved += len(_difference(plus, np.sort(change.plus)))
        return changes

    def _learn(self, place: Place, rows: Rows) -> Node:
        self.subnetworks_learned += 1
        return self.learner.learn_spn(place, rows)

    def _revise_rows(self, node: Node, change: Change) -> tuple[Rows | None, tuple[int, int]]:
        """Bring the rows that a node keeps, if it does, and their fingerprint up to date."""
        if node.rows is None:
            return None, node.members
        keys = self.learner.records.keys
        left, came = sum_keys(keys, change.minus), sum_keys(keys, change.plus)
        low, high = ((now - a + b) & _MASK for now, a, b in zip(node.members, left, came, strict=True))
        return _without_and_with(node.rows, change.minus, change.plus), (low, high)


def _rows_after(node: Node | None, minus: Rows, plus: Rows) -> Callable[[], Rows]:
    if node is None:
        return lambda: np.sort(plus)
    return lambda: _without_and_with(np.sort(node.gather_rows()), minus, plus)


@njit(cache=True)
def _difference(rows: Rows, others: Rows) -> Rows:
    """Return the rows that are not among the others; both are sorted."""
    missing = np.empty(rows.size, np.int64)
    number, other = 0, 0
    for row in rows:
        while other < others.size and others[other] < row:
            other += 1
        if other == others.size or others[other] != row:
            missing[number] = row
            number += 1
    return missing[:number].copy()


@njit(cache=True)
def _without_and_with(rows: Rows, minus: Rows, plus: Rows) -> Rows:
    """Change a sorted set of rows."""
    minus, plus = np.sort(minus), np.sort(plus)
    changed = np.empty(rows.size - minus.size + plus.size, np.int64)
    place, gone, come = 0, 0, 0
    for row in rows:
        if gone < minus.size and minus[gone] == row:
            gone += 1
            continue
        while come < plus.size and plus[come] < row:
            changed[place] = plus[come]
            place, come = place + 1, come + 1
        changed[place] = row
        place += 1
    changed[place:] = plus[come:]
    return changed

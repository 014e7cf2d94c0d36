"""LearnSPN (Algorithm 1 of the paper): choose an operation for a node, then perform it.

Operations are chosen by statistics alone. What gathers them is an `Evidence`: here from the rows of a new node, in
`unlearn_spn` by revising what a node knows. So both ask the same questions, in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import cython
import numpy as np
import numpy.typing as npt

from unlearnspn.independence.base import Groups
from unlearnspn.rows.row_set import RowSet
from unlearnspn.rows.sorted_rows import in_order, split_by_label
from unlearnspn.slices import Rows, Scope, Slice
from unlearnspn.spn.learner import Learner
from unlearnspn.spn.node import Node, Place
from unlearnspn.spn.operations import Operation
from unlearnspn.statistics.marginals import Marginals, settle

Flags = npt.NDArray[np.uint8]


@cython.final
@cython.cclass
class Decision:
    """The operation chosen, and the answers that led to it; what was not asked is None."""

    def __init__(
        self,
        operation: Operation,
        marginals: Marginals,
        informative: Flags,
        independence: Any = None,
        groups: Groups | None = None,
        clustering: Any = None,
    ) -> None:
        self.operation = operation
        self.marginals = marginals
        self.informative = informative
        self.independence = independence
        self.groups = groups
        self.clustering = clustering


class Evidence(Protocol):
    """Gathers the statistics that an operation is chosen by, each when it is asked for."""

    @property
    def data(self) -> Slice:
        """What the node sees of the table."""

    @property
    def n_records(self) -> int:
        """How many records the node has."""

    def marginals(self) -> Marginals:
        """Return how many records have each code of each variable."""

    def informative(self, marginals: Marginals) -> Flags:
        """Return which variables have two different values."""

    def independence(self) -> Any:
        """Return the statistics of the independence test."""

    def clustering(self) -> Any:
        """Return the statistics of the clustering."""


def learn_spn(learner: Learner, place: Place, rows: Rows) -> Node:
    """LearnSPN: learn the sub-network of some rows, which are in increasing order."""
    return perform(learner, choose_operation(learner, place, FromRows(learner, place, rows)), place, rows)


def choose_operation(learner: Learner, place: Place, evidence: Evidence) -> Decision:
    """Ask the questions of Algorithm 1 in its order; the costly ones only when it comes to them."""
    marginals, n_records = evidence.marginals(), evidence.n_records
    if place.scope.size == 1:
        return Decision(Operation.CREATE_LEAF, marginals, np.ones(1, np.uint8))
    informative = evidence.informative(marginals)
    flags = informative.tobytes()
    if 0 in flags:
        operation = Operation.SPLIT_UNINFORMATIVE if 1 in flags else Operation.NAIVE_FACTORIZATION
        return Decision(operation, marginals, informative)
    if n_records <= learner.min_rows and not learner.must_split(place.scope):
        return Decision(Operation.NAIVE_FACTORIZATION, marginals, informative)
    independence = groups = None
    if n_records > learner.min_rows and not place.connected:
        independence = evidence.independence()
        groups = learner.independence.groups(independence, evidence.data)
        if any(groups.tolist()):
            return Decision(Operation.SPLIT_VARIABLES, marginals, informative, independence, groups)
    clustering = evidence.clustering()
    is_split = sum(map(bool, learner.clustering.sizes(clustering).tolist())) > 1
    operation = Operation.SPLIT_DATA if is_split else Operation.NAIVE_FACTORIZATION
    return Decision(operation, marginals, informative, independence, groups, clustering)


def perform(learner: Learner, decision: Decision, place: Place, rows: Rows) -> Node:
    """Perform the operation that was chosen, and learn what is below."""
    return _PERFORM[decision.operation](learner, decision, place, rows)


def create_leaf(learner: Learner, decision: Decision, place: Place, rows: Rows) -> Node:
    """Make a leaf of the only variable."""
    node = _make_node(learner, decision, place, rows)
    node.factors = (learner.learn_factor(place.scope, rows),)
    return node


def naive_factorization(learner: Learner, decision: Decision, place: Place, rows: Rows) -> Node:
    """Make a product of leaves: a tree, where several variables can form one, and single variables."""
    node = _make_node(learner, decision, place, rows)
    node.factors = tuple([learner.learn_factor(scope, rows) for scope in leaf_scopes(learner, decision, place)])
    return node


def split_uninformative(learner: Learner, decision: Decision, place: Place, rows: Rows) -> Node:
    """Make a product of a leaf for each uninformative variable and a sub-network of all others."""
    return _make_product(learner, decision, place, rows)


def split_variables(learner: Learner, decision: Decision, place: Place, rows: Rows) -> Node:
    """Make a product of the groups of variables that are independent of each other."""
    return _make_product(learner, decision, place, rows)


def split_data(learner: Learner, decision: Decision, place: Place, rows: Rows) -> Node:
    """Make a mixture of clusters."""
    node = _make_node(learner, decision, place, rows)
    clusters = split_rows(learner, decision, place, rows)
    node.children = [learn_spn(learner, place.cluster(number), part) for number, part in clusters.items()]
    node.clusters = tuple(clusters)
    return node


_PERFORM = {
    Operation.CREATE_LEAF: create_leaf,
    Operation.NAIVE_FACTORIZATION: naive_factorization,
    Operation.SPLIT_UNINFORMATIVE: split_uninformative,
    Operation.SPLIT_DATA: split_data,
    Operation.SPLIT_VARIABLES: split_variables,
}


def leaf_scopes(learner: Learner, decision: Decision, place: Place) -> list[Scope]:
    """Return the scopes of the leaves of a naive factorization: that of a tree first, then single variables."""
    scope = place.scope
    joins = learner.joins_tree(scope, decision.informative)
    tree: Scope = scope[joins]
    if tree.size < 2:
        return [scope[i : i + 1] for i in range(scope.size)]
    alone = scope[~joins]
    return [tree, *[alone[i : i + 1] for i in range(alone.size)]]


def group_scopes(decision: Decision, place: Place) -> tuple[list[Scope], list[Scope]]:
    """Return the scopes of a product's leaves, and those of its sub-networks, by their first variables."""
    scope = place.scope
    if decision.operation is Operation.SPLIT_UNINFORMATIVE:
        together = decision.informative != 0
        groups = [scope[i : i + 1] for i in np.flatnonzero(~together)]
        groups = sorted([*groups, scope[together]], key=lambda group: group[0])
    else:
        assert decision.groups is not None
        members: dict[int, list[int]] = {}
        for v, group in zip(scope.tolist(), decision.groups.tolist(), strict=True):
            members.setdefault(group, []).append(v)
        groups = [np.array(variables, np.int64) for variables in members.values()]
    return [group for group in groups if group.size == 1], [group for group in groups if group.size > 1]


def child_place(decision: Decision, place: Place, scope: Scope) -> Place:
    """Return where a sub-network of a product stands."""
    return place.variables(scope, connected=decision.operation is Operation.SPLIT_VARIABLES)


def split_rows(learner: Learner, decision: Decision, place: Place, rows: Rows) -> dict[int, Rows]:
    """Return the rows of each cluster that has any, in increasing order."""
    # A clustering may have labelled the same rows already, in another order.
    labelled = getattr(decision.clustering, "labelled", None)
    rows = rows if labelled is None else labelled
    labels = learner.clustering.assign(decision.clustering, learner.slice(place.scope, place.key), rows)
    parts = split_by_label(rows, labels, learner.clustering.sizes(decision.clustering).size)
    return {number: in_order(part) for number, part in enumerate(parts) if part.size}


def _make_product(learner: Learner, decision: Decision, place: Place, rows: Rows) -> Node:
    node = _make_node(learner, decision, place, rows)
    leaves, groups = group_scopes(decision, place)
    node.factors = tuple([learner.learn_factor(scope, rows) for scope in leaves])
    node.children = [learn_spn(learner, child_place(decision, place, scope), rows) for scope in groups]
    return node


def _make_node(learner: Learner, decision: Decision, place: Place, rows: Rows) -> Node:
    """Make a node that keeps what was asked, and its rows if it is for it to keep them."""
    keeps_rows = place.keeps_rows and decision.operation is not Operation.SPLIT_DATA
    return Node(
        decision.operation,
        place,
        rows.size,
        decision.marginals,
        decision.informative,
        decision.independence if learner.keeps_answers else None,
        decision.clustering if learner.keeps_answers else None,
        RowSet.of(learner.coded, rows) if keeps_rows else None,
    )


@dataclass(frozen=True, eq=False, slots=True)
class FromRows:
    """The evidence of some rows, from scratch."""

    learner: Learner
    place: Place
    rows: Rows

    @property
    def data(self) -> Slice:
        """What the node sees of the table."""
        return self.learner.slice(self.place.scope, self.place.key)

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return int(self.rows.size)

    def marginals(self) -> Marginals:
        """Count codes."""
        return Marginals.learn(self.learner.coded, self.place.scope, self.rows)

    def informative(self, marginals: Marginals) -> Flags:
        """Look for two different values of each variable: at codes if they suffice, else at values."""
        coded, scope = self.learner.coded, self.place.scope
        informative, n_undecided = marginals.informative(coded, scope)
        if n_undecided:
            settle(informative, coded, scope, self.rows)
        return informative

    def independence(self) -> Any:
        """Learn the statistics of the independence test."""
        return self.learner.independence.learn(self.data, self.rows)

    def clustering(self) -> Any:
        """Learn the statistics of the clustering."""
        return self.learner.clustering.learn(self.data, self.rows)

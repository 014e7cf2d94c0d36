"""LearnSPN (Algorithm 1 of the paper): choose an operation for a node, then perform it.

Operations are chosen by statistics alone. What gathers them is an `Evidence`: here from the rows of a new node, in
`unlearn_spn` by revising what a node knows. So both ask the same questions, in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import cython
import numpy as np
import numpy.typing as npt

from unlearnspn.independence.base import Groups
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

    @property
    def splits_data(self) -> bool:
        """Whether the node is to become a mixture of clusters."""
        return self.operation is Operation.SPLIT_DATA


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


class Opened(NamedTuple):
    """A node that is to be learned: where it stands, its rows, and the node that it is a child of."""

    place: Place
    rows: Rows
    parent: Node | None = None


def learn_spn(learner: Learner, place: Place, rows: Rows) -> Node:
    """LearnSPN: learn the sub-network of some rows, which are in increasing order."""
    opened = [Opened(place, rows)]
    return _learn_below(learner, learner.holder.choose_operations(learner, opened), opened)


def perform(learner: Learner, decision: Decision, place: Place, rows: Rows) -> Node:
    """Perform the operation that was chosen, and learn what is below."""
    return _learn_below(learner, [decision], [Opened(place, rows)])


def _learn_below(learner: Learner, decisions: list[Decision], level: list[Opened]) -> Node:
    """Perform the operation that was chosen for a node, and learn what is below: level by level.

    So whoever holds the rows is asked for all nodes of a level together.
    """
    root, level = _perform_all(learner, decisions, level)
    while level:
        _, level = _perform_all(learner, learner.holder.choose_operations(learner, level), level)
    return root


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


def _perform_all(learner: Learner, decisions: list[Decision], level: list[Opened]) -> tuple[Node, list[Opened]]:
    """Make the nodes of a level; return the first, and the nodes that are to be learned below them."""
    holder, pairs = learner.holder, list(zip(decisions, level, strict=True))
    scopes = [_scopes_of(learner, decision, opened.place) for decision, opened in pairs]
    asked = [(scope, each.rows) for (leaves, _), each in zip(scopes, level, strict=True) for scope in leaves]
    factors = iter(holder.learn_factors(learner, asked))
    splits = [(decision, each.place, each.rows) for decision, each in pairs if decision.splits_data]
    clusters = iter(holder.split(learner, splits))
    nodes, below = [], []
    for (decision, opened), (leaves, groups) in zip(pairs, scopes, strict=True):
        node = _make_node(learner, decision, opened)
        node.factors = tuple([next(factors) for _ in leaves])
        nodes.append(node)
        if decision.splits_data:
            parts = next(clusters)
            node.clusters = tuple(parts)
            below.extend([Opened(opened.place.cluster(number), rows, node) for number, rows in parts.items()])
        else:
            below.extend([Opened(child_place(decision, opened.place, scope), opened.rows, node) for scope in groups])
    return nodes[0], below


def _scopes_of(learner: Learner, decision: Decision, place: Place) -> tuple[list[Scope], list[Scope]]:
    """Return the scopes of a node's leaves, and those of the sub-networks of other variables below it."""
    match decision.operation:
        case Operation.CREATE_LEAF:
            return [place.scope], []
        case Operation.NAIVE_FACTORIZATION:
            return leaf_scopes(learner, decision, place), []
        case Operation.SPLIT_DATA:
            return [], []
        case _:
            return group_scopes(decision, place)


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


def _make_node(learner: Learner, decision: Decision, opened: Opened) -> Node:
    """Make a node that keeps what was asked, and its rows if it is for it to keep them."""
    place, rows, parent = opened
    node = Node(
        decision.operation,
        place,
        rows.size,
        decision.marginals,
        decision.informative,
        decision.independence if learner.keeps_answers else None,
        decision.clustering if learner.keeps_answers else None,
        learner.holder.keep(learner, rows) if place.keeps_rows and not decision.splits_data else None,
    )
    if parent is not None:
        parent.children.append(node)
    return node


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

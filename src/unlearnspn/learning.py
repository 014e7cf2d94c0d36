"""LearnSPN (Algorithm 1 of the paper): choose an operation for a node, then make the node and its children."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.clustering import Clustering
from unlearnspn.clustering.by_class import ByClass
from unlearnspn.coding import CategoricalCoder, Encoding
from unlearnspn.hashing import sum_keys
from unlearnspn.independence import IndependenceTest
from unlearnspn.leaves import ChowLiu, Leaf, LearnedDistribution
from unlearnspn.marginals import add_codes, informativeness, varies
from unlearnspn.network import Node, Operation, cluster_key, scope_key
from unlearnspn.records import Records
from unlearnspn.slices import Counts, Rows, Scope, Slice


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """Where a node stands: its variables, its key, and what its parent already knows of it."""

    scope: Scope
    key: int
    #: The node is a cluster, and keeps its rows unless it splits them.
    keeps_rows: bool
    #: The parent split variables, so that these belong together: independence is not asked again.
    connected: bool = False

    def variables(self, scope: Scope, connected: bool) -> Place:
        """Step into a group of variables."""
        return Place(scope, scope_key(self.key, scope), keeps_rows=False, connected=connected)

    def cluster(self, number: int) -> Place:
        """Step into a cluster."""
        return Place(self.scope, cluster_key(self.key, number), keeps_rows=True)


@dataclass(frozen=True, eq=False, slots=True)
class Decision:
    """The operation chosen, and the answers that led to it; what was not asked is None."""

    operation: Operation
    marginals: Counts | None = None
    informative: npt.NDArray[np.bool_] | None = None
    independence: Any = None
    groups: npt.NDArray[np.int64] | None = None
    clustering: Any = None


_LEAF = Decision(Operation.CREATE_LEAF)


@dataclass(frozen=True, eq=False)
class Learner:
    """What is needed to learn a node: the records under an encoding, and the building blocks."""

    records: Records
    encoding: Encoding
    min_rows: int
    independence: IndependenceTest[Any]
    clustering: Clustering[Any]
    leaves: Sequence[Leaf[Any]]
    #: The joint distribution of the categorical variables of a naive factorization, if they are to have one.
    tree: ChowLiu | None = None

    @cached_property
    def _joint_leaf(self) -> LearnedDistribution[Any]:
        """The distribution of several variables."""
        assert self.tree is not None
        return self.tree.over(self.leaves)

    @cached_property
    def _joins_tree(self) -> npt.NDArray[np.bool_]:
        """Which variables a tree takes."""
        assert self.tree is not None
        return np.array([self.tree.takes(leaf, self.encoding, v) for v, leaf in enumerate(self.leaves)], np.bool_)

    def leaf(self, scope: Scope) -> LearnedDistribution[Any]:
        """Return the distribution that a leaf over some variables has."""
        return self.leaves[int(scope[0])] if scope.size == 1 else self._joint_leaf

    def slice(self, place: Place) -> Slice:
        """Return what a node at this place sees."""
        return Slice(self.records, self.encoding, place.scope, place.key)

    def learn_spn(self, place: Place, rows: Rows) -> Node:
        """LearnSPN: learn the sub-network of some rows."""
        return self.make(self.choose_operation(place, rows), place, rows)

    def choose_operation(self, place: Place, rows: Rows) -> Decision:
        """Choose the operation for some rows, asking everything from scratch."""
        if place.scope.size == 1:
            return _LEAF
        data = self.slice(place)
        return self.decide(
            place,
            rows.size,
            self.count_codes(place.scope, rows),
            lambda: rows,
            lambda: self.independence.learn(data, rows),
            lambda: self.clustering.learn(data, rows),
        )

    def decide(
        self,
        place: Place,
        n_records: int,
        marginals: Counts,
        rows: Callable[[], Rows],
        ask_independence: Callable[[], Any],
        ask_clustering: Callable[[], Any],
    ) -> Decision:
        """Ask the questions of Algorithm 1 in its order; the costly ones only when it comes to them."""
        data = self.slice(place)
        informative = self._informative(place.scope, marginals, rows)
        if not informative.all():
            none = not informative.any()
            operation = Operation.NAIVE_FACTORIZATION if none else Operation.SPLIT_UNINFORMATIVE
            return Decision(operation, marginals, informative)
        if n_records <= self.min_rows and not self._has_class(place.scope):
            return Decision(Operation.NAIVE_FACTORIZATION, marginals, informative)
        independence = groups = None
        if n_records > self.min_rows and not place.connected:
            independence = ask_independence()
            groups = self.independence.groups(independence, data)
            if groups.any():
                return Decision(Operation.SPLIT_VARIABLES, marginals, informative, independence, groups)
        clustering = ask_clustering()
        split = np.count_nonzero(self.clustering.sizes(clustering)) > 1
        operation = Operation.SPLIT_DATA if split else Operation.NAIVE_FACTORIZATION
        return Decision(operation, marginals, informative, independence, groups, clustering)

    def _has_class(self, scope: Scope) -> bool:
        """Tell whether some variables must not be factorized yet, because the class to be predicted is among them."""
        return isinstance(self.clustering, ByClass) and self.clustering.concerns(scope)

    def make(self, decision: Decision, place: Place, rows: Rows) -> Node:
        """Make the node that was decided on, and learn its children."""
        if decision.operation is Operation.CREATE_LEAF:
            return self.create_leaf(place, rows)
        if decision.operation is Operation.SPLIT_DATA:
            clusters = self.split_rows(decision, place, rows)
            children = tuple(self.learn_spn(place.cluster(c), part) for c, part in clusters.items())
            return self.node(decision, place, rows.size, children=children, clusters=tuple(clusters))
        scopes = self.split_scope(decision, place)
        children = tuple(self.learn_factor(decision, place, scope, rows) for scope in scopes)
        return self.node(decision, place, rows.size, rows=rows, children=children)

    def learn_factor(self, decision: Decision, place: Place, scope: Scope, rows: Rows) -> Node:
        """Learn a child of a product; a leaf has no choices of its own, so it needs no key of its own."""
        if scope.size == 1 or decision.operation is Operation.NAIVE_FACTORIZATION:
            return self.create_leaf(Place(scope, place.key, keeps_rows=False), rows)
        connected = decision.operation is Operation.SPLIT_VARIABLES
        return self.learn_spn(place.variables(scope, connected), rows)

    def create_leaf(self, place: Place, rows: Rows) -> Node:
        """CreateLeaf: learn the distribution of a single variable, or of several in a tree."""
        statistics = self.leaf(place.scope).learn(self.slice(place), rows)
        return self.node(_LEAF, place, rows.size, rows=rows, statistics=statistics)

    def node(
        self,
        decision: Decision,
        place: Place,
        n_records: int,
        *,
        rows: Rows | None = None,
        members: tuple[int, int] | None = None,
        **fields: Any,
    ) -> Node:
        """Make a node that keeps what was asked, and its rows if it is for it to keep them."""
        if not place.keeps_rows:
            rows = None
        if rows is not None and members is None:
            members = sum_keys(self.records.keys, rows)
        return Node(
            decision.operation,
            place.key,
            place.scope,
            n_records,
            marginals=decision.marginals,
            independence=decision.independence,
            clustering=decision.clustering,
            rows=rows,
            members=members or (0, 0),
            **fields,
        )

    def split_scope(self, decision: Decision, place: Place) -> list[Scope]:
        """Return the scopes of a product's children: uninformative variables alone, groups by first variable."""
        scope = place.scope
        if decision.operation is Operation.NAIVE_FACTORIZATION:
            return self._factorize(decision, scope)
        if decision.operation is Operation.SPLIT_UNINFORMATIVE:
            assert decision.informative is not None
            alone = np.flatnonzero(~decision.informative)
            return [*(scope[i : i + 1] for i in alone), scope[decision.informative]]
        assert decision.groups is not None
        members: dict[int, list[int]] = {}
        for v, group in zip(scope.tolist(), decision.groups.tolist(), strict=True):
            members.setdefault(group, []).append(v)
        return [np.array(variables, np.int64) for variables in members.values()]

    def _factorize(self, decision: Decision, scope: Scope) -> list[Scope]:
        """Return the scopes of leaves: first a tree, where several variables can form one, then single variables."""
        alone, trees = scope, []
        if self.tree is not None:
            assert decision.informative is not None
            # Where no variable has two values, there is nothing that a tree could tell.
            joining = self._joins_tree[scope] & decision.informative
            if np.count_nonzero(joining) > 1:
                alone, trees = scope[~joining], [scope[joining]]
        return [*trees, *(alone[i : i + 1] for i in range(alone.size))]

    def split_rows(self, decision: Decision, place: Place, rows: Rows) -> dict[int, Rows]:
        """Return the rows of each cluster that has any, in increasing order."""
        labels = self.clustering.assign(decision.clustering, self.slice(place), rows)
        sizes = self.clustering.sizes(decision.clustering)
        return {int(c): np.sort(rows[labels == c]) for c in np.flatnonzero(sizes)}

    def count_codes(self, scope: Scope, rows: Rows) -> Counts:
        """Count the codes of some rows."""
        counts = np.zeros(int(self.encoding.sizes[scope].sum()), np.int64)
        add_codes(self.records.codes, rows, scope, self.encoding.sizes, counts, 1)
        return counts

    def _informative(self, scope: Scope, marginals: Counts, rows: Callable[[], Rows]) -> npt.NDArray[np.bool_]:
        """Tell which variables have two different values, from the codes if they suffice, else from the values."""
        informative, undecided = informativeness(marginals, scope, self.encoding.sizes)
        if undecided:
            for i in np.flatnonzero(~informative):
                informative[i] = self._varies(int(scope[i]), rows)
        return informative

    def _varies(self, variable: int, rows: Callable[[], Rows]) -> bool:
        coder, column = self.encoding.coders[variable], self.records.place[variable]
        if isinstance(coder, CategoricalCoder):
            return coder.grouped and varies(self.records.levels[:, column], rows(), -1.0)
        return varies(self.records.values[:, column], rows(), np.nan)

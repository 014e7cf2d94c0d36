"""LearnSPN (Algorithm 1 of the paper): choose an operation for a node, then make the node and its children."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.blocks import COUNTS, MOMENTS, OUTSIDE, TREE_WORDS, Inside
from unlearnspn.clustering import Clustering, QKMeans
from unlearnspn.clustering.by_class import ByClass
from unlearnspn.coding import Encoding, NumericCoder
from unlearnspn.exact_sum import Moments, Window, Words, sum_columns
from unlearnspn.ground import Ground, shift_tree
from unlearnspn.hashing import sum_keys
from unlearnspn.independence import GTest, IndependenceTest
from unlearnspn.leaves import ChowLiu, Leaf, LearnedDistribution
from unlearnspn.leaves.from_counts import FromCounts, smoothing_of
from unlearnspn.leaves.from_moments import FromMoments
from unlearnspn.leaves.level_counts import LevelCounts, Smoothing
from unlearnspn.marginals import add_codes, hash_marginals, informativeness, varies
from unlearnspn.network import Factor, Node, Operation, cluster_key, scope_key
from unlearnspn.portable_math import x_log_x_table
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


@dataclass(frozen=True, eq=False)
class Learner:
    """What is needed to learn a node: the records under an encoding, and the building blocks."""

    records: Records
    encoding: Encoding
    min_rows: int
    independence: IndependenceTest[Any]
    clustering: Clustering[Any]
    leaves: Sequence[Leaf[Any]]
    #: The joint distribution of the variables of a naive factorization that can form a tree, if they are to have one.
    tree: ChowLiu | None = None
    #: Whether nodes keep what was asked, so that it can be asked again.
    keeps_answers: bool = True
    #: The limbs of each variable's sums, as they are now: records go on to others.
    windows: Counts = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "windows", self.records.totals.windows)

    @cached_property
    def _joint_leaf(self) -> LearnedDistribution[Any]:
        """The distribution of several variables."""
        assert self.tree is not None
        return self.tree.over(self.leaves)

    @cached_property
    def _joins_tree(self) -> npt.NDArray[np.bool_]:
        """Which variables a tree takes, if there are to be any."""
        if self.tree is None:
            return np.zeros(len(self.leaves), np.bool_)
        return np.array([self.tree.takes(leaf, self.encoding, v) for v, leaf in enumerate(self.leaves)], np.bool_)

    @cached_property
    def _hides(self) -> npt.NDArray[np.bool_]:
        """Of which variables a code may stand for different values."""
        return np.array([isinstance(c, NumericCoder) or c.grouped for c in self.encoding.coders], np.bool_)

    @cached_property
    def inside(self) -> Inside:
        """Which statistics compiled code can revise: subclasses may do otherwise, so they are left to Python."""
        kinds = [leaf_kind(leaf, hides) for leaf, hides in zip(self.leaves, self._hides, strict=True)]
        asks, clusters = type(self.independence) is GTest, type(self.clustering) is QKMeans
        return Inside(asks, clusters, np.array(kinds, np.uint8))

    @cached_property
    def centroids_move(self) -> bool:
        """Whether compiled code clusters in rounds, so that hardly a change leaves all centroids where they are."""
        return self.inside.clustering and isinstance(self.clustering, QKMeans) and self.clustering.max_rounds > 0

    @cached_property
    def ground(self) -> Ground:
        """What a compiled walk needs to know."""
        records, encoding, test, clustering = self.records, self.encoding, self.independence, self.clustering
        asks = test if isinstance(test, GTest) else GTest()
        means = clustering if isinstance(clustering, QKMeans) else QKMeans()
        n_variables = len(self.leaves)
        return Ground.of(
            records.codes,
            records.features,
            records.values.view(np.int64),
            records.levels.view(np.int16),
            records.levels.itemsize // 2,
            records.keys,
            records.live,
            records.is_numeric,
            records.place,
            encoding.sizes,
            encoding.prints,
            self.windows,
            self._hides,
            self.inside.leaves,
            self._joins_tree,
            self.inside.independence and self.inside.clustering,
            self.keeps_answers,
            self.min_rows,
            float(asks.threshold),
            asks.tables_above,
            x_log_x_table(),
            means.n_clusters_among(0),
            means.max_rounds or None,
            np.array([means.spacing(n) for n in range(n_variables + 1)], np.int64),
        )

    @cached_property
    def smoothing(self) -> Smoothing:
        """What becomes of the counts of variables whose leaves need nothing else."""
        everything = Slice(self.records, self.encoding, np.arange(len(self.leaves)), 0)
        counted = zip(self.leaves, self.inside.leaves.tolist(), strict=True)
        return smoothing_of([leaf if kind == COUNTS else None for leaf, kind in counted], everything)

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
        if place.scope.size == 1:
            return Decision(Operation.CREATE_LEAF, marginals, np.ones(1, np.bool_))
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
            groups = self.independence.groups(independence, self.slice(place))
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
        if decision.operation is Operation.SPLIT_DATA:
            clusters = self.split_rows(decision, place, rows)
            parts = tuple(self.learn_spn(place.cluster(c), part) for c, part in clusters.items())
            return self.node(decision, place, rows.size, parts=parts, clusters=tuple(clusters))
        leaves, groups = self.split_scope(decision, place)
        parts = tuple(self.learn_spn(self.factor_place(decision, place, scope), rows) for scope in groups)
        return self.node(decision, place, rows.size, rows=rows, parts=parts, factors=self.learn_factors(leaves, rows))

    def factor_place(self, decision: Decision, place: Place, scope: Scope) -> Place:
        """Return where a sub-network of a product stands."""
        return place.variables(scope, connected=decision.operation is Operation.SPLIT_VARIABLES)

    def learn_factors(self, scopes: Sequence[Scope], rows: Rows) -> tuple[Factor, ...]:
        """CreateLeaf, for all leaves of a product: learn distributions of single variables, or of several in a tree.

        A leaf has no choices of its own, so it needs no key of its own.
        """
        kinds = self.inside.leaves
        summed = [int(s[0]) for s in scopes if s.size == 1 and kinds[s[0]] == MOMENTS]
        moments = dict(zip(summed, self._moments(np.array(summed, np.int64), rows), strict=True))
        factors = []
        for scope in scopes:
            if scope.size > 1:
                factors.append(Factor(scope, self.shift_tree(np.zeros(TREE_WORDS, np.int64), scope, rows, 1)))
            elif kinds[scope[0]] == OUTSIDE:
                factors.append(self.learn_factor(int(scope[0]), rows))
            else:
                factors.append(Factor(scope, moments.get(int(scope[0]))))
        return tuple(factors)

    def learn_factor(self, variable: int, rows: Rows) -> Factor:
        """CreateLeaf, for one variable whose statistics only Python can revise."""
        scope = np.array([variable], np.int64)
        return Factor(scope, self.leaves[variable].learn(Slice(self.records, self.encoding, scope, 0), rows))

    def shift_tree(self, words: Words, scope: Scope, rows: Rows, sign: int) -> Words:
        """Count rows in, or out, in what is kept of a tree, and return it."""
        shift_tree(self.ground, words, 0, scope, rows, sign)
        return words

    def with_tables(self, factors: Sequence[Factor], rows: Rows) -> tuple[Factor, ...]:
        """Return leaves with the tables that trees follow from in place of what is kept of them."""
        return tuple(
            Factor(scope, self._joint_leaf.learn(Slice(self.records, self.encoding, scope, 0), rows))
            if scope.size > 1
            else Factor(scope, kept)
            for scope, kept in factors
        )

    def _moments(self, variables: Scope, rows: Rows) -> list[Words]:
        """Return the words of some variables' moments."""
        if variables.size == 0:
            return []
        records = self.records
        windows = self.windows[variables]
        ends = np.cumsum(1 + windows[:, 1] + windows[:, 2])
        words = np.zeros(ends[-1], np.int64)
        sum_columns(words, records.values.view(np.int64), rows, records.place[variables], windows)
        return np.split(words, ends[:-1])

    def statistics(self, leaf: Factor, counts: Mapping[int, Counts]) -> Any:
        """Return the statistics of a leaf in the form that its distribution gave them, given its node's counts."""
        variable = int(leaf.scope[0])
        kind = self.inside.leaves[variable] if leaf.scope.size == 1 else OUTSIDE
        if kind == OUTSIDE:
            return leaf.statistics
        if kind == MOMENTS:
            return Moments.from_words(leaf.statistics, Window(*self.windows[variable].tolist()))
        (occurring,) = counts[variable].nonzero()
        return LevelCounts(occurring, counts[variable][occurring])

    def counts_by_variable(self, scope: Scope, marginals: Counts) -> dict[int, Counts]:
        """Return how many records of a node have each code of each of its variables, missing values left out."""
        sizes = self.encoding.sizes[scope]
        bounds = zip(scope.tolist(), sizes.tolist(), sizes.cumsum().tolist(), strict=True)
        return {v: marginals[end - size + 1 : end] for v, size, end in bounds}

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
            informative=decision.informative,
            independence=decision.independence if self.keeps_answers else None,
            clustering=decision.clustering if self.keeps_answers else None,
            rows=rows,
            members=members or (0, 0),
            connected=place.connected,
            **fields,
        )

    def split_scope(self, decision: Decision, place: Place) -> tuple[list[Scope], list[Scope]]:
        """Return the scopes of a product's leaves, and those of its sub-networks, by their first variables."""
        scope = place.scope
        if decision.operation in (Operation.NAIVE_FACTORIZATION, Operation.CREATE_LEAF):
            return self._factorize(decision, scope), []
        if decision.operation is Operation.SPLIT_UNINFORMATIVE:
            assert decision.informative is not None
            alone = np.flatnonzero(~decision.informative)
            groups = sorted(
                [*(scope[i : i + 1] for i in alone), scope[decision.informative]], key=lambda group: group[0]
            )
        else:
            assert decision.groups is not None
            members: dict[int, list[int]] = {}
            for v, group in zip(scope.tolist(), decision.groups.tolist(), strict=True):
                members.setdefault(group, []).append(v)
            groups = [np.array(variables, np.int64) for variables in members.values()]
        return [group for group in groups if group.size == 1], [group for group in groups if group.size > 1]

    def _factorize(self, decision: Decision, scope: Scope) -> list[Scope]:
        """Return the scopes of leaves: first a tree, where several variables can form one, then single variables."""
        assert decision.informative is not None
        tree = self.tree_scope(scope, decision.informative)
        alone, trees = (scope, []) if tree.size < 2 else (np.setdiff1d(scope, tree), [tree])
        return [*trees, *(alone[i : i + 1] for i in range(alone.size))]

    def tree_scope(self, scope: Scope, informative: npt.NDArray[np.bool_]) -> Scope:
        """Return the variables that form a tree: where one has no two values, there is nothing that it could tell."""
        return scope[self._joins_tree[scope] & informative]

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

    def hash_marginals(self, node: Node) -> Words:
        """Fingerprint a node's marginals, whatever codes the categories have."""
        assert node.marginals is not None
        hashes = hash_marginals(node.marginals, node.scope, self.encoding.sizes, self.encoding.prints)
        return np.asarray(hashes.view(np.int64))

    def _informative(self, scope: Scope, marginals: Counts, rows: Callable[[], Rows]) -> npt.NDArray[np.bool_]:
        """Tell which variables have two different values, from the codes if they suffice, else from the values."""
        informative, undecided = informativeness(marginals, scope, self.encoding.sizes)
        if undecided:
            for i in np.flatnonzero(~informative):
                informative[i] = self._varies(int(scope[i]), rows)
        return informative

    def _varies(self, variable: int, rows: Callable[[], Rows]) -> bool:
        column = self.records.place[variable]
        if not self._hides[variable]:
            return False
        if self.records.is_numeric[variable]:
            return varies(self.records.values[:, column], rows(), np.nan)
        return varies(self.records.levels[:, column], rows(), -1.0)


def leaf_kind(leaf: Leaf[Any], hides: bool) -> int:
    """Return how a leaf's statistics are kept; subclasses that do otherwise keep them outside."""
    kind = type(leaf)
    if isinstance(leaf, FromMoments) and kind.learn is FromMoments.learn and kind.revise is FromMoments.revise:
        return MOMENTS
    if (
        not hides
        and isinstance(leaf, FromCounts)
        and kind.learn is FromCounts.learn
        and kind.revise is FromCounts.revise
    ):
        return COUNTS
    return OUTSIDE

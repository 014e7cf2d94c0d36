"""What LearnSPN works with: the records under an encoding, and the building blocks that ask the questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from unlearnspn.clustering import Clustering
from unlearnspn.clustering.by_class import ByClass
from unlearnspn.coding import Encoding
from unlearnspn.independence import IndependenceTest
from unlearnspn.leaves import ChowLiu, Leaf, LearnedDistribution
from unlearnspn.leaves.from_counts import FromCounts, smoothing_of
from unlearnspn.leaves.level_counts import LevelCounts, Smoothing
from unlearnspn.records import Records
from unlearnspn.rows.coded import CodedRows
from unlearnspn.slices import Rows, Scope, Slice, code_rows, hidden_values
from unlearnspn.spn.node import Factor, Node
from unlearnspn.statistics.trees import TreeHashes

if TYPE_CHECKING:
    from unlearnspn.spn.holder import Holder

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Learner:
    """The records under an encoding, and the building blocks."""

    records: Records
    encoding: Encoding
    min_rows: int
    independence: IndependenceTest[Any]
    clustering: Clustering[Any]
    leaves: Sequence[Leaf[Any]]
    #: Gathers statistics of rows, wherever they lie.
    holder: Holder
    #: The joint distribution of the variables of a naive factorization that can form a tree, if they are to have one.
    tree: ChowLiu | None = None
    #: Whether nodes keep what was asked, so that it can be asked again.
    keeps_answers: bool = True

    @cached_property
    def coded(self) -> CodedRows:
        """What statistics read of the records."""
        return code_rows(self.records, self.encoding)

    @cached_property
    def joint_leaf(self) -> LearnedDistribution[Any]:
        """The distribution of several variables."""
        assert self.tree is not None
        return self.tree.over(self.leaves)

    @cached_property
    def _takes_part(self) -> Flags:
        """Which variables a tree takes, if there are to be any."""
        if self.tree is None:
            return np.zeros(len(self.leaves), np.bool_)
        return np.array([self.tree.takes(leaf, self.encoding, v) for v, leaf in enumerate(self.leaves)], np.bool_)

    @cached_property
    def is_counted(self) -> list[bool]:
        """Of which variables the leaves follow from the marginals of their node, without statistics of their own."""
        pairs = zip(self.leaves, hidden_values(self.encoding).tolist(), strict=True)
        return [not hides and _learns_from_counts(leaf) for leaf, hides in pairs]

    @cached_property
    def smoothing(self) -> Smoothing:
        """What becomes of the counts of variables whose leaves need nothing else."""
        everything = self.slice(np.arange(len(self.leaves)), 0)
        counted = zip(self.leaves, self.is_counted, strict=True)
        return smoothing_of([leaf if is_counted else None for leaf, is_counted in counted], everything)

    def slice(self, scope: Scope, key: int) -> Slice:
        """Return what a node of some variables sees."""
        return Slice(self.records, self.encoding, scope, key, self.coded)

    def leaf(self, scope: Scope) -> LearnedDistribution[Any]:
        """Return the distribution that a leaf over some variables has."""
        return self.joint_leaf if self.is_tree(scope) else self.leaves[int(scope[0])]

    def is_tree(self, scope: Scope) -> bool:
        """Tell whether a leaf over some variables is a tree: several, or a number with a usual value."""
        return scope.size > 1 or bool(self._is_tree_alone[scope[0]])

    @cached_property
    def _is_tree_alone(self) -> Flags:
        """Which variables are trees by themselves: a usual value has a bin of its own there."""
        alone = np.zeros(len(self.leaves), np.bool_)
        alone[self.encoding.usual[0]] = True
        return np.asarray(alone & self._takes_part)

    def must_split(self, scope: Scope) -> bool:
        """Tell whether some variables must not be factorized yet, because the class to be predicted is among them."""
        return isinstance(self.clustering, ByClass) and self.clustering.concerns(scope)

    def joins_tree(self, scope: Scope, informative: npt.NDArray[np.uint8]) -> Flags:
        """Tell which variables form a tree: where one has no two values, there is nothing that it could tell."""
        joins: Flags = self._takes_part[scope] & (informative != 0)
        return joins

    # -- leaves ----------------------------------------------------------------------------------------------------

    def learn_factor(self, scope: Scope, rows: Rows) -> Factor:
        """CreateLeaf: learn the distribution of one variable, or that of a tree, of which hashes are kept.

        A leaf has no choices of its own, so it needs no key of its own.
        """
        if self.is_tree(scope):
            return Factor(scope, TreeHashes.learn(self.coded, scope, rows))
        variable = int(scope[0])
        if self.is_counted[variable]:
            return Factor(scope, None)
        return Factor(scope, self.leaves[variable].learn(self.slice(scope, 0), rows))

    def revise_factor(self, factor: Factor, minus: Rows, plus: Rows) -> Factor:
        """Take rows out of a leaf's statistics, and put others in; those before stay as they were."""
        scope, statistics = factor.scope, factor.statistics
        if statistics is None:
            return factor
        if factor.is_tree:
            revised = statistics.copy()
            if minus.size:
                revised.shift(self.coded, scope, minus, -1)
            if plus.size:
                revised.shift(self.coded, scope, plus, 1)
            return Factor(scope, revised)
        return Factor(scope, self.leaves[factor.variable].revise(statistics, self.slice(scope, 0), minus, plus))

    def statistics_of(self, node: Node, factor: Factor, rows: Callable[[], Rows]) -> Any:
        """Return the statistics of a leaf as its distribution takes them; trees are counted from the node's rows."""
        scope, statistics = factor.scope, factor.statistics
        if factor.is_tree:
            return self.joint_leaf.learn(self.slice(scope, 0), rows())
        if statistics is not None:
            return statistics
        counts = node.marginals.counts_of(self.coded, node.scope)[factor.variable]
        (occurring,) = counts.nonzero()
        return LevelCounts(occurring, counts[occurring])


def _learns_from_counts(leaf: Leaf[Any]) -> bool:
    """Tell whether a leaf learns as those from counts do; subclasses may do otherwise."""
    kind = type(leaf)
    return isinstance(leaf, FromCounts) and kind.learn is FromCounts.learn and kind.revise is FromCounts.revise

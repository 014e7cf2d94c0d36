"""UnlearnSPN (Algorithm 2 of the paper), generalised: bring a network from S to S' = (S without minus) with plus.

Removal, batch removal, addition and correction are this one function. At each node that holds some of the records,
ReviseOperation revises the node's statistics and asks the questions of LearnSPN again. If the operation stays, its
update hands the change on to the children that it concerns; if not, the sub-network is learned anew. The result is what
LearnSPN makes of S'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import cython
import numpy as np

from unlearnspn.rows.coded import CodedRows
from unlearnspn.rows.row_set import RowSet
from unlearnspn.rows.sorted_rows import difference, in_order, merged, split_by_label
from unlearnspn.slices import Counts, Rows, Scope, Slice
from unlearnspn.spn.change import Change
from unlearnspn.spn.learn_spn import (
    Decision,
    Flags,
    child_place,
    choose_operation,
    group_scopes,
    leaf_scopes,
    learn_spn,
    perform,
    split_rows,
)
from unlearnspn.spn.learner import Learner
from unlearnspn.spn.node import Factor, Node, Place
from unlearnspn.spn.operations import Address, Operation
from unlearnspn.spn.report import ChangedOperation
from unlearnspn.statistics.marginals import Marginals, settle

#: If more than this share of a node changes, it is learned anew: to revise it would take longer.
LARGE_SHARE = 0.25

_NOBODY = np.zeros(0, np.int64)
#: The way from the root to a node: that to the node above it, and the last step. None for the root.
Path = tuple[Any, int | Scope] | None


class Revision:
    """One pass over a network, which changes it; counts what it touches, and can be taken back.

    `interruptible` tells where Ctrl-C may come: only where something is learned anew, which changes nothing yet.
    """

    def __init__(
        self, learner: Learner, interruptible: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        self.learner = learner
        self.nodes_visited = self.subnetworks_learned = self.rows_moved = 0
        self.changed_operations: list[ChangedOperation] = []
        #: The nodes that have left the network, and the digests of released sub-networks that are not there any more.
        self.dropped: list[Node] = []
        self.outdated: list[bytes] = []
        #: How to take everything back, step by step, the last one first.
        self._journal: list[Callable[[], object]] = []
        self.interruptible = interruptible
        self._update: dict[Operation, Callable[[Node, Decision, Change, Path], None]] = {
            Operation.CREATE_LEAF: self.update_leaf,
            Operation.NAIVE_FACTORIZATION: self.update_factorization,
            Operation.SPLIT_UNINFORMATIVE: self.update_product,
            Operation.SPLIT_DATA: self.update_split_data,
            Operation.SPLIT_VARIABLES: self.update_product,
        }

    def unlearn_spn(self, node: Node, change: Change, path: Path = None) -> Node:
        """Return what is to stand in a node's place after a change: the node itself, unless it is learned anew."""
        self.nodes_visited += 1
        if change.size > max(LARGE_SHARE * (node.n_records + change.growth), 1):
            return self.learn_anew(node, change)
        decision = self.revise_operation(node, change)
        if decision.operation is not node.operation:
            return self._change_operation(node, decision, change, path)
        self._update[decision.operation](node, decision, change, path)
        node.informative = decision.informative
        node.independence, node.clustering = decision.independence, decision.clustering
        return node

    def revise_operation(self, node: Node, change: Change) -> Decision:
        """ReviseOperation: bring what a node knows up to date, and ask the questions of LearnSPN again."""
        self._open(node, change)
        return choose_operation(self.learner, node.place, _Revised(self, node, change))

    def take_back(self) -> None:
        """Make the network what it was before."""
        for undo in reversed(self._journal):
            undo()
        self._journal.clear()

    # -- the updates of the five operations ------------------------------------------------------------------------

    def update_leaf(self, node: Node, decision: Decision, change: Change, path: Path) -> None:
        """Revise the only leaf."""
        node.factors = (self.learner.revise_factor(node.factors[0], change.minus, change.plus),)

    def update_factorization(self, node: Node, decision: Decision, change: Change, path: Path) -> None:
        """Revise the leaves that are still there, and learn those that are new."""
        if decision.informative is node.informative:
            node.factors = self._revise_all_factors(node, change)
        else:
            node.factors = self._revise_factors(node, leaf_scopes(self.learner, decision, node.place), change)

    def update_product(self, node: Node, decision: Decision, change: Change, path: Path) -> None:
        """Match the children by scope: those still there are revised, only new scopes are learned."""
        if decision.informative is node.informative and decision.independence is node.independence:
            node.factors = self._revise_all_factors(node, change)
            node.children = [self.unlearn_spn(child, change, (path, child.scope)) for child in node.children]
            return
        leaves, groups = group_scopes(decision, node.place)
        node.factors = self._revise_factors(node, leaves, change)
        known = {child.scope.tobytes(): child for child in node.children}
        children = []
        for scope in groups:
            child = known.pop(scope.tobytes(), None)
            if child is None:
                children.append(self._learn(child_place(decision, node.place, scope), change.rows()))
            else:
                children.append(self.unlearn_spn(child, change, (path, scope)))
        node.children = children
        self._drop(known.values())

    def update_split_data(self, node: Node, decision: Decision, change: Change, path: Path) -> None:
        """Hand every change to the cluster that it concerns; where centroids moved, rows change sides, too."""
        before = dict(zip(node.clusters, node.children, strict=True))
        sizes = self.learner.clustering.sizes(decision.clustering)
        after: dict[int, Node | None] = {}
        for number, own in self._changes_by_cluster(node, before, decision, change).items():
            child = before.get(number)
            if number >= sizes.size or sizes[number] == 0:
                after[number] = None
                self._drop([child])
            elif child is None:
                after[number] = self._learn(node.place.cluster(number), own.rows())
            else:
                after[number] = self.unlearn_spn(child, own, (path, number))
        if any(child is not before.get(number) for number, child in after.items()):
            children = {number: child for number, child in {**before, **after}.items() if child is not None}
            node.clusters = tuple(sorted(children))
            node.children = [children[number] for number in node.clusters]

    # -- inside ----------------------------------------------------------------------------------------------------

    def _open(self, node: Node, change: Change) -> None:
        """Get a node ready to be changed: note what it was, and bring the rows that it keeps up to date."""
        self._journal.append(node.keep())
        if node.digests is not None:
            self.outdated.append(node.digests.released)
        node.touch()
        node.n_records += change.growth
        if node.rows is not None:
            self._exchange_rows(node, change)

    def _exchange_rows(self, node: Node, change: Change) -> None:
        """Take rows out of those that a node keeps, and put others in; each step is noted once it is done."""
        coded: CodedRows = self.learner.coded
        rows: RowSet | None = node.rows
        assert rows is not None
        if change.leaving.shape[0]:
            rows.shift(coded, change.leaving, -1)
            self._journal.append(lambda: rows.shift(coded, change.leaving, 1))
        if change.coming.shape[0]:
            rows.shift(coded, change.coming, 1)
            self._journal.append(lambda: rows.shift(coded, change.coming, -1))

    def shift_marginals(self, node: Node, change: Change) -> Marginals:
        """Bring a node's marginals up to date."""
        coded: CodedRows = self.learner.coded
        marginals: Marginals = node.marginals
        scope: cython.longlong[::1] = node.scope
        marginals.shift(coded, scope, change.leaving, -1)
        marginals.shift(coded, scope, change.coming, 1)

        def undo() -> None:
            marginals.shift(coded, scope, change.coming, -1)
            marginals.shift(coded, scope, change.leaving, 1)

        self._journal.append(undo)
        return marginals

    def revise_informative(self, node: Node, change: Change, marginals: Marginals) -> Flags:
        """Return which variables have two different values now; the same object if they are those from before."""
        coded: CodedRows = self.learner.coded
        scope = node.scope
        if marginals.still_informative(
            coded, scope, node.informative, change.leaving, change.coming, node.n_records, change.parts
        ):
            return node.informative
        informative, n_undecided = marginals.informative(coded, scope)
        if n_undecided:
            settle(informative, coded, scope, change.rows())
        return informative

    def revise_statistics(self, block: Any, statistics: Any, data: Slice, node: Node, change: Change) -> Any:
        """Revise what was asked at a node: in place, or into something else, as the building block chooses."""
        if statistics is None:
            with self.interruptible():
                return block.learn(data, change.rows())
        is_split = node.operation is Operation.SPLIT_DATA
        change.by_cluster = (lambda: self._rows_by_cluster(node, change)) if is_split else None
        revised = block.revise(statistics, data, change.minus, change.plus, change)
        if revised is statistics:
            minus, plus = change.minus, change.plus
            self._journal.append(lambda: block.revise(statistics, data, plus, minus, change.rows_before))
        return revised

    def _learn(self, place: Place, rows: Rows) -> Node:
        self.subnetworks_learned += 1
        with self.interruptible():
            return learn_spn(self.learner, place, rows)

    def learn_anew(self, node: Node, change: Change) -> Node:
        """Return a network that is learned anew, to stand in a node's place."""
        learned = self._learn(node.place, change.rows())
        self._drop([node])
        return learned

    def _change_operation(self, node: Node, decision: Decision, change: Change, path: Path) -> Node:
        """Perform another operation; what was asked is what learning would ask, so only what is below is learned."""
        self.subnetworks_learned += 1
        self.changed_operations.append(ChangedOperation(str(_address(path)), node.operation, decision.operation))
        with self.interruptible():
            learned = perform(self.learner, decision, node.place, change.rows())
        self._drop([node])
        return learned

    def _drop(self, nodes: Iterable[Node | None]) -> None:
        for root in filter(None, nodes):
            for node in root.walk():
                self.dropped.append(node)
                if node.digests is not None:
                    self.outdated.append(node.digests.released)

    def _revise_all_factors(self, node: Node, change: Change) -> tuple[Factor, ...]:
        """Revise the leaves of a product all of which stay."""
        revise, minus, plus = self.learner.revise_factor, change.minus, change.plus
        return tuple([factor if factor.statistics is None else revise(factor, minus, plus) for factor in node.factors])

    def _revise_factors(self, node: Node, scopes: list[Scope], change: Change) -> tuple[Factor, ...]:
        """Match the leaves of a product by scope."""
        learner, known = self.learner, {factor.scope.tobytes(): factor for factor in node.factors}
        fresh = [scope for scope in scopes if scope.tobytes() not in known]
        asked = [(scope, change.rows()) for scope in fresh]
        learned = iter(learner.holder.learn_factors(learner, asked) if asked else [])
        factors = []
        for scope in scopes:
            factor = known.get(scope.tobytes())
            revised = None if factor is None else learner.revise_factor(factor, change.minus, change.plus)
            factors.append(next(learned) if revised is None else revised)
        return tuple(factors)

    def _changes_by_cluster(
        self, node: Node, children: dict[int, Node], decision: Decision, change: Change
    ) -> dict[int, Change]:
        """Return what changes for each cluster that a change concerns."""
        clustering, data = self.learner.clustering, self.learner.slice(node.scope, node.key)
        before, after = node.clustering, decision.clustering
        if after is not before and not clustering.assigns_like(before, after):
            return self._changes_by_moving(node, children, decision, change)
        left = clustering.assign(after, data, change.minus) if change.minus.size else _NOBODY
        came = clustering.assign(after, data, change.plus) if change.plus.size else _NOBODY
        if left.size + came.size == 1:
            number = int((left if left.size else came)[0])
            return {number: self._change_of(children.get(number), change.minus, change.plus)}
        n_clusters = clustering.sizes(after).size
        leaving = split_by_label(change.minus, left, n_clusters)
        coming = split_by_label(change.plus, came, n_clusters)
        return {
            number: self._change_of(children.get(number), minus, plus)
            for number, (minus, plus) in enumerate(zip(leaving, coming, strict=True))
            if minus.size or plus.size
        }

    def _change_of(self, node: Node | None, minus: Rows, plus: Rows) -> Change:
        """Return the change of a cluster; None for one that had no rows before."""
        return Change(minus, plus, lambda: self.rows_after(node, minus, plus))

    def rows_after(self, node: Node | None, minus: Rows, plus: Rows) -> Rows:
        """Return the rows of a cluster after a change, in increasing order, whether or not it has gone through it."""
        if node is None:
            return plus
        staying = difference(in_order(node.gather_rows()), minus)
        return merged(staying, difference(plus, staying))

    def _rows_by_cluster(self, node: Node, change: Change) -> tuple[Rows, Counts]:
        """Return the rows of a split of the data after a change, those of each cluster in order, and where each ends.

        There is an end for each cluster that there may be, and one for the rows that come, which are the last.
        """
        children = dict(zip(node.clusters, node.children, strict=True))
        parts = [
            difference(in_order(children[number].gather_rows()), change.minus) if number in children else _NOBODY
            for number in range(self.learner.clustering.sizes(node.clustering).size)
        ]
        parts.append(change.plus)
        return np.concatenate(parts), np.cumsum([0, *map(len, parts)])

    def _changes_by_moving(
        self, node: Node, children: dict[int, Node], decision: Decision, change: Change
    ) -> dict[int, Change]:
        """Return which rows change sides, and which leave or come."""
        changes = {}
        clusters = split_rows(self.learner, decision, node.place, change.rows())
        for number in {**clusters, **children}:
            rows = clusters.get(number, _NOBODY)
            own = in_order(children[number].gather_rows()) if number in children else _NOBODY
            minus, plus = difference(own, rows), difference(rows, own)
            self.rows_moved += difference(plus, change.plus).size
            if minus.size or plus.size:
                changes[number] = Change(minus, plus, lambda rows=rows: rows)  # type: ignore[misc]
        return changes


@cython.final
@cython.cclass
class _Revised:
    """The evidence of a node that is being revised: its statistics, each brought up to date when it is asked for."""

    def __init__(self, revision: Revision, node: Node, change: Change) -> None:
        self._revision = revision
        self._node = node
        self._change = change
        self._data: Slice | None = None

    @property
    def data(self) -> Slice:
        if self._data is None:
            self._data = self._revision.learner.slice(self._node.scope, self._node.key)
        return self._data

    @property
    def n_records(self) -> int:
        return self._node.n_records

    def marginals(self) -> Marginals:
        return self._revision.shift_marginals(self._node, self._change)

    def informative(self, marginals: Marginals) -> Flags:
        return self._revision.revise_informative(self._node, self._change, marginals)

    def independence(self) -> Any:
        revision, node = self._revision, self._node
        return revision.revise_statistics(
            revision.learner.independence, node.independence, self.data, node, self._change
        )

    def clustering(self) -> Any:
        revision, node = self._revision, self._node
        return revision.revise_statistics(revision.learner.clustering, node.clustering, self.data, node, self._change)


def _address(path: Path) -> Address:
    """Return the address that a path leads to."""
    if path is None:
        return Address()
    above, step = path
    return Address(_address(above), step)

"""Revising a network whose rows lie in shards: as on one machine, but that what needs other rows is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unlearnspn.cluster.asking import ask_one
from unlearnspn.cluster.row_sets import rows_of
from unlearnspn.cluster.selections import Joined
from unlearnspn.slices import Rows, Slice
from unlearnspn.spn.change import Change
from unlearnspn.spn.learn_spn import Decision, Flags, perform
from unlearnspn.spn.learner import Learner
from unlearnspn.spn.node import Node
from unlearnspn.spn.operations import Operation
from unlearnspn.spn.unlearn_spn import Path, Revision
from unlearnspn.statistics.marginals import Marginals

if TYPE_CHECKING:
    from unlearnspn.cluster.holder import SharedHolder


class _RowsElsewhere(Exception):  # a signal within this module, not an error
    """A statistic cannot be revised by the rows that leave and come alone."""


def _elsewhere() -> Rows:
    raise _RowsElsewhere


class SharedRevision(Revision):
    """One pass over a network whose rows lie in shards."""

    def __init__(self, learner: Learner, holder: SharedHolder) -> None:
        super().__init__(learner)
        self.holder = holder
        self._update[Operation.SPLIT_DATA] = self._update_clusters

    def rows_after(self, node: Node | None, minus: Rows, plus: Rows) -> Any:
        """Return the rows of a cluster after a change, as a selection."""
        base = Joined([]) if node is None else rows_of(node)
        return self.holder.noted(self.holder.records.changed(base, minus, plus))

    def revise_informative(self, node: Node, change: Change, marginals: Marginals) -> Flags:
        """Return which variables have two different values now; the same object if they are those from before."""
        coded, n_records = self.learner.coded, node.n_records
        try:
            if marginals.still_informative(
                coded, node.scope, node.informative, change.minus, change.plus, n_records, _elsewhere
            ):
                return node.informative
        except _RowsElsewhere:
            pass
        informative, n_undecided = marginals.informative(coded, node.scope)
        if n_undecided:
            selection: Any = change.rows()
            informative = ask_one(self.holder.shards, self.holder.settle(informative, node.scope, selection))
        return node.informative if informative.tobytes() == node.informative.tobytes() else informative

    def revise_statistics(self, block: Any, statistics: Any, data: Slice, node: Node, change: Change) -> Any:
        """Revise what was asked at a node by the rows that leave and come, or ask it of all rows."""
        if statistics is not None:
            alone = Change(change.minus, change.plus, _elsewhere)
            try:
                revised = block.revise(statistics, data, change.minus, change.plus, alone)
            except _RowsElsewhere:
                pass
            else:
                if revised is statistics:
                    minus, plus = change.minus, change.plus
                    self._journal.append(lambda: block.revise(statistics, data, plus, minus, _elsewhere))
                return revised
        selection: Any = change.rows()
        with self.interruptible():
            return self.holder.learn_statistics(self.learner, block, data, selection)

    def _update_clusters(self, node: Node, decision: Decision, change: Change, path: Path) -> None:
        """Hand every change to the cluster that it concerns; where rows change sides, learn all clusters anew."""
        clustering = self.learner.clustering
        before, after = node.clustering, decision.clustering
        if after is before or clustering.assigns_like(before, after):
            self.update_split_data(node, decision, change, path)
            return
        self.subnetworks_learned += 1
        with self.interruptible():
            learned = perform(self.learner, decision, node.place, change.rows())
        self._drop(node.children)
        node.clusters, node.children = learned.clusters, learned.children

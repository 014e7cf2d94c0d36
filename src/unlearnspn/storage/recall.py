"""LearnSPN with the costly answers recalled instead of found.

The network is made by `Learner` itself from the records themselves, so that whatever a file says, it has the form and
the counts of a learned one. What is recalled can at worst be a wrong answer, never a broken state.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from unlearnspn.clustering import Clustering, QKMeans
from unlearnspn.independence import GTest, IndependenceTest
from unlearnspn.independence.base import Groups
from unlearnspn.learning import Decision, Learner, Place
from unlearnspn.network import Node, Operation
from unlearnspn.pair_tables import PairTables, count_pairs, hash_tables, pair_cells
from unlearnspn.slices import Rows, Slice
from unlearnspn.storage.answers import Answers
from unlearnspn.storage.errors import StorageError


def seeds_of(clustering: Clustering[Any], statistics: Any) -> Rows:
    """Return what must be stored of a clustering: the seeds of Q-k-means; other clusterings are learned again."""
    return np.asarray(statistics.seeds) if type(clustering) is QKMeans else np.zeros(0, np.int64)


def recall_network(learner: Learner, place: Place, rows: Rows, answers: Answers) -> Node:
    """Return the network that the learner once made of these rows, from its answers."""
    parts = {field.name: getattr(learner, field.name) for field in fields(learner)}
    parts["independence"] = _Answered()
    root = _Recall(**parts, test=learner.independence, answers=answers).learn_spn(place, rows)
    answers.finish()
    return root


class _Answered:
    """Stands for the independence test while the network is made: groups are all that is known."""

    def groups(self, statistics: Groups, data: Slice) -> Groups:
        """Return the groups recalled."""
        return statistics


@dataclass(frozen=True, eq=False, kw_only=True)
class _Recall(Learner):
    """A learner that recalls its answers."""

    #: The independence test whose statistics the nodes are to have.
    test: IndependenceTest[Any]
    answers: Answers

    def choose_operation(self, place: Place, rows: Rows) -> Decision:
        """Choose the operation as it was chosen before."""
        if place.scope.size == 1:
            return super().choose_operation(place, rows)
        return self.decide(
            place,
            rows.size,
            self.count_codes(place.scope, rows),
            lambda: rows,
            lambda: self.answers.groups(place.scope.size),
            lambda: self._cluster(self.slice(place), rows),
        )

    def make(self, decision: Decision, place: Place, rows: Rows) -> Node:
        """Make the node, and give it the statistics of its independence test."""
        node = super().make(decision, place, rows)
        if decision.groups is not None:
            parts = node.children if node.operation is Operation.SPLIT_DATA else ()
            # The node is new: nobody but its maker has seen it yet.
            node.independence = _statistics(self.test, self.slice(place), rows, parts)
        return node

    def _cluster(self, data: Slice, rows: Rows) -> Any:
        seeds = self.answers.seeds()
        if type(self.clustering) is not QKMeans:
            return self.clustering.learn(data, rows)
        if not 0 < seeds.size <= self.clustering.n_clusters:
            raise StorageError(f"a node has {seeds.size} seeds for {self.clustering.n_clusters} clusters")
        found = np.searchsorted(rows, seeds)
        if (found == rows.size).any() or (rows[found] != seeds).any():
            raise StorageError("a seed of a node's clusters is not among its records")
        return self.clustering.learn_from(seeds, data, rows)


def _statistics(test: IndependenceTest[Any], data: Slice, rows: Rows, parts: tuple[Node, ...]) -> Any:
    """Return a test's statistics of some rows; `parts` are the clusters that they were split into, if they were."""
    if type(test) is GTest and parts:
        return _sum_tables(data, parts)
    return test.learn(data, rows)


def _sum_tables(data: Slice, parts: tuple[Node, ...]) -> PairTables:
    """Return the tables of a split: the sums of those of its parts, so that few rows have to be counted twice."""
    scope, sizes = data.scope, data.encoding.sizes
    cells = np.zeros(pair_cells(scope, sizes), np.int64)
    for part in parts:
        if part.independence is None:
            count_pairs(data.records.codes, part.gather_rows(), scope, sizes, cells)
        else:
            cells += part.independence.cells
    return PairTables(cells, hash_tables(cells, scope, sizes, data.encoding.prints))

"""Whoever holds the rows: the seam between decisions, which read statistics, and rows, which may lie anywhere.

A holder gathers statistics of rows, and puts rows into clusters; it decides nothing. `LocalHolder` has all rows in the
arrays of one process. Rows are passed through as the holder gave them: arrays of slots here, others elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from unlearnspn.circuit.expressions import Expression
from unlearnspn.rows.row_set import RowSet
from unlearnspn.slices import Rows, Scope
from unlearnspn.spn.derive import Pending, express_leaves
from unlearnspn.spn.learn_spn import Decision, FromRows, Opened, choose_operation, split_rows
from unlearnspn.spn.learner import Learner
from unlearnspn.spn.node import Factor, Place
from unlearnspn.spn.unlearn_spn import Revision


class Holder(Protocol):
    """Answers for all nodes of a level together."""

    def choose_operations(self, learner: Learner, opened: Sequence[Opened]) -> list[Decision]:
        """Choose the operation of each node, by statistics of its rows."""

    def learn_factors(self, learner: Learner, asked: Sequence[tuple[Scope, Rows]]) -> list[Factor]:
        """Learn leaves of some variables and rows each."""

    def split(self, learner: Learner, asked: Sequence[tuple[Decision, Place, Rows]]) -> list[dict[int, Rows]]:
        """Return the rows of each cluster that has any."""

    def keep(self, learner: Learner, rows: Rows) -> RowSet:
        """Return the rows as a node keeps them."""

    def revision(self, learner: Learner) -> Revision:
        """Return what revises a network of these rows."""

    def express_leaves(self, learner: Learner, pending: list[Pending]) -> list[list[Expression]]:
        """Return the leaves of nodes as parts of a circuit."""


class LocalHolder:
    """Has all rows in the arrays of the learner's records."""

    def choose_operations(self, learner: Learner, opened: Sequence[Opened]) -> list[Decision]:
        """Choose the operation of each node, by statistics of its rows."""
        return [choose_operation(learner, each.place, FromRows(learner, each.place, each.rows)) for each in opened]

    def learn_factors(self, learner: Learner, asked: Sequence[tuple[Scope, Rows]]) -> list[Factor]:
        """Learn leaves of some variables and rows each."""
        return [learner.learn_factor(scope, rows) for scope, rows in asked]

    def split(self, learner: Learner, asked: Sequence[tuple[Decision, Place, Rows]]) -> list[dict[int, Rows]]:
        """Return the rows of each cluster that has any, in increasing order."""
        return [split_rows(learner, decision, place, rows) for decision, place, rows in asked]

    def keep(self, learner: Learner, rows: Rows) -> RowSet:
        """Return the rows as a node keeps them."""
        return RowSet.of(learner.coded, rows)

    def revision(self, learner: Learner) -> Revision:
        """Return what revises a network of these rows."""
        return Revision(learner)

    def express_leaves(self, learner: Learner, pending: list[Pending]) -> list[list[Expression]]:
        """Return the leaves of nodes as parts of a circuit."""
        return express_leaves(learner, pending)


LOCAL: Holder = LocalHolder()

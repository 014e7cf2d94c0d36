"""The network for reading: nodes with names instead of indices, parameters instead of statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import ref

import numpy as np

from unlearnspn.coding import Encoding
from unlearnspn.slices import Rows, Scope
from unlearnspn.spn.learner import Learner
from unlearnspn.spn.node import Node
from unlearnspn.spn.operations import Address, Operation


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class ShownNode:
    """A node as it was when somebody looked at it; two pictures of a network share what no request has touched."""

    operation: Operation
    key: int
    scope: Scope
    n_records: int
    #: The leaves and the sub-networks below, in this order; a leaf has none.
    children: tuple[ShownNode, ...] = ()
    #: Split data: the cluster number of each child.
    clusters: tuple[int, ...] = ()
    #: Create leaf: the exact statistics of the distribution.
    statistics: Any = None
    #: The rows that the node keeps.
    rows: Rows | None = None

    def gather_rows(self) -> Rows:
        """Return the rows of a cluster, in no particular order."""
        if self.rows is not None:
            return self.rows
        return np.concatenate([child.gather_rows() for child in self.children])

    def addresses(self, place: Address) -> list[Address]:
        """Return the addresses of the children of a node that is at `place`."""
        if self.operation is Operation.SPLIT_DATA:
            return [place.cluster(number) for number in self.clusters]
        return [place.variables(child.scope) for child in self.children]


def show(learner: Learner, node: Node, rows: Rows) -> ShownNode:
    """Return a node and all below it as they are now; what did not change since it was last shown is the same.

    `rows` are those of the node, or of one above it that keeps them.
    """
    known: ShownNode | None = None if node.shown is None else node.shown()
    if known is None:
        kept = None if node.rows is None else node.rows.rows.copy()
        rows = rows if kept is None else kept
        known = _show(learner, node, rows, kept)
        node.shown = ref(known)
    return known


def _show(learner: Learner, node: Node, rows: Rows, kept: Rows | None) -> ShownNode:
    is_split = node.operation is Operation.SPLIT_DATA
    children = tuple([show(learner, child, child.gather_rows() if is_split else rows) for child in node.children])
    leaves = tuple(
        [
            ShownNode(
                Operation.CREATE_LEAF,
                node.key,
                factor.scope,
                node.n_records,
                statistics=learner.statistics_of(node, factor, lambda: rows),
            )
            for factor in node.factors
        ]
    )
    if node.operation is Operation.CREATE_LEAF:
        (leaf,) = leaves
        return ShownNode(leaf.operation, node.key, leaf.scope, node.n_records, (), (), leaf.statistics, kept)
    return ShownNode(
        node.operation, node.key, node.scope, node.n_records, (*leaves, *children), node.clusters, None, kept
    )


class NodeView:
    """A node as users see it; read-only, and valid for the model as it was when the view was taken.

    >>> from unlearnspn import SPN
    >>> root = SPN(min_rows=2).fit([[0.0, 1.0], [0.5, 2.0], [5.0, 1.5], [5.5, 2.5]]).root_
    >>> root.n_records, root.scope, root.address
    (4, ('x0', 'x1'), '/')
    """

    __slots__ = ("_address", "_learner", "_node")

    def __init__(self, learner: Learner, node: ShownNode, address: Address | None = None) -> None:
        self._learner = learner
        self._node = node
        self._address = address or Address()

    @property
    def node(self) -> ShownNode:
        """The node itself; networks before and after a request share those that it did not touch."""
        return self._node

    @property
    def encoding(self) -> Encoding:
        """How the values were coded that the node was learned from."""
        return self._learner.encoding

    @property
    def operation(self) -> Operation:
        """The operation of LearnSPN that made the node."""
        return self._node.operation

    @property
    def address(self) -> str:
        """The cluster numbers and scopes on the way from the root, e.g. `/1/{0,2-4}`."""
        return str(self._address)

    @property
    def scope(self) -> tuple[str, ...]:
        """The names of the node's variables."""
        names = self._learner.records.schema.names
        return tuple(names[v] for v in self._node.scope)

    @property
    def n_records(self) -> int:
        """The number of records that the node was learned from."""
        return self._node.n_records

    @property
    def children(self) -> tuple[NodeView, ...]:
        """The children: parts of a mixture (split data) or factors of a product (all other operations)."""
        pairs = zip(self._node.children, self._node.addresses(self._address), strict=True)
        return tuple(NodeView(self._learner, child, address) for child, address in pairs)

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each child of a mixture; nothing for other nodes."""
        if self.operation is not Operation.SPLIT_DATA:
            return ()
        return tuple(child.n_records / self.n_records for child in self._node.children)

    @property
    def distribution(self) -> str | None:
        """The kind of a leaf's distribution; None for other nodes."""
        if self.operation is not Operation.CREATE_LEAF:
            return None
        return self._learner.leaf(self._node.scope).name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of a leaf's distribution; nothing for other nodes."""
        if self.operation is not Operation.CREATE_LEAF:
            return {}
        data = self._learner.slice(self._node.scope, self._node.key)
        return self._learner.leaf(data.scope).parameters(self._node.statistics, data)

    def walk(self) -> Iterator[NodeView]:
        """Yield this node and all below it, parents first."""
        pending = [self]
        while pending:
            view = pending.pop()
            yield view
            pending.extend(reversed(view.children))

    def __repr__(self) -> str:
        return (
            f"<{self.operation} at {self.address}: {self.n_records} records, "
            f"{len(self._node.scope)} variables, {len(self._node.children)} children>"
        )

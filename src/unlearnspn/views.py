"""The network for reading: nodes with names instead of indices, parameters instead of statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unlearnspn.coding import Encoding
from unlearnspn.learning import Learner
from unlearnspn.network import Address, Factor, Node, Operation
from unlearnspn.slices import Slice


class NodeView:
    """A node as users see it; read-only, and valid for the model as it was when the view was taken.

    >>> from unlearnspn import SPN
    >>> root = SPN(min_rows=2).fit([[0.0, 1.0], [0.5, 2.0], [5.0, 1.5], [5.5, 2.5]]).root_
    >>> root.n_records, root.scope, root.address
    (4, ('x0', 'x1'), '/')
    """

    __slots__ = ("_address", "_learner", "_node", "_parent")

    def __init__(
        self, learner: Learner, node: Node, address: Address | None = None, parent: Node | None = None
    ) -> None:
        self._learner = learner
        self._node = node
        self._address = address or Address()
        self._parent = parent

    @property
    def node(self) -> Node:
        """The node itself, with its state; networks before and after a request share those that it did not touch."""
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
        addresses = self._node.addresses(self._address)
        pairs = zip(self._node.children, addresses, strict=True)
        return tuple(NodeView(self._learner, child, address, self._node) for child, address in pairs)

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
        learner, node = self._learner, self._node
        counting = self._parent or node
        assert counting.marginals is not None
        counts = learner.counts_by_variable(counting.scope, counting.marginals)
        statistics = learner.statistics(Factor(node.scope, node.statistics), counts)
        data = Slice(learner.records, learner.encoding, node.scope, node.key)
        return learner.leaf(data.scope).parameters(statistics, data)

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

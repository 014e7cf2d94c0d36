"""From the network to the circuit that serves it: the state is left behind, and what needs no unit is pruned.

Untouched parts are taken over from the last time: nodes are immutable, so a node that is still there gives the same
expression, unless what its columns show of themselves (categories, centre, scale) has changed.
"""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary

from unlearnspn.circuit.expressions import Expression, mixture, product
from unlearnspn.learning import Learner
from unlearnspn.network import Node, Operation
from unlearnspn.slices import Slice


class Derivation:
    """Derives expressions, and remembers those of nodes that are still in use."""

    def __init__(self) -> None:
        self._columns: tuple[bytes, ...] = ()
        self._known: WeakKeyDictionary[Node, Expression] = WeakKeyDictionary()

    def express(self, learner: Learner, root: Node) -> Expression:
        """Return the network as an expression."""
        columns = tuple(coder.released for coder in learner.encoding.coders)
        if columns != self._columns:
            self._columns, self._known = columns, WeakKeyDictionary()
        return self._express(learner, root)

    def _express(self, learner: Learner, node: Node) -> Expression:
        if node.operation is Operation.CREATE_LEAF:
            data = Slice(learner.records, learner.encoding, node.scope, node.key)
            return learner.leaf(node.scope).express(node.statistics, data)
        expression = self._known.get(node)
        if expression is None:
            parts = [self._express(learner, child) for child in node.children]
            if node.operation is Operation.SPLIT_DATA:
                total = node.n_records
                expression = mixture(parts, [math.log(child.n_records / total) for child in node.children])
            else:
                expression = product(parts)
            self._known[node] = expression
        return expression

"""From the network to the circuit that serves it: the state is left behind, and what needs no unit is pruned.

Untouched parts are taken over from the last time: a sub-network with the same digest gives the same expression, unless
how its columns are coded (categories, centre, scale, bins) has changed. Sub-networks of one network that have the same
digest share their expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from unlearnspn.circuit.expressions import ONE, Expression, Inputs, Product, mixture, product
from unlearnspn.circuit.scoring import PreparedParts
from unlearnspn.leaves.counted import counted_inputs
from unlearnspn.portable_math import log
from unlearnspn.slices import Rows
from unlearnspn.spn.learner import Learner
from unlearnspn.spn.node import Factor, Node
from unlearnspn.spn.operations import Operation
from unlearnspn.threads import on_all_cores, pays_on_all_cores

#: Threads wait for each other more than they work where trees have fewer rows than this, in the mean.
_LARGE = 1000


class Derivation:
    """Derives expressions, and remembers those of sub-networks that are still in use."""

    def __init__(self) -> None:
        #: What circuits have prepared of expressions.
        self.prepared = PreparedParts()
        self._coding = b""
        self._known: dict[bytes, Expression] = {}
        self._used: dict[bytes, Expression] = {}
        #: The digests that several sub-networks have.
        self._several: set[bytes] = set()

    def forget(self, names: Iterable[bytes]) -> None:
        """Forget sub-networks that are not there any more, by their digests.

        If an equal one is still there, what stands above it goes on to use the expression that is to be forgotten, and
        would not share it with those that are derived from now on, as it would if all were derived at once. Then all
        are.
        """
        if not self._known:
            return
        names = list(names)
        if not self._several.isdisjoint(names):
            self._known, self._several = {}, set()
        for name in names:
            self._known.pop(name, None)

    def express(self, learner: Learner, root: Node) -> Expression:
        """Return a network, whose digests are known, as an expression."""
        coding = learner.encoding.kept
        if coding != self._coding:
            self._coding, self._known = coding, {}
        self._used, self._several = {}, set()
        pending: list[Pending] = []
        self._find(root, None, pending)
        for each, leaves in zip(pending, learner.holder.express_leaves(learner, pending), strict=True):
            self._used[each.name] = self._express(each, leaves)
        self._known, self._used = self._used, {}
        return self._known[_name(root)]

    def _find(self, node: Node, holder: Node | None, pending: list[Pending]) -> bytes:
        """Return a sub-network's name, keep what is known of it, and find what is not, children before parents."""
        name = _name(node)
        if name in self._used or name in self._known:
            self._keep_below(node)
        else:
            # A product's rows are those of the node above that keeps them.
            holder = node if node.rows is not None or node.operation is Operation.SPLIT_DATA else holder
            parts = [self._find(child, holder, pending) for child in node.children]
            pending.append(Pending(name, node, holder, parts))
            self._used[name] = ONE  # until it is derived
        return name

    def _keep_below(self, node: Node) -> None:
        """Remember what a known expression consists of, and which parts of it occur elsewhere, too."""
        for each in node.walk():
            name = _name(each)
            if name in self._used:
                self._several.add(name)
            elif name in self._known:
                self._used[name] = self._known[name]

    def _express(self, each: Pending, leaves: list[Expression]) -> Expression:
        parts, node = [self._used[name] for name in each.parts], each.node
        if node.operation is not Operation.SPLIT_DATA:
            return product([*leaves, *parts])
        return mixture(parts, [log(child.n_records / node.n_records) for child in node.children])


class Pending(NamedTuple):
    """A node that is to be derived."""

    name: bytes
    node: Node
    #: The node that has its rows; None if they are all there are.
    holder: Node | None
    #: The names of its parts.
    parts: list[bytes]

    def rows(self, learner: Learner) -> Rows:
        """Return the node's rows."""
        return learner.records.rows if self.holder is None else self.holder.gather_rows()


def _name(node: Node) -> bytes:
    assert node.digests is not None
    return node.digests.released


def express_leaves(learner: Learner, pending: list[Pending]) -> list[list[Expression]]:
    """Return the leaves of nodes as expressions; trees on all cores if that pays."""
    counted = _counted_leaves(learner, [each.node for each in pending])
    no_trees: dict[int, Expression] = {}
    jobs = [(learner, each, inputs, no_trees) for each, inputs in zip(pending, counted, strict=True)]
    # Nothing but trees reads rows.
    sizes = [each.node.n_records if any(leaf.is_tree for leaf in each.node.factors) else 0 for each in pending]
    n_large = sum(map(bool, sizes))
    if sum(sizes) >= _LARGE * n_large and pays_on_all_cores(n_large, sum(sizes)):
        return on_all_cores(_express_leaves, jobs, sizes)
    return [_express_leaves(*job) for job in jobs]


def _counted_leaves(learner: Learner, nodes: list[Node]) -> list[Inputs]:
    """Return the leaves of each node that follow from its marginals."""
    leaves = [[factor.variable for factor in node.factors if factor.statistics is None] for node in nodes]
    return counted_inputs(
        [node.marginals.counts for node in nodes],
        [node.scope for node in nodes],
        [np.array(own, np.int64) for own in leaves],
        learner.encoding.sizes,
        learner.smoothing,
    )


def express_beside(
    learner: Learner, pending: list[Pending], trees: list[dict[int, Expression]]
) -> list[list[Expression]]:
    """Return the leaves of nodes as expressions, given those of the trees of each by the first variable."""
    counted = _counted_leaves(learner, [each.node for each in pending])
    return [_express_leaves(learner, *job) for job in zip(pending, counted, trees, strict=True)]


def _express_leaves(
    learner: Learner, each: Pending, counted: Inputs, trees: Mapping[int, Expression]
) -> list[Expression]:
    """Return the leaves of a node as expressions, given those that need nothing but counts, and perhaps trees."""
    node = each.node
    n_others = len(node.factors) - counted.number
    if n_others == 0 and counted.number != 1:
        return [Product(counted, ())] if counted.number else []
    known: dict[int, Expression] = {**{part.variable: part for part in counted.unpack()}, **trees}

    def express(leaf: Factor) -> Expression:
        if (leaf.scope.size == 1 or leaf.is_tree) and leaf.variable in known:
            return known[leaf.variable]
        statistics = learner.statistics_of(node, leaf, lambda: each.rows(learner))
        return learner.leaf(leaf.scope).express(statistics, learner.slice(leaf.scope, node.key))

    return [express(leaf) for leaf in node.factors]

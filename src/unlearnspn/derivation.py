"""From the network to the circuit that serves it: the state is left behind, and what needs no unit is pruned.

Untouched parts are taken over from the last time: a sub-network with the same digest gives the same expression, unless
what its columns show of themselves (categories, centre, scale) has changed. Sub-networks of one network that have the
same digest share their expression.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from unlearnspn.circuit.expressions import ONE, Expression, Inputs, Product, mixture, product
from unlearnspn.counted_leaves import counted_leaves
from unlearnspn.exact_sum import Words
from unlearnspn.flat_network import SHORT_DIGEST, FlatNetwork
from unlearnspn.learning import Learner
from unlearnspn.leaves.tree_units import write_tree
from unlearnspn.network import Factor, Operation
from unlearnspn.slices import Slice
from unlearnspn.threads import on_all_cores, pays_on_all_cores

_SIZE = 8 * SHORT_DIGEST
#: Threads wait for each other more than they work where trees have fewer rows than this, in the mean.
_LARGE = 1000


class Derivation:
    """Derives expressions, and remembers those of sub-networks that are still in use."""

    def __init__(self) -> None:
        self._columns = b""
        self._known: dict[bytes, Expression] = {}
        self._used: dict[bytes, Expression] = {}
        #: The digests that several sub-networks have.
        self._several: set[bytes] = set()

    def forget(self, outdated: list[Words]) -> None:
        """Forget sub-networks that are not there any more, by the words of their digests.

        If an equal one is still there, what stands above it goes on to use the expression that is to be forgotten, and
        would not share it with those that are derived from now on, as it would if all were derived at once. Then all
        are.
        """
        if not self._known:
            return
        words = b"".join([digests.tobytes() for digests in outdated])
        names = [words[start : start + _SIZE] for start in range(0, len(words), _SIZE)]
        if not self._several.isdisjoint(names):
            self._known, self._several = {}, set()
        for name in names:
            self._known.pop(name, None)

    def express(self, learner: Learner, network: FlatNetwork) -> Expression:
        """Return a network, whose digests are known, as an expression."""
        columns = learner.encoding.released
        if columns != self._columns:
            self._columns, self._known = columns, {}
        self._used, self._several = {}, set()
        pending: list[_Pending] = []
        self._find(network, network.root, pending)
        for each, leaves in zip(pending, _express_all_leaves(learner, network, pending), strict=True):
            self._used[each.name] = self._express(network, each, leaves)
        self._known, self._used = self._used, {}
        return self._known[network.released_digest(network.root)]

    def _find(self, network: FlatNetwork, at: int, pending: list[_Pending]) -> bytes:
        """Return a sub-network's name, keep what is known of it, and find what is not, children before parents."""
        name = network.released_digest(at)
        if name in self._used or name in self._known:
            self._keep_below(network, at)
        else:
            parts = [self._find(network, part, pending) for part in network.parts(at)]
            pending.append(_Pending(name, at, parts))
            self._used[name] = ONE  # until it is derived
        return name

    def _keep_below(self, network: FlatNetwork, at: int) -> None:
        """Remember what a known expression consists of, and which parts of it occur elsewhere, too."""
        for node in network.below(at):
            name = network.released_digest(node)
            if name in self._used:
                self._several.add(name)
            elif name in self._known:
                self._used[name] = self._known[name]

    def _express(self, network: FlatNetwork, each: _Pending, leaves: list[Expression]) -> Expression:
        parts = [self._used[name] for name in each.parts]
        if network.operation(each.node) is not Operation.SPLIT_DATA:
            return product([*leaves, *parts])
        n_records = network.n_records(each.node)
        shares = [network.n_records(part) / n_records for part in network.parts(each.node)]
        return mixture(parts, [math.log(share) for share in shares])


class _Pending(NamedTuple):
    """A node that is to be derived."""

    name: bytes
    node: int
    #: The names of its parts.
    parts: list[bytes]


def _express_all_leaves(learner: Learner, network: FlatNetwork, pending: list[_Pending]) -> list[list[Expression]]:
    """Return the leaves of nodes as expressions; trees on all cores if that pays."""
    nodes = np.array([each.node for each in pending], np.int64)
    counted = counted_leaves(network.words, nodes, learner.encoding.sizes, learner.smoothing)
    jobs = [(learner, network, each.node, *leaves) for each, leaves in zip(pending, counted, strict=True)]
    others = [n_others for _, n_others in counted]
    sizes = [network.n_records(each.node) if n_others else 0 for each, n_others in zip(pending, others, strict=True)]
    is_large = sum(sizes) >= _LARGE * sum(map(bool, others))
    if learner.tree is not None and is_large and pays_on_all_cores(write_tree, len(jobs), sum(sizes)):
        return on_all_cores(_express_leaves, jobs, sizes)
    return [_express_leaves(*job) for job in jobs]


def _express_leaves(
    learner: Learner, network: FlatNetwork, node: int, counted: Inputs, n_others: int
) -> list[Expression]:
    """Return the leaves of a node as expressions, given those that need nothing but counts."""
    if n_others == 0 and counted.number != 1:
        return [Product(counted, ())] if counted.number else []
    known: dict[int, Expression] = {part.variable: part for part in counted.unpack()}
    if n_others == 0:
        return list(known.values())
    key, factors = network.key_of(node), network.leaves(learner, node)
    n_alone = sum(leaf.scope.size == 1 for leaf in factors)
    counts = network.counts(learner, node) if len(known) < n_alone else {}

    def express(leaf: Factor) -> Expression:
        if leaf.scope.size == 1 and int(leaf.scope[0]) in known:
            return known[int(leaf.scope[0])]
        own = Slice(learner.records, learner.encoding, leaf.scope, key)
        return learner.leaf(leaf.scope).express(learner.statistics(leaf, counts), own)

    return [express(leaf) for leaf in factors]

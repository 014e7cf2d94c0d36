"""From the network to the circuit that serves it: the state is left behind, and what needs no unit is pruned.

Untouched parts are taken over from the last time: a sub-network with the same digest gives the same expression, unless
what its columns show of themselves (categories, centre, scale) has changed. Sub-networks of one network that have the
same digest share their expression.
"""

from __future__ import annotations

import math

from unlearnspn.circuit.expressions import Expression, mixture, product
from unlearnspn.exact_sum import Words
from unlearnspn.flat_network import SHORT_DIGEST, FlatNetwork
from unlearnspn.learning import Learner
from unlearnspn.leaves.from_counts import express_marginals
from unlearnspn.network import Factor, Operation
from unlearnspn.node_blocks import Leaves
from unlearnspn.slices import Slice

_SIZE = 8 * SHORT_DIGEST


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
        expression = self._express(learner, network, network.root)
        self._known, self._used = self._used, {}
        return expression

    def _express(self, learner: Learner, network: FlatNetwork, at: int) -> Expression:
        name = network.released_digest(at)
        expression = self._used.get(name) or self._known.get(name)
        if expression is not None:
            self._keep_below(network, at)
            return expression
        parts = [self._express(learner, network, part) for part in network.parts(at)]
        if network.operation(at) is Operation.SPLIT_DATA:
            n_records = network.n_records(at)
            shares = [network.n_records(part) / n_records for part in network.parts(at)]
            expression = mixture(parts, [math.log(share) for share in shares])
        else:
            expression = product([*_express_leaves(learner, network.leaves(learner, at)), *parts])
        self._used[name] = expression
        return expression

    def _keep_below(self, network: FlatNetwork, at: int) -> None:
        """Remember what a known expression consists of, and which parts of it occur elsewhere, too."""
        for node in network.below(at):
            name = network.released_digest(node)
            if name in self._used:
                self._several.add(name)
            elif name in self._known:
                self._used[name] = self._known[name]


def _express_leaves(learner: Learner, leaves: Leaves) -> list[Expression]:
    """Return leaves as expressions, in one go those that need nothing but counts."""
    key, scope, marginals, factors = leaves
    records, encoding, smoothing = learner.records, learner.encoding, learner.smoothing
    alone = [int(own[0]) for own, _ in factors if own.size == 1]
    smoothed = sorted(variable for variable in alone if smoothing.applies[variable])
    known = dict(zip(smoothed, express_marginals(marginals, scope, encoding.sizes, smoothed, smoothing), strict=True))
    counts = learner.counts_by_variable(scope, marginals) if len(smoothed) < len(alone) else {}

    def express(leaf: Factor) -> Expression:
        if leaf.scope.size == 1 and int(leaf.scope[0]) in known:
            return known[int(leaf.scope[0])]
        statistics = learner.statistics(leaf, counts)
        return learner.leaf(leaf.scope).express(statistics, Slice(records, encoding, leaf.scope, key))

    return [express(leaf) for leaf in factors]

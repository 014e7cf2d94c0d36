"""Chow-Liu trees: one distribution of several categorical variables, in place of a product of their own.

Chow & Liu (1968): among all distributions in which every variable depends on one other at most, the one that follows
the maximum spanning tree of mutual information is most likely. The tree is a function of the pair tables and derived
from them whenever it is needed: mutual information is an integer here, so no order of summation can change the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import Expression, Input, Unit, categorical, mixture, product
from unlearnspn.coding import CategoricalCoder, Encoding
from unlearnspn.leaves.base import Leaf
from unlearnspn.leaves.from_counts import HasOutcomes, Outcomes, readable
from unlearnspn.leaves.settings import require_positive
from unlearnspn.leaves.spanning_tree import (
    Alphabet,
    count_outcomes,
    edge_tables,
    maximum_spanning_tree,
    pair_gains,
    pair_starts,
)
from unlearnspn.pair_tables import PairTables
from unlearnspn.portable_math import x_log_x_table
from unlearnspn.slices import Rows, Slice

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ChowLiu:
    """A tree of categorical variables, in which each depends on its parent.

    The tree starts at the first variable. A variable's own probabilities p are those of `Categorical(alpha)`, or of
    `Bernoulli(alpha)` if that is its leaf. Given an outcome of its parent that m records have, d of them with the
    category, the category's probability is (d + alpha + beta·p) / (m + alpha·(L + 0.01) + beta), as if every category
    had occurred `alpha` times more and `beta` more records knew nothing of the parent; without the 0.01 of what was
    never seen for a Bernoulli variable. Given an outcome of its parent that no record has, it is p. Records in which
    one of two variables is missing do not count for the two.

    >>> ChowLiu().name
    'chow-liu'
    """

    alpha: float = 0.3
    beta: float = 3.0

    def __post_init__(self) -> None:
        require_positive(alpha=self.alpha, beta=self.beta)

    @property
    def name(self) -> str:
        """The name under which the leaf is shown."""
        return "chow-liu"

    def takes(self, leaf: Leaf[Any], encoding: Encoding, variable: int) -> bool:
        """Tell whether a variable can be part of a tree: it has a code for each of its categories."""
        coder = encoding.coders[variable]
        return isinstance(coder, CategoricalCoder) and not coder.grouped and isinstance(leaf, HasOutcomes)

    def over(self, leaves: Sequence[Leaf[Any]]) -> TreeLeaf:
        """Return the distribution for variables that would have these leaves by themselves."""
        return TreeLeaf(self, leaves)


class _Tree(NamedTuple):
    """A tree with its probabilities, for the variables of a scope by position."""

    outcomes: list[Outcomes]
    parents: list[int]
    #: Parents before children.
    order: list[int]
    #: For each variable, the places of those of its outcomes that some record has.
    seen: list[list[int]]
    #: For each variable, the lines of its table: see `edge_tables`.
    tables: list[Floats]


@dataclass(frozen=True, eq=False)
class TreeLeaf:
    """The joint distribution of several categorical variables of a table."""

    settings: ChowLiu
    leaves: Sequence[Leaf[Any]]

    @property
    def name(self) -> str:
        """The name under which the leaf is shown."""
        return self.settings.name

    def learn(self, data: Slice, rows: Rows) -> PairTables:
        """Count the tables of all pairs."""
        return PairTables.learn(data, rows)

    def revise(self, statistics: PairTables, data: Slice, minus: Rows, plus: Rows) -> PairTables:
        """Change one cell of each pair for each row."""
        return statistics.revise(data, minus, plus)

    def fingerprint(self, statistics: PairTables, data: Slice) -> bytes:
        """Return the hash of all cells."""
        return statistics.fingerprint()

    def parameters(self, statistics: PairTables, data: Slice) -> Mapping[str, Any]:
        """Return the parent of each variable, and its probabilities given each outcome that the parent has."""
        tree, names = self._tree(statistics, data), [data.records.schema.names[v] for v in data.scope]
        parents = {names[v]: None if u < 0 else names[u] for v, u in enumerate(tree.parents)}
        return {"parents": parents, "probabilities": {names[v]: _readable_table(tree, v) for v in range(len(names))}}

    def express(self, statistics: PairTables, data: Slice) -> Expression:
        """Return the distribution as part of a circuit: given its outcome, a variable's children are independent.

        What follows from an outcome is the same whatever led to it, and one part of the circuit.
        """
        tree = self._tree(statistics, data)
        children: list[list[int]] = [[] for _ in tree.parents]
        for v in tree.order[1:]:
            children[tree.parents[v]].append(v)
        # For each variable, its sub-tree given each line of its table.
        given: list[list[Expression]] = [[] for _ in tree.parents]
        for v in reversed(tree.order):
            variable, table = int(data.scope[v]), tree.tables[v]
            if not children[v]:
                given[v] = [categorical(variable, line[:-1]) for line in table]
                continue
            alternatives = _alternatives(variable, tree.outcomes[v], tree.seen[v])
            below = zip(*(given[child] for child in children[v]), strict=True)
            parts = [product([one, *rest]) for one, rest in zip(alternatives, below, strict=True)]
            chosen = [*tree.seen[v], *([-1] if len(parts) > len(tree.seen[v]) else [])]
            given[v] = [mixture(parts, weights) for weights in table[:, chosen].tolist()]
        return given[0][0]

    def _tree(self, statistics: PairTables, data: Slice) -> _Tree:
        scope, sizes, cells = data.scope, data.encoding.sizes, statistics.cells
        outcomes = [self._outcomes(data, v) for v in scope.tolist()]
        ends = np.cumsum([0, *(len(each.categories) for each in outcomes)])
        codes = np.concatenate([each.levels for each in outcomes]) + 1
        alphabet = Alphabet(codes, ends, np.array([each.unseen for each in outcomes]))
        starts = pair_starts(scope, sizes)
        parents, order = maximum_spanning_tree(pair_gains(cells, scope, sizes, starts, x_log_x_table()))
        counts = count_outcomes(cells, scope, sizes, starts, alphabet)
        alpha, beta = float(self.settings.alpha), float(self.settings.beta)
        tables, places = edge_tables(cells, scope, sizes, starts, parents, alphabet, counts, alpha, beta)
        return _Tree(
            outcomes,
            parents.tolist(),
            order.tolist(),
            [np.flatnonzero(part).tolist() for part in np.split(counts, ends[1:-1])],
            [
                part.reshape(-1, len(each.categories) + 2)
                for part, each in zip(np.split(tables, places[1:-1]), outcomes, strict=True)
            ],
        )

    def _outcomes(self, data: Slice, variable: int) -> Outcomes:
        leaf = self.leaves[variable]
        assert isinstance(leaf, HasOutcomes)
        return leaf.outcomes(data, variable)


def _alternatives(variable: int, outcomes: Outcomes, seen: list[int]) -> list[Input]:
    """Return an indicator of each outcome that some record has, and the distribution of all others if there are any."""
    size = len(outcomes.categories) + 1
    alternatives = [Input(Unit.CATEGORICAL, variable, line) for line in _indicators(size)[seen]]
    if len(seen) + 1 < size or outcomes.unseen > 0.0:
        shares = np.ones(size)
        shares[seen], shares[-1] = 0.0, outcomes.unseen
        with np.errstate(divide="ignore"):
            alternatives.append(categorical(variable, np.log(shares / shares.sum())))
    return alternatives


@cache
def _indicators(size: int) -> Floats:
    """Return, for each place, the logarithms of a distribution that is certain of it."""
    indicators = np.full((size, size), -np.inf)
    np.fill_diagonal(indicators, 0.0)
    indicators.flags.writeable = False
    return indicators


def _readable_table(tree: _Tree, v: int) -> dict[Any, Any]:
    names = readable(tree.outcomes[v].categories)
    lines = [dict(zip(names, line, strict=False)) for line in np.exp(tree.tables[v]).tolist()]
    if tree.parents[v] < 0:
        return lines[0]
    parent = readable(tree.outcomes[tree.parents[v]].categories)
    return {parent[k]: line for k, line in zip(tree.seen[tree.parents[v]], lines, strict=False)}

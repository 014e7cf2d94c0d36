"""Chow-Liu trees: one distribution of several categorical variables, in place of a product of their own.

Chow & Liu (1968): among all distributions in which every variable depends on one other at most, the one that follows
the maximum spanning tree of mutual information is most likely. The tree is a function of the pair tables and derived
from them whenever it is needed: mutual information is an integer here, so no order of summation can change the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import Expression, Input, Sum, Unit, categorical, mixture, product
from unlearnspn.coding import CategoricalCoder, Encoding
from unlearnspn.leaves.base import Leaf
from unlearnspn.leaves.from_counts import FromCounts, HasOutcomes, Outcomes, readable
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
        return isinstance(coder, CategoricalCoder) and not coder.grouped and isinstance(leaf, FromCounts | HasOutcomes)

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
    """The joint distribution of several categorical variables of a table.

    A network keeps but the hash of its statistics, which are counted when the distribution is needed.
    """

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
        return statistics.hashes.tobytes()

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
            below = zip(*(given[child] for child in children[v]), strict=True)
            alternatives = zip(_alternatives(tree.outcomes[v], tree.seen[v]), below, strict=True)
            parts = tuple(product([Input(Unit.CATEGORICAL, variable, logs), *rest]) for logs, rest in alternatives)
            chosen = [*tree.seen[v], -1][: len(parts)]
            given[v] = [_choice(parts, weights) for weights in table[:, chosen].tolist()]
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
            [np.flatnonzero(counts[start:end]).tolist() for start, end in pairwise(ends.tolist())],
            [
                tables[start:end].reshape(-1, len(each.categories) + 2)
                for (start, end), each in zip(pairwise(places.tolist()), outcomes, strict=True)
            ],
        )

    def _outcomes(self, data: Slice, variable: int) -> Outcomes:
        return cast(HasOutcomes, self.leaves[variable]).outcomes(data, variable)


def _alternatives(outcomes: Outcomes, seen: list[int]) -> list[Floats]:
    """Return the log-probabilities of one thing each that a variable may be, on which all that follows depends.

    That is every outcome that some record has; and all others together, if there are any.
    """
    certain = _certainties(len(outcomes.categories) + 1)
    alternatives = [certain[place] for place in seen]
    if len(seen) < len(outcomes.categories):
        shares = np.append(np.ones(len(outcomes.categories)), outcomes.unseen)
        shares[seen] = 0.0
        with np.errstate(divide="ignore"):
            alternatives.append(np.log(shares / shares.sum()))
    elif outcomes.unseen > 0.0:
        alternatives.append(certain[-1])
    return alternatives


@cache
def _certainties(size: int) -> list[Floats]:
    """Return, for each of so many places, the log-probabilities of a distribution that is certain of it."""
    logs = np.full((size, size), -np.inf)
    np.fill_diagonal(logs, 0.0)
    logs.flags.writeable = False
    return list(logs)


def _choice(parts: tuple[Expression, ...], weights: list[float]) -> Expression:
    """Mix parts, none of which is a mixture."""
    plain = len(parts) > 1 and min(weights) > -np.inf
    return Sum(parts, tuple(weights)) if plain else mixture(parts, weights)


def _readable_table(tree: _Tree, v: int) -> dict[Any, Any]:
    names = readable(tree.outcomes[v].categories)
    lines = [dict(zip(names, line, strict=False)) for line in np.exp(tree.tables[v]).tolist()]
    if tree.parents[v] < 0:
        return lines[0]
    parent = readable(tree.outcomes[tree.parents[v]].categories)
    return {parent[k]: line for k, line in zip(tree.seen[tree.parents[v]], lines, strict=False)}

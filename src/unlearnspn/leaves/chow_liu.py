"""Chow-Liu trees: one distribution of several variables, in place of a product of their own.

Chow & Liu (1968): among all distributions in which every variable depends on one other at most, the one that follows
the maximum spanning tree of mutual information is most likely. The tree is a function of the pair tables and derived
from them whenever it is needed: mutual information is an integer here, so no order of summation can change the tree.
A number takes part by its bin: it is a mixture of Gaussians, one for each bin, and what depends on it depends on which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import repeat
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import Expression, Sum, categorical, mixture, product
from unlearnspn.coding import CategoricalCoder, Encoding
from unlearnspn.exact_sum import Moments, add_by_code, plain
from unlearnspn.hashing import fingerprint
from unlearnspn.leaves.background import background
from unlearnspn.leaves.base import Leaf
from unlearnspn.leaves.categorical import UNSEEN
from unlearnspn.leaves.edge_tables import Alphabet, Pairs, edge_table
from unlearnspn.leaves.from_counts import FromCounts, HasOutcomes, Outcomes, readable
from unlearnspn.leaves.gaussian import Gaussian
from unlearnspn.leaves.settings import require_positive
from unlearnspn.leaves.spanning_tree import maximum_spanning_tree, pair_gains
from unlearnspn.pair_tables import count_tables
from unlearnspn.portable_math import x_log_x_table
from unlearnspn.slices import Counts, Rows, Slice

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ChowLiu:
    """A tree of categories and numbers, in which each variable depends on its parent.

    The tree starts at the first variable. A variable's own probabilities p are those of `Categorical(alpha)`, or of
    `Bernoulli(alpha)` if that is its leaf. Given an outcome of its parent that m records have, d of them with the
    category, the category's probability is (d + alpha + beta·p) / (m + alpha·(L + 0.01) + beta), as if every category
    had occurred `alpha` times more and `beta` more records knew nothing of the parent; without the 0.01 of what was
    never seen for a Bernoulli variable. Given an outcome of its parent that no record has, it is p. Records in which
    one of two variables is missing do not count for the two.

    The outcomes of a number are the bins of its column. In a bin that some record has, it is normal, with mean and
    deviation of the values there (the leaf's least deviation holds here, too). In all others and in what was never seen
    together, it is normal around the column's centre, four times as wide as its scale.

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
        """Tell whether a variable can be part of a tree: as a Gaussian, or with a code for each of its categories."""
        coder = encoding.coders[variable]
        if type(leaf) is Gaussian:
            return True
        return isinstance(coder, CategoricalCoder) and not coder.grouped and isinstance(leaf, FromCounts | HasOutcomes)

    def over(self, leaves: Sequence[Leaf[Any]]) -> TreeLeaf:
        """Return the distribution for variables that would have these leaves by themselves."""
        return TreeLeaf(self, leaves)


class TreeStatistics(NamedTuple):
    """What a tree follows from."""

    #: The tables of all pairs, one after another.
    cells: Counts
    #: For each numeric variable, by number, the moments of its values in each bin.
    in_bins: Mapping[int, tuple[Moments, ...]]


class _Tree(NamedTuple):
    """A tree with its probabilities, for the variables of a scope by position."""

    outcomes: list[Outcomes]
    parents: list[int]
    #: Parents before children.
    order: list[int]
    #: For each variable, the places of those of its outcomes that some record has.
    seen: list[list[int]]
    #: For each variable, the lines of its table: see `edge_table`.
    tables: list[Floats]


@dataclass(frozen=True, eq=False)
class TreeLeaf:
    """The joint distribution of several variables of a table.

    A network keeps but hashes of its statistics, which are counted when the distribution is needed.
    """

    settings: ChowLiu
    leaves: Sequence[Leaf[Any]]

    @property
    def name(self) -> str:
        """The name under which the leaf is shown."""
        return self.settings.name

    def learn(self, data: Slice, rows: Rows) -> TreeStatistics:
        """Count the tables of all pairs, and sum numbers by bin."""
        in_bins = {v: _sum_by_bin(data, v, rows) for v in data.scope.tolist() if data.records.is_numeric[v]}
        return TreeStatistics(count_tables(data, rows), in_bins)

    def revise(self, statistics: TreeStatistics, data: Slice, minus: Rows, plus: Rows) -> TreeStatistics:
        """Count rows out and others in, in the tables of pairs and in the sums of bins."""
        in_bins = {}
        for v, before in statistics.in_bins.items():
            changes = zip(before, _sum_by_bin(data, v, minus), _sum_by_bin(data, v, plus), strict=True)
            in_bins[v] = tuple(old.minus(gone).plus(new) for old, gone, new in changes)
        cells = statistics.cells - count_tables(data, minus) + count_tables(data, plus)
        return TreeStatistics(cells, in_bins)

    def fingerprint(self, statistics: TreeStatistics, data: Slice) -> bytes:
        """Hash all cells, by the codes' own fingerprints, and the exact sums."""
        pairs = Pairs.of(statistics.cells, data.scope, data.encoding.sizes)
        sums = [part for bins in statistics.in_bins.values() for moments in bins for part in moments.to_bytes()]
        return fingerprint([pairs.hashes(data.encoding.prints[data.scope]).tobytes(), *sums])

    def parameters(self, statistics: TreeStatistics, data: Slice) -> Mapping[str, Any]:
        """Return each variable's parent, its probabilities given each outcome of that, and numbers by bin."""
        tree, names = self._tree(statistics, data), [data.records.schema.names[v] for v in data.scope]
        parents = {names[v]: None if u < 0 else names[u] for v, u in enumerate(tree.parents)}
        probabilities = {names[v]: _readable_table(tree, v) for v in range(len(names))}
        shown: dict[str, Any] = {"parents": parents, "probabilities": probabilities}
        positions = [v for v in range(len(names)) if int(data.scope[v]) in statistics.in_bins]
        if positions:
            shown["bins"] = {names[v]: self._readable_bins(tree, statistics, data, v) for v in positions}
        return shown

    def express(self, statistics: TreeStatistics, data: Slice) -> Expression:
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
            if not children[v] and variable not in statistics.in_bins:
                given[v] = [categorical(variable, line[:-1]) for line in table]
                continue
            alternatives = self._alternatives(tree, statistics, data, v)
            below = zip(*(given[child] for child in children[v]), strict=True) if children[v] else repeat(())
            parts = tuple(product([alone, *rest]) for alone, rest in zip(alternatives, below, strict=False))
            chosen = [*tree.seen[v], -1][: len(parts)]
            given[v] = [_choice(parts, weights) for weights in table[:, chosen].tolist()]
        return given[0][0]

    def _alternatives(self, tree: _Tree, statistics: TreeStatistics, data: Slice, v: int) -> Sequence[Expression]:
        """Return one thing each that a variable may be, on which all that follows depends.

        That is every outcome that some record has; and all others together, if there are any.
        """
        variable, outcomes, seen = int(data.scope[v]), tree.outcomes[v], tree.seen[v]
        if variable not in statistics.in_bins:
            return [categorical(variable, logs) for logs in _certain_outcomes(outcomes, seen)]
        bins, alone = statistics.in_bins[variable], replace(data, scope=data.scope[v : v + 1])
        in_bins = [self.leaves[variable].express(bins[place], alone) for place in seen]
        return [*in_bins, background(data.encoding.numeric(variable), variable)]

    def _tree(self, statistics: TreeStatistics, data: Slice) -> _Tree:
        scope, sizes, cells = data.scope, data.encoding.sizes, statistics.cells
        outcomes = [self._outcomes(data, v) for v in scope.tolist()]
        alphabets = [Alphabet(each.levels + 1, each.unseen) for each in outcomes]
        pairs = Pairs.of(cells, scope, sizes)
        parents, order = maximum_spanning_tree(pair_gains(cells, scope, sizes, pairs.starts, x_log_x_table()))
        smoothing = float(self.settings.alpha), float(self.settings.beta)
        counts = [alphabet.counts(pairs.marginal(v)) for v, alphabet in enumerate(alphabets)]
        return _Tree(
            outcomes,
            parents.tolist(),
            order.tolist(),
            [np.flatnonzero(each).tolist() for each in counts],
            [edge_table(pairs, alphabets, v, u, *smoothing) for v, u in enumerate(parents.tolist())],
        )

    def _outcomes(self, data: Slice, variable: int) -> Outcomes:
        if not data.records.is_numeric[variable]:
            return cast(HasOutcomes, self.leaves[variable]).outcomes(data, variable)
        n_bins = data.encoding.numeric(variable).n_codes - 1
        return Outcomes(tuple(range(n_bins)), np.arange(n_bins), UNSEEN)

    def _readable_bins(self, tree: _Tree, statistics: TreeStatistics, data: Slice, v: int) -> dict[int, Any]:
        variable, alone = int(data.scope[v]), replace(data, scope=data.scope[v : v + 1])
        bins = statistics.in_bins[variable]
        return {place: self.leaves[variable].parameters(bins[place], alone) for place in tree.seen[v]}


def _sum_by_bin(data: Slice, variable: int, rows: Rows) -> tuple[Moments, ...]:
    """Sum a variable's values in each bin, exactly."""
    records = data.records
    window = records.totals.window(variable)
    n_bins = data.encoding.numeric(variable).n_codes - 1
    words = np.zeros(n_bins * window.n_words, np.int64)
    bits, column = records.values.view(np.int64), int(records.place[variable])
    add_by_code(words, bits, rows, column, records.codes, variable, plain(window))
    return tuple(Moments.from_words(line, window) for line in words.reshape(n_bins, -1))


def _certain_outcomes(outcomes: Outcomes, seen: list[int]) -> list[Floats]:
    """Return the log-probabilities of categories, for each alternative that there is."""
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

"""Chow-Liu trees: one distribution of several variables, in place of a product of their own.

Chow & Liu (1968): among all distributions in which every variable depends on one other at most, the one that follows
the maximum spanning tree of mutual information is most likely. The tree is a function of the pair tables and derived
from them whenever it is needed: mutual information is an integer here, so no order of summation can change the tree.
A number takes part by its bin: it is a mixture of Gaussians, one for each bin, and what depends on it depends on which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import Expression, numeric_parameters
from unlearnspn.coding import CategoricalCoder, Encoding
from unlearnspn.compiling import IN, OUT
from unlearnspn.exact_sum import Moments, Words, add_by_code, plain
from unlearnspn.hashing import fingerprint
from unlearnspn.leaves.background import background_parameters
from unlearnspn.leaves.base import Leaf
from unlearnspn.leaves.categorical import UNSEEN
from unlearnspn.leaves.edge_tables import Alphabets, find_pairs
from unlearnspn.leaves.from_counts import NO_OUTCOMES, FromCounts, HasOutcomes, Outcomes, in_arrays, readable
from unlearnspn.leaves.gaussian import Gaussian
from unlearnspn.leaves.settings import require_positive
from unlearnspn.leaves.tree import Tree, TreeData, learn_tree
from unlearnspn.leaves.tree_units import express_tree
from unlearnspn.pair_tables import count_tables
from unlearnspn.portable_math import x_log_x_table
from unlearnspn.slices import Counts, Rows, Slice
from unlearnspn.tables import Category

Floats = npt.NDArray[np.float64]

#: Without numbers there are no bins, though lines as long as the parameters of a Gaussian.
_NO_BINS = np.zeros((0, len(numeric_parameters(0.0, 1.0))))


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
    #: For each numeric variable, by number, the moments of its values in each bin, as words.
    in_bins: Mapping[int, Words]


@dataclass(frozen=True, eq=False)
class TreeLeaf:
    """The joint distribution of several variables of a table.

    A network keeps but hashes of its statistics, which are counted when the distribution is needed.
    """

    settings: ChowLiu
    leaves: Sequence[Leaf[Any]]
    #: What all variables can be, as encodings have it.
    _known_alphabets: WeakKeyDictionary[Encoding, Alphabets] = field(default_factory=WeakKeyDictionary, repr=False)

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
        in_bins = {v: words.copy() for v, words in statistics.in_bins.items()}
        for v, words in in_bins.items():
            _shift_bins(words, data, v, minus, OUT)
            _shift_bins(words, data, v, plus, IN)
        cells = statistics.cells - count_tables(data, minus) + count_tables(data, plus)
        return TreeStatistics(cells, in_bins)

    def fingerprint(self, statistics: TreeStatistics, data: Slice) -> bytes:
        """Hash all cells, by the codes' own fingerprints, and the exact sums."""
        pairs = find_pairs(statistics.cells, data.scope, data.encoding.sizes)
        windows = {v: data.records.totals.window(v) for v in statistics.in_bins}
        moments = [Moments.from_words(line, windows[v]) for v, words in statistics.in_bins.items() for line in words]
        sums = [part for each in moments for part in each.to_bytes()]
        return fingerprint([pairs.hashes(data.encoding.prints[data.scope]).tobytes(), *sums])

    def parameters(self, statistics: TreeStatistics, data: Slice) -> Mapping[str, Any]:
        """Return each variable's parent, its probabilities given each outcome of that, and numbers by bin."""
        tree, names = learn_tree(self._tree_data(statistics, data)), [data.records.schema.names[v] for v in data.scope]
        outcomes = [readable(self._outcomes(data, v).categories) for v in data.scope.tolist()]
        parents = {name: None if u < 0 else names[u] for name, u in zip(names, tree.parents.tolist(), strict=True)}
        probabilities = {name: _readable_table(tree, outcomes, v) for v, name in enumerate(names)}
        shown: dict[str, Any] = {"parents": parents, "probabilities": probabilities}
        numbers = [variable for variable in data.scope.tolist() if variable in statistics.in_bins]
        if numbers:
            shown["bins"] = {data.records.schema.names[v]: self._readable_bins(statistics, data, v) for v in numbers}
        return shown

    def express(self, statistics: TreeStatistics, data: Slice) -> Expression:
        """Return the distribution as part of a circuit."""
        return express_tree(self._tree_data(statistics, data))

    def _tree_data(self, statistics: TreeStatistics, data: Slice) -> TreeData:
        in_bins, first_bins = self._in_bins(statistics, data)
        return TreeData(
            data.scope,
            statistics.cells,
            in_bins,
            first_bins,
            data.encoding.sizes,
            self._alphabets(data),
            data.records.is_numeric,
            x_log_x_table(),
            float(self.settings.alpha),
            float(self.settings.beta),
        )

    def _alphabets(self, data: Slice) -> Alphabets:
        """Return what all variables can be that a tree can have."""
        known = self._known_alphabets.get(data.encoding)
        if known is None:
            takes, variables = self.settings.takes, range(len(self.leaves))
            joins = [takes(leaf, data.encoding, v) for v, leaf in enumerate(self.leaves)]
            outcomes = [self._outcomes(data, v) if joins[v] else NO_OUTCOMES for v in variables]
            starts, levels, unseen = in_arrays(outcomes)
            known = self._known_alphabets[data.encoding] = Alphabets(starts, levels + 1, unseen)
        return known

    def _outcomes(self, data: Slice, variable: int) -> Outcomes:
        if not data.records.is_numeric[variable]:
            return cast(HasOutcomes, self.leaves[variable]).outcomes(data, variable)
        n_bins = data.encoding.numeric(variable).n_codes - 1
        return Outcomes(tuple(range(n_bins)), np.arange(n_bins), UNSEEN)

    def _in_bins(self, statistics: TreeStatistics, data: Slice) -> tuple[Floats, Counts]:
        """Return the parameters of numbers in each bin that some record has, then elsewhere; and where they start."""
        if not statistics.in_bins:
            return _NO_BINS, np.zeros(data.scope.size, np.int64)
        lines: list[list[float]] = []
        starts = []
        for variable in data.scope.tolist():
            starts.append(len(lines))
            if variable in statistics.in_bins:
                elsewhere = background_parameters(data.encoding.numeric(variable))
                own = (*self._gaussians(statistics, data, variable), elsewhere)
                lines += [numeric_parameters(*parameters) for parameters in own]
        return np.array(lines), np.array(starts, np.int64)

    def _gaussians(self, statistics: TreeStatistics, data: Slice, variable: int) -> list[tuple[float, float]]:
        """Return mean and deviation of a number in each bin that some record has."""
        least = cast(Gaussian, self.leaves[variable]).least_std(data.encoding.numeric(variable))
        found = data.records.totals.window(variable).means_and_stds(statistics.in_bins[variable])
        return [(mean, max(std, least)) for mean, std in found]

    def _readable_bins(self, statistics: TreeStatistics, data: Slice, variable: int) -> dict[int, dict[str, float]]:
        bins = np.flatnonzero(statistics.in_bins[variable][:, 0]).tolist()
        gaussians = zip(bins, self._gaussians(statistics, data, variable), strict=True)
        return {number: {"mean": mean, "std": std} for number, (mean, std) in gaussians}


def _sum_by_bin(data: Slice, variable: int, rows: Rows) -> Words:
    """Sum a variable's values in each bin, exactly: a line of words for each."""
    n_bins = data.encoding.numeric(variable).n_codes - 1
    words = np.zeros((n_bins, data.records.totals.window(variable).n_words), np.int64)
    _shift_bins(words, data, variable, rows, IN)
    return words


def _shift_bins(words: Words, data: Slice, variable: int, rows: Rows, sign: int) -> None:
    """Put the values of some rows into the sums of their bins, or take them out."""
    records = data.records
    bits, column, window = records.values.view(np.int64), int(records.place[variable]), records.totals.window(variable)
    add_by_code(words.reshape(-1), bits, rows, column, records.codes, variable, plain(window), sign)


def _readable_table(tree: Tree, outcomes: list[list[Category]], v: int) -> dict[Any, Any]:
    table, parent = tree.tables.table(tree.alphabets, v), int(tree.parents[v])
    lines = [dict(zip(outcomes[v], line, strict=False)) for line in np.exp(table).tolist()]
    if parent < 0:
        return lines[0]
    seen = tree.tables.seen(tree.alphabets, parent)
    return {outcomes[parent][k]: line for k, line in zip(seen, lines, strict=False)}

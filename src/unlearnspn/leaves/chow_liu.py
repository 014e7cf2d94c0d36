"""Chow-Liu trees: one distribution of several variables, in place of a product of their own.

Chow & Liu (1968): among all distributions in which every variable depends on one other at most, the one that follows
the maximum spanning tree of mutual information is most likely. Here a category may depend on further ancestors in the
tree, where that pays (`contexts`). The tree is a function of counts and derived from them whenever it is needed: mutual
information is an integer here, so no order of summation can change the tree. A number takes part by its bin: it is a
mixture of Gaussians, one for each bin, and what depends on it depends on which. Numbers of which lines tell more than
that stand beside the tree, and are jointly normal (`joint_normals`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np

from unlearnspn.circuit.expressions import OWN, Expression, product
from unlearnspn.coding import CategoricalCoder, Encoding
from unlearnspn.hashing import fingerprint
from unlearnspn.leaves.background import background_parameters
from unlearnspn.leaves.base import Leaf
from unlearnspn.leaves.bins import BinDefaults, bin_parameters, lines_of_bins
from unlearnspn.leaves.categorical import UNSEEN
from unlearnspn.leaves.edge_tables import Alphabets
from unlearnspn.leaves.from_counts import NO_OUTCOMES, FromCounts, HasOutcomes, Outcomes, in_arrays, readable
from unlearnspn.leaves.gaussian import Gaussian
from unlearnspn.leaves.given_category import depend_on_category, express_given, readable_given
from unlearnspn.leaves.joint_normals import (
    JointNormal,
    NormalSettings,
    NumberUnits,
    express_normal,
    find_candidates,
    find_normals,
    readable_normal,
    units_of,
)
from unlearnspn.leaves.settings import require_positive, require_whole
from unlearnspn.leaves.tree import Tree, TreeData, learn_tree
from unlearnspn.leaves.tree_statistics import TreeStatistics, gather_statistics, revise_statistics
from unlearnspn.leaves.tree_units import express_tree
from unlearnspn.slices import Counts, Rows, Scope, Slice
from unlearnspn.statistics.moments import Moments
from unlearnspn.statistics.pair_tables import PairTables
from unlearnspn.tables import Category

#: Tables of more ancestors would have more cells than tables have records.
_MOST_ORDER = 8


@dataclass(frozen=True)
class ChowLiu:
    """A tree of categories and numbers, in which each variable depends on its parent, and categories on more ancestors.

    The tree starts at the first variable. A variable's own probabilities p are those of `Categorical(alpha)`, or of
    `Bernoulli(alpha)` if that is its leaf. Given an outcome of its parent that m records have, d of them with the
    category, the category's probability is (d + alpha + beta·p) / (m + alpha·(L + 0.01) + beta), as if every category
    had occurred `alpha` times more and `beta` more records knew nothing of the parent; without the 0.01 of what was
    never seen for a Bernoulli variable. Given an outcome of its parent that no record has, it is p. Records in which
    one of two variables is missing do not count for the two.

    A category may depend on up to `order` categories above it: on its parent, the parent's parent and so on; `order=1`
    is the tree of Chow and Liu. One more is added as long as the log-likelihood grows by more than `penalty` for each
    degree of freedom: the next one above, or a sibling that becomes the parent. Given outcomes of k + 1 ancestors that
    m records have, d of them with the category, its probability is (d + beta·q) / (m + beta), where q is the
    probability given the nearest k of them; given outcomes that no record has together, it is q.

    The outcomes of a number are the bins of its column. In a bin that some record has, it is normal, with mean and
    deviation of the values there (the leaf's least deviation holds here, too). In all others and in what was never seen
    together, it is normal around the column's centre, four times as wide as its scale. A value that more than half of
    the records have has a bin of its own; its least deviation is a quarter where all numbers are whole, and a quarter
    of a day where no date has a time, unless the leaf's is less. A number with such a value is a tree also where it is
    alone.

    Numbers that are linearly related stand beside the tree and are jointly normal: those of which another number tells
    more by a line than any category does, each of them after its penalty. Each depends linearly on up to `order`
    others, added as long as the log-likelihood grows by more than `penalty`; a correlation in n records is taken to be
    n / (n + beta) of what it is there. What records lack is expected given the rest of them. One record in 64 is taken
    to lie three times as far from the means, and one in 1024 to be unlike the others. If there is nothing beside them
    but one category, and no record lacks a number, they may have other means given each, drawn towards those of all by
    `beta` records.

    >>> ChowLiu().name
    'chow-liu'
    """

    alpha: float = 0.3
    beta: float = 3.0
    order: int = 4
    penalty: float = 1.5

    def __post_init__(self) -> None:
        require_positive(alpha=self.alpha, beta=self.beta, penalty=self.penalty)
        require_whole(_MOST_ORDER, order=self.order)

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


class _Known(NamedTuple):
    """What holds of all variables of a table that a tree can have, whichever it has."""

    alphabets: Alphabets
    defaults: BinDefaults
    units: NumberUnits


@dataclass(frozen=True, eq=False)
class TreeLeaf:
    """The joint distribution of several variables of a table.

    A network keeps but hashes of its statistics, which are counted when the distribution is needed.
    """

    settings: ChowLiu
    leaves: Sequence[Leaf[Any]]
    #: What is known of encodings.
    _known: WeakKeyDictionary[Encoding, _Known] = field(default_factory=WeakKeyDictionary, repr=False)

    @property
    def name(self) -> str:
        """The name under which the leaf is shown."""
        return self.settings.name

    def learn(self, data: Slice, rows: Rows) -> TreeStatistics:
        """Gather codes and features, and sum numbers by bin."""
        return gather_statistics(data, rows)

    def revise(self, statistics: TreeStatistics, data: Slice, minus: Rows, plus: Rows) -> TreeStatistics:
        """Count rows out and others in."""
        return revise_statistics(statistics, data, minus, plus)

    def fingerprint(self, statistics: TreeStatistics, data: Slice) -> bytes:
        """Hash the records' codes, by the codes' own fingerprints, with the features of numbers; and the exact sums."""
        names = data.encoding.prints[data.scope[:, np.newaxis], statistics.codes]
        names = np.concatenate([names, statistics.features.astype(np.uint64)])
        bins = lines_of_bins(statistics.in_bins, data.scope, statistics.columns)
        moments = [Moments.from_words(line, window) for _, window, lines in bins for line in lines]
        sums = [part for each in moments for part in each.to_bytes()]
        return fingerprint([names[:, np.lexsort(names)].tobytes(), *sums])

    def parameters(self, statistics: TreeStatistics, data: Slice) -> Mapping[str, Any]:
        """Return what each variable depends on, its probabilities given the outcomes of that, and numbers by bin.

        What is jointly normal is listed block by block: slopes, means, and the deviations that remain.
        """
        normals, own = self._parts(statistics, data)
        names, units = data.records.schema.names, self._known_of(data).units
        shown = {} if own is None else self._readable_tree(learn_tree(own), data)
        bins = {} if own is None else self._readable_bins(statistics, data, own.scope)
        blocks = [{**readable_normal(normal, units, names), **self._readable_given(normal, data)} for normal in normals]
        return {**shown, **({"bins": bins} if bins else {}), **({"normal": blocks} if blocks else {})}

    def express(self, statistics: TreeStatistics, data: Slice) -> Expression:
        """Return the distribution as part of a circuit."""
        normals, own = self._parts(statistics, data)
        units = self._known_of(data).units
        given = normals[0].given if normals else None
        if own is not None and given is not None:
            tree, normals = [express_given(normals[0], given, own, units)], normals[1:]
        else:
            tree = [] if own is None else [express_tree(own)]
        return product([*tree, *(express_normal(normal, units) for normal in normals)])

    def _parts(self, statistics: TreeStatistics, data: Slice) -> tuple[list[JointNormal], TreeData | None]:
        """Return the blocks of numbers that are jointly normal, and what the tree of the others follows from."""
        scope, settings = data.scope, self.settings
        is_numeric, tables = data.records.is_numeric[scope], PairTables(statistics.codes, data.encoding.sizes[scope])
        own = NormalSettings(settings.order, float(settings.beta), float(settings.penalty))
        units = self._known_of(data).units
        candidates = find_candidates(scope, statistics.features, is_numeric, units)
        if candidates is None:
            return [], self._tree_data(statistics, data, tables, np.arange(scope.size))
        others = np.setdiff1d(np.arange(scope.size), candidates.positions)
        # A category that is alone with numbers stands back, as their means may depend on it; if they do not, it counts.
        if others.size == 1 and not is_numeric[others[0]] and candidates.are_complete:
            normals = find_normals(scope, candidates, others[:0], tables, units, own)
            if sum(normal.variables.size for normal in normals) == candidates.positions.size:
                tree = self._tree_data(statistics, data, tables, others)
                places = np.searchsorted(scope[is_numeric], normals[0].joined)
                normals[0] = depend_on_category(normals[0], statistics.features[places], tree, units, own)
                if normals[0].given is not None:
                    return normals, tree
        normals = find_normals(scope, candidates, others, tables, units, own)
        left = np.flatnonzero(~np.isin(scope, [v for normal in normals for v in normal.variables.tolist()]))
        return normals, self._tree_data(statistics, data, tables, left) if left.size else None

    def _tree_data(self, statistics: TreeStatistics, data: Slice, tables: PairTables, positions: Counts) -> TreeData:
        """Return what the tree of some variables of the scope follows from, given the tables of pairs in the scope."""
        alphabets, defaults, _ = self._known_of(data)
        in_bins, first_bins = bin_parameters(statistics.in_bins, data.scope, statistics.columns, defaults)
        return TreeData(
            data.scope[positions],
            np.ascontiguousarray(statistics.codes[positions]),
            tables,
            positions,
            in_bins,
            first_bins[positions],
            alphabets,
            data.records.is_numeric,
            float(self.settings.alpha),
            float(self.settings.beta),
            self.settings.order,
            float(self.settings.penalty),
        )

    def _known_of(self, data: Slice) -> _Known:
        """Return what holds of all variables that a tree can have."""
        known = self._known.get(data.encoding)
        if known is None:
            known = self._known[data.encoding] = self._learn_known(data)
        return known

    def _learn_known(self, data: Slice) -> _Known:
        defaults = self._bin_defaults(data)
        return _Known(self._alphabets(data), defaults, self._number_units(data, defaults))

    def _number_units(self, data: Slice, defaults: BinDefaults) -> NumberUnits:
        """Return what features of numbers mean."""
        centres, steps, leasts = np.zeros((3, len(self.leaves)))
        leasts[:] = np.inf
        for v, leaf in enumerate(self.leaves):
            if type(leaf) is Gaussian:
                coder = data.encoding.numeric(v)
                centres[v], steps[v], leasts[v] = units_of(coder, float(defaults.least_stds[v]))
        return NumberUnits(centres, steps, leasts)

    def _alphabets(self, data: Slice) -> Alphabets:
        """Return what variables can be."""
        joins = [self.settings.takes(leaf, data.encoding, v) for v, leaf in enumerate(self.leaves)]
        outcomes = [self._outcomes(data, v) if joins[v] else NO_OUTCOMES for v in range(len(self.leaves))]
        starts, levels, unseen = in_arrays(outcomes)
        return Alphabets(starts, levels + 1, unseen)

    def _outcomes(self, data: Slice, variable: int) -> Outcomes:
        if not data.records.is_numeric[variable]:
            return cast(HasOutcomes, self.leaves[variable]).outcomes(data, variable)
        n_bins = data.encoding.numeric(variable).n_codes - 1
        return Outcomes(tuple(range(n_bins)), np.arange(n_bins), UNSEEN)

    def _bin_defaults(self, data: Slice) -> BinDefaults:
        """Return the least deviation of numbers, what they are like in bins that no record has, and usual values."""
        n = len(self.leaves)
        defaults = BinDefaults(np.zeros(n), np.zeros((n, 2)), np.full(n, np.nan), np.zeros(n))
        for v, leaf in enumerate(self.leaves):
            if type(leaf) is Gaussian:
                coder = data.encoding.numeric(v)
                defaults.least_stds[v], defaults.elsewhere[v] = leaf.least_std(coder), background_parameters(coder)
                if coder.usual is not None:
                    defaults.usual[v], defaults.usual_stds[v] = coder.usual, min(leaf.least_std(coder), coder.usual_std)
        return defaults

    def _readable_tree(self, tree: Tree, data: Slice) -> dict[str, Any]:
        """Return what the variables of a tree depend on, and their probabilities given that."""
        names = [data.records.schema.names[v] for v in tree.scope]
        outcomes = [readable(self._outcomes(data, v).categories) for v in tree.scope.tolist()]
        ancestors = [[names[u] for u in tree.contexts.ancestors(v)] for v in range(len(names))]
        return {
            "parents": {name: own[0] if own else None for name, own in zip(names, ancestors, strict=True)},
            "ancestors": dict(zip(names, ancestors, strict=True)),
            "probabilities": {name: _readable_table(tree, outcomes, v) for v, name in enumerate(names)},
        }

    def _readable_given(self, normal: JointNormal, data: Slice) -> dict[str, Any]:
        """Return which category a block depends on, if any, and the means by category."""
        if normal.given is None:
            return {}
        outcomes = readable(self._outcomes(data, normal.given.variable).categories)
        return readable_given(normal, normal.given, data.records.schema.names, outcomes)

    def _readable_bins(
        self, statistics: TreeStatistics, data: Slice, variables: Scope
    ) -> dict[str, dict[int, dict[str, float]]]:
        """Return mean and deviation of some numbers in each bin that some record has."""
        defaults = self._known_of(data).defaults
        parameters, starts = bin_parameters(statistics.in_bins, data.scope, statistics.columns, defaults)
        first, names = dict(zip(data.scope.tolist(), starts.tolist(), strict=True)), data.records.schema.names
        shown, chosen = {}, set(variables.tolist())
        for v, _, lines in lines_of_bins(statistics.in_bins, data.scope, statistics.columns):
            if v not in chosen:
                continue
            bins = np.flatnonzero(lines[:, 0]).tolist()
            own = parameters[first[v] : first[v] + len(bins), OWN:].tolist()
            shown[names[v]] = {
                number: {"mean": mean, "std": std} for number, (mean, std) in zip(bins, own, strict=True)
            }
        return shown


def _readable_table(tree: Tree, outcomes: list[list[Category]], v: int) -> dict[Any, Any]:
    """Return the probabilities of a variable by the outcome of its parent, or by those of all that it depends on."""
    lines = [
        dict(zip(outcomes[v], line, strict=False)) for line in np.exp(tree.tables.table(tree.alphabets, v)).tolist()
    ]
    ancestors = tree.contexts.ancestors(v)
    if not ancestors:
        return lines[0]
    seen = [[outcomes[u][k] for k in tree.tables.seen(tree.alphabets, u)] for u in ancestors]
    table: dict[Any, Any] = {}
    for ranks, line in zip(tree.contexts.states(ancestors[0]), lines, strict=False):
        if len(ranks) == len(ancestors):
            values = tuple([own[rank] for own, rank in zip(seen, ranks, strict=True)])
            table[values if len(values) > 1 else values[0]] = line
    return table

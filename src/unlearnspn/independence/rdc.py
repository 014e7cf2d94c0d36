"""The randomized dependence coefficient (Lopez-Paz et al.), the paper's test of independence.

Numeric variables enter by sines of random projections of their ranks, categorical ones by indicators of their codes,
and the coefficient is the largest canonical correlation of two variables' features. For two categorical variables with
few codes that is the maximal correlation of their table, and |φ| for two binary ones: no projection is needed.

Ranks are rounded to a few levels, so that all variables have few values and the table of two says everything. Tables
of the pairs that were asked are kept and revised: by the rows that leave or come, and by those whose level changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unlearnspn.coding import Codes
from unlearnspn.independence.base import Groups
from unlearnspn.independence.canonical_correlation import Whitened, whiten
from unlearnspn.independence.dependence_search import (
    Search,
    answers_hold,
    hash_search,
    name_codes,
    search_groups,
    shift_tables,
)
from unlearnspn.independence.levels import Moves, Orders, Values, learn_orders, revise_levels, write_levels
from unlearnspn.independence.pair_counts import count_columns, gather_codes
from unlearnspn.independence.random_features import sines_of_levels
from unlearnspn.slices import Counts, Rows, Slice

_MOST_LEVELS = 255  # a level is a byte, and one of them is for missing values
_NO_VALUES: Values = np.empty((0, 0))


class Dependence(NamedTuple):
    """The search for groups, and what it takes to revise it."""

    search: Search
    #: How often each level or code occurs, [variable, code].
    counts: Counts
    orders: Orders


@dataclass(frozen=True)
class RDC:
    """Two variables are dependent if their randomized dependence coefficient exceeds `threshold`.

    `n_features` is the paper's k, `width` the deviation of the random slopes, `levels` the number of different ranks
    that numeric values have. Missing values are left out pair by pair.
    """

    threshold: float = 0.3
    n_features: int = 10
    width: float = 1.0
    levels: int = 32

    def __post_init__(self) -> None:
        if not 2 <= self.levels <= _MOST_LEVELS:
            raise ValueError(f"levels={self.levels!r} must be from 2 to {_MOST_LEVELS}")

    def learn(self, data: Slice, rows: Rows) -> Dependence:
        """Search for groups of dependent variables."""
        records = data.records
        numeric = np.flatnonzero(records.is_numeric[data.scope])
        codes = gather_codes(records.codes, rows, data.scope)
        places = records.place[data.scope[numeric]]
        orders = learn_orders(records.values, rows, places, self.levels, numeric, codes)
        columns = count_columns(codes, self._sizes(data))
        search = search_groups(columns, self._whiten(data, columns.counts), float(self.threshold))
        return Dependence(search, columns.counts, orders)

    def revise(
        self, statistics: Dependence, data: Slice, minus: Rows, plus: Rows, rows: Callable[[], Rows]
    ) -> Dependence:
        """Move rows from cell to cell of each pair asked, and search again if an answer is another one."""
        search, counts, orders = statistics
        orders, leaving, before, coming, after = self._move(orders, data, minus, plus)
        sizes, search, counts = self._sizes(data), search._replace(cells=search.cells.copy()), counts.copy()
        for rows_moved, cuts, sign in ((leaving, before, -1), (coming, after, 1)):
            if rows_moved.size:
                codes = self._codes(data, rows_moved, cuts)
                shift_tables(codes, sizes, counts, search.pairs, search.cells, sign)
        if not answers_hold(search, sizes, self._whiten(data, counts), float(self.threshold)):
            return self.learn(data, rows())
        return Dependence(search, counts, orders)

    def groups(self, statistics: Dependence, data: Slice) -> Groups:
        """Return the groups found."""
        return statistics.search.groups

    def fingerprint(self, statistics: Dependence, data: Slice) -> bytes:
        """Return the groups, and the hash of the tables kept."""
        sizes = self._sizes(data)
        names = name_codes(data.scope, sizes, data.records.is_numeric, data.encoding.prints)
        hashes = hash_search(statistics.search, sizes, statistics.counts, names)
        return statistics.search.groups.tobytes() + hashes.tobytes()

    def _sizes(self, data: Slice) -> Counts:
        """Return how many values each variable can take, missing among them."""
        sizes = data.encoding.sizes[data.scope]
        sizes[data.records.is_numeric[data.scope]] = self.levels + 1
        return sizes

    def _move(self, orders: Orders, data: Slice, minus: Rows, plus: Rows) -> Moves:
        """Return the rows that change cells: where there are no numbers, those that leave and come."""
        if orders.observed.size == 0:
            return Moves(orders, minus, _NO_VALUES, plus, _NO_VALUES)
        places = data.records.place[data.scope[data.records.is_numeric[data.scope]]]
        return revise_levels(orders, data.records.values, places, minus, plus, self.levels)

    def _codes(self, data: Slice, rows: Rows, cuts: Values) -> Codes:
        """Return levels of numeric and codes of categorical variables, [variable, row]."""
        records = data.records
        codes = gather_codes(records.codes, rows, data.scope)
        if cuts.size:
            numeric = np.flatnonzero(records.is_numeric[data.scope])
            write_levels(records.values, rows, records.place[data.scope[numeric]], cuts, numeric, codes)
        return codes

    def _whiten(self, data: Slice, counts: Counts) -> Whitened:
        records = data.records
        sines = sines_of_levels(records.seed, records.is_numeric.size, self.levels, self.n_features, self.width)
        return whiten(counts, data.scope, records.is_numeric, sines, data.encoding.prints, self.n_features)

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
from unlearnspn.independence.levels import (
    Orders,
    Values,
    learn_orders,
    quantiles,
    revise_orders,
    rows_between,
    write_levels,
)
from unlearnspn.independence.pair_counts import count_columns, gather_codes
from unlearnspn.independence.random_features import sines_of_levels
from unlearnspn.slices import Counts, Rows, Slice

_MOST_LEVELS = 255  # a level is a byte, and one of them is for missing values


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
        search, counts, old = statistics
        values, sizes = data.records.values, self._sizes(data)
        places = data.records.place[data.scope[data.records.is_numeric[data.scope]]]
        new = revise_orders(old, values, places, minus, plus)
        cuts, new_cuts = (quantiles(orders, values, places, self.levels) for orders in (old, new))
        leaving = rows_between(old, values, places, cuts, new_cuts, minus)
        coming = rows_between(new, values, places, cuts, new_cuts, plus)
        search, counts = search._replace(cells=search.cells.copy()), counts.copy()
        shift_tables(self._codes(data, leaving, cuts), sizes, counts, search.pairs, search.cells, -1)
        shift_tables(self._codes(data, coming, new_cuts), sizes, counts, search.pairs, search.cells, 1)
        if not answers_hold(search, sizes, self._whiten(data, counts), float(self.threshold)):
            return self.learn(data, rows())
        return Dependence(search, counts, new)

    def groups(self, statistics: Dependence, data: Slice) -> Groups:
        """Return the groups found."""
        return statistics.search.groups

    def fingerprint(self, statistics: Dependence, data: Slice) -> bytes:
        """Return the groups, and the hash of the tables kept."""
        sizes = self._sizes(data)
        names = name_codes(data.scope, sizes, data.records.is_numeric, data.encoding.prints)
        return statistics.search.groups.tobytes() + hash_search(statistics.search, sizes, names).tobytes()

    def _sizes(self, data: Slice) -> Counts:
        """Return how many values each variable can take, missing among them."""
        sizes = data.encoding.sizes[data.scope]
        sizes[data.records.is_numeric[data.scope]] = self.levels + 1
        return sizes

    def _codes(self, data: Slice, rows: Rows, cuts: Values) -> Codes:
        """Return levels of numeric and codes of categorical variables, [variable, row]."""
        records = data.records
        numeric = np.flatnonzero(records.is_numeric[data.scope])
        codes = gather_codes(records.codes, rows, data.scope)
        write_levels(records.values, rows, records.place[data.scope[numeric]], cuts, numeric, codes)
        return codes

    def _whiten(self, data: Slice, counts: Counts) -> Whitened:
        records = data.records
        sines = sines_of_levels(records.seed, records.is_numeric.size, self.levels, self.n_features, self.width)
        return whiten(counts, data.scope, records.is_numeric, sines, data.encoding.prints, self.n_features)

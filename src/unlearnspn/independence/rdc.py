"""The randomized dependence coefficient (Lopez-Paz et al.), the paper's test of independence.

Numeric variables enter by sines of random projections of their ranks, categorical ones by indicators of their codes,
and the coefficient is the largest canonical correlation of two variables' features. For two categorical variables with
few codes that is the maximal correlation of their table, and |φ| for two binary ones: no projection is needed.

Ranks are rounded to a few levels, so that all variables have few values and tables of two say everything. Tables of
categorical variables are kept and revised. Levels of all records move with each one, so where there are numeric
variables a revision counts the tables again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from unlearnspn.independence.base import Groups
from unlearnspn.independence.canonical_correlation import Whitened, whiten
from unlearnspn.independence.dependence_search import (
    Search,
    answers_hold,
    hash_search,
    search_groups,
    shift_tables,
)
from unlearnspn.independence.levels import level_columns
from unlearnspn.independence.pair_counts import Columns, count_columns, gather_codes
from unlearnspn.independence.random_features import sines_of_levels
from unlearnspn.slices import Counts, Rows, Slice

_MOST_LEVELS = 255  # a level is a byte, and one of them is for missing values


class Dependence(NamedTuple):
    """The groups found and, among categorical variables, how."""

    groups: Groups
    search: Search | None = None
    #: How often each code occurs, [variable, code].
    counts: Counts | None = None


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
        columns = self._columns(data, rows)
        search = search_groups(columns, self._whiten(data, columns.counts), float(self.threshold))
        alone = self.keeps_groups_alone(data)
        return Dependence(search.groups) if alone else Dependence(search.groups, search, columns.counts)

    def revise(
        self, statistics: Dependence, data: Slice, minus: Rows, plus: Rows, rows: Callable[[], Rows]
    ) -> Dependence:
        """Change one cell of each pair asked for each row, and search again if an answer is another one."""
        if statistics.search is None or statistics.counts is None:
            return self.learn(data, rows())
        search, counts, sizes = statistics.search, statistics.counts.copy(), self._sizes(data)
        search = search._replace(cells=search.cells.copy())
        for changed, sign in ((minus, -1), (plus, 1)):
            if changed.size:
                codes = data.records.codes
                shift_tables(codes, changed, data.scope, sizes, counts, search.pairs, search.cells, sign)
        if not answers_hold(search, sizes, self._whiten(data, counts), float(self.threshold)):
            return self.learn(data, rows())
        return Dependence(search.groups, search, counts)

    def groups(self, statistics: Dependence, data: Slice) -> Groups:
        """Return the groups found."""
        return statistics.groups

    def fingerprint(self, statistics: Dependence, data: Slice) -> bytes:
        """Return the groups, and the hash of the tables kept."""
        if statistics.search is None:
            return statistics.groups.tobytes()
        hashes = hash_search(statistics.search, data.scope, self._sizes(data), data.encoding.prints)
        return statistics.groups.tobytes() + hashes.tobytes()

    def keeps_groups_alone(self, data: Slice) -> bool:
        """Tell whether there are numeric variables, whose levels are found again at each revision."""
        return bool(data.records.is_numeric[data.scope].any())

    def _sizes(self, data: Slice) -> Counts:
        """Return how many values each variable can take, missing among them."""
        sizes = data.encoding.sizes[data.scope]
        sizes[data.records.is_numeric[data.scope]] = self.levels + 1
        return sizes

    def _columns(self, data: Slice, rows: Rows) -> Columns:
        """Return levels of numeric and codes of categorical variables, [variable, row]."""
        records, numeric = data.records, data.records.is_numeric[data.scope]
        codes = gather_codes(records.codes, rows, data.scope)
        if numeric.any():
            places = records.place[data.scope[numeric]]
            codes[numeric] = level_columns(records.values, rows, places, self.levels)
        return count_columns(codes, self._sizes(data))

    def _whiten(self, data: Slice, counts: Counts) -> Whitened:
        records = data.records
        sines = sines_of_levels(records.seed, records.is_numeric.size, self.levels, self.n_features, self.width)
        return whiten(counts, data.scope, records.is_numeric, sines, data.encoding.prints, self.n_features)

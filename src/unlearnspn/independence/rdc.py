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

from unlearnspn.independence.base import Groups
from unlearnspn.independence.dependence import Dependence, learn_dependence, revise_dependence
from unlearnspn.independence.random_features import sines_of_levels
from unlearnspn.independence.variables import Variables
from unlearnspn.slices import Rows, Slice

_MOST_LEVELS = 255  # a level is a byte, and one of them is for missing values


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
        return learn_dependence(self._variables(data), rows, self.threshold)

    def revise(
        self, statistics: Dependence, data: Slice, minus: Rows, plus: Rows, rows: Callable[[], Rows]
    ) -> Dependence:
        """Move rows from cell to cell of each pair asked, and search again if an answer is another one."""
        return revise_dependence(statistics, self._variables(data), minus, plus, self.threshold)

    def groups(self, statistics: Dependence, data: Slice) -> Groups:
        """Return the groups found."""
        return statistics.search.groups

    def fingerprint(self, statistics: Dependence, data: Slice) -> bytes:
        """Return the groups, and the hash of the tables kept."""
        return statistics.search.groups.tobytes() + statistics.search.hashes.tobytes()

    def _variables(self, data: Slice) -> Variables:
        seed, n_variables = data.records.seed, len(data.records.is_numeric)
        sines = sines_of_levels(seed, n_variables, self.levels, self.n_features, self.width)
        return Variables(data, self.levels, sines)

"""The records that an attacker asks about: ordinary ones, planted outliers, and those with the rarest categories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.alternatives.tables import Records

ORDINARY, OUTLIERS, RARE = "ordinary", "planted outliers", "rare categories"


@dataclass(frozen=True)
class Targets:
    """The ids of the targets of each kind, and all records, those planted with them."""

    ids: dict[str, list[int]]
    records: Records

    @property
    def all(self) -> list[int]:
        """All targets."""
        return [each for ids in self.ids.values() for each in ids]

    @property
    def kinds(self) -> list[str]:
        """The kind of each target, in the same order."""
        return [kind for kind, ids in self.ids.items() for _ in ids]


def choose_targets(pool: Records, n_each: int, seed: int, n_ordinary: int | None = None) -> Targets:
    """Choose so many records of each kind; none has two kinds. A table without categories has none that are rare."""
    rng = np.random.default_rng([seed, 1])
    planted = plant(pool, n_each, rng)
    ids = {OUTLIERS: planted.ids}
    rarity = rarity_of(pool)
    if rarity is not None:
        ids[RARE] = rarity.sort_values(ascending=False, kind="stable").index[:n_each].tolist()
    others = [each for each in pool.ids if each not in set(ids.get(RARE, []))]
    ordinary = rng.choice(others, n_ordinary or n_each, replace=False).tolist()
    return Targets({ORDINARY: ordinary, **ids}, pool.beside(planted))


def is_category(records: Records, column: pd.Series) -> bool:
    """Tell whether a column has categories."""
    return records.categorical_features == "all" or not pd.api.types.is_numeric_dtype(column)


def rarity_of(pool: Records) -> pd.Series | None:
    """Return how rare the categories of each record are: minus the sum of the logarithms of their shares."""
    columns = [column for _, column in pool.frame.items() if is_category(pool, column)]
    if not columns:
        return None
    rarity = pd.Series(0.0, pool.frame.index)
    for column in columns:
        shares = column.map(column.value_counts(normalize=True)).astype(float)
        rarity -= np.log(shares.fillna(1.0))
    return rarity


def plant(pool: Records, number: int, rng: np.random.Generator) -> Records:
    """Return records like none of the pool: any known category, and numbers up to a range away from the column's."""
    first = int(pool.frame.index.max()) + 1_000_000
    columns = {name: _planted(pool, column, number, rng) for name, column in pool.frame.items()}
    return Records(pd.DataFrame(columns, index=range(first, first + number)), pool.categorical_features)


def _planted(pool: Records, column: pd.Series, number: int, rng: np.random.Generator) -> pd.Series:
    index = range(int(pool.frame.index.max()) + 1_000_000, int(pool.frame.index.max()) + 1_000_000 + number)
    if is_category(pool, column):
        known = column.dropna().unique()
        return pd.Series(known[rng.integers(0, len(known), number)], index, dtype=column.dtype)
    low, high = float(column.min()), float(column.max())
    values = rng.uniform(low - (high - low), high + (high - low), number)
    whole = pd.api.types.is_integer_dtype(column.dtype)
    return pd.Series(np.rint(values) if whole else values, index).astype(column.dtype)

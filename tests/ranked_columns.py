"""Columns whose values are ranked, for tests of levels and of the randomized dependence coefficient."""

from types import SimpleNamespace

import numpy as np

from unlearnspn.independence.random_features import sines_of_levels
from unlearnspn.independence.variables import Variables


def variables_of(codes, sizes, values, place, n_levels):
    """Return variables with these codes, [row, variable], or values, [row, place]; no place is a categorical one."""
    is_numeric = np.array([p is not None for p in place])
    records = SimpleNamespace(
        codes=codes, values=values, place=np.array([p or 0 for p in place]), is_numeric=is_numeric, seed=7
    )
    encoding = SimpleNamespace(sizes=np.array(sizes), prints=np.zeros((len(place), 256), np.uint64))
    data = SimpleNamespace(records=records, encoding=encoding, scope=np.arange(len(place)))
    return Variables(data, n_levels, sines_of_levels(7, len(place), n_levels, 3, 1.0))


def levels_of(values, n_levels):
    """Return rank·n_levels, rounded up, by the definition; 0 for NaN."""
    observed = values[~np.isnan(values)]
    counts = (observed[None, :] <= values[:, None]).sum(axis=1)
    return np.where(np.isnan(values), 0, -(-counts * n_levels // max(observed.size, 1)))


def random_numbers(rng, n_rows):
    """Return a column of one kind or another: ties, missing values, both zeros, infinities, all sizes."""
    values = np.round(rng.standard_normal(n_rows) * 10.0 ** rng.integers(-1, 3), rng.integers(0, 5))
    values *= np.where(rng.random(n_rows) < 0.1, 10.0 ** rng.integers(-300, 300, n_rows), 1.0)
    values[rng.random(n_rows) < rng.choice([0.0, 0.05, 0.5, 1.0])] = np.nan
    values[rng.random(n_rows) < 0.1] = rng.choice([0.0, -0.0, 1e308, -1e308])
    return values

"""Small tables with all that a private network meets: missing cells, unknown categories, numbers out of bounds."""

import numpy as np
import pandas as pd

from benchmarks.alternatives.tables import Records


def mixed(n_rows, seed, first=0):
    """Return records of categories and numbers that depend on each other; the last column has whole numbers."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, n_rows)
    letters = np.array(list("abc"), object)[np.where(rng.random(n_rows) < 0.8, classes, rng.integers(0, 3, n_rows))]
    letters[rng.random(n_rows) < 0.1] = None
    numbers = classes + 0.3 * rng.standard_normal(n_rows)
    numbers[rng.random(n_rows) < 0.1] = np.nan
    frame = {
        "letter": letters,
        "number": numbers,
        "usual": np.where(rng.random(n_rows) < 0.7, 0, rng.integers(1, 500, n_rows)),
        "flag": np.array(["no", "yes"], object)[(classes > 0).astype(int)],
        "count": rng.poisson(2, n_rows),
    }
    return Records(pd.DataFrame(frame, index=range(first, first + n_rows)))


#: A record with values that the public sample does not have, and one with nothing at all.
STRANGE = {"letter": "never seen", "number": 1e9, "usual": -7, "flag": "maybe", "count": 10**6}
EMPTY = {"letter": None, "number": np.nan, "usual": 0, "flag": None, "count": 0}

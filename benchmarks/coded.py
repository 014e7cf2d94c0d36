"""Tables as arrays of numbers, which is what other libraries take."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.datasets import Dataset

Rows = npt.NDArray[np.float64]


def coded(data: Dataset) -> tuple[Rows, list[int]]:
    """Return a table as numbers, and how many categories each column has, 0 for numeric ones.

    Categories are numbered. A missing one is a category, for peers cannot learn it.
    """
    columns, n_categories = [], []
    for _, values in data.frame.items():
        if data.categorical_features == "all" or values.dtype.kind not in "iuf":
            codes, categories = pd.factorize(values, sort=True, use_na_sentinel=False)
            columns.append(codes.astype(np.float64))
            n_categories.append(len(categories))
        else:
            columns.append(values.to_numpy(np.float64))
            n_categories.append(0)
    return np.column_stack(columns), n_categories

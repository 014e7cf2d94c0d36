"""The least standard deviations that our Gaussian leaves have, for those of peers."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.coded import Rows
from unlearnspn import Gaussian


def deviation_floors(rows: Rows, n_categories: list[int]) -> list[float]:
    """Return the floor of each column's deviations, 0 for columns of categories.

    It is that of `unlearnspn.Gaussian`: a share of the column's deviation, rounded down to a power of two.

    >>> deviation_floors(np.array([[0.0, 1.0], [5.0, 0.0]]), [0, 2])
    [0.1, 0.0]
    """
    return [0.0 if n else _floor(rows[:, place]) for place, n in enumerate(n_categories)]


def _floor(values: Rows) -> float:
    variance = float(np.nanvar(values))
    scale = 1.0 if variance == 0.0 else math.ldexp(1.0, math.floor(math.log2(variance)) // 2)
    return Gaussian().min_std * scale

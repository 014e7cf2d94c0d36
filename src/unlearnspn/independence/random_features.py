"""Random features of the randomized dependence coefficient: what a numeric or categorical value is projected to.

Each is a function of a seed and a level, or of a category's fingerprint, hence the same at every node and revision.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from unlearnspn.compiling import kernel
from unlearnspn.hashing import Keys, derive_key, mix64
from unlearnspn.portable_math import log, sin

Matrix = npt.NDArray[np.float64]


@lru_cache(maxsize=64)
def sines_of_levels(seed: int, n_variables: int, n_levels: int, n_features: int, width: float) -> Matrix:
    """Return sin(w·rank + b) for random w and b, [variable, level, feature]; level 0 is a missing value."""
    keys = [derive_key(seed, "projection", v.to_bytes(4, "little")) for v in range(n_variables)]
    return _sines(np.array(keys, np.uint64), n_levels, n_features, width)


@kernel
def _sines(keys: Keys, n_levels: int, n_features: int, width: float) -> Matrix:
    features = np.zeros((keys.size, n_levels + 1, n_features))
    for v in range(keys.size):
        for j in range(n_features):
            slope = width * _gaussian(keys[v] + np.uint64(2 * j))
            offset = width * _gaussian(keys[v] + np.uint64(2 * j + 1))
            for level in range(1, n_levels + 1):
                features[v, level, j] = sin(slope * ((level - 0.5) / n_levels) + offset)
    return features


@kernel
def _gaussian(key: np.uint64) -> float:
    """Draw a standard normal number that belongs to a key."""
    first = (np.float64(mix64(key) >> np.uint64(11)) + 1.0) / 9007199254740992.0
    second = np.float64(mix64(key ^ np.uint64(0x5851F42D4C957F2D)) >> np.uint64(11)) / 9007199254740992.0
    return math.sqrt(-2.0 * log(first)) * sin(6.283185307179586 * second)


@kernel
def uniform(key: np.uint64) -> float:
    """Draw a number between -1 and 1 that belongs to a key."""
    return (np.float64(mix64(key) >> np.uint64(11)) + 0.5) / 4503599627370496.0 - 1.0

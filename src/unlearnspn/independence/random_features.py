"""Random features of the randomized dependence coefficient: what a numeric or categorical value is projected to.

Each is a function of a seed and a level, or of a category's fingerprint, hence the same at every node and revision.
"""

from __future__ import annotations

from functools import lru_cache

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import sqrt
from cython.cimports.unlearnspn.mixing import mix64
from cython.cimports.unlearnspn.portable_math import log, sin

from unlearnspn.hashing import derive_key

Matrix = npt.NDArray[np.float64]

#: What a key is combined with to draw a second number.
_SECOND = cython.declare(cython.ulonglong, 0x5851F42D4C957F2D)


@lru_cache(maxsize=64)
def sines_of_levels(seed: int, n_variables: int, n_levels: int, n_features: int, width: float) -> Matrix:
    """Return sin(w·rank + b) for random w and b, [variable, level, feature]; level 0 is a missing value."""
    keys = [derive_key(seed, "projection", v.to_bytes(4, "little")) for v in range(n_variables)]
    sines = np.zeros((n_variables, n_levels + 1, n_features))
    _write_sines(np.array(keys, np.uint64), width, sines)
    return sines


@cython.cfunc
def _write_sines(keys: cython.ulonglong[::1], width: cython.double, sines: cython.double[:, :, ::1]) -> cython.void:
    v: cython.Py_ssize_t
    level: cython.Py_ssize_t
    j: cython.Py_ssize_t
    slope: cython.double
    offset: cython.double
    n_levels: cython.double = sines.shape[1] - 1
    with cython.nogil, cython.cdivision(True):
        for v in range(sines.shape[0]):
            for j in range(sines.shape[2]):
                slope = width * _gaussian(keys[v] + 2 * j)
                offset = width * _gaussian(keys[v] + 2 * j + 1)
                for level in range(1, sines.shape[1]):
                    sines[v, level, j] = sin(slope * ((level - 0.5) / n_levels) + offset)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _gaussian(key: cython.ulonglong) -> cython.double:
    """Draw a standard normal number that belongs to a key."""
    first: cython.double = (cython.cast(cython.double, mix64(key) >> 11) + 1.0) / 9007199254740992.0
    second: cython.double = cython.cast(cython.double, mix64(key ^ _SECOND) >> 11) / 9007199254740992.0
    return sqrt(-2.0 * log(first)) * sin(6.283185307179586 * second)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def uniform(key: cython.ulonglong) -> cython.double:
    """Draw a number between -1 and 1 that belongs to a key."""
    return (cython.cast(cython.double, mix64(key) >> 11) + 0.5) / 4503599627370496.0 - 1.0

"""Kernels of the randomized dependence coefficient: random features in integers, and canonical correlation.

Features are integers, so their products sum exactly in any order of the rows; what follows is a fixed sequence of
IEEE operations on a few such sums.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from unlearnspn.hashing import Keys, mix64
from unlearnspn.independence.components import find, join
from unlearnspn.portable_math import log, sin
from unlearnspn.slices import Counts

#: A feature of 1 is this integer; products of two, summed over a chunk of rows, stay below 2**53.
UNIT = 1 << 16
CHUNK = 1 << 20

#: So often squared, eigenvalues that differ by a thousandth are a factor of 10**7 apart.
_SQUARINGS = 14

Matrix = npt.NDArray[np.float64]


@njit(cache=True)
def _gaussian(key: np.uint64) -> float:
    """Draw a standard normal number that belongs to a key."""
    first = (np.float64(mix64(key) >> np.uint64(11)) + 1.0) / 9007199254740992.0
    second = np.float64(mix64(key ^ np.uint64(0x5851F42D4C957F2D)) >> np.uint64(11)) / 9007199254740992.0
    return math.sqrt(-2.0 * log(first)) * sin(6.283185307179586 * second)


@njit(cache=True)
def projected_ranks(ranks: Matrix, key: np.uint64, n_features: int, width: float) -> Matrix:
    """Return sin(w·rank + b) for random w and b, in integers; a rank that is NaN is missing and gives zeros."""
    features = np.zeros((ranks.size, n_features + 1))
    for j in range(n_features):
        slope = width * _gaussian(key + np.uint64(2 * j))
        offset = width * _gaussian(key + np.uint64(2 * j + 1))
        for i in range(ranks.size):
            if ranks[i] == ranks[i]:
                features[i, 0] = 1.0
                features[i, j + 1] = np.floor(UNIT * sin(slope * ranks[i] + offset) + 0.5)
    return features


@njit(cache=True)
def coded_features(codes: npt.NDArray[np.uint8], names: Keys, n_features: int) -> Matrix:
    """Return indicators of the codes that occur, all but one, or random numbers of each if there are too many.

    `names` gives each code's fingerprint; it is 0 for a code that does not occur. Code 0 is missing.
    """
    order = np.argsort(names)
    order = order[names[order] > 0]
    few = order.size <= n_features + 1
    width = max(order.size - 1, 0) if few else n_features
    values = np.zeros((names.size, width + 1))
    for place in range(order.size):
        code = order[place]
        values[code, 0] = 1.0
        if not few:
            for j in range(width):
                values[code, j + 1] = np.floor(UNIT * sin(_gaussian(names[code] + np.uint64(j))) + 0.5)
        elif place > 0:
            values[code, place] = UNIT
    features = np.empty((codes.size, width + 1))
    for i in range(codes.size):
        features[i] = values[codes[i]]
    return features


@njit(cache=True)
def _whitener(sums: Matrix, start: int, end: int, ridge: float) -> Matrix:
    """Return the Cholesky factor of a variable's covariance, with a ridge against directions without variance."""
    width = end - start - 1
    count = sums[start, start]
    factor = np.zeros((width, width))
    for i in range(width):
        for j in range(i + 1):
            a, b = start + 1 + i, start + 1 + j
            value = sums[a, b] / count - (sums[start, a] / count) * (sums[start, b] / count)
            if i == j:
                value += ridge
            for m in range(j):
                value -= factor[i, m] * factor[j, m]
            factor[i, j] = np.sqrt(max(value, 1e-300)) if i == j else value / factor[j, j]
    return factor


@njit(cache=True)
def _solve(factor: Matrix, matrix: Matrix) -> Matrix:
    """Solve factor·x = matrix for a lower triangular factor."""
    solved = matrix.copy()
    for i in range(factor.shape[0]):
        for m in range(i):
            for column in range(matrix.shape[1]):
                solved[i, column] -= factor[i, m] * solved[m, column]
        for column in range(matrix.shape[1]):
            solved[i, column] /= factor[i, i]
    return solved


@njit(cache=True)
def _product(first: Matrix, second: Matrix) -> Matrix:
    """Multiply two matrices in one fixed order."""
    result = np.zeros((first.shape[0], second.shape[1]))
    for i in range(first.shape[0]):
        for m in range(first.shape[1]):
            for j in range(second.shape[1]):
                result[i, j] += first[i, m] * second[m, j]
    return result


@njit(cache=True)
def _largest_singular_value(matrix: Matrix) -> float:
    """Return the largest singular value, by squaring the Gram matrix until only its largest eigenvalue is left."""
    gram = _product(matrix.T.copy(), matrix)
    power = gram.copy()
    for _ in range(_SQUARINGS):
        trace = 0.0
        for i in range(power.shape[0]):
            trace += power[i, i]
        if trace == 0.0:
            return 0.0
        power = _product(power / trace, power / trace)
    moved = _product(gram, power)
    above, below = 0.0, 0.0
    for i in range(power.shape[0]):
        above += moved[i, i]
        below += power[i, i]
    return math.sqrt(max(above / below, 0.0))


@njit(cache=True)
def canonical_correlation(sums: Matrix, u: tuple[int, int], v: tuple[int, int], ridges: tuple[float, float]) -> float:
    """Return the largest canonical correlation of two variables' features, over rows where both are observed."""
    if u[1] - u[0] < 2 or v[1] - v[0] < 2 or sums[u[0], v[0]] < 2.0:
        return 0.0
    both = sums[u[0], v[0]]
    cross = np.zeros((u[1] - u[0] - 1, v[1] - v[0] - 1))
    for i in range(cross.shape[0]):
        for j in range(cross.shape[1]):
            a, b = u[0] + 1 + i, v[0] + 1 + j
            cross[i, j] = sums[a, b] / both - (sums[a, v[0]] / both) * (sums[u[0], b] / both)
    left = _solve(_whitener(sums, u[0], u[1], ridges[0]), cross)
    whitened = _solve(_whitener(sums, v[0], v[1], ridges[1]), left.T.copy())
    return min(_largest_singular_value(whitened), 1.0)


@njit(cache=True)
def correlated_groups(sums: Matrix, starts: Counts, ridges: Matrix, threshold: float) -> Counts:
    """Join the variables of every pair with a coefficient above the threshold; pairs joined already are skipped."""
    width = starts.size - 1
    parents = np.arange(width)
    for i in range(width - 1):
        for j in range(i + 1, width):
            if find(parents, i) != find(parents, j):
                u, v = (starts[i], starts[i + 1]), (starts[j], starts[j + 1])
                if canonical_correlation(sums, u, v, (ridges[i], ridges[j])) > threshold:
                    join(parents, i, j)
    return np.array([find(parents, i) for i in range(width)])

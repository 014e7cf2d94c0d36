"""Means and covariances of numbers some of which are missing, by expectation maximisation.

Tables of pairs do not fit together where each is of other records: what they say of three numbers may be impossible. So
what is missing is expected given the rest of its record, and moments are those of what is known and expected; and again
with these. Records are taken in the order of their features, so that no other order of them shows.
"""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import sqrt
from cython.cimports.unlearnspn.const_types import const_int16

from unlearnspn.coding import FEATURE_LIMIT
from unlearnspn.leaves.linear_pairs import Features

Floats = npt.NDArray[np.float64]

#: What is missing is expected so many times; once, where that takes more than so many multiplications.
_N_ROUNDS: int = 3
_MOST_STEPS: int = 1 << 27
#: What is left of a variance is taken to be this share of the square of its least deviation at least.
_LEAST_PIVOT = cython.declare(cython.double, 1.0 / 1024.0)
_FEATURE_LIMIT = cython.declare(cython.short, FEATURE_LIMIT)


def expected_moments(
    features: Features, means: Floats, variances: Floats, leasts: Floats, beta: float
) -> tuple[Floats, Floats]:
    """Return means and covariances of some numbers; `features` are [number, record], moments those of what is known."""
    width, n_records = features.shape
    ordered = np.ascontiguousarray(features[:, np.lexsort(features[::-1])])
    expectation: _Expectation = _Expectation(means, variances, leasts, beta)
    expectation.begin(ordered)
    n_rounds = _N_ROUNDS if n_records * width**3 <= _MOST_STEPS else 1
    for rank in range(n_rounds):
        expectation.repeat(ordered, rank + 1 < n_rounds)
    return np.asarray(expectation.means), np.asarray(expectation.covariances)


@cython.cclass
class _Expectation:
    """Moments, and how they are found anew from what they say of missing values."""

    means: cython.double[::1]
    covariances: cython.double[:, ::1]
    squares: cython.double[::1]
    beta: cython.double
    # Sums over records: of distances from the means, and of their products.
    totals: cython.double[::1]
    products: cython.double[:, ::1]
    # Of one record: which numbers are known, which not, how far all are from their means, the factor of the covariances
    # of those known, and for each of those missing what they say of it.
    n_known: cython.Py_ssize_t
    known: cython.longlong[::1]
    missing: cython.longlong[::1]
    distances: cython.double[::1]
    scores: cython.double[::1]
    factor: cython.double[:, ::1]
    slopes: cython.double[:, ::1]

    def __init__(self, means: Floats, variances: Floats, leasts: Floats, beta: float) -> None:
        width = means.size
        self.squares = leasts * leasts
        self.means, self.covariances = means.copy(), np.diag(np.maximum(variances, leasts * leasts))
        self.beta = beta
        self.totals, self.products = np.empty(width), np.empty((width, width))
        self.known, self.missing = np.empty((2, width), np.int64)
        self.distances, self.scores = np.empty((2, width))
        self.factor, self.slopes = np.empty((2, width, width))

    @cython.cfunc
    @cython.cdivision(True)
    def begin(self, features: const_int16[:, ::1]) -> cython.void:
        """Begin with covariances as if what is missing were at the mean, of numbers of deviation one."""
        width: cython.Py_ssize_t = features.shape[0]
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        r: cython.Py_ssize_t
        total: cython.double
        n_records: cython.double = 0.0
        counts: cython.double[::1] = np.zeros(width)
        with cython.nogil:
            for r in range(features.shape[1]):
                n_records += self.look(features, r) > 0
                for i in range(width):
                    counts[i] += _is_known(features[i, r])
            for i in range(width):
                for j in range(i):
                    total = 0.0
                    for r in range(features.shape[1]):
                        if _is_known(features[i, r]) and _is_known(features[j, r]):
                            total += (features[i, r] - self.means[i]) * (features[j, r] - self.means[j])
                    total /= sqrt(counts[i] * counts[j])
                    self.covariances[i, j] = self.covariances[j, i] = total * (n_records / (n_records + self.beta))

    @cython.cfunc
    @cython.cdivision(True)
    def repeat(self, features: const_int16[:, ::1], draws_together: cython.bint) -> cython.void:
        """Find moments anew; the covariances are drawn towards none, if something follows from them again."""
        width: cython.Py_ssize_t = features.shape[0]
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        r: cython.Py_ssize_t
        n_records: cython.double = 0.0
        self.totals[:] = 0.0
        self.products[:, :] = 0.0
        with cython.nogil:
            for r in range(features.shape[1]):
                if self.look(features, r):
                    self.expect(width)
                    n_records += 1.0
            share: cython.double = n_records / (n_records + self.beta) if draws_together else 1.0
            for i in range(width):
                self.totals[i] /= n_records
                self.means[i] += self.totals[i]
            for i in range(width):
                for j in range(i + 1):
                    value: cython.double = self.products[i, j] / n_records - self.totals[i] * self.totals[j]
                    if j < i:
                        self.covariances[i, j] = self.covariances[j, i] = value * share
                    else:
                        self.covariances[i, i] = value if value > self.squares[i] else self.squares[i]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def look(self, features: const_int16[:, ::1], r: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """List what is known of a record and what is not, and return how many numbers are known."""
        i: cython.Py_ssize_t
        n_known: cython.Py_ssize_t = 0
        n_missing: cython.Py_ssize_t = 0
        for i in range(features.shape[0]):
            if _is_known(features[i, r]):
                self.known[n_known] = i
                self.distances[i] = features[i, r] - self.means[i]
                n_known += 1
            else:
                self.missing[n_missing] = i
                n_missing += 1
        self.n_known = n_known
        return n_known

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.cdivision(True)
    def expect(self, width: cython.Py_ssize_t) -> cython.void:
        """Add a record, with what is expected of the numbers that it lacks."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        total: cython.double
        n_known: cython.Py_ssize_t = self.n_known
        n_missing: cython.Py_ssize_t = width - n_known
        if n_missing:
            self.factorise(n_known)
        for i in range(n_missing):
            for j in range(n_known):
                total = self.covariances[self.missing[i], self.known[j]]
                for k in range(j):
                    total -= self.slopes[i, k] * self.factor[j, k]
                self.slopes[i, j] = total / self.factor[j, j]
            total = 0.0
            for j in range(n_known):
                total += self.slopes[i, j] * self.scores[j]
            self.distances[self.missing[i]] = total
        for i in range(width):
            self.totals[i] += self.distances[i]
            for j in range(i + 1):
                self.products[i, j] += self.distances[i] * self.distances[j]
        for i in range(n_missing):
            for j in range(i + 1):
                total = self.covariances[self.missing[i], self.missing[j]]
                for k in range(n_known):
                    total -= self.slopes[i, k] * self.slopes[j, k]
                self.products[self.missing[i], self.missing[j]] += total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.cdivision(True)
    def factorise(self, n_known: cython.Py_ssize_t) -> cython.void:
        """Write the factor of the covariances of what is known of a record, and its scores."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        total: cython.double
        for i in range(n_known):
            for j in range(i + 1):
                total = self.covariances[self.known[i], self.known[j]]
                for k in range(j):
                    total -= self.factor[i, k] * self.factor[j, k]
                if j < i:
                    self.factor[i, j] = total / self.factor[j, j]
                else:
                    least: cython.double = self.squares[self.known[i]] * _LEAST_PIVOT
                    self.factor[i, i] = sqrt(total if total > least else least)
            total = self.distances[self.known[i]]
            for k in range(i):
                total -= self.factor[i, k] * self.scores[k]
            self.scores[i] = total / self.factor[i, i]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_known(feature: cython.short) -> cython.bint:
    """Tell whether a feature is neither missing nor at its limit."""
    return -_FEATURE_LIMIT < feature < _FEATURE_LIMIT

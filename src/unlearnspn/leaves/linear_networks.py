"""Numbers that depend linearly on each other, and the joint normal distribution that this makes.

Each number of a block depends on a few of those before it. Regressions eliminate one of these after another, which
needs nothing but the four operations; every sum has a fixed order.
"""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import sqrt
from cython.cimports.unlearnspn.const_types import const_float64, const_int64
from cython.cimports.unlearnspn.portable_math import log

from unlearnspn.leaves.linear_pairs import LinearPairs, PairsWithin
from unlearnspn.slices import Counts

Floats = npt.NDArray[np.float64]

#: What others leave of a number's variance must be more than this share of the square of its least deviation, or
#: nothing depends on it beside them.
_LEAST_PIVOT = cython.declare(cython.double, 1.0 / 1024.0)
#: Beyond this share of a variance the factor of the covariances would be made of rounding errors.
_LEAST_SHARE = cython.declare(cython.double, 2.0**-40)


class LinearNetwork(NamedTuple):
    """What each number of a block depends on, by places in the block; in features."""

    #: [number, rank]; -1 for none.
    parents: Counts
    slopes: Floats
    #: What remains of each variance.
    residuals: Floats


def learn_network(
    pairs: LinearPairs | PairsWithin, block: Counts, leasts: Floats, order: int, beta: float, penalty: float
) -> LinearNetwork:
    """Let each number of a block depend on up to `order` of those before it, as long as that pays."""
    width = block.size
    network = LinearNetwork(np.full((width, order), -1), np.zeros((width, order)), np.empty(width))
    regression: _Regression = _Regression(width, order, penalty)
    regression.gather(pairs.counts, pairs.covariances, leasts, block, beta)
    regression.learn(network.parents, network.slopes, network.residuals)
    return network


@cython.cclass
class _Regression:
    """Finds out what each number depends on."""

    # Covariances of the block; the square of the least deviation, and how many records have each.
    covariances: cython.double[:, ::1]
    squares: cython.double[::1]
    counts: cython.longlong[::1]
    penalty: cython.double
    # Of one number at a time, given those chosen so far: the variances of those before it, their covariances with it,
    # and with each that was chosen, when it was.
    pivots: cython.double[::1]
    shared: cython.double[::1]
    eliminated: cython.double[:, ::1]
    # Whether each was chosen; of the chosen, the slope when it was, and its variance.
    is_chosen: cython.uchar[::1]
    steps: cython.double[::1]
    chosen_pivots: cython.double[::1]

    def __init__(self, width: int, order: int, penalty: float) -> None:
        self.covariances, self.eliminated = np.empty((width, width)), np.empty((width, order))
        self.squares, self.pivots, self.shared = np.empty((3, width))
        self.steps, self.chosen_pivots = np.empty((2, order))
        self.counts, self.is_chosen = np.empty(width, np.int64), np.empty(width, np.uint8)
        self.penalty = penalty

    @cython.cfunc
    @cython.cdivision(True)
    def gather(
        self,
        counts: const_int64[:, ::1],
        covariances: const_float64[:, ::1],
        leasts: const_float64[::1],
        block: const_int64[::1],
        beta: cython.double,
    ) -> cython.void:
        """Gather the block's variances, which have a least value, and covariances, drawn towards none."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        n: cython.double
        with cython.nogil:
            for i in range(block.shape[0]):
                self.counts[i] = counts[block[i], block[i]]
                self.squares[i] = leasts[block[i]] * leasts[block[i]]
                for j in range(block.shape[0]):
                    n = cython.cast(cython.double, counts[block[i], block[j]])
                    self.covariances[i, j] = covariances[block[i], block[j]] * (n / (n + beta))
                self.covariances[i, i] = max(covariances[block[i], block[i]], self.squares[i])

    @cython.cfunc
    def learn(
        self, parents: cython.longlong[:, ::1], slopes: cython.double[:, ::1], residuals: cython.double[::1]
    ) -> cython.void:
        """Find out what all numbers depend on."""
        j: cython.Py_ssize_t
        with cython.nogil:
            for j in range(residuals.shape[0]):
                residuals[j] = self.depend(j, parents[j])
                self.substitute(parents[j], slopes[j])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.cdivision(True)
    def depend(self, j: cython.Py_ssize_t, parents: cython.longlong[::1]) -> cython.double:
        """Let a number depend on one more of those before it as long as that pays; return what is left to explain."""
        i: cython.Py_ssize_t
        step: cython.Py_ssize_t
        best: cython.Py_ssize_t
        before: cython.double = self.covariances[j, j]
        after: cython.double
        least: cython.double
        for i in range(j):
            self.pivots[i], self.shared[i], self.is_chosen[i] = self.covariances[i, i], self.covariances[i, j], False
        for step in range(parents.shape[0]):
            best, least = -1, before
            for i in range(j):
                if self.is_chosen[i] or not self.pivots[i] > _LEAST_PIVOT * self.squares[i]:
                    continue
                after = before - self.shared[i] * self.shared[i] / self.pivots[i]
                # Where values are missing, covariances need not fit each other.
                if after > 0.0 and max(after, self.squares[j]) < least:
                    best, least = i, max(after, self.squares[j])
            if best < 0 or not 0.5 * self.counts[j] * log(before / least) > self.penalty:
                return before
            parents[step], before = best, least
            self.eliminate(best, step, j, parents)
        return before

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.cdivision(True)
    def eliminate(
        self, chosen: cython.Py_ssize_t, step: cython.Py_ssize_t, j: cython.Py_ssize_t, parents: cython.longlong[::1]
    ) -> cython.void:
        """Take what a chosen number tells off all others before number j."""
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        own: cython.double
        pivot: cython.double = self.pivots[chosen]
        self.is_chosen[chosen] = True
        self.chosen_pivots[step], self.steps[step] = pivot, self.shared[chosen] / pivot
        for i in range(j):
            if self.is_chosen[i]:
                continue
            own = self.covariances[i, chosen]
            for k in range(step):
                own -= self.eliminated[i, k] * self.eliminated[chosen, k] / self.chosen_pivots[k]
            self.eliminated[i, step] = own
            self.pivots[i] -= own * own / pivot
            self.shared[i] -= own * self.steps[step]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.cdivision(True)
    def substitute(self, parents: const_int64[::1], slopes: cython.double[::1]) -> cython.void:
        """Write the slopes with which a number depends on all that were chosen, the last one first."""
        step: cython.Py_ssize_t
        k: cython.Py_ssize_t
        n_chosen: cython.Py_ssize_t = 0
        while n_chosen < parents.shape[0] and parents[n_chosen] >= 0:
            n_chosen += 1
        for step in range(n_chosen - 1, -1, -1):
            slopes[step] = self.steps[step]
            for k in range(step + 1, n_chosen):
                slopes[step] -= self.eliminated[parents[k], step] / self.chosen_pivots[step] * slopes[k]


def joint_covariances(network: LinearNetwork) -> Floats:
    """Return the covariances of all numbers of a block, by their places in it."""
    covariances = np.empty((network.residuals.size, network.residuals.size))
    _write_covariances(network.parents, network.slopes, network.residuals, covariances)
    return covariances


@cython.cfunc
def _write_covariances(
    parents: const_int64[:, ::1],
    slopes: const_float64[:, ::1],
    residuals: const_float64[::1],
    covariances: cython.double[:, ::1],
) -> cython.void:
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    total: cython.double
    with cython.nogil:
        for j in range(residuals.shape[0]):
            for i in range(j + 1):
                # A number's covariances with its parents are known when its own variance is asked for.
                total = residuals[j] if i == j else 0.0
                for k in range(parents.shape[1]):
                    if parents[j, k] >= 0:
                        total += slopes[j, k] * covariances[parents[j, k], i]
                covariances[j, i] = covariances[i, j] = total


def cholesky(covariances: Floats) -> Floats | None:
    """Return the lower triangle whose product with its transpose is the matrix; None if rounding spoils it."""
    factor = np.zeros(covariances.shape)
    return factor if _write_factor(covariances, factor) else None


@cython.cfunc
@cython.cdivision(True)
def _write_factor(covariances: const_float64[:, ::1], factor: cython.double[:, ::1]) -> cython.bint:
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    total: cython.double
    with cython.nogil:
        for i in range(factor.shape[0]):
            for j in range(i + 1):
                total = covariances[i, j]
                for k in range(j):
                    total -= factor[i, k] * factor[j, k]
                if j < i:
                    factor[i, j] = total / factor[j, j]
                    continue
                # What is not finite is not larger, either.
                if not total > _LEAST_SHARE * covariances[i, i]:
                    return False
                factor[i, i] = sqrt(total)
    return True

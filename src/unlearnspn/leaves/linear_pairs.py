"""How numbers are linearly related, two at a time, from exact sums of features.

Features are whole numbers, so sums of them are exact, whatever the order of the records; what follows is a fixed
sequence of IEEE operations. A feature at its limit stands for any value beyond, and counts as missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.const_types import const_float64, const_int16
from cython.cimports.unlearnspn.leaves.paired_sums import PairedSums
from cython.cimports.unlearnspn.portable_math import log
from cython.cimports.unlearnspn.rows.features import FEATURE_LIMIT

from unlearnspn.slices import Counts, Flags

Features = npt.NDArray[np.int16]
Floats = npt.NDArray[np.float64]

#: With fewer values in common two numbers count as unrelated: any two records lie on a line.
LEAST_COMMON: int = 8
_LEAST_COMMON = cython.declare(cython.longlong, LEAST_COMMON)
#: No feature may be had by more than one value in so many: what has few values is no normal distribution.
_MOST_SHARE = cython.declare(cython.longlong, 8)
_N_FEATURES: int = 1 << 16


class LinearPairs(NamedTuple):
    """The moments of some numbers, two at a time, over the records that have both."""

    #: How many records have both, [number, number], and each of them on the diagonal.
    counts: Counts
    #: Covariances; variances on the diagonal.
    covariances: Floats
    #: By how much the log-likelihood grows when one is told the other, as far as it is a line that tells.
    gains: Floats
    means: Floats


class PairsWithin(NamedTuple):
    """The moments of some numbers, two at a time, within groups of records."""

    #: As in `LinearPairs`, but of groups in which two or more records have both.
    counts: Counts
    covariances: Floats


def are_known(features: Features) -> Flags:
    """Tell which features are neither missing nor at their limit."""
    known: Flags = (features > -FEATURE_LIMIT) & (features < FEATURE_LIMIT)
    return known


def are_spread(features: Features) -> Flags:
    """Tell which numbers have enough values, none of which too many records have; `features` are [number, record]."""
    spread, counts = np.zeros(len(features), np.uint8), np.zeros(_N_FEATURES, np.int32)
    _write_spread(features, counts, spread)
    return spread.view(np.bool_)


@cython.cfunc
def _write_spread(features: const_int16[:, ::1], counts: cython.int[::1], spread: cython.uchar[::1]) -> cython.void:
    v: cython.Py_ssize_t
    i: cython.Py_ssize_t
    n: cython.longlong
    most: cython.longlong
    place: cython.Py_ssize_t
    with cython.nogil:
        for v in range(features.shape[0]):
            n = most = 0
            for i in range(features.shape[1]):
                if _is_known(features[v, i]):
                    place = features[v, i] + FEATURE_LIMIT
                    counts[place] += 1
                    most = max(most, counts[place])
                    n += 1
            for i in range(features.shape[1]):
                if _is_known(features[v, i]):
                    counts[features[v, i] + FEATURE_LIMIT] = 0
            spread[v] = n >= _LEAST_COMMON and _MOST_SHARE * most <= n


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_known(feature: cython.short) -> cython.bint:
    """Tell whether a feature is neither missing nor at its limit."""
    return -FEATURE_LIMIT < feature < FEATURE_LIMIT


def relate(features: Features, leasts: Floats) -> LinearPairs:
    """Relate all numbers; `features` are [number, record], `leasts` the least deviation of each."""
    width = len(features)
    values, marks = np.empty(features.shape, np.int16), np.empty(features.shape, np.int16)
    found = LinearPairs(
        np.zeros((width, width), np.int64), np.zeros((width, width)), np.zeros((width, width)), np.zeros(width)
    )
    _write_pairs(features, leasts, values, marks, found.counts, found.covariances, found.gains, found.means)
    return found


@cython.cfunc
@cython.cdivision(True)
def _write_pairs(
    features: const_int16[:, ::1],
    leasts: const_float64[::1],
    values: cython.short[:, ::1],
    marks: cython.short[:, ::1],
    counts: cython.longlong[:, ::1],
    covariances: cython.double[:, ::1],
    gains: cython.double[:, ::1],
    means: cython.double[::1],
) -> cython.void:
    u: cython.Py_ssize_t
    v: cython.Py_ssize_t
    n_records: cython.Py_ssize_t = features.shape[1]
    sums: PairedSums
    totals: cython.longlong[::1] = np.zeros(features.shape[0], np.int64)
    squares: cython.longlong[::1] = np.zeros(features.shape[0], np.int64)
    with cython.nogil:
        for v in range(features.shape[0]):
            _split(features[v], values[v], marks[v])
            sums = _sum_both(
                cython.address(values[v, 0]),
                cython.address(marks[v, 0]),
                cython.address(values[v, 0]),
                cython.address(marks[v, 0]),
                n_records,
            )
            counts[v, v], totals[v], squares[v] = sums.n, sums.x, sums.xx
            covariances[v, v] = _central(sums.n, sums.x, sums.x, sums.xx) / sums.n
            means[v] = cython.cast(cython.double, sums.x) / sums.n
        for u in range(features.shape[0] - 1):
            for v in range(u + 1, features.shape[0]):
                left, right = cython.address(values[u, 0]), cython.address(values[v, 0])
                if counts[u, u] == n_records and counts[v, v] == n_records:
                    sums = PairedSums(n=n_records, x=totals[u], y=totals[v], xx=squares[u], yy=squares[v], xy=0)
                    sums.xy = _dot(left, right, n_records)
                else:
                    sums = _sum_both(left, cython.address(marks[u, 0]), right, cython.address(marks[v, 0]), n_records)
                counts[u, v] = counts[v, u] = sums.n
                if sums.n >= _LEAST_COMMON:
                    covariances[u, v] = covariances[v, u] = _central(sums.n, sums.x, sums.y, sums.xy) / sums.n
                    gains[u, v] = gains[v, u] = _gain(sums, covariances[u, v], leasts[u], leasts[v])


def relate_within(groups: Sequence[Features]) -> PairsWithin:
    """Relate all numbers within groups of records, whose means may differ; `groups` are [number, record] each."""
    width = len(groups[0])
    counts, totals = np.zeros((width, width), np.int64), np.zeros((width, width))
    for group in groups:
        values, marks = np.zeros((2, *group.shape), np.int16)
        marks[:] = are_known(group)
        np.multiply(group, marks, out=values)
        _add_within(values, marks, counts, totals)
    # With few values in common, two numbers count as unrelated.
    return PairsWithin(counts, np.where(counts >= LEAST_COMMON, totals / np.maximum(counts, 1), 0.0))


@cython.cfunc
def _add_within(
    values: const_int16[:, ::1],
    marks: const_int16[:, ::1],
    counts: cython.longlong[:, ::1],
    totals: cython.double[:, ::1],
) -> cython.void:
    """Add what one group has to the counts and to the sums of products of deviations from the group's means."""
    u: cython.Py_ssize_t
    v: cython.Py_ssize_t
    sums: PairedSums
    with cython.nogil:
        for u in range(values.shape[0]):
            for v in range(u, values.shape[0]):
                sums = _sum_both(
                    cython.address(values[u, 0]),
                    cython.address(marks[u, 0]),
                    cython.address(values[v, 0]),
                    cython.address(marks[v, 0]),
                    values.shape[1],
                )
                if sums.n >= 2:
                    counts[u, v] += sums.n
                    totals[u, v] += _central(sums.n, sums.x, sums.y, sums.xy)
                    counts[v, u], totals[v, u] = counts[u, v], totals[u, v]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _split(features: const_int16[::1], values: cython.short[::1], marks: cython.short[::1]) -> cython.void:
    """Write features, 0 for those that are not known, and which are."""
    i: cython.Py_ssize_t
    for i in range(features.shape[0]):
        marks[i] = _is_known(features[i])
        values[i] = features[i] if marks[i] else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_both(
    x: cython.p_short,
    has_x: cython.p_short,
    y: cython.p_short,
    has_y: cython.p_short,
    n_records: cython.Py_ssize_t,
) -> PairedSums:
    """Sum two numbers over the records that have both; what is not known is 0."""
    sums: PairedSums
    i: cython.Py_ssize_t
    n: cython.longlong = 0
    of_x: cython.longlong = 0
    of_y: cython.longlong = 0
    of_xx: cython.longlong = 0
    of_yy: cython.longlong = 0
    for i in range(n_records):
        n += has_x[i] * has_y[i]
        of_x += x[i] * has_y[i]
        of_y += y[i] * has_x[i]
        of_xx += x[i] * x[i] * has_y[i]
        of_yy += y[i] * y[i] * has_x[i]
    sums = PairedSums(n=n, x=of_x, y=of_y, xx=of_xx, yy=of_yy, xy=_dot(x, y, n_records))
    return sums


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _dot(x: cython.p_short, y: cython.p_short, n_records: cython.Py_ssize_t) -> cython.longlong:
    """Sum products."""
    total: cython.longlong = 0
    i: cython.Py_ssize_t
    for i in range(n_records):
        total += x[i] * y[i]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.cdivision(True)
def _central(n: cython.longlong, x: cython.longlong, y: cython.longlong, xy: cython.longlong) -> cython.double:
    """Return Σxy - Σx·Σy/n, given the sums of n values.

    It is a whole number less a fraction b/n, both of which are exact: taking whole means off first keeps all products
    within 64 bits.
    """
    mean_x: cython.longlong = _floored(x, n)
    mean_y: cython.longlong = _floored(y, n)
    shifted: cython.longlong = xy - mean_x * y - mean_y * x + n * mean_x * mean_y
    rest: cython.longlong = (x - n * mean_x) * (y - n * mean_y)
    return cython.cast(cython.double, shifted - rest // n) - cython.cast(cython.double, rest % n) / n


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
@cython.cdivision(True)
def _floored(total: cython.longlong, n: cython.longlong) -> cython.longlong:
    """Divide, and round down."""
    return total // n - (1 if total % n < 0 else 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.cdivision(True)
def _gain(sums: PairedSums, covariance: cython.double, least_x: cython.double, least_y: cython.double) -> cython.double:
    """Return -n/2·ln(1 - r²); neither number can be told better than its least deviation says."""
    square_x: cython.double = least_x * least_x
    square_y: cython.double = least_y * least_y
    x: cython.double = max(_central(sums.n, sums.x, sums.x, sums.xx) / sums.n, square_x)
    y: cython.double = max(_central(sums.n, sums.y, sums.y, sums.yy) / sums.n, square_y)
    left: cython.double = 1.0 - covariance / x * (covariance / y)
    left = max(left, square_x / x, square_y / y)
    return -0.5 * sums.n * log(left)

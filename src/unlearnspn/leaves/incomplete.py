"""Means and covariances of numbers some of which are missing, by expectation maximisation.

Tables of pairs do not fit together where each is of other records: what they say of three numbers may be impossible. So
what is missing is expected given the rest of its record, and moments are those of what is known and expected; and again
with these. What is expected is rounded to a fixed grid, so that all sums over records are of integers, and exact: those
of parts of the records, in any order, add up to those of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, NamedTuple

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import floor, sqrt
from cython.cimports.unlearnspn.const_types import const_float64, const_int16

from unlearnspn.coding import FEATURE_LIMIT
from unlearnspn.leaves.linear_pairs import Features, are_known

Floats = npt.NDArray[np.float64]
#: Integers of any size.
Integers = npt.NDArray[Any]

#: What is missing is expected so many times; once, where that takes more than so many multiplications.
_N_ROUNDS: int = 3
_MOST_STEPS: int = 1 << 27
#: A number that is expected is a multiple of the unit 1/16, within the limits of features. What is left of a product,
#: once it is known what others say, is a multiple of the unit 2**-16, and at most 2**30.
_VALUE_UNITS: int = 1 << 4
_LEFT_UNITS: int = 1 << 16
#: Sums of so many records fit: products into 2**53, where doubles are exact, and with what is left into 64 bits.
_PART: int = 1 << 14
_VALUE_SCALE = cython.declare(cython.double, _VALUE_UNITS)
_LEFT_SCALE = cython.declare(cython.double, _LEFT_UNITS)
_VALUE_LIMIT = cython.declare(cython.double, float(_VALUE_UNITS * FEATURE_LIMIT))
_FEATURE_LIMIT = cython.declare(cython.short, FEATURE_LIMIT)
_LEFT_LIMIT = cython.declare(cython.double, float(_LEFT_UNITS << 30))
#: What is left of a variance is taken to be this share of the square of its least deviation at least.
_LEAST_PIVOT = cython.declare(cython.double, 1.0 / 1024.0)


class KnownSums(NamedTuple):
    """Exact sums over the records that have both of two numbers, [number, number]; those of parts add up."""

    counts: Integers
    #: Of the first of both.
    totals: Integers
    products: Integers

    def merge(self, other: KnownSums) -> KnownSums:
        """Return the sums over the records of both."""
        return KnownSums(self.counts + other.counts, self.totals + other.totals, self.products + other.products)


class CompletedSums(NamedTuple):
    """Exact sums over records, of numbers as they are known or expected; those of parts add up."""

    n_records: int
    #: In sixteenths of a feature.
    totals: Integers
    #: In units of 2**-16, with what is left of the products of numbers that are missing.
    products: Integers

    def merge(self, other: CompletedSums) -> CompletedSums:
        """Return the sums over the records of both."""
        return CompletedSums(
            self.n_records + other.n_records, self.totals + other.totals, self.products + other.products
        )


def expected_moments(features: Features, leasts: Floats, beta: float) -> tuple[Floats, Floats]:
    """Return means and covariances of some numbers; `features` are [number, record], `leasts` least deviations."""
    width, n_records = features.shape
    grouped = group_records(features)
    share, squares = grouped.shape[1] / (grouped.shape[1] + beta), leasts * leasts
    means, covariances = first_moments(sum_known(grouped), squares, share)
    n_rounds = _N_ROUNDS if n_records * width**3 <= _MOST_STEPS else 1
    for rank in range(n_rounds):
        sums = sum_completed(grouped, means, covariances, squares)
        # The covariances are drawn towards none, if something follows from them again.
        means, covariances = next_moments(sums, squares, share if rank + 1 < n_rounds else 1.0)
    return means, covariances


def group_records(features: Features) -> Features:
    """Return the records that have some number, those next to each other that lack the same ones."""
    some = np.ascontiguousarray(features[:, are_known(features).any(axis=0)])
    return np.ascontiguousarray(some[:, np.lexsort(np.packbits(are_known(some), axis=0))])


def _parts_of(features: Features) -> Iterable[Features]:
    """Yield the records, so many at a time that their sums fit; once at least."""
    for start in range(0, max(features.shape[1], 1), _PART):
        yield np.ascontiguousarray(features[:, start : start + _PART])


def sum_known(features: Features) -> KnownSums:
    """Sum what records have of numbers, two at a time."""
    return reduce(KnownSums.merge, map(_sum_known, _parts_of(features)))


def _sum_known(features: Features) -> KnownSums:
    known = are_known(features)
    marks, values = known.astype(np.float64), np.where(known, features, 0.0)
    # All sums are of whole numbers and below 2**53: exact in any order.
    return KnownSums(
        *(_integers(left @ right.T) for left, right in ((marks, marks), (values, marks), (values, values)))
    )


def _integers(sums: Floats) -> Integers:
    return sums.astype(np.int64).astype(object)


def first_moments(sums: KnownSums, squares: Floats, share: float) -> tuple[Floats, Floats]:
    """Return means, and covariances as if what is missing were at the mean, of numbers of deviation one."""
    counts, totals = sums.counts.diagonal(), sums.totals.diagonal()
    pairs, crossed = np.multiply.outer(counts, counts), np.multiply.outer(totals, counts) * sums.totals.T
    central = pairs * sums.products - crossed - crossed.T + np.multiply.outer(totals, totals) * sums.counts
    known = counts.astype(np.float64)
    covariances = _quotients(central, pairs) / np.sqrt(np.multiply.outer(known, known))
    return _quotients(totals, counts), _bounded(covariances, squares, share)


def next_moments(sums: CompletedSums, squares: Floats, share: float) -> tuple[Floats, Floats]:
    """Return the means and covariances of what is known and expected."""
    n, unit = sums.n_records, _LEFT_UNITS // _VALUE_UNITS**2
    central = n * sums.products - unit * np.multiply.outer(sums.totals, sums.totals)
    covariances = _quotients(central, _LEFT_UNITS * n * n)
    return _quotients(sums.totals, _VALUE_UNITS * n), _bounded(covariances, squares, share)


def _quotients(integers: Integers, divisors: Any) -> Floats:
    """Divide integers, correctly rounded."""
    return np.asarray((integers / divisors).astype(np.float64))


def _bounded(covariances: Floats, squares: Floats, share: float) -> Floats:
    """Return covariances drawn towards none, with variances that are no less than the squares of least deviations."""
    bounded = covariances * share
    np.fill_diagonal(bounded, np.maximum(covariances.diagonal(), squares))
    return bounded


def sum_completed(features: Features, means: Floats, covariances: Floats, squares: Floats) -> CompletedSums:
    """Sum numbers as records have them or as they are expected; `squares` are those of least deviations."""
    expectation = _Expectation(means, covariances, squares)
    return reduce(CompletedSums.merge, (_sum_completed(part, expectation) for part in _parts_of(features)))


def _sum_completed(features: Features, expectation: _Expectation) -> CompletedSums:
    width, n_records = features.shape
    values, left = np.empty((width, n_records)), np.zeros((width, width), np.int64)
    expectation.complete(features, values, left)
    # Sums of whole numbers below 2**53 are exact in any order.
    products = (values @ values.T).astype(np.int64) * (_LEFT_UNITS // _VALUE_UNITS**2)
    return CompletedSums(n_records, _integers(values.sum(axis=1)), (products + left).astype(object))


@cython.cclass
class _Expectation:
    """What is expected of numbers that records lack, given moments."""

    means: const_float64[::1]
    covariances: const_float64[:, ::1]
    squares: const_float64[::1]
    # Of records that lack the same numbers: which they have, then which they lack; and the lines of the factor of the
    # covariances of those they have, continued by what these say of the others, then by what is left of these.
    n_known: cython.Py_ssize_t
    places: cython.longlong[::1]
    lines: cython.double[:, ::1]
    # Of one record: how far its numbers are from their means, in the order of the places.
    distances: cython.double[::1]

    def __init__(self, means: Floats, covariances: Floats, squares: Floats) -> None:
        width = means.size
        self.means, self.covariances, self.squares = means, covariances, squares
        self.places, self.distances = np.empty(width, np.int64), np.empty(width)
        self.lines = np.empty((width, width))

    @cython.ccall
    def complete(
        self, features: const_int16[:, ::1], values: cython.double[:, ::1], left: cython.longlong[:, ::1]
    ) -> cython.void:
        """Write what is known or expected of records, and add what is left of the products of what is missing."""
        r: cython.Py_ssize_t
        start: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t
        with cython.nogil:
            while start < features.shape[1]:
                end = start + 1
                while end < features.shape[1] and _lack_the_same(features, start, end):
                    end += 1
                self.look(features, start)
                if self.n_known < features.shape[0]:
                    self.eliminate()
                    self.add_left(left, end - start)
                for r in range(start, end):
                    self.complete_record(features, r, values)
                start = end

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def look(self, features: const_int16[:, ::1], r: cython.Py_ssize_t) -> cython.void:
        """List what a record has, then what it lacks."""
        i: cython.Py_ssize_t
        n_known: cython.Py_ssize_t = 0
        n_missing: cython.Py_ssize_t = 0
        for i in range(features.shape[0]):
            n_known += _is_known(features[i, r])
        self.n_known = n_known
        n_known = 0
        for i in range(features.shape[0]):
            if _is_known(features[i, r]):
                self.places[n_known] = i
                n_known += 1
            else:
                self.places[self.n_known + n_missing] = i
                n_missing += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.cdivision(True)
    def eliminate(self) -> cython.void:
        """Write the lines of what is known, and what is left of the covariances of what is missing."""
        width: cython.Py_ssize_t = self.places.shape[0]
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        least: cython.double
        for i in range(width):
            for j in range(i, width):
                self.lines[i, j] = self.covariances[self.places[i], self.places[j]]
        for k in range(self.n_known):
            least = self.squares[self.places[k]] * _LEAST_PIVOT
            self.lines[k, k] = sqrt(self.lines[k, k] if self.lines[k, k] > least else least)
            for j in range(k + 1, width):
                self.lines[k, j] /= self.lines[k, k]
            for i in range(k + 1, width):
                _subtract(
                    cython.address(self.lines[i, 0]), cython.address(self.lines[k, 0]), self.lines[k, i], i, width
                )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_left(self, left: cython.longlong[:, ::1], n_records: cython.Py_ssize_t) -> cython.void:
        """Add what is left of the products of what so many records lack."""
        width: cython.Py_ssize_t = self.places.shape[0]
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        own: cython.longlong
        for i in range(self.n_known, width):
            for j in range(i, width):
                own = cython.cast(cython.longlong, _rounded(self.lines[i, j] * _LEFT_SCALE, _LEFT_LIMIT)) * n_records
                left[self.places[i], self.places[j]] += own
                if i < j:
                    left[self.places[j], self.places[i]] += own

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.cdivision(True)
    def complete_record(
        self, features: const_int16[:, ::1], r: cython.Py_ssize_t, values: cython.double[:, ::1]
    ) -> cython.void:
        """Write what is known or expected of a record."""
        width: cython.Py_ssize_t = self.places.shape[0]
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        for k in range(self.n_known):
            i = self.places[k]
            values[i, r] = features[i, r] * _VALUE_SCALE
            self.distances[k] = features[i, r] - self.means[i]
        if self.n_known == width:
            return
        for k in range(self.n_known, width):
            self.distances[k] = 0.0
        distances = cython.address(self.distances[0])
        for k in range(self.n_known):
            _subtract(distances, cython.address(self.lines[k, 0]), self.distances[k] / self.lines[k, k], k + 1, width)
        for k in range(self.n_known, width):
            i = self.places[k]
            values[i, r] = _rounded((self.means[i] - self.distances[k]) * _VALUE_SCALE, _VALUE_LIMIT)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _subtract(
    line: cython.p_double,
    other: cython.p_double,
    times: cython.double,
    start: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> cython.void:
    """Subtract a line from another, so many times, within the range given."""
    j: cython.Py_ssize_t
    for j in range(start, end):
        line[j] -= other[j] * times


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _rounded(value: cython.double, limit: cython.double) -> cython.double:
    """Return the nearest whole number, half up, within the limits; what is no number is at the upper one."""
    rounded: cython.double = floor(value + 0.5)
    if not rounded < limit:
        return limit
    return rounded if rounded > -limit else -limit


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _lack_the_same(features: const_int16[:, ::1], r: cython.Py_ssize_t, s: cython.Py_ssize_t) -> cython.bint:
    """Tell whether two records lack the same numbers."""
    i: cython.Py_ssize_t
    for i in range(features.shape[0]):
        if _is_known(features[i, r]) != _is_known(features[i, s]):
            return False
    return True


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_known(feature: cython.short) -> cython.bint:
    """Tell whether a feature is neither missing nor at its limit."""
    return -_FEATURE_LIMIT < feature < _FEATURE_LIMIT

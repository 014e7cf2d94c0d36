"""Exact sums of floats: taking a value out is the true inverse of putting it in, in any order.

Every finite double is an integer multiple of 2**-1074, its square one of 2**-2148. Sums of these integers are exact
Python integers; a compiled kernel gathers them in 32-bit limbs, relative to the smallest exponent that occurs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from unlearnspn.hashing import integer_bytes

Rows = npt.NDArray[np.int64]
Bits = npt.NDArray[np.int64]

_UNIT_EXPONENT = 1074
_MASK32 = 0xFFFFFFFF
_MASK27 = (1 << 27) - 1


@njit(cache=True)
def _add(limbs: npt.NDArray[np.int64], term: int, shift: int, sign: int) -> None:
    """Add ±term·2**shift to the limbs, for 0 ≤ term < 2**56."""
    limb, bit = shift >> 5, shift & 31
    low = (term & _MASK32) << bit
    high = (term >> 32) << bit
    limbs[limb] += sign * (low & _MASK32)
    limbs[limb + 1] += sign * ((low >> 32) + (high & _MASK32))
    limbs[limb + 2] += sign * (high >> 32)


@njit(cache=True)
def _shift_range(bits: Bits, rows: Rows, column: int) -> tuple[int, int]:
    smallest, largest = 4096, 0
    for row in rows:
        pattern = bits[row, column]
        exponent = (pattern >> 52) & 0x7FF
        if exponent == 0x7FF or (pattern << 1) == 0:
            continue
        shift = max(exponent, 1) - 1
        smallest = min(smallest, shift)
        largest = max(largest, shift)
    return smallest, largest


@njit(cache=True)
def _limb_sums(bits: Bits, rows: Rows, column: int) -> tuple[int, int, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    smallest, largest = _shift_range(bits, rows, column)
    span = max(largest - smallest, 0)
    first = np.zeros((span >> 5) + 5, np.int64)
    second = np.zeros((2 * span >> 5) + 8, np.int64)
    count = 0
    for row in rows:
        pattern = bits[row, column]
        exponent = (pattern >> 52) & 0x7FF
        if exponent == 0x7FF:  # missing
            continue
        count += 1
        mantissa = pattern & ((1 << 52) - 1)
        if exponent > 0:
            mantissa |= 1 << 52
        if mantissa == 0:
            continue
        shift = max(exponent, 1) - 1 - smallest
        _add(first, mantissa, shift, -1 if pattern < 0 else 1)
        high, low = mantissa >> 27, mantissa & _MASK27
        _add(second, low * low, 2 * shift, 1)
        _add(second, 2 * high * low, 2 * shift + 27, 1)
        _add(second, high * high, 2 * shift + 54, 1)
    return count, smallest, first, second


def _assemble(limbs: npt.NDArray[np.int64]) -> int:
    total = 0
    for limb in reversed(limbs.tolist()):
        total = (total << 32) + limb
    return total


class Moments(NamedTuple):
    """Count, sum and sum of squares of the values that are not missing, all exact.

    `first` counts units of 2**-1074, `second` units of 2**-2148.
    """

    n: int
    first: int
    second: int

    @classmethod
    def of(cls, values: npt.NDArray[np.float64], rows: Rows, column: int = 0) -> Moments:
        """Sum the given rows of one column of a row-major table.

        >>> table = np.array([[0.1], [1e300], [-1e300], [np.nan]])
        >>> Moments.of(table, np.arange(4)).mean() == 0.1 / 3
        True
        """
        count, smallest, first, second = _limb_sums(values.view(np.int64), rows, column)
        return cls(count, _assemble(first) << smallest, _assemble(second) << 2 * smallest)

    def plus(self, other: Moments) -> Moments:
        """Merge two disjoint sets of values."""
        return Moments(self.n + other.n, self.first + other.first, self.second + other.second)

    def minus(self, other: Moments) -> Moments:
        """Take values out again."""
        return Moments(self.n - other.n, self.first - other.first, self.second - other.second)

    def mean(self) -> float:
        """Return the mean, correctly rounded."""
        return self.first / (self.n << _UNIT_EXPONENT)

    def spread(self) -> int:
        """Return n²·variance in units of 2**-2148; zero if and only if all values are equal."""
        return self.n * self.second - self.first * self.first

    def std(self) -> float:
        """Return the standard deviation (of the values themselves, with divisor n).

        >>> Moments.of(np.array([[1e300], [-1e300]]), np.arange(2)).std()
        1e+300
        """
        spread = self.spread()
        # An even shift that leaves at least 128 bits keeps the integer square root accurate beyond a double.
        shift = max(0, 128 - spread.bit_length())
        shift += shift & 1
        root = math.isqrt(spread << shift)
        return root / (self.n << (_UNIT_EXPONENT + shift // 2))

    def log2_variance(self) -> int:
        """Return floor(log2(variance)), exactly; the variance must not be zero."""
        spread, squared = self.spread(), self.n * self.n
        exponent = spread.bit_length() - squared.bit_length()
        larger = spread >= squared << exponent if exponent >= 0 else spread << -exponent >= squared
        return exponent - (not larger) - 2 * _UNIT_EXPONENT

    def to_bytes(self) -> list[bytes]:
        """Return the canonical bytes of each number."""
        return [integer_bytes(number) for number in self]

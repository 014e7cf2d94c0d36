"""Exact moments: taking a value out is the true inverse of putting it in, in any order.

Every finite double is an integer multiple of 2**-1074, its square one of 2**-2148, so sums of these are integers.
Compiled code sums in limbs of 32 bits, only those that the values can reach: a `Window` of them.
"""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.string import memset
from cython.cimports.unlearnspn.exact_sums import Limbs, add_value, carry, exponent_part

from unlearnspn.hashing import integer_bytes

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
#: A count, then the limbs of a sum and of a sum of squares.
Words = npt.NDArray[np.int64]

#: How many parts the exponents of doubles fall into, of 32 each: one for each limb that a value can start in.
N_PARTS = 64
#: All doubles are multiples of 2 to minus this power.
UNIT_EXPONENT = 1074
# A value reaches into three limbs, its square into five; one limb more is for the sum of up to 2**31 of them.
FIRST_LIMBS, SECOND_LIMBS = 4, 7
#: Of how many bits of a variance the root is taken.
_ROOT_BITS = 320
_LENGTHS = struct.Struct("<qq")
_MASK32 = 0xFFFFFFFF

_FIRST = cython.declare(cython.longlong, FIRST_LIMBS)
_SECOND = cython.declare(cython.longlong, SECOND_LIMBS)
_LAST_PART = cython.declare(cython.longlong, N_PARTS - 1)


class Window(NamedTuple):
    """Which limbs the sums of a column have: from the limb `low` on (2·`low` for squares)."""

    low: int
    n_first: int
    n_second: int

    @classmethod
    def of(cls, parts: npt.NDArray[np.int64]) -> Window:
        """Return the window for values whose exponents fall into some parts; `parts` counts them."""
        reached = np.flatnonzero(parts).tolist()
        low, high = min(reached, default=0), max(reached, default=0)
        return cls(low, high - low + FIRST_LIMBS, 2 * (high - low) + SECOND_LIMBS)

    @property
    def n_words(self) -> int:
        """How many words a column's moments take: count, sum, sum of squares."""
        return 1 + self.n_first + self.n_second

    def means_and_stds(self, words: Words) -> list[tuple[float, float]]:
        """Return mean and standard deviation of each line of words, those without a value left out.

        They are those of `Moments`, from smaller numbers: the limbs below the window are zeros.
        """
        exponent = UNIT_EXPONENT - 32 * self.low
        lines = [_read_line(line, self.n_first, self.n_second) for line in words]
        return [(_mean(n, one, exponent), _std(n, n * two - one * one, exponent)) for n, one, two in lines if n]


@cython.cclass
class Moments:
    """Count, sum and sum of squares of the values that are not missing, all exact.

    `first` counts units of 2**-1074, `second` units of 2**-2148.
    """

    def __init__(self, n: cython.longlong, first: int, second: int) -> None:
        self.n = n
        self.first = first
        self.second = second

    @staticmethod
    def of(values: Floats, rows: Rows, column: cython.Py_ssize_t = 0) -> Moments:
        """Sum the given rows of one column of a table.

        >>> table = np.array([[0.1], [1e300], [-1e300], [np.nan]])
        >>> Moments.of(table, np.arange(4)).mean() == 0.1 / 3
        True
        """
        moments: Moments = sum_values(values.view(np.int64), rows, column)
        return moments

    @staticmethod
    def from_words(words: Words, window: Window) -> Moments:
        """Read moments from their words."""
        n, first, second = _read_line(words, window.n_first, window.n_second)
        return Moments(n, first << 32 * window.low, second << 64 * window.low)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments):
            return NotImplemented
        return self.n == other.n and self.first == other.first and self.second == other.second

    def __hash__(self) -> int:
        return hash((self.n, self.first, self.second))

    def __reduce__(self) -> tuple[type[Moments], tuple[int, int, int]]:
        return Moments, (self.n, self.first, self.second)

    def __repr__(self) -> str:
        return f"Moments({self.n}, {self.first}, {self.second})"

    def to_words(self, window: Window) -> Words:
        """Write moments as words."""
        low, n_first, n_second = window
        first, second = self.first >> 32 * low, self.second >> 64 * low
        return np.array([self.n, *_split(first, n_first), *_split(second, n_second)], np.int64)

    @cython.ccall
    def merge(self, other: Moments) -> Moments:
        """Return the moments of the values of both."""
        merged: Moments = _moments(self.n + other.n, self.first + other.first, self.second + other.second)
        return merged

    @cython.ccall
    def minus(self, other: Moments) -> Moments:
        """Take values out again."""
        rest: Moments = _moments(self.n - other.n, self.first - other.first, self.second - other.second)
        return rest

    def mean(self) -> float:
        """Return the mean, correctly rounded."""
        return _mean(self.n, self.first, UNIT_EXPONENT)

    def spread(self) -> int:
        """Return n²·variance in units of 2**-2148; zero if and only if all values are equal."""
        spread: int = self.n * self.second - self.first * self.first
        return spread

    def std(self) -> float:
        """Return the standard deviation (of the values themselves, with divisor n).

        >>> Moments.of(np.array([[1e300], [-1e300]]), np.arange(2)).std()
        1e+300
        """
        return _std(self.n, self.spread(), UNIT_EXPONENT)

    def log2_variance(self) -> int:
        """Return floor(log2(variance)), exactly; the variance must not be zero."""
        n: int = self.n
        spread, squared = self.spread(), n * n
        exponent = spread.bit_length() - squared.bit_length()
        larger = spread >= squared << exponent if exponent >= 0 else spread << -exponent >= squared
        return exponent - (not larger) - 2 * UNIT_EXPONENT

    def fingerprint(self) -> bytes:
        """Return bytes that are equal exactly if the moments are."""
        first: bytes = self.first.to_bytes(self.first.bit_length() // 8 + 1, "little", signed=True)
        second: bytes = self.second.to_bytes(self.second.bit_length() // 8 + 1, "little", signed=True)
        return _LENGTHS.pack(self.n, len(first)) + first + second

    def to_bytes(self) -> list[bytes]:
        """Return the canonical bytes of each number."""
        return [integer_bytes(number) for number in (self.n, self.first, self.second)]


@cython.ccall
def sum_values(bits: cython.longlong[:, :], rows: cython.longlong[:], column: cython.Py_ssize_t) -> Moments:
    """Sum some rows of a column, given the bits of its doubles."""
    words = cython.declare(cython.longlong[201])  # as many as the widest window has
    window: Limbs
    moments: Moments
    if rows.shape[0] == 1:
        moments = _moments_of_one(bits[rows[0], column])
        return moments
    with cython.nogil:
        window = _window_of(bits, rows, column)
        _sum_rows(words, bits, rows, column, window)
    first = _assembled(words + 1, window.n_first)
    second = _assembled(words + 1 + window.n_first, window.n_second)
    moments = _moments(words[0], first << 32 * window.low, second << 64 * window.low)
    return moments


@cython.cfunc
def _moments_of_one(pattern: cython.longlong) -> Moments:
    """Return the moments of one value, given its bits."""
    exponent: cython.longlong = (pattern >> 52) & 0x7FF
    mantissa: cython.longlong = pattern & 0xFFFFFFFFFFFFF
    if exponent == 0x7FF:  # missing
        return Moments(0, 0, 0)
    if exponent > 0:
        mantissa |= 0x10000000000000
        exponent -= 1
    number: int = mantissa
    first = number << exponent
    moments: Moments = _moments(1, -first if pattern < 0 else first, number * number << 2 * exponent)
    return moments


@cython.cfunc
def _moments(n: cython.longlong, first: int, second: int) -> Moments:
    """Return moments sooner than Python's way to make an object does."""
    moments: Moments = Moments.__new__(Moments)
    moments.n = n
    moments.first = first
    moments.second = second
    return moments


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _window_of(bits: cython.longlong[:, :], rows: cython.longlong[:], column: cython.Py_ssize_t) -> Limbs:
    """Return the limbs that the sums of some rows need."""
    lowest: cython.longlong = _LAST_PART
    highest: cython.longlong = 0
    part: cython.longlong
    i: cython.Py_ssize_t
    for i in range(rows.shape[0]):
        part = exponent_part(bits[rows[i], column])
        if part >= 0:
            lowest = min(lowest, part)
            highest = max(highest, part)
    lowest = min(lowest, highest)
    return Limbs(lowest, highest - lowest + _FIRST, 2 * (highest - lowest) + _SECOND)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_rows(
    words: cython.p_longlong,
    bits: cython.longlong[:, :],
    rows: cython.longlong[:],
    column: cython.Py_ssize_t,
    window: Limbs,
) -> cython.void:
    i: cython.Py_ssize_t
    memset(words, 0, (1 + window.n_first + window.n_second) * cython.sizeof(cython.longlong))
    for i in range(rows.shape[0]):
        add_value(words, bits[rows[i], column], window, 1)
    carry(words, window)


@cython.cfunc
def _read_line(words: object, n_first: cython.Py_ssize_t, n_second: cython.Py_ssize_t) -> tuple[int, int, int]:
    """Return count, sum and sum of squares from words, in units of the lowest limbs."""
    line: cython.longlong[::1] = words
    first = _assembled(cython.address(line[1]), n_first)
    return line[0], first, _assembled(cython.address(line[1 + n_first]), n_second)


@cython.cfunc
def _assembled(limbs: cython.p_longlong, number: cython.Py_ssize_t) -> int:
    """Return the integer that limbs stand for: all but the last are from 0 to 2**32 - 1, and the last has the sign."""
    text = cython.declare(cython.char[4 * 201])
    limb: cython.longlong
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for i in range(number):
        limb = limbs[i]
        for k in range(4 if i < number - 1 else 8):
            text[4 * i + k] = cython.cast(cython.char, limb >> 8 * k)
    return int.from_bytes(text[: 4 * number + 4], "little", signed=True)


def _split(total: int, number: int) -> list[int]:
    """Split an integer into limbs of 32 bits; the last takes the rest, and the sign."""
    limbs = []
    for _ in range(number - 1):
        limbs.append(total & _MASK32)
        total >>= 32
    return [*limbs, total]


def _mean(n: int, first: int, exponent: int) -> float:
    """Return the mean of n values, correctly rounded, given their sum in units of 2**-exponent."""
    return first / (n << exponent) if exponent >= 0 else (first << -exponent) / n


def _std(n: int, spread: int, exponent: int) -> float:
    """Return the standard deviation of n values, given n²·variance in units of 2**-2·exponent."""
    # An even shift that leaves about so many bits keeps the integer square root accurate far beyond a double.
    shift = (_ROOT_BITS - spread.bit_length()) // 2 * 2
    root = math.isqrt(spread << shift if shift >= 0 else spread >> -shift)
    return _mean(n, root, exponent + shift // 2)

"""Exact sums of floats: taking a value out is the true inverse of putting it in, in any order.

Every finite double is an integer multiple of 2**-1074, its square one of 2**-2148. Sums of these integers are kept in
limbs of 32 bits, only those that the values of a column can reach: a column has a `Window` of them. Limbs are always
carried through, so the same values have the same limbs, whatever the way they came.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.compiling import IN, inner_kernel, kernel, late_kernel, per_element, per_row
from unlearnspn.hashing import integer_bytes

Rows = npt.NDArray[np.int64]
#: The bits of doubles.
Bits = npt.NDArray[np.int64]
#: Limbs of exact sums, among other integers.
Words = npt.NDArray[np.int64]

#: How many parts the exponents of doubles fall into, of 32 each: one for each limb that a value can start in.
N_PARTS = 64

#: All doubles are multiples of 2 to minus this power.
UNIT_EXPONENT = 1074
_MASK32 = 0xFFFFFFFF
_MASK27 = (1 << 27) - 1
# A value reaches into three limbs, its square into five; one limb more is for the sum of up to 2**31 of them.
FIRST_LIMBS, _SECOND_LIMBS = 4, 7
#: Of how many bits of a variance the root is taken.
_ROOT_BITS = 320


class Window(NamedTuple):
    """Which limbs the sums of a column have: from the limb `low` on (2·`low` for squares)."""

    low: int
    n_first: int
    n_second: int

    @classmethod
    def of(cls, parts: npt.NDArray[np.int64]) -> Window:
        """Return the window for values whose exponents fall into some parts; `parts` counts them."""
        reached = np.flatnonzero(parts)
        if reached.size == 0:
            return cls(0, FIRST_LIMBS, _SECOND_LIMBS)
        low, high = int(reached[0]), int(reached[-1])
        return cls(low, high - low + FIRST_LIMBS, 2 * (high - low) + _SECOND_LIMBS)

    @property
    def n_words(self) -> int:
        """How many words a column's moments take: count, sum, sum of squares."""
        return 1 + self.n_first + self.n_second

    def means_and_stds(self, words: Words) -> list[tuple[float, float]]:
        """Return mean and standard deviation of each line of words, those without a value left out.

        They are those of `Moments`, from smaller numbers: the limbs below the window are zeros.
        """
        first, second = _assembled(words[:, 1 : 1 + self.n_first]), _assembled(words[:, 1 + self.n_first :])
        lines, exponent = zip(words[:, 0].tolist(), first, second, strict=True), UNIT_EXPONENT - 32 * self.low
        return [(_mean(n, one, exponent), _std(n, n * two - one * one, exponent)) for n, one, two in lines if n]


def plain(window: Window) -> tuple[int, int, int]:
    """Return a window as kernels take it."""
    return window.low, window.n_first, window.n_second


@kernel
def exponent_part(pattern: int) -> int:
    """Return the part that a value's exponent falls into; -1 if the value is zero or missing."""
    exponent = (pattern >> 52) & 0x7FF
    if exponent == 0x7FF or (pattern << 1) == 0:
        return -1
    return (max(exponent, 1) - 1) >> 5


@late_kernel(per_element(5, 1))
def count_parts(bits: Bits, rows: Rows, column: int, parts: npt.NDArray[np.int64], sign: int) -> None:
    """Count into which parts the exponents of some rows fall."""
    for row in rows:
        part = exponent_part(bits[row, column])
        if part >= 0:
            parts[part] += sign


@kernel
def _add(words: Words, at: int, term: int, shift: int, sign: int) -> None:
    """Add ±term·2**shift to limbs, for 0 ≤ term < 2**56."""
    limb, bit = at + (shift >> 5), shift & 31
    low = (term & _MASK32) << bit
    high = (term >> 32) << bit
    words[limb] += sign * (low & _MASK32)
    words[limb + 1] += sign * ((low >> 32) + (high & _MASK32))
    words[limb + 2] += sign * (high >> 32)


@kernel
def add_value(words: Words, at: int, pattern: int, window: tuple[int, int, int], sign: int) -> None:
    """Put a value into moments that start at a word, or take it out; `carry` must follow."""
    exponent = (pattern >> 52) & 0x7FF
    if exponent == 0x7FF:  # missing
        return
    words[at] += sign
    mantissa = pattern & ((1 << 52) - 1)
    if exponent > 0:
        mantissa |= 1 << 52
    if mantissa == 0:
        return
    low, n_first, _ = window
    shift = max(exponent, 1) - 1 - 32 * low
    first, second = at + 1, at + 1 + n_first
    _add(words, first, mantissa, shift, -sign if pattern < 0 else sign)
    upper, lower = mantissa >> 27, mantissa & _MASK27
    _add(words, second, lower * lower, 2 * shift, sign)
    _add(words, second, 2 * upper * lower, 2 * shift + 27, sign)
    _add(words, second, upper * upper, 2 * shift + 54, sign)


@kernel
def carry(words: Words, at: int, window: tuple[int, int, int]) -> None:
    """Carry limbs through, so that all but the last are from 0 to 2**32 - 1."""
    _, n_first, n_second = window
    for start, number in ((at + 1, n_first), (at + 1 + n_first, n_second)):
        for limb in range(start, start + number - 1):
            words[limb + 1] += words[limb] >> 32
            words[limb] &= _MASK32


@inner_kernel(per_row(10))
def _add_rows(
    words: Words, at: int, bits: Bits, rows: Rows, column: int, window: tuple[int, int, int], sign: int
) -> None:
    for row in rows:
        add_value(words, at, bits[row, column], window, sign)


@late_kernel(per_row(10))
def add_values(
    words: Words, at: int, bits: Bits, rows: Rows, column: int, window: tuple[int, int, int], sign: int
) -> None:
    """Put some rows of a column into moments that start at a word, or take them out."""
    _add_rows(words, at, bits, rows, column, window, sign)
    carry(words, at, window)


@inner_kernel(per_element(10, 2))
def add_by_code(
    words: Words,
    bits: Bits,
    rows: Rows,
    column: int,
    codes: npt.NDArray[np.uint8],
    variable: int,
    window: tuple[int, int, int],
    sign: int,
) -> None:
    """Put some rows of a column into moments for each code of a variable but 0, one after another, or take them out."""
    n_words = 1 + window[1] + window[2]
    for row in rows:
        code = int(codes[row, variable])
        if code:
            add_value(words, (code - 1) * n_words, bits[row, column], window, sign)
    for at in range(0, words.size, n_words):
        carry(words, at, window)


@kernel
def sum_columns(words: Words, bits: Bits, rows: Rows, columns: Rows, windows: npt.NDArray[np.int64]) -> None:
    """Put some rows of some columns into moments that lie one after another."""
    at = 0
    for i in range(columns.size):
        window = (windows[i, 0], windows[i, 1], windows[i, 2])
        add_values(words, at, bits, rows, columns[i], window, IN)
        at += 1 + window[1] + window[2]


def _assembled(limbs: Words) -> list[int]:
    """Return the integer that each line of limbs stands for."""
    # All but the last are from 0 to 2**32 - 1: their halves stand one after another, and the last has the sign.
    low, last = limbs[:, :-1].astype("<u4"), limbs[:, -1:].astype("<i8")
    lines = np.concatenate([low.view(np.uint8), last.view(np.uint8)], axis=1)
    text, width = lines.tobytes(), lines.shape[1]
    return [int.from_bytes(text[at : at + width], "little", signed=True) for at in range(0, len(text), width)]


def _mean(n: int, first: int, exponent: int) -> float:
    """Return the mean of n values, correctly rounded, given their sum in units of 2**-exponent."""
    return first / (n << exponent) if exponent >= 0 else (first << -exponent) / n


def _std(n: int, spread: int, exponent: int) -> float:
    """Return the standard deviation of n values, given n²·variance in units of 2**-2·exponent."""
    # An even shift that leaves about so many bits keeps the integer square root accurate far beyond a double.
    shift = (_ROOT_BITS - spread.bit_length()) // 2 * 2
    root = math.isqrt(spread << shift if shift >= 0 else spread >> -shift)
    return _mean(n, root, exponent + shift // 2)


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
        bits, parts = values.view(np.int64), np.zeros(N_PARTS, np.int64)
        count_parts(bits, rows, column, parts, 1)
        window = Window.of(parts)
        words = np.zeros(window.n_words, np.int64)
        add_values(words, 0, bits, rows, column, plain(window), IN)
        return cls.from_words(words, window)

    @classmethod
    def from_words(cls, words: Words, window: Window) -> Moments:
        """Read moments from their words."""
        low, n_first, _ = window
        (first,), (second,) = (
            _assembled(words[np.newaxis, 1 : 1 + n_first]),
            _assembled(words[np.newaxis, 1 + n_first :]),
        )
        return cls(int(words[0]), first << 32 * low, second << 64 * low)

    def to_words(self, window: Window) -> Words:
        """Write moments as words."""
        low, n_first, n_second = window
        first, second = self.first >> 32 * low, self.second >> 64 * low
        return np.array([self.n, *_limbs(first, n_first), *_limbs(second, n_second)], np.int64)

    def plus(self, other: Moments) -> Moments:
        """Merge two disjoint sets of values."""
        return Moments(self.n + other.n, self.first + other.first, self.second + other.second)

    def minus(self, other: Moments) -> Moments:
        """Take values out again."""
        return Moments(self.n - other.n, self.first - other.first, self.second - other.second)

    def mean(self) -> float:
        """Return the mean, correctly rounded."""
        return _mean(self.n, self.first, UNIT_EXPONENT)

    def spread(self) -> int:
        """Return n²·variance in units of 2**-2148; zero if and only if all values are equal."""
        return self.n * self.second - self.first * self.first

    def std(self) -> float:
        """Return the standard deviation (of the values themselves, with divisor n).

        >>> Moments.of(np.array([[1e300], [-1e300]]), np.arange(2)).std()
        1e+300
        """
        return _std(self.n, self.spread(), UNIT_EXPONENT)

    def log2_variance(self) -> int:
        """Return floor(log2(variance)), exactly; the variance must not be zero."""
        spread, squared = self.spread(), self.n * self.n
        exponent = spread.bit_length() - squared.bit_length()
        larger = spread >= squared << exponent if exponent >= 0 else spread << -exponent >= squared
        return exponent - (not larger) - 2 * UNIT_EXPONENT

    def to_bytes(self) -> list[bytes]:
        """Return the canonical bytes of each number."""
        return [integer_bytes(number) for number in self]


def _limbs(total: int, number: int) -> list[int]:
    """Split an integer into limbs of 32 bits; the last takes the rest, and the sign."""
    limbs = []
    for _ in range(number - 1):
        limbs.append(total & _MASK32)
        total >>= 32
    return [*limbs, total]

"""Mean and deviation of exact sums in compiled code, to the last bit those of `Moments`.

A mean is a quotient of integers: it is divided out limb by limb, and rounded once. A deviation is the root of such a
quotient. It is found to twice the precision of doubles, as the sum of two of them. That says how to round it, unless it
lies all but in the middle of two doubles: then the square of that is compared with what the root is of.
"""

from __future__ import annotations

import math

import numpy as np

from unlearnspn.compiling import inlined, kernel
from unlearnspn.exact_sum import UNIT_EXPONENT, Words

_MASK32 = 0xFFFFFFFF
#: The exponent of the smallest normal double.
_LEAST_EXPONENT = -1022
#: Multiplied by this, a double falls into halves of 26 bits.
_SPLITTER = 134217729.0
#: How far the smaller of the two doubles that stand for a root may be off, with much to spare.
_DOUBT = 2.0**-36


@kernel
def mean_and_std(words: Words, at: int, window: tuple[int, int, int]) -> tuple[float, float]:
    """Return mean and standard deviation of the moments at a word, which are of at least one value.

    One that is subnormal is left open, and NaN.
    """
    low, n_first, n_second = window
    n, exponent = words[at], 32 * low - UNIT_EXPONENT
    first = _magnitude(words[at + 1 : at + 1 + n_first])
    mean = _divided(first, n, exponent)
    spread = _spread(n, first, words[at + 1 + n_first : at + 1 + n_first + n_second])
    return -mean if words[at + n_first] < 0 else mean, _root_divided(spread, n, exponent)


@kernel
def _magnitude(limbs: Words) -> Words:
    """Return the limbs of a number without its sign, which the last one has."""
    if limbs[-1] >= 0:
        return limbs.copy()
    magnitude, carried = np.empty(limbs.size, np.int64), 0
    for i in range(limbs.size):
        negative = carried - limbs[i]
        magnitude[i] = negative & _MASK32
        carried = negative >> 32
    return magnitude


@inlined
def _n_bits(number: int) -> int:
    """Return how many bits a positive number has that a double can hold."""
    return math.frexp(float(number))[1]


@inlined
def _limb(limbs: Words, i: int) -> int:
    return limbs[i] if i >= 0 else 0


@kernel
def _highest(limbs: Words) -> int:
    """Return the number of the highest limb that is not zero; -1 if all are."""
    i = limbs.size - 1
    while i >= 0 and limbs[i] == 0:
        i -= 1
    return i


@kernel
def _divided(limbs: Words, n: int, exponent: int) -> float:
    """Return limbs·2**exponent / n as the nearest double, for n < 2**31; NaN if that is subnormal."""
    highest = _highest(limbs)
    if highest < 0:
        return 0.0
    # The first limb of the quotient may be zero, and then the second is not: three tell more than a double holds.
    quotient, rest = np.empty(4, np.int64), 0
    for i in range(4):
        dividend = (rest << 32) | _limb(limbs, highest - i)
        quotient[i] = dividend // n
        rest = dividend - quotient[i] * n
    first = 0 if quotient[0] else 1
    inexact = rest != 0 or (first == 0 and quotient[3] != 0)
    for i in range(highest - 3):
        inexact = inexact or limbs[i] != 0
    return _rounded(quotient[first : first + 3], inexact, exponent + 32 * (highest - 2 - first))


@kernel
def _rounded(limbs: Words, inexact: bool, exponent: int) -> float:
    """Return three limbs, the highest first, times 2**exponent as the nearest double; after them may come more."""
    n_bits = _n_bits(limbs[0])
    # The 53 bits of a double and one more.
    if n_bits <= 22:
        bits = (limbs[0] << (54 - n_bits)) | (limbs[1] << (22 - n_bits)) | (limbs[2] >> (10 + n_bits))
        rest = limbs[2] & ((1 << (10 + n_bits)) - 1)
    else:
        bits = (limbs[0] << (54 - n_bits)) | (limbs[1] >> (n_bits - 22))
        rest = (limbs[1] & ((1 << (n_bits - 22)) - 1)) | limbs[2]
    mantissa = bits >> 1
    if bits & 1 and (inexact or rest != 0 or mantissa & 1):
        mantissa += 1
    return _scaled(float(mantissa), exponent + 11 + n_bits)


@inlined
def _scaled(number: float, exponent: int) -> float:
    """Return a number times 2**exponent; NaN if that is subnormal, where it would be rounded again."""
    if math.frexp(number)[1] + exponent <= _LEAST_EXPONENT:
        return np.nan
    return math.ldexp(number, int(exponent))


@kernel
def _spread(n: int, first: Words, second: Words) -> Words:
    """Return the limbs of n·second - first², for n < 2**31."""
    spread = np.zeros(max(second.size + 1, 2 * first.size), np.int64)
    carried = 0
    for i in range(second.size):
        carried += n * second[i]
        spread[i] = carried & _MASK32
        carried >>= 32
    spread[second.size] = carried
    square = _squared(first)
    carried = 0
    for i in range(spread.size):
        carried += spread[i]
        if i < square.size:
            carried -= square[i]
        spread[i] = carried & _MASK32
        carried >>= 32
    return spread


@kernel
def _squared(limbs: Words) -> Words:
    """Return the limbs of a square."""
    square, mask, half = np.zeros(2 * limbs.size, np.uint64), np.uint64(_MASK32), np.uint64(32)
    for i in range(limbs.size):
        carried, one = np.uint64(0), np.uint64(limbs[i])
        for j in range(limbs.size):
            carried += one * np.uint64(limbs[j]) + square[i + j]
            square[i + j] = carried & mask
            carried >>= half
        square[i + limbs.size] = carried
    return square.astype(np.int64)


@kernel
def _root_divided(limbs: Words, n: int, exponent: int) -> float:
    """Return the root of limbs·2**(2·exponent), divided by n, as the nearest double; NaN if that is subnormal."""
    highest = _highest(limbs)
    if highest < 0:
        return 0.0
    # Four limbs have 97 bits at least.
    lowest = highest - 3
    high = _sum(float(limbs[highest]) * 2.0**96, float(_limb(limbs, highest - 1)) * 2.0**64)
    low = _sum(float(_limb(limbs, highest - 2)) * 2.0**32, float(_limb(limbs, lowest)))
    upper = _sum(high[0], low[0])
    quotient = _quotient(_root(_sum(upper[0], upper[1] + (high[1] + low[1]))), float(n))
    nearest = quotient[0]
    if nearest + quotient[1] * (1.0 + _DOUBT) != nearest:
        nearest = _nearest_root(limbs, n, nearest, quotient[1] > 0.0, 16 * lowest)
    return _scaled(nearest, exponent + 16 * lowest)


@kernel
def _nearest_root(limbs: Words, n: int, near: float, is_above: bool, exponent: int) -> float:
    """Return which is nearest to the root of limbs·2**(-2·exponent), divided by n: a double, or the next one.

    The root is all but in the middle of the two.
    """
    mantissa, doubled = int(math.ldexp(math.frexp(near)[0], 54)), math.frexp(near)[1] - 54
    if not is_above and mantissa == 1 << 53:  # below powers of two doubles lie twice as densely
        mantissa, doubled = 2 * mantissa, doubled - 1
    middle = mantissa + 1 if is_above else mantissa - 1
    low, high = n * (middle & _MASK32), n * (middle >> 32)
    high += low >> 32
    square = _squared(np.array([low & _MASK32, high & _MASK32, high >> 32]))
    shift = 2 * (doubled + exponent)
    order = _compared(_shifted(limbs, max(-shift, 0)), _shifted(square, max(shift, 0)))
    stays, is_even = order < 0 if is_above else order > 0, mantissa & 2 == 0
    if stays or (order == 0 and is_even):
        return near
    return math.ldexp(float(mantissa + 2 if is_above else mantissa - 2), doubled)


@kernel
def _shifted(limbs: Words, n_bits: int) -> Words:
    """Return limbs times 2**n_bits."""
    shifted, first, bits, carried = np.zeros(limbs.size + n_bits // 32 + 1, np.int64), n_bits // 32, n_bits % 32, 0
    for i in range(limbs.size):
        carried += limbs[i] << bits
        shifted[first + i] = carried & _MASK32
        carried >>= 32
    shifted[first + limbs.size] = carried
    return shifted


@kernel
def _compared(one: Words, other: Words) -> int:
    """Return -1, 0 or 1, as one number is smaller than another, equal or larger."""
    for i in range(max(one.size, other.size) - 1, -1, -1):
        a, b = one[i] if i < one.size else 0, other[i] if i < other.size else 0
        if a != b:
            return -1 if a < b else 1
    return 0


@inlined
def _sum(a: float, b: float) -> tuple[float, float]:
    """Return the sum of two doubles, of which the first is not smaller, and by how much it is off."""
    total = a + b
    return total, b - (total - a)


@inlined
def _product(a: float, b: float) -> tuple[float, float]:
    """Return the product of two doubles, and by how much it is off (Dekker, 1971)."""
    product = a * b
    upper_a, upper_b = _SPLITTER * a, _SPLITTER * b
    upper_a, upper_b = upper_a - (upper_a - a), upper_b - (upper_b - b)
    lower_a, lower_b = a - upper_a, b - upper_b
    return product, lower_a * lower_b - (((product - upper_a * upper_b) - lower_a * upper_b) - upper_a * lower_b)


@kernel
def _root(square: tuple[float, float]) -> tuple[float, float]:
    """Return the root of the sum of two doubles as such a sum: one step of Newton's from the root of the first."""
    root = math.sqrt(square[0])
    nearly = _product(root, root)
    return _sum(root, ((square[0] - nearly[0]) - nearly[1] + square[1]) / (2.0 * root))


@kernel
def _quotient(dividend: tuple[float, float], divisor: float) -> tuple[float, float]:
    """Return the sum of two doubles divided by a third, as such a sum."""
    quotient = dividend[0] / divisor
    nearly = _product(quotient, divisor)
    return _sum(quotient, ((dividend[0] - nearly[0]) - nearly[1] + dividend[1]) / divisor)

"""For the reference: keyed hashes, logarithms, exact means and deviations, and how columns are coded."""

import math
import struct
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from hashlib import blake2b

#: A number's feature is 4096 for each scale that it lies from the centre; an indicator that is on is twice that.
STD, ONE, LARGEST_FEATURE = 4096, 8192, 32767
#: A column with more categories has them grouped for the decisions about structure.
MOST_CODES = 32
MASK = (1 << 64) - 1
GOLDEN, SECOND, THIRD = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


# -- hashes ------------------------------------------------------------------------------------------------------------


def mix(x):
    """Return the SplitMix64 finaliser of the next step from x."""
    x = (x + GOLDEN) & MASK
    x = (x ^ (x >> 30)) * SECOND & MASK
    x = (x ^ (x >> 27)) * THIRD & MASK
    return x ^ (x >> 31)


def derive(parent, purpose, detail=b""):
    message = struct.pack("<QI", parent, len(purpose)) + purpose.encode() + detail
    return int.from_bytes(blake2b(message, digest_size=8).digest(), "little")


def key_of_record(name):
    if isinstance(name, str):
        return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")
    return mix(name & MASK)


def key_of_cluster(parent, number):
    return mix((mix(parent ^ GOLDEN) + number) & MASK)


def key_of_scope(parent, scope):
    key = mix(parent ^ THIRD)
    for variable in scope:
        key = mix((key + variable) & MASK)
    return key


def seed_of(random_state):
    written = random_state.to_bytes(random_state.bit_length() // 8 + 1, "little", signed=True)
    return derive(0, "random_state", written)


# -- logarithms --------------------------------------------------------------------------------------------------------


def log(x):
    """Return ln x by the four operations: x is m·2^e with √½ <= m < √2, and ln m is a series in (m - 1)/(m + 1)."""
    if x < 2.0**-1022:
        return -math.inf
    mantissa, exponent = math.frexp(x)
    if mantissa < 0.7071067811865476:
        mantissa, exponent = 2.0 * mantissa, exponent - 1
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    series = 0.0
    for odd in (21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1):
        series = series * (ratio * ratio) + 1.0 / odd
    return 2.0 * ratio * series + exponent * 0.6931471805599453


@cache
def n_log_n(n):
    """Return n·ln n in units of 2^-24."""
    return math.floor(n * log(float(n)) * 2**24 + 0.5) if n > 1 else 0


# -- exact means and deviations ----------------------------------------------------------------------------------------


def nearest_double(fraction):
    return fraction.numerator / fraction.denominator  # Python rounds the quotient of two integers correctly


def mean_of(numbers):
    return nearest_double(sum(map(Fraction, numbers)) / len(numbers))


def variance_of(numbers):
    exact = [Fraction(number) for number in numbers]
    mean = sum(exact) / len(exact)
    return sum((number - mean) ** 2 for number in exact) / len(exact)


def std_of(numbers):
    """Return the root of the variance as the nearest double, by way of a root with hundreds of bits more."""
    variance = variance_of(numbers)
    shift = 2400
    return nearest_double(Fraction(math.isqrt((variance.numerator << 2 * shift) // variance.denominator), 1 << shift))


def floor_log2(fraction):
    exponent = fraction.numerator.bit_length() - fraction.denominator.bit_length()
    return exponent if fraction >= Fraction(2) ** exponent else exponent - 1


# -- columns -----------------------------------------------------------------------------------------------------------


@dataclass
class Number:
    """A numeric column: its values, and what they become for the decisions about structure."""

    values: list
    n_bins: int
    key: int
    #: What numbers are multiples of, if they have a grid.
    unit: float = 1.0
    is_numeric: bool = True
    is_whole: bool = True

    def __post_init__(self):
        observed = [value for value in self.values if value is not None]
        self.scale, self.centre = scale_and_centre(observed)
        bins = crowd_of(observed, self.scale, self.centre) or (self.centre, self.scale)
        self.usual = usual_of(observed, self.scale, self.centre)
        self.is_on_grid = all(math.fmod(value, self.unit) == 0.0 for value in observed)
        self.edges = lay_edges(*bins, self.n_bins, self.usual)
        self.outcomes = list(range(len(self.edges) + 1))
        self.codes = [None if value is None else sum(e < value for e in self.edges) for value in self.values]
        self.features = [None if value is None else self._feature(value) for value in self.values]

    def _feature(self, value):
        scaled = (value - self.centre) / self.scale * STD
        return round(max(-LARGEST_FEATURE, min(LARGEST_FEATURE, scaled)))

    def name_of(self, code):
        return derive(self.key, "bin", bytes([0]))


@dataclass
class Category:
    """A categorical column: its values, and what they become for the decisions about structure."""

    values: list
    key: int
    is_numeric: bool = False

    def __post_init__(self):
        present = {token(value): value for value in self.values if value is not None}
        self.outcomes = sorted(present.values(), key=rank)
        #: Whether each category has a code of its own.
        self.is_whole = len(self.outcomes) <= MOST_CODES
        self.codes = self.features = [None if value is None else self._code(value) for value in self.values]

    def _code(self, value):
        print_ = derive(self.key, "category", token(value))
        return print_ if self.is_whole else print_ % MOST_CODES

    def name_of(self, code):
        return code if self.is_whole else derive(self.key, "group", bytes([code]))


def token(category):
    """Write a category in bytes: what it is, then its value."""
    if isinstance(category, bool):
        return b"b1" if category else b"b0"
    if isinstance(category, str):
        return b"s" + category.encode()
    return b"n" + struct.pack("<d", float(category))


def rank(category):
    return (0 if isinstance(category, bool) else 2 if isinstance(category, str) else 1), category


def scale_and_centre(observed):
    """Return the deviation, rounded down to a power of two, and the mean, rounded to a multiple of two scales."""
    variance = variance_of(observed) if observed else 0
    scale = max(math.ldexp(1.0, floor_log2(variance) // 2), 2.0**-1022) if variance else 1.0
    if not observed or math.isinf(2.0 * scale):
        return scale, 0.0
    mean = mean_of(observed)
    steps = mean / (2.0 * scale) + 0.5
    centre = math.floor(steps) * (2.0 * scale) if math.isfinite(steps) else math.inf
    return scale, centre if math.isfinite(centre) else mean


def crowd_of(observed, scale, centre):
    """Return centre and scale of where three quarters of the values lie close together; None if they do not."""
    if not 2.0**-300 < scale < 2.0**300 or abs(centre) >= 2.0**300:
        return None
    heavy = _heaviest(observed)
    if 4 * heavy[1] >= 3 * len(observed):
        return None
    if 2 * heavy[1] > len(observed):
        observed = [value for value in observed if value != heavy[0]]
        if 4 * _heaviest(observed)[1] >= 3 * len(observed):
            return None
    found, width = None, Fraction(scale) / 4
    while (first := _first_window(observed, width)) is not None:
        found = (float(first) + 2.0) * float(width), float(width)  # in doubles: that of the first may be rounded
        width /= 2
        if width <= Fraction(2) ** -300:
            break
    return found


def usual_of(observed, scale, centre):
    """Return the value that more than half of the values are, but not all; None if the column is out of bounds."""
    value, number = _heaviest(observed)
    within = 2.0**-300 < scale < 2.0**300 and abs(centre) < 2.0**300
    return value + 0.0 if within and 2 * number > len(observed) > number else None


def _heaviest(observed):
    return max(Counter(observed).items(), key=lambda item: item[1], default=(None, 0))


def _first_window(observed, width):
    """Return the first of four neighbouring cells that three quarters of the values lie in, if there are such."""
    cells = sorted(math.floor(Fraction(value) / width) for value in observed)
    needed = -(-3 * len(cells) // 4)
    # A window that has enough with its last cell filled is before all that begin later.
    ends = [cells[i + needed - 1] for i in range(len(cells) - needed + 1) if cells[i + needed - 1] - cells[i] < 4]
    return ends[0] - 3 if ends else None


def lay_edges(centre, scale, n_bins, usual=None):
    steps = [step * (3.0 / (n_bins - 1)) for step in range(2 - n_bins, n_bins, 2)]
    edges = [centre + step * scale for step in steps]
    if usual is not None:
        edges += [math.nextafter(usual, -math.inf), usual]
    return sorted({edge for edge in edges if math.isfinite(edge)})

"""What a cell of a table may hold: a number, a category, or nothing."""

from __future__ import annotations

import struct
from enum import StrEnum
from typing import Any

import numpy as np

Category = str | bool | int | float

#: Up to here every whole number is a double; beyond, neighbours share one.
EXACT = 2**53
_NUMBER_BYTES = 9


class Family(StrEnum):
    """The sort of values that a column holds, as far as its type tells."""

    NUMBER = "number"
    #: Dates with a time or without; those with a time zone are instants.
    DATE = "date"
    INSTANT = "instant"
    TIME = "time of day"
    DURATION = "duration"
    BOOLEAN = "boolean"
    TEXT = "text"
    MIXED = "mixed"
    EMPTY = "missing"

    @property
    def has_zero(self) -> bool:
        """Whether 0 is where values of the family begin, and no date among others."""
        return self in (Family.NUMBER, Family.DURATION)

    @property
    def is_time(self) -> bool:
        """Whether these are dates, times or durations: numbers of seconds to the engine, see `times`."""
        return self in (Family.DATE, Family.INSTANT, Family.TIME, Family.DURATION)

    @property
    def is_numeric(self) -> bool:
        """Whether numbers stand for the values."""
        return self is Family.NUMBER or self.is_time

    def accepts(self, other: Family) -> bool:
        """Tell whether values of the other family can be read by a column of this one."""
        return self is other or self is Family.MIXED or other is Family.EMPTY


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN, pandas' NA or NaT.

    >>> [is_missing(value) for value in (None, float("nan"), 0, "", "nan")]
    [True, True, False, False, False]
    """
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return bool(value != value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return not isinstance(value, str) and type(value).__name__ in ("NAType", "NaTType")


def rank(category: Category) -> tuple[int, Category]:
    """Return what categories of all types can be sorted by: booleans, numbers by value, strings.

    >>> sorted(["b", 2, True, "a", 1.5], key=rank)
    [True, 1.5, 2, 'a', 'b']
    """
    if isinstance(category, bool):
        return 0, category
    return (2 if isinstance(category, str) else 1), category


def token(category: Category) -> bytes:
    """Write a category in its canonical bytes; 1, 1.0 and True are told apart as people would.

    >>> token(1) == token(1.0), token(1) == token(True), token("1") == token(1)
    (True, False, False)
    >>> token(2**53) == token(2.0**53), token(2**53 + 1) == token(2.0**53)
    (True, False)
    """
    if isinstance(category, bool):
        return b"b1" if category else b"b0"
    if isinstance(category, str):
        return b"s" + category.encode("utf-8", "surrogatepass")
    if is_double(category):
        return b"n" + struct.pack("<d", float(category) + 0.0)
    whole = int(category)
    return b"i" + whole.to_bytes(whole.bit_length() // 8 + 1, "little", signed=True)


def read_number_token(written: bytes) -> int | float:
    """Return the number that `token` wrote, or raise a `ValueError`.

    >>> [read_number_token(token(number)) for number in (1.5, 2.0, 2**53 + 1, -(10**30))]
    [1.5, 2, 9007199254740993, -1000000000000000000000000000000]
    """
    if written[:1] == b"i":
        return int.from_bytes(written[1:], "little", signed=True)
    if len(written) != _NUMBER_BYTES:
        raise ValueError("this is no number")
    (number,) = struct.unpack("<d", written[1:])
    return whole_if_it_is(number)


def is_double(number: Any) -> bool:
    """Tell whether a number is one that 64 bits of floating point hold exactly.

    >>> [is_double(number) for number in (0.1, 2**53, 2**53 + 1, 2**60, 10**400)]
    [True, True, False, True, False]
    """
    if not isinstance(number, int | np.integer) or -EXACT <= number <= EXACT:
        return True
    try:
        return float(number) == int(number)
    except OverflowError:
        return False


def whole_if_it_is(number: float) -> int | float:
    """Return a whole number as an integer, whatever its size: so one number is one category, however it was held.

    >>> whole_if_it_is(3.0), whole_if_it_is(2.5), whole_if_it_is(2.0**60)
    (3, 2.5, 1152921504606846976)
    """
    return int(number) if number.is_integer() else number

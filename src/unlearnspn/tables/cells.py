"""What a cell of a table may hold: a number, a category, or nothing."""

from __future__ import annotations

import struct
from enum import StrEnum
from typing import Any

import numpy as np

Category = str | bool | int | float


class Family(StrEnum):
    """The sort of values that a column holds, as far as its type tells."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    TEXT = "text"
    MIXED = "mixed"
    EMPTY = "missing"

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
    """
    if isinstance(category, bool):
        return b"b1" if category else b"b0"
    if isinstance(category, str):
        return b"s" + category.encode("utf-8", "surrogatepass")
    return b"n" + struct.pack("<d", float(category) + 0.0)

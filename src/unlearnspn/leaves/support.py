"""Which values a leaf can model, and refusing those it cannot before anything is learned from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from unlearnspn.coding import CategoricalCoder, Encoding
from unlearnspn.errors import InvalidTableError
from unlearnspn.schema import Kind
from unlearnspn.tables import Category, Column, Table

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Support:
    """The values that a leaf can model, in words, and a test of them.

    The test takes the numbers of a column that are not missing, or its categories, and tells which it accepts;
    without one, everything is accepted.

    >>> COUNTS.words, COUNTS.test(np.array([0.0, 2.0, 0.5, -1.0])).tolist()
    ('whole numbers from 0 to 2**53', [True, True, False, False])
    """

    words: str
    test: Callable[[Any], Mask] | None = None


def _counts(values: Floats) -> Mask:
    # Beyond 2**53 neighbouring doubles are more than 1 apart: those are no counts any more.
    mask: Mask = (values >= 0.0) & (values <= 2.0**53) & (np.floor(values) == values)
    return mask


def _binary(categories: Sequence[Category]) -> Mask:
    boolean = bool(categories) and isinstance(categories[0], bool)
    return np.array([category in (0, 1) and isinstance(category, bool) is boolean for category in categories], bool)


ANY_NUMBER = Support("numbers")
NOT_NEGATIVE = Support("numbers of at least 0", lambda values: values >= 0.0)
POSITIVE = Support("numbers above 0", lambda values: values > 0.0)
COUNTS = Support("whole numbers from 0 to 2**53", _counts)
ANY_CATEGORY = Support("categories")
BINARY = Support("either True and False, or 0 and 1", _binary)


class Supporting(Protocol):
    """What is asked of a leaf here."""

    @property
    def name(self) -> str:
        """The name under which it is shown."""

    @property
    def kind(self) -> Kind:
        """The kind of variable that it models."""

    @property
    def support(self) -> Support:
        """The values that it can model."""


def check_support(leaves: Iterable[Supporting], table: Table, encoding: Encoding | None = None) -> None:
    """Raise unless every leaf can model its column of the table, beside the categories that an encoding knows.

    Numbers must be doubles: a leaf of numbers would take 2**53 + 1 for its neighbour.

    >>> from unlearnspn.leaves import Poisson
    >>> from unlearnspn.tables import read_table
    >>> check_support([Poisson()], read_table([[3], [None], [0]]))
    >>> check_support([Poisson()], read_table([[3], [None], [-1]]))
    Traceback (most recent call last):
      ...
    unlearnspn.errors.InvalidTableError: column 'x0' has the leaf 'poisson', which needs whole numbers from 0 to \
2**53, but row 3 holds -1.0: correct it, mark it as missing, or choose another leaf
    """
    for variable, (leaf, column) in enumerate(zip(leaves, table.columns, strict=True)):
        test, numeric = leaf.support.test, leaf.kind is Kind.NUMERIC
        if numeric:
            column.require_exact()
        if test is None:
            continue
        odd = _odd_number(column, test) if numeric else _odd_category(column, test, _known(encoding, variable))
        if odd is not None:
            row, value = odd
            raise InvalidTableError(
                f"column {column.name!r} has the leaf {leaf.name!r}, which needs {leaf.support.words}, but "
                f"row {row + 1} holds {value!r}: correct it, mark it as missing, or choose another leaf"
            )


def _odd_number(column: Column, test: Callable[[Any], Mask]) -> tuple[int, Category] | None:
    """Return the first row whose number is not accepted, with that number."""
    numbers = column.numbers()
    rows = np.flatnonzero(~np.isnan(numbers))
    rows = rows[~test(numbers[rows])]
    return (int(rows[0]), float(numbers[rows[0]])) if rows.size else None


def _odd_category(
    column: Column, test: Callable[[Any], Mask], known: Sequence[Category]
) -> tuple[int, Category] | None:
    """Return the first row whose category is not accepted after the known ones, with that category."""
    factor = column.factor()
    refused = ~test([*known, *factor.categories])[len(known) :]
    rows = np.flatnonzero(np.append(refused, False)[factor.places])
    return (int(rows[0]), factor.categories[factor.places[rows[0]]]) if rows.size else None


def _known(encoding: Encoding | None, variable: int) -> Sequence[Category]:
    coder = None if encoding is None else encoding.coders[variable]
    return coder.canonical_categories if isinstance(coder, CategoricalCoder) else ()

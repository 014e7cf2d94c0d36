"""Which column is meant: one rule for fits, questions, ids and leaves.

A column is meant by its name as its table has it, `"age"`, but also `0` or `("a", 1)`; or by that name written as text,
as commands have it. The columns of a table without names, such as an array, are called x0, x1 and so on. In a table
in which no column has a number as its name, a number means a position.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unlearnspn.errors import InvalidTableError, listing

#: What a library calls a column: pandas takes more than strings.
Label = str | int | float | None | tuple["Label", ...]


def read_label(label: Any) -> Label:
    """Return a column's name as it can be kept: strings, numbers, and tuples of them; others as strings.

    >>> read_label(np.int64(3)), read_label(("a", 1))
    (3, ('a', 1))
    """
    if isinstance(label, tuple):
        return tuple(read_label(part) for part in label)
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, float) and math.isnan(label):
        return math.nan  # always the same one, so that it is found
    return label if label is None or isinstance(label, str | int | float) else str(label)


@dataclass(frozen=True)
class ColumnNames:
    """The names of some columns: of each all that it may be called, first what it is called in answers.

    >>> names = ColumnNames.of(["age", 7, ("a", 1)])
    >>> names.find(7), names.find("7"), names.find(("a", 1)), names.find(0)
    (1, 1, 2, None)
    >>> ColumnNames.of(["age", "sex"]).find(0)
    0
    """

    called: tuple[tuple[Label, ...], ...]

    @classmethod
    def of(cls, names: Iterable[Label]) -> ColumnNames:
        """Return what the columns of a table may be called, given their names in order."""
        names = list(names)
        if any(isinstance(name, int | float) for name in names):
            return cls(tuple((name, str(name)) for name in names))
        return cls(tuple((name, str(name), position) for position, name in enumerate(names)))

    @cached_property
    def shown(self) -> list[Any]:
        """What the columns are called in answers."""
        return [names[0] for names in self.called]

    @cached_property
    def _places(self) -> dict[Label, int]:
        return {name: place for place, names in enumerate(self.called) for name in names}

    def find(self, name: Any) -> int | None:
        """Return the place of the column that is meant; None if there is none."""
        try:
            return self._places.get(read_label(name))
        except TypeError:  # a list, or what else is no name
            return None

    def require(self, name: Any) -> int:
        """Return the place of the column that is meant, or raise."""
        place = self.find(name)
        if place is None:
            raise InvalidTableError(f"there is no column {name!r}; the columns are {listing(self.shown)}")
        return place

    def means_one(self, names: Any) -> bool:
        """Tell whether this is the name of one column, and no list of them."""
        return isinstance(names, str) or (not isinstance(names, list) and self.find(names) is not None)

    def listed(self, names: Any) -> list[Any]:
        """Return names that are given alone or as a list, as a list."""
        if self.means_one(names):
            return [names]
        try:
            return list(names)
        except TypeError:
            return [names]

    def only(self, places: Sequence[int]) -> ColumnNames:
        """Return the names of some of the columns."""
        return ColumnNames(tuple(self.called[place] for place in places))

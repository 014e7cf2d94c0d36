"""Where a table came from, so that answers can be given as the same kind of table.

An `Origin` names the library and the type of each column. It holds no value and no category: those come from the
model when a table is written, so that nothing of a record that was removed can come back with them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from unlearnspn.errors import InvalidTableError, listing

#: What a library calls a column: pandas takes more than strings.
Label = str | int | float | None | tuple["Label", ...]

_DEEPEST = 4  # a pandas category, of Arrow's, which are a dictionary, of strings


class Library(StrEnum):
    """What a table can be held in."""

    PANDAS = "pandas"
    POLARS = "polars"
    PYARROW = "pyarrow"
    NUMPY = "numpy"
    MASKED = "numpy.ma"
    #: Lists of lists, and whatever else numpy makes an array of; answers are arrays.
    LISTS = "lists"


@dataclass(frozen=True)
class CellType:
    """The type of a column in the words of its library; only that library's holder can read them."""

    name: str
    #: What the name leaves open: precision and scale, storage, order.
    details: tuple[str | int, ...] = ()
    #: The type of the categories, if these are categories.
    of: CellType | None = None

    @property
    def whole(self) -> bool:
        """Whether the type holds whole numbers only, in whatever library.

        >>> [CellType(name).whole for name in ("int64", "UInt8", "<i4", "double", "category")]
        [True, True, True, False, False]
        """
        if self.of is not None and self.name == "arrow":
            return self.of.whole
        return re.fullmatch(r"(u?int\d+|[<>|=]?[iu]\d)", self.name.lower()) is not None

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest number that the type holds; any, if its name does not tell.

        >>> [CellType(name).limits for name in ("uint8", "<i1", "double")]
        [(0.0, 255.0), (-128.0, 127.0), (-inf, inf)]
        """
        if self.of is not None and self.name == "arrow":
            return self.of.limits
        found = re.fullmatch(r"(u?int|float)(\d+)|[<>|=]?([iuf])(\d)", self.name.lower())
        if found is None:
            return -math.inf, math.inf
        kind, bits = (found[1][0], int(found[2])) if found[1] else (found[3], 8 * int(found[4]))
        if kind == "f":
            largest = {16: 65504.0, 32: (2.0 - 2.0**-23) * 2.0**127}.get(bits, math.inf)
            return -largest, largest
        return (0.0, 2.0**bits - 1.0) if kind == "u" else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the type as JSON can hold it."""
        inner = None if self.of is None else self.of.to_dict()
        return {"name": self.name, "details": list(self.details), "of": inner}

    @classmethod
    def from_dict(cls, plain: Any, depth: int = _DEEPEST) -> Self:
        """Read what `to_dict` gave; anything else is refused."""
        name, details, inner = _entries(plain, "name", "details", "of")
        _require(isinstance(name, str) and isinstance(details, list) and depth > 0, plain)
        _require(all(isinstance(detail, str | int) for detail in details), plain)
        return cls(name, tuple(details), None if inner is None else CellType.from_dict(inner, depth - 1))


@dataclass(frozen=True)
class ColumnOrigin:
    """One column: its name in the model, its name in its table, and its type."""

    name: str
    label: Label
    type: CellType

    def to_dict(self) -> dict[str, Any]:
        """Return the column as JSON can hold it."""
        return {"name": self.name, "label": _plain_label(self.label), "type": self.type.to_dict()}

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """Read what `to_dict` gave; anything else is refused."""
        name, label, cell_type = _entries(plain, "name", "label", "type")
        _require(isinstance(name, str), plain)
        return cls(name, _read_label(label), CellType.from_dict(cell_type))


@dataclass(frozen=True)
class Origin:
    """The library that a table came from, and the types of its columns.

    >>> origin = Origin.arrays(["age", "sex"])
    >>> Origin.from_dict(origin.to_dict()) == origin
    True
    """

    library: Library
    columns: tuple[ColumnOrigin, ...]

    @classmethod
    def arrays(cls, names: Iterable[str]) -> Self:
        """Return the origin of a model that came from no table: answers are arrays."""
        return cls(Library.LISTS, tuple(ColumnOrigin(name, name, ANYTHING) for name in names))

    @property
    def names(self) -> list[str]:
        """The names of the columns in the model."""
        return [column.name for column in self.columns]

    def only(self, names: Iterable[str]) -> Origin:
        """Return the origin of a table with some of the columns, in the order given.

        >>> Origin.arrays(["age", "sex", "income"]).only(["income", "age"]).names
        ['income', 'age']
        """
        by_name = {column.name: column for column in self.columns}
        wanted = list(names)
        unknown = [name for name in wanted if name not in by_name]
        if unknown:
            raise InvalidTableError(f"there are no columns {listing(unknown)}; the columns are {listing(by_name)}")
        return Origin(self.library, tuple(by_name[name] for name in wanted))

    def to_dict(self) -> dict[str, Any]:
        """Return the origin as JSON can hold it."""
        return {"library": self.library.value, "columns": [column.to_dict() for column in self.columns]}

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """Read what `to_dict` gave; anything else is refused."""
        library, columns = _entries(plain, "library", "columns")
        _require(library in list(Library) and isinstance(columns, list), plain)
        return cls(Library(library), tuple(ColumnOrigin.from_dict(column) for column in columns))


#: The type of a column that takes whatever it is given.
ANYTHING = CellType("anything")


def read_label(label: Any) -> Label:
    """Return a column's name as it can be kept: strings, numbers, and tuples of them; others as strings."""
    if isinstance(label, tuple):
        return tuple(read_label(part) for part in label)
    return label if label is None or isinstance(label, str | int | float) else str(label)


def _plain_label(label: Label) -> Any:
    return [_plain_label(part) for part in label] if isinstance(label, tuple) else label


def _read_label(plain: Any, depth: int = _DEEPEST) -> Label:
    if isinstance(plain, list) and depth > 0:
        return tuple(_read_label(part, depth - 1) for part in plain)
    _require(plain is None or isinstance(plain, str | int | float), plain)
    label: Label = plain
    return label


def _entries(plain: Any, *keys: str) -> list[Any]:
    _require(isinstance(plain, Mapping) and set(plain) == set(keys), plain)
    return [plain[key] for key in keys]


def _require(condition: bool, plain: Any) -> None:
    if not condition:
        raise ValueError(f"this describes no table's origin: {str(plain)[:200]}")

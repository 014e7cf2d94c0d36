"""Where a table came from, so that answers can be given as the same kind of table.

An `Origin` names the library and the type of each column. It holds no value and no category: those come from the
model when a table is written, so that nothing of a record that was removed can come back with them. The exception are
types that declare their categories and the order of them: ordered categories, and polars' Enums. Their lists are part
of the schema, as names and types are: public, and there whether or not a record has the category.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from unlearnspn.errors import InvalidTableError, listing
from unlearnspn.tables.cells import Category, token
from unlearnspn.tables.names import ColumnNames, Label

#: The types of dates, times and durations, called alike in all libraries; what they count in is a detail.
TIMES = ("date", "datetime", "time", "duration")
_HOLDERS_OF_OTHERS = ("arrow", "sparse", "object", "Object", "O", "anything")
_DAY = 86_400.0
#: From the year 1 to the year 9999, in seconds from 1970 on.
_FIRST, _LAST = -62_135_596_800.0, 253_402_300_799.0
_LARGEST_TICK = 2.0**63 - 1024.0
_TICKS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}

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
    #: A mapping, or a series of pandas, that is one row; answers of more rows are arrays.
    ROW = "row"


@dataclass(frozen=True)
class CellType:
    """The type of a column in the words of its library; only that library's holder can read them."""

    name: str
    #: What the name leaves open: precision and scale, storage, order.
    details: tuple[str | int, ...] = ()
    #: The type of the categories, if these are categories.
    of: CellType | None = None
    #: The categories in their order, if the type declares them.
    declared: tuple[Category, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether the type holds whole numbers only, in whatever library.

        >>> [CellType(name).whole for name in ("int64", "UInt8", "<i4", "double", "category")]
        [True, True, True, False, False]
        """
        if self.of is not None and self.name in ("arrow", "sparse"):
            return self.of.whole
        return re.fullmatch(r"(u?int\d+|[<>|=]?[iu]\d)", self.name.lower()) is not None

    @property
    def step(self) -> float | None:
        """What all values of the type are multiples of, if it is a step that counts, in seconds for dates and times.

        >>> [CellType(name).step for name in ("int64", "double", "date")], CellType("datetime", ("us", "")).step
        ([1.0, None, 86400.0], None)
        """
        own = self.time
        if own is None:
            return 1.0 if self.whole else None
        if own.name == "date":
            return _DAY
        return 1.0 if own.details[:1] == ("s",) else None

    @property
    def time(self) -> CellType | None:
        """The type of dates, times or durations that this is, or that it holds as objects; None if it is no such."""
        if self.name in TIMES:
            return self if self.name == "date" or (self.details and self.details[0] in _TICKS) else None
        return self.of.time if self.of is not None and self.name in _HOLDERS_OF_OTHERS else None

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest number that the type holds; any, if its name does not tell.

        >>> [CellType(name).limits for name in ("uint8", "<i1", "double")]
        [(0.0, 255.0), (-128.0, 127.0), (-inf, inf)]
        """
        if self.name in TIMES:
            return self._time_limits
        if self.of is not None and self.name in _HOLDERS_OF_OTHERS and self.name != "sparse":
            return self.of.limits
        found = re.fullmatch(r"(u?int|float)(\d+)|[<>|=]?([iuf])(\d)", self.name.lower())
        if found is None:
            return -math.inf, math.inf
        kind, bits = (found[1][0], int(found[2])) if found[1] else (found[3], 8 * int(found[4]))
        if kind == "f":
            largest = {16: 65504.0, 32: (2.0 - 2.0**-23) * 2.0**127}.get(bits, math.inf)
            return -largest, largest
        return (0.0, 2.0**bits - 1.0) if kind == "u" else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1.0)

    @property
    def _time_limits(self) -> tuple[float, float]:
        per_second = 1.0 if self.name == "date" else _TICKS.get(str(self.details[0]), 1.0)
        reach = _LARGEST_TICK / per_second
        if self.name == "duration":
            reach = min(reach, 86_399_999_913_600.0)  # the longest that Python knows
            return -reach, reach
        if self.name == "time":
            return 0.0, _DAY - 1.0 / per_second
        return max(_FIRST, -reach), min(_LAST if self.name == "datetime" else _LAST - _DAY + 1.0, reach)

    def to_dict(self) -> dict[str, Any]:
        """Return the type as JSON can hold it."""
        inner = None if self.of is None else self.of.to_dict()
        plain = {"name": self.name, "details": list(self.details), "of": inner}
        return plain | ({"declared": list(self.declared)} if self.declared else {})

    @classmethod
    def from_dict(cls, plain: Any, depth: int = _DEEPEST) -> Self:
        """Read what `to_dict` gave; anything else is refused."""
        _require(isinstance(plain, Mapping), plain)
        name, details, inner, declared = _entries({"declared": [], **plain}, "name", "details", "of", "declared")
        _require(isinstance(name, str) and isinstance(details, list) and isinstance(declared, list), plain)
        _require(depth > 0 and all(isinstance(detail, str | int) for detail in details), plain)
        _require(all(isinstance(category, str | bool | int | float) for category in declared), plain)
        _require(len(set(map(token, declared))) == len(declared), plain)
        of = None if inner is None else CellType.from_dict(inner, depth - 1)
        return cls(name, tuple(details), of, tuple(declared))


@dataclass(frozen=True)
class ColumnOrigin:
    """One column: its name in the model, its name in its table, and its type."""

    name: str
    label: Label
    type: CellType

    def to_dict(self) -> dict[str, Any]:
        """Return the column as JSON can hold it."""
        return {"name": self.name, "label": plain_label(self.label), "type": self.type.to_dict()}

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """Read what `to_dict` gave; anything else is refused."""
        name, label, cell_type = _entries(plain, "name", "label", "type")
        _require(isinstance(name, str), plain)
        return cls(name, label_of(label), CellType.from_dict(cell_type))


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

    @property
    def column_names(self) -> ColumnNames:
        """What the columns are called; the labels of arrays' columns are their positions."""
        is_frame = self.library in (Library.PANDAS, Library.POLARS, Library.PYARROW)
        return ColumnNames.of(column.label if is_frame else column.name for column in self.columns)

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


def plain_label(label: Label) -> Any:
    """Return a column's name as JSON can hold it."""
    return [plain_label(part) for part in label] if isinstance(label, tuple) else label


def label_of(plain: Any, depth: int = _DEEPEST) -> Label:
    """Return the name that `plain_label` gave; anything else is refused."""
    if isinstance(plain, list) and depth > 0:
        return tuple(label_of(part, depth - 1) for part in plain)
    _require(plain is None or isinstance(plain, str | int | float), plain)
    label: Label = plain
    return label


def _entries(plain: Any, *keys: str) -> list[Any]:
    _require(isinstance(plain, Mapping) and set(plain) == set(keys), plain)
    return [plain[key] for key in keys]


def _require(condition: bool, plain: Any) -> None:
    if not condition:
        raise ValueError(f"this describes no table's origin: {str(plain)[:200]}")

"""The columns of a circuit: their names, their kinds, and the categories that they know, in canonical order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.grids import Grid
from unlearnspn.errors import InvalidTableError, listing
from unlearnspn.schema import Kind, Schema, Variable
from unlearnspn.tables import Category, Family, token
from unlearnspn.tables.cells import is_double
from unlearnspn.tables.names import ColumnNames, Label
from unlearnspn.tables.origins import ANYTHING, CellType, Origin
from unlearnspn.tables.times import USUAL_TYPES

#: Of a column of which nobody knows between which numbers its records are.
EVERYWHERE = (-math.inf, math.inf)


@dataclass(frozen=True)
class Domain:
    """One column: what its values may be."""

    name: str
    kind: Kind
    family: Family
    categories: tuple[Category, ...] = ()
    #: Whether nearly every record had a category of its own.
    identifies: bool = False
    #: Whether a record has a number below 0, one with a fraction, a date with a time.
    has_negative: bool = True
    has_fraction: bool = False
    has_time: bool = False
    #: The smallest and the largest number that a record has.
    span: tuple[float, float] = EVERYWHERE
    #: What its values are multiples of, if they are.
    grid: Grid | None = None

    def on_grid(self, cell_type: CellType) -> Domain:
        """Return the column with the grid that its type and its records speak for."""
        step = None if self.kind is Kind.CATEGORICAL else cell_type.step
        if step is None or self.has_fraction or (step > 1.0 and self.has_time):
            if not self._ends:
                return self if self.grid is None else replace(self, grid=None)
            step = 0.0
        least, largest = cell_type.limits if cell_type.time or step else USUAL_TYPES[self.family].limits
        # What is counted is counted from 0; dates have no beginning.
        lowest = least if self.has_negative or not self.family.has_zero else max(least, 0.0)
        return replace(self, grid=Grid(step, lowest, largest))

    @property
    def _ends(self) -> bool:
        """Whether values of any fineness end somewhere: times of day, and durations none of which is negative."""
        return self.family is Family.TIME or (self.family is Family.DURATION and not self.has_negative)

    def written_as(self, cell_type: CellType) -> CellType:
        """Return the type that answers have: one that can hold what its records are finer in than its type."""
        if self.kind is Kind.CATEGORICAL or cell_type.step is None or not self._is_finer(cell_type):
            return cell_type
        return USUAL_TYPES.get(self.family, ANYTHING)

    def _is_finer(self, cell_type: CellType) -> bool:
        grid = self.on_grid(cell_type).grid
        return grid is None or grid.step == 0.0

    @cached_property
    def index(self) -> dict[bytes, int]:
        """The place of each category."""
        return {token(category): place for place, category in enumerate(self.categories)}

    def place(self, category: Category) -> int:
        """Return the place of a category, or the one after the last for a category never seen."""
        return self.index.get(token(category), len(self.categories))

    @cached_property
    def known_numbers(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
        """The categories that are doubles, sorted, and their places."""
        pairs = sorted(
            (float(category), place)
            for place, category in enumerate(self.categories)
            if not isinstance(category, bool | str) and is_double(category)
        )
        return np.array([n for n, _ in pairs], np.float64), np.array([p for _, p in pairs], np.int32)


@dataclass(frozen=True)
class Domains:
    """All columns of a circuit, in order."""

    columns: tuple[Domain, ...]
    #: A column that tables may have beside these, and that is no variable.
    id_column: Label = None
    #: What people call the columns, if not by these names.
    called: ColumnNames | None = None

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @cached_property
    def schema(self) -> Schema:
        """The columns as a schema, to check tables against."""
        return Schema(
            tuple(Variable(column.name, column.kind, column.family) for column in self.columns), self.id_column
        )

    @cached_property
    def is_numeric(self) -> npt.NDArray[np.bool_]:
        """Which columns are numeric."""
        return np.array([column.kind is Kind.NUMERIC for column in self.columns], np.bool_)

    @cached_property
    def slots(self) -> npt.NDArray[np.int32]:
        """Each column's number among those of its kind."""
        numeric = self.is_numeric
        return np.where(numeric, np.cumsum(numeric) - 1, np.cumsum(~numeric) - 1).astype(np.int32)

    @cached_property
    def n_categories(self) -> npt.NDArray[np.int64]:
        """How many categories each column knows; 0 for numeric ones."""
        return np.array([len(column.categories) for column in self.columns], np.int64)

    @cached_property
    def column_names(self) -> ColumnNames:
        """What people call the columns."""
        return ColumnNames.of(self.names) if self.called is None else self.called

    @property
    def identifying(self) -> list[Any]:
        """The columns in which nearly every record had a category of its own, as people call them."""
        pairs = zip(self.column_names.shown, self.columns, strict=True)
        return [name for name, column in pairs if column.identifies]

    def variable(self, name: Any) -> int:
        """Return a column's number by what people call it, or raise."""
        return self.column_names.require(name)

    def variables(self, names: Any) -> list[int]:
        """Return the numbers of some columns, given by one name or several, each once."""
        wanted = [(name, self.variable(name)) for name in self.column_names.listed(names)]
        numbers = Counter(number for _, number in wanted)
        twice = sorted({str(name) for name, number in wanted if numbers[number] > 1})
        if twice:
            raise InvalidTableError(f"columns {listing(twice)} are listed more than once")
        return [number for _, number in wanted]

    def described(self, origin: Origin) -> Domains:
        """Return the columns with the names and grids that they have where they came from."""
        pairs = zip(self.columns, origin.columns, strict=True)
        columns = tuple(column.on_grid(own.type) for column, own in pairs)
        return replace(self, columns=columns, called=origin.column_names)

    def restricted(self, variables: Sequence[int]) -> Domains:
        """Return some of the columns."""
        called = None if self.called is None else self.called.only(variables)
        return Domains(tuple(self.columns[v] for v in variables), self.id_column, called)

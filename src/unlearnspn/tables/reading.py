"""Reading tables: pandas, polars, Arrow and anything else narwhals knows, or a 2-D array.

A `Table` is a list of columns that are either numbers or categories; nothing after this module knows where they
came from, but for the `Origin`, by which `writing` gives answers as the same kind of table.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.errors import InvalidTableError, listing
from unlearnspn.tables.columns import Column, read_objects, read_vector
from unlearnspn.tables.holders import as_objects, holder_of
from unlearnspn.tables.names import ColumnNames, Label, read_label
from unlearnspn.tables.origins import ColumnOrigin, Library, Origin


@dataclass(frozen=True)
class Table:
    """Columns of equal length; `named` tells whether the names were given or made up."""

    columns: list[Column]
    n_rows: int
    named: bool
    #: Where the table came from, if it came from anywhere.
    origin: Origin | None = None

    @property
    def names(self) -> list[str]:
        """The columns' names within a model."""
        return [column.name for column in self.columns]

    @property
    def column_names(self) -> ColumnNames:
        """What the columns are called."""
        return ColumnNames.of(self.names) if self.origin is None else self.origin.column_names

    @property
    def has_text_names(self) -> bool:
        """Whether all columns were given strings as names."""
        return self.named and all(isinstance(name, str) for name in self.column_names.shown)

    def rows(self, start: int, end: int) -> Table:
        """Return some of the rows, without copying them.

        >>> read_table([[1.5, "a"], [None, "b"], [2.5, "b"]]).rows(1, 3).columns[1].factor().categories
        ['b']
        """
        columns = [column.rows(start, end) for column in self.columns]
        return replace(self, columns=columns, n_rows=len(range(self.n_rows)[start:end]))

    def take(self, rows: npt.NDArray[np.int64]) -> Table:
        """Return the rows that are listed.

        >>> read_table([[1.5, "a"], [None, "b"], [2.5, "c"]]).take(np.array([2, 0])).columns[1].factor().categories
        ['a', 'c']
        """
        return replace(self, columns=[column.take(rows) for column in self.columns], n_rows=len(rows))

    def without(self, name: Label) -> Table:
        """Return the table without a column, if it has it.

        >>> read_table([[1.5, "a"], [None, "b"]]).without("x0").names
        ['x1']
        """
        left_out = self.column_names.find(name)
        columns = [column for place, column in enumerate(self.columns) if place != left_out]
        origin = None if self.origin is None else self.origin.only(column.name for column in columns)
        return replace(self, columns=columns, origin=origin)

    def in_order(self, names: Sequence[str]) -> Table:
        """Return the table with its columns in another order.

        >>> read_table([[1.5, "a"], [None, "b"]]).in_order(["x1", "x0"]).names
        ['x1', 'x0']
        """
        by_name = {column.name: column for column in self.columns}
        origin = None if self.origin is None else self.origin.only(names)
        return replace(self, columns=[by_name[name] for name in names], origin=origin)

    @staticmethod
    def joined(tables: Sequence[Table]) -> Table:
        """Return tables of the same columns, whose values are of the same form, as one.

        >>> Table.joined([read_table([[1.5], [2.5]]), read_table([[3.5]])]).columns[0].values
        array([1.5, 2.5, 3.5])
        """
        by_column = zip(*(table.columns for table in tables), strict=True)
        columns = [replace(parts[0], values=np.concatenate([part.values for part in parts])) for parts in by_column]
        return replace(tables[0], columns=columns, n_rows=sum(table.n_rows for table in tables))


@dataclass(frozen=True)
class OpenTable:
    """A table before its columns are read."""

    library: Library
    #: The table as it came, or the array that was made of it.
    native: Any
    names: list[str]
    #: The names as the library has them; the columns of arrays have numbers.
    labels: list[Any]
    n_rows: int
    #: Reads a column by its position.
    read: Callable[[int], Column]
    #: Returns a column as the library has it.
    own_column: Callable[[int], Any]

    @property
    def is_array(self) -> bool:
        """Whether the table has no names of its own."""
        return self.library in (Library.NUMPY, Library.MASKED, Library.LISTS)

    def positions(self, without: Label) -> list[int]:
        """Return the positions of all columns but one, if the table has names."""
        everything = list(range(len(self.labels)))
        if without is None or self.is_array:
            return everything
        return [position for position in everything if read_label(self.labels[position]) != without]

    def named(self, positions: list[int]) -> bool:
        """Tell whether names were given to some columns: none are in arrays, and pandas just counts from 0 if not."""
        return not self.is_array and [self.labels[position] for position in positions] != list(range(len(positions)))

    def origin(self, positions: list[int]) -> Origin:
        """Describe some of the columns."""
        holder = holder_of(self.library)
        return Origin(
            self.library,
            tuple(
                ColumnOrigin(
                    self.names[position],
                    read_label(self.labels[position]),
                    holder.type_of(self.own_column(position)),
                )
                for position in positions
            ),
        )


def read_table(X: Any, without: Label = None) -> Table:
    """Read whatever people hold tables in, leaving out one column if it is there.

    >>> read_table([[1.5, "a"], [None, "b"]]).names
    ['x0', 'x1']
    """
    if isinstance(X, Table):
        return X if without is None else X.without(without)
    table = open_table(X)
    positions = table.positions(without)
    if not positions:
        raise InvalidTableError(
            f"the table has no columns: 0 feature(s) (shape=({table.n_rows}, 0)) while a minimum of 1 is required."
        )
    columns = [table.read(position) for position in positions]
    return Table(columns, table.n_rows, table.named(positions), table.origin(positions))


def column_meant(X: Any, name: Any) -> Label:
    """Return the name of the column that holds ids, if `name` is one and not the ids themselves; else None.

    >>> column_meant([[1, 2]], "customer"), column_meant([[1, 2]], [7])
    ('customer', None)
    """
    if isinstance(name, str):
        return name
    if not isinstance(name, Hashable) or name is None or isinstance(X, Table):
        return None
    frame = _frame(X)
    label = read_label(name)
    return label if frame is not None and label in map(read_label, frame.columns) else None


def is_column(values: Any, column: Label) -> bool:
    """Tell whether this is the name of a column that is known, and not what such a column holds."""
    return isinstance(values, str) or (isinstance(values, int | float | tuple) and values == column)


def read_column(X: Any, name: Label) -> list[Any]:
    """Return one column of a table as Python objects, unconverted."""
    if isinstance(X, Table):
        place = X.column_names.find(name)
        if place is None:
            raise _no_ids(name, X.column_names.shown)
        own: list[Any] = X.columns[place].objects().tolist()
        return own
    row = as_row(X)
    if row is not None:
        if name not in row:
            raise _no_ids(name, list(row))
        return [row[name]]
    frame = _frame(X)
    if frame is None:
        raise InvalidTableError(f"X has no column names, so ids={name!r} names no column: pass the ids themselves")
    labels = list(map(read_label, frame.columns))
    if name not in labels:
        raise _no_ids(name, labels)
    values: list[Any] = list(frame.iter_columns())[labels.index(name)].to_list()
    return values


def _no_ids(name: Label, names: list[Any]) -> InvalidTableError:
    return InvalidTableError(f"there is no column {name!r} for the ids; the table has {listing(names)}")


def open_table(X: Any) -> OpenTable:
    """Find out what holds a table and what its columns are called."""
    row = as_row(X)
    if row is not None:
        return _open_row(X, row)
    frame = _frame(X)
    if frame is None:
        return _open_array(X)
    from unlearnspn.tables.frames import open_frame  # noqa: PLC0415

    return open_frame(frame)


def as_row(X: Any) -> dict[Any, Any] | None:
    """Return one row by the names of its columns: a mapping, or a series of pandas with names as its index.

    >>> as_row({"age": 41, "sex": "f"}), as_row([[41, "f"]])
    ({'age': 41, 'sex': 'f'}, None)
    """
    if isinstance(X, Mapping) and not hasattr(X, "toarray"):  # as one kind of sparse matrix is
        many = [name for name, value in X.items() if isinstance(value, list | tuple | np.ndarray | Mapping)]
        if many or not X:
            raise InvalidTableError(
                "X must be a table, or a mapping with one value for each column, which is one row"
                + (
                    f", but columns {listing(many)} have several: make a table of it, with pandas.DataFrame(X) for one"
                    if many
                    else ""
                )
            )
        return dict(X)
    if type(X).__name__ != "Series" or not hasattr(X, "index") or not hasattr(X, "items"):
        return None
    labels = list(X.index)
    is_row = bool(labels) and all(isinstance(label, str) for label in labels) and len(set(labels)) == len(labels)
    return dict(X.items()) if is_row else None


def _open_row(X: Any, row: dict[Any, Any]) -> OpenTable:
    labels = list(row)
    names = [str(label) for label in labels]
    cells = [as_objects([value]) for value in row.values()]

    def read(position: int) -> Column:
        return read_objects(names[position], cells[position].tolist())

    return OpenTable(Library.ROW, X, names, labels, 1, read, cells.__getitem__)


def cut_rows(X: Any, n_rows: int) -> Iterator[Any]:
    """Yield parts of a table with so many rows each; what cannot be cut comes whole.

    >>> [len(part) for part in cut_rows(np.zeros((5, 2)), 2)], len(list(cut_rows([[1.5], [2.5]], 1)))
    ([2, 2, 1], 1)
    """
    frame = None if isinstance(X, Table) else _frame(X)
    whole: Any = X if isinstance(X, np.ndarray) and X.ndim == 2 else frame
    if whole is None or len(whole) <= n_rows:
        yield X
        return
    for start in range(0, len(whole), n_rows):
        part = whole[start : start + n_rows]
        yield part if frame is None else part.to_native()


def _frame(X: Any) -> Any:
    """Return X as a narwhals frame, or None if it is no table with named columns."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    # Only now: whoever reads no such table does not wait for the import of narwhals.
    from unlearnspn.tables.frames import as_frame  # noqa: PLC0415

    return as_frame(X)


def _open_array(X: Any) -> OpenTable:
    if hasattr(X, "toarray"):
        raise InvalidTableError("sparse matrices are not supported: pass X.toarray()")
    if isinstance(X, str | bytes) or not (hasattr(X, "__len__") or hasattr(X, "__array__")):
        raise InvalidTableError(f"X must be a table or a 2-D array, not {type(X).__name__}")
    library = Library.LISTS
    if isinstance(X, np.ndarray):
        library = Library.MASKED if isinstance(X, np.ma.MaskedArray) else Library.NUMPY
    try:
        array = X if library is Library.MASKED else np.asarray(X, X.dtype if library is Library.NUMPY else object)
    except ValueError as error:
        raise InvalidTableError(f"X cannot be read as a table: {error}") from error
    if array.ndim != 2:
        raise InvalidTableError(
            f"Expected 2D array, got {array.ndim}D array instead: X must have rows and columns. "
            "Reshape your data with X.reshape(-1, 1) if it has one column"
        )
    numbers = list(range(array.shape[1]))
    names = [f"x{number}" for number in numbers]

    def read(position: int) -> Column:
        return read_vector(names[position], _unmasked(array[:, position]))

    def own_column(position: int) -> Any:
        return array[:, position]

    return OpenTable(library, array, names, numbers, array.shape[0], read, own_column)


def _unmasked(vector: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a vector in which what is masked is missing."""
    if not isinstance(vector, np.ma.MaskedArray):
        return vector
    if vector.dtype.kind in "mM":
        return vector.filled(np.array(["NaT"], vector.dtype)[0])  # of its unit: NumPy 2.5 deprecates one of none
    objects = vector.data.astype(object)
    objects[np.ma.getmaskarray(vector)] = None
    return objects

"""What the tables of a vault look like: columns, ids and subjects; every table that comes must be of that form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from unlearnspn.errors import InvalidTableError, RecordIdError, listing
from unlearnspn.identifying import identifies
from unlearnspn.ids import RecordId, read_ids, require_unique
from unlearnspn.slices import Rows
from unlearnspn.storage.errors import StorageError
from unlearnspn.storage.models import describe_origin, read_origin
from unlearnspn.tables import Family, Table, column_meant, is_column, is_missing, read_column, read_table
from unlearnspn.tables.names import Label
from unlearnspn.tables.origins import Origin, label_of, plain_label

_NAMES = {"columns", "id_column", "subject_column", "string_ids", "origin"}


class ColumnForm(NamedTuple):
    """A column's name, the sort of its values, and whether its type says that they are categories."""

    name: str
    family: Family
    categorical: bool


class Batch(NamedTuple):
    """Records that were read: a table, and for each of its rows the id and the subject, if it has one."""

    table: Table
    ids: list[RecordId]
    subjects: list[str | None]

    def take(self, rows: Rows) -> Batch:
        """Return the records that are listed."""
        listed = rows.tolist()
        return Batch(self.table.take(rows), [self.ids[row] for row in listed], [self.subjects[row] for row in listed])

    def in_order(self) -> Batch:
        """Return the records in the order of their ids."""
        return self.take(np.array(sorted(range(len(self.ids)), key=self.ids.__getitem__), np.int64))

    def identifying(self) -> list[str]:
        """Return the columns of categories in which nearly every record has one of its own."""
        factors = {column.name: column.factor() for column in self.table.columns if column.categorical}
        return [name for name, each in factors.items() if identifies(np.bincount(each.places[each.places >= 0]))]


@dataclass(frozen=True)
class Form:
    """The columns of a vault's records, and which of a table's columns are ids and subjects."""

    columns: tuple[ColumnForm, ...]
    id_column: Label
    subject_column: Label
    string_ids: bool
    origin: Origin | None

    @classmethod
    def first(cls, X: Any, ids: Any, subjects: Any) -> tuple[Form, Batch]:
        """Read a vault's first table, which gives the form."""
        id_column, subject_column = column_meant(X, ids), column_meant(X, subjects)
        if id_column is not None and id_column == subject_column:
            raise InvalidTableError(f"column {id_column!r} cannot hold both the ids and the subjects")
        batch = _read(X, ids, subjects, id_column, subject_column)
        if not batch.table.columns:
            raise InvalidTableError("the table has no columns but ids and subjects: there is nothing to learn from")
        columns = tuple(ColumnForm(c.name, c.family, c.categorical) for c in batch.table.columns)
        is_text = isinstance(batch.ids[0], str)
        return cls(columns, id_column, subject_column, is_text, batch.table.origin), batch

    def read(
        self, X: Any, ids: Any = None, subjects: Any = None, held: Callable[[list[RecordId]], Batch] | None = None
    ) -> tuple[Form, Batch]:
        """Read one more table; the form is another one afterwards if it tells more of a column that was empty.

        Columns and subjects that it lacks are those of the records `held`, if these are given.
        """
        ids = self.id_column if ids is None else ids
        if ids is None:
            raise RecordIdError("pass the ids of the records: the vault's first table had no column of ids either")
        lacks_subjects = subjects is None and held is not None and not _has_column(X, self.subject_column)
        if subjects is None and not lacks_subjects:
            subjects = self._subjects_in(X)
        batch = _read(X, ids, subjects, self.id_column, self.subject_column)
        if isinstance(batch.ids[0], str) != self.string_ids:
            kind = "texts" if self.string_ids else "integers"
            raise RecordIdError(f"the records have {kind} as ids, but {batch.ids[0]!r} is another kind")
        if held is not None and (lacks_subjects or len(batch.table.columns) < len(self.columns)):
            batch = _completed(batch, held(batch.ids), lacks_subjects)
        table = self._arranged(batch.table)
        columns = tuple(map(_merged, self.columns, table.columns))
        return replace(self, columns=columns), batch._replace(table=table)

    def read_id(self, text: str) -> RecordId:
        """Read an id as people type it: a number if the records have numbers."""
        if self.string_ids:
            return text
        try:
            return int(text)
        except ValueError as error:
            raise RecordIdError(f"the records have integers as ids, and {text!r} is none") from error

    def _subjects_in(self, X: Any) -> Any:
        """Return the column of subjects, if the vault has one; a table without it has no subjects."""
        if self.subject_column is None:
            return None
        try:
            read_column(X, self.subject_column)
        except InvalidTableError as error:
            raise InvalidTableError(
                f"there is no column {self.subject_column!r} for the subjects, which the vault's first table had"
            ) from error
        return self.subject_column

    def _arranged(self, table: Table) -> Table:
        """Return a table with its columns in order, or raise unless it has the same ones."""
        names = [column.name for column in self.columns]
        missing = [name for name in names if name not in table.names]
        extra = [name for name in table.names if name not in names]
        if missing or extra:
            found = [f"missing: {listing(missing)}"] if missing else []
            found += [f"unknown: {listing(extra)}"] if extra else []
            raise InvalidTableError(f"the table has other columns than the vault ({'; '.join(found)})")
        by_name = {column.name: column for column in table.columns}
        return replace(table, columns=[by_name[name] for name in names])

    # -- as JSON ---------------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Return the form as JSON values."""
        return {
            "columns": [[name, family.value, categorical] for name, family, categorical in self.columns],
            "id_column": plain_label(self.id_column),
            "subject_column": plain_label(self.subject_column),
            "string_ids": self.string_ids,
            "origin": describe_origin(self.origin),
        }

    @classmethod
    def from_description(cls, described: Any) -> Form:
        """Return the form that was described, or raise."""
        if not isinstance(described, Mapping) or set(described) != _NAMES:
            raise StorageError("the vault does not say what its tables are like")
        columns = tuple(ColumnForm(name, Family(family), flag) for name, family, flag in described["columns"])
        origin = read_origin(described["origin"])
        id_column, subject_column = (label_of(described[name]) for name in ("id_column", "subject_column"))
        return cls(columns, id_column, subject_column, described["string_ids"], origin)


def _read(X: Any, ids: Any, subjects: Any, id_column: Label, subject_column: Label) -> Batch:
    names = read_ids(read_column(X, ids) if is_column(ids, id_column) else ids)
    table = read_table(X, without=id_column)
    table = table if subject_column is None else table.without(subject_column)
    if table.n_rows == 0:
        raise InvalidTableError("the table has no rows")
    if len(names) != table.n_rows:
        raise RecordIdError(f"there are {len(names)} ids for {table.n_rows} rows")
    require_unique(names)
    if is_column(subjects, subject_column):
        subjects = read_column(X, subjects)
    return Batch(table, names, _read_subjects(subjects, table.n_rows))


def _has_column(X: Any, name: Label) -> bool:
    try:
        read_column(X, name)
    except InvalidTableError:
        return False
    return True


def _completed(batch: Batch, held: Batch, lacks_subjects: bool) -> Batch:
    """Return corrected records with the columns that they lack, and the subjects, of those that are held."""
    stay = [column for column in held.table.columns if column.name not in batch.table.names]
    columns = [*batch.table.columns, *stay] if batch.table.named else batch.table.columns
    table = replace(batch.table, columns=columns, origin=None)
    return Batch(table, batch.ids, held.subjects if lacks_subjects else batch.subjects)


def _read_subjects(subjects: Any, number: int) -> list[str | None]:
    if subjects is None:
        return [None] * number
    listed: Sequence[Any] = list(subjects)
    if len(listed) != number:
        raise RecordIdError(f"there are {len(listed)} subjects for {number} rows")
    return [read_subject(subject) for subject in listed]


def read_subject(subject: Any) -> str | None:
    """Return a subject as a text, whatever the column's type; None if it is missing.

    >>> [read_subject(subject) for subject in ("p-7", 7, 7.0, float("nan"))]
    ['p-7', '7', '7', None]
    """
    if is_missing(subject):
        return None
    if isinstance(subject, float) and subject.is_integer():
        subject = int(subject)
    return str(subject)


def _merged(known: ColumnForm, column: Any) -> ColumnForm:
    """Return what is known of a column once more of it has been seen, or raise if it holds values of another sort."""
    if known.family is Family.EMPTY:
        return ColumnForm(known.name, column.family, column.categorical)
    if known.family.accepts(column.family):
        return known
    raise InvalidTableError(
        f"column {known.name!r} held {known.family} values before and now holds {column.family} values "
        f"({column.odd_value(known.family)}): convert it to the kind it had"
    )

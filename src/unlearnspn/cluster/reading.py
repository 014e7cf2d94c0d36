"""Reading partitions where they are, and finding out whether all of them are parts of one table."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from unlearnspn.errors import InvalidTableError, RecordIdError, listing, warn_outside
from unlearnspn.estimators.targets import Target, beside, read_target
from unlearnspn.ids import RecordId, read_ids, require_unique
from unlearnspn.schema import Schema
from unlearnspn.tables import Column, Family, Table, open_table, read_column, read_table
from unlearnspn.tables.names import Label
from unlearnspn.tables.origins import Origin


class Part(NamedTuple):
    """A partition as it came: its number, the table, and the classes of its rows if there are any."""

    number: int
    table: Any
    classes: Any = None


@dataclass(frozen=True)
class Reading:
    """How partitions are to be read."""

    id_column: Label = None
    #: The name of the classes' column, if there are classes.
    target: str | None = None
    categorical_features: Any = "from_dtype"


class Summary(NamedTuple):
    """What is told of a partition before anything is counted."""

    number: int
    n_rows: int
    #: A table without rows that is like the partition.
    like: Table
    #: None where there are no rows, or no ids of their own.
    string_ids: bool | None
    label_dtype: str
    warnings: list[tuple[type[Warning], str]]


class ReadPart(NamedTuple):
    """A partition that was read; ids are None where records are to be numbered."""

    number: int
    ids: list[RecordId] | None
    table: Table

    def numbered(self, start: int) -> ReadPart:
        """Return the partition with numbers as ids."""
        return self._replace(ids=list(range(start, start + self.table.n_rows)))


def read_part(part: Part, reading: Reading) -> tuple[ReadPart, Summary]:
    """Read a partition; errors name it."""
    with in_partition(part.number), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read, target = _read(part, reading)
    ids, table = read.ids, read.table
    like = replace(table, columns=[_without_rows(column) for column in table.columns], n_rows=0)
    summary = Summary(
        part.number,
        table.n_rows,
        like,
        isinstance(ids[0], str) if ids else None,
        "" if target is None else target.dtype,
        [(warning.category, str(warning.message)) for warning in caught],
    )
    return read, summary


def _read(part: Part, reading: Reading) -> tuple[ReadPart, Target | None]:
    table, ids, target = read_table(part.table, without=reading.id_column), None, None
    if reading.id_column is not None:
        ids = read_ids(read_column(part.table, reading.id_column)) if table.n_rows else []
        require_unique(ids)
    if table.n_rows:
        Schema.of(table, reading.categorical_features, reading.id_column)
    if reading.target is not None:
        target = read_target(part.classes, reading.target, open_table(part.table).library)
        table = beside(table, target)
    return ReadPart(part.number, ids, table), target


@contextmanager
def in_partition(number: int) -> Iterator[None]:
    """Say in every error in which partition it occurred."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise type(error)(f"partition {number}: {error}") from error


def _without_rows(column: Column) -> Column:
    return replace(column, values=column.values[:0], distinct=None if column.distinct is None else [])


class Agreement(NamedTuple):
    """What all partitions agree on."""

    #: A table without rows that is like all of them together.
    like: Table
    string_ids: bool
    label_dtype: str
    #: By partition: how many rows it has.
    n_rows: dict[int, int]


def agree(summaries: Sequence[Summary], reading: Reading) -> Agreement:
    """Return what the partitions agree on, or raise if they are not parts of one table."""
    summaries = sorted(summaries)
    filled = [summary for summary in summaries if summary.n_rows]
    if not filled:
        raise InvalidTableError("the table is empty: 0 sample(s), while a minimum of 1 is required")
    first = filled[0]
    for other in summaries:
        _require_same_columns(first, other)
    columns = [_agreed_column(filled, place, reading) for place in range(len(first.like.columns))]
    like = replace(first.like, columns=[column for column, _ in columns])
    if like.origin is not None:
        like = replace(like, origin=Origin(like.origin.library, tuple(origin for _, origin in columns)))
    for category, message in {(category, message) for each in filled for category, message in each.warnings}:
        warn_outside(message, category)
    kinds = {summary.string_ids: summary.number for summary in reversed(filled)}
    if len(kinds) > 1:
        raise RecordIdError(
            f"ids must be all integers or all strings, but partition {kinds[False]} has integers and partition "
            f"{kinds[True]} strings"
        )
    return Agreement(like, bool(first.string_ids), first.label_dtype, {each.number: each.n_rows for each in summaries})


def _require_same_columns(first: Summary, other: Summary) -> None:
    if other.like.names == first.like.names:
        return
    missing = [name for name in first.like.names if name not in other.like.names]
    extra = [name for name in other.like.names if name not in first.like.names]
    told = [f"it lacks {listing(missing)}"] if missing else []
    told += [f"it has {listing(extra)} besides"] if extra else []
    raise InvalidTableError(
        f"partition {other.number} has other columns than partition {first.number}: "
        + (" and ".join(told) or "they are in another order")
    )


def _agreed_column(filled: Sequence[Summary], place: int, reading: Reading) -> tuple[Column, Any]:
    """Return what a column is in all partitions that have values of it, and its type."""
    known = [summary for summary in filled if summary.like.columns[place].family is not Family.EMPTY] or filled[:1]
    first = known[0]
    column, kind = first.like.columns[place], _type_of(first, place)
    for other in known:
        if _type_of(other, place) != kind:
            raise _other_types(column.name, first.number, kind, other.number, _type_of(other, place))
    families = {summary.like.columns[place].family: summary.number for summary in reversed(known)}
    if len(families) > 1:
        if reading.categorical_features is None or isinstance(reading.categorical_features, str):
            (family, number), (more, another) = list(families.items())[:2]
            raise _other_types(column.name, number, f"{family} values", another, f"{more} values")
        column = replace(column, family=Family.MIXED, categorical=False)
    return column, None if first.like.origin is None else first.like.origin.columns[place]


def _type_of(summary: Summary, place: int) -> Any:
    origin = summary.like.origin
    return None if origin is None else origin.columns[place].type


def _other_types(name: str, one: int, kind: Any, other: int, more: Any) -> InvalidTableError:
    kind, more = (getattr(each, "name", each) for each in (kind, more))
    return InvalidTableError(
        f"column {name!r} holds {kind} in partition {one}, but {more} in partition {other}: convert it to one type"
    )


def number_rows(n_rows: dict[int, int]) -> dict[int, int]:
    """Return the number of the first row of each partition."""
    starts = np.cumsum([0, *(n_rows[number] for number in sorted(n_rows))])
    return dict(zip(sorted(n_rows), starts.tolist(), strict=False))

"""What is held on a person: their records as rows, for access and for taking them elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlearnspn.tables import Column, is_missing
from unlearnspn.tables.holders import as_objects
from unlearnspn.tables.origins import CellType
from unlearnspn.tables.times import DAY, USUAL_TYPES, objects_of
from unlearnspn.vault.forms import Batch, Form


@dataclass(frozen=True)
class HeldRecords:
    """Records with their ids and subjects, in the order of their ids; a value that is missing is None."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return each record as a dictionary."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def held_records(form: Form, batches: Iterable[Batch]) -> HeldRecords:
    """Return records as rows; columns of whole numbers have integers, as they had when they came."""
    whole = set() if form.origin is None else {each.name for each in form.origin.columns if each.type.whole}
    times = {} if form.origin is None else {each.name: each.type.time for each in form.origin.columns}
    rows: list[tuple[Any, ...]] = []
    for batch in batches:
        columns = [_values(column, column.name in whole, times.get(column.name)) for column in batch.table.columns]
        rows += zip(batch.ids, batch.subjects, *columns, strict=True)
    has_subjects = form.subject_column is not None or any(row[1] is not None for row in rows)
    named = [(form.id_column, "id"), (form.subject_column, "subject"), *((each.name, "") for each in form.columns)]
    names = [default if name is None else str(name) for name, default in named]
    if not has_subjects:
        del names[1]
        rows = [(row[0], *row[2:]) for row in rows]
    return HeldRecords(tuple(names), tuple(sorted(rows, key=lambda row: row[0])))


def _values(column: Column, whole: bool, time: CellType | None) -> list[Any]:
    if column.family.is_time and time is not None:
        # A date that came with a time keeps it.
        finer = time.name == "date" and (np.mod(column.values, DAY) > 0.0).any()
        return objects_of(USUAL_TYPES[column.family] if finer else time, column.values)
    if column.distinct is None:
        return [_value(value, whole) for value in column.objects().tolist()]
    # As they are stored: a record that has just come may have decimals, or numpy's numbers.
    categories, places = column.factor()
    return [*as_objects([*categories, None])[places]]


def _value(value: Any, whole: bool) -> Any:
    if is_missing(value):
        return None
    return int(value) if whole and isinstance(value, float) and value.is_integer() else value

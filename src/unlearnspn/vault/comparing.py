"""Whether records that come are those that are there already, so that an interrupted ingest can be run again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from unlearnspn.errors import RecordIdError, listing
from unlearnspn.ids import RecordId
from unlearnspn.tables import Column, is_missing
from unlearnspn.vault.forms import Batch


def without_known(batch: Batch, known: list[bool], held: Iterable[Batch]) -> Batch | None:
    """Leave out records that are there already with the same values; raise if they are there with others."""
    if not any(known):
        return batch
    again = batch.take(np.flatnonzero(known))
    before: dict[RecordId, tuple[Any, ...]] = {}
    for part in held:
        before.update(_lines(part))
    other = [item for item, line in _lines(again).items() if before[item] != line]
    if other:
        raise RecordIdError(
            f"these ids exist already, with other values: {listing(other)}; use rectify to replace their values"
        )
    fresh = np.flatnonzero(~np.array(known))
    return batch.take(fresh) if fresh.size else None


def _lines(batch: Batch) -> dict[RecordId, tuple[Any, ...]]:
    columns = [_cells(column) for column in batch.table.columns]
    return dict(zip(batch.ids, zip(batch.subjects, *columns, strict=True), strict=True))


def _cells(column: Column) -> list[Any]:
    """Return values so that those which are the same are equal, and others are not."""
    return [_cell(value) for value in column.objects().tolist()]


def _cell(value: Any) -> Any:
    if is_missing(value):
        return None
    return (type(value), value) if isinstance(value, bool) else value

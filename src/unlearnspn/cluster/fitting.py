"""Learning from partitions: what they agree on first, then whether ids are unique, then the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from unlearnspn.cluster.asking import Ask, Shards
from unlearnspn.cluster.reading import Agreement, Reading, agree, number_rows
from unlearnspn.errors import RecordIdError
from unlearnspn.schema import Schema
from unlearnspn.settings import Settings
from unlearnspn.tables import Table

E = TypeVar("E")


class Opened(NamedTuple):
    """What shards have read, ready to be learned from."""

    shards: Shards
    settings: Settings
    string_ids: bool
    n_records: int
    #: A table without rows that is like all partitions.
    like: Table
    label_dtype: str

    @property
    def n_features(self) -> int:
        """How many columns there are beside the classes."""
        return len(self.like.columns) - (self.settings.target is not None)


def open_shards(shards: Shards, reading: Reading, settings_for: Callable[[Schema, Table], Settings]) -> Opened:
    """Have shards read their partitions, and take the values if all of them are parts of one table."""
    summaries = [summary for part in shards.ask([Ask("read", (reading,))])[0] for summary in part]
    agreement = agree(summaries, reading)
    settings = settings_for(_schema(agreement, reading), agreement.like)
    n_records = sum(agreement.n_rows.values())
    starts = {} if reading.id_column is not None else number_rows(agreement.n_rows)
    open_records(shards, settings, agreement.string_ids, starts)
    return Opened(shards, settings, agreement.string_ids, n_records, agreement.like, agreement.label_dtype)


def open_records(shards: Shards, settings: Settings, string_ids: bool, starts: Mapping[int, int] | None = None) -> None:
    """Have shards take the values of what they have read, with ids that must be unique, or numbered by partition."""
    shards.ask([Ask("open", (settings, string_ids, starts))])
    if not starts:
        _require_unique(shards)


def _schema(agreement: Agreement, reading: Reading) -> Schema:
    like = agreement.like
    if reading.target is None:
        return Schema.of(like, reading.categorical_features, reading.id_column)
    features = like.without(like.names[-1])
    target = like.columns[-1]
    schema = Schema.of(features, reading.categorical_features, reading.id_column)
    return schema.with_target(target.name, target.family)


def _require_unique(shards: Shards) -> None:
    """Raise if an id is in two partitions, and name those; shards compare the keys of ids among themselves."""
    repeated = np.concatenate(shards.exchange(Ask("split_keys", (shards.number,)), Ask("repeated_keys")))
    if not repeated.size:
        return
    found: dict[int | str, list[int]] = {}
    for part in shards.ask([Ask("ids_with", (repeated[:100],))])[0]:
        for item, number in part:
            found.setdefault(item, []).append(number)
    twice = {item: sorted(numbers) for item, numbers in found.items() if len(numbers) > 1}
    if not twice:
        raise RecordIdError("two ids have the same 64-bit hash: rename one of them, or use integer ids")
    told = [f"{item!r} in partitions {' and '.join(map(str, numbers))}" for item, numbers in sorted(twice.items())]
    raise RecordIdError(f"ids must be unique, but these occur more than once: {', '.join(told[:5])}")

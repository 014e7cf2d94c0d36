"""Records in a file: ids, raw values and categories, in the order of the ids.

Nothing else of them is stored. Keys, codes, features, coders and digests follow from these, as at a fit: so they cannot
contradict the records, and categories get their canonical codes back, whatever the history of the model was.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress, pairwise

import numpy as np
import numpy.typing as npt

from unlearnspn.ids import RecordId
from unlearnspn.records import Records
from unlearnspn.schema import Kind, Schema
from unlearnspn.slices import Rows
from unlearnspn.storage.columns import pack_categories, take_categories
from unlearnspn.storage.container import Array
from unlearnspn.storage.entries import Entries, narrow
from unlearnspn.storage.errors import StorageError
from unlearnspn.storage.texts import pack_texts, take_texts
from unlearnspn.tables import Table
from unlearnspn.tables.cells import Category, Family, token
from unlearnspn.tables.columns import Column


def canonical_rows(records: Records) -> Rows:
    """Return the slots of all records in the order of their ids."""
    rows = records.rows
    return rows[np.argsort(records.ids[rows], kind="stable")]


def pack_records(records: Records, rows: Rows) -> dict[str, Array]:
    """Return the arrays that hold the records of some slots, in that order, and the categories that they have."""
    encoding, schema = records.encoding, records.schema
    places = np.zeros((len(rows), records.levels.shape[1]), np.int64)
    categories: list[tuple[Category, ...]] = []
    for v, variable in enumerate(schema.variables):
        if variable.kind is Kind.NUMERIC:
            categories.append(())
            continue
        coder, levels = encoding.categorical(v), records.levels[rows, records.place[v]]
        occurs = np.bincount(levels + 1, minlength=len(coder.categories) + 1)[1:][coder.canonical_codes] > 0
        by_level = np.zeros(len(coder.categories) + 1, np.int64)  # 0, also reached as level -1, is missing
        by_level[coder.canonical_codes] = np.cumsum(occurs) * occurs
        places[:, records.place[v]] = by_level[levels]
        categories.append(tuple(compress(coder.canonical_categories, occurs.tolist())))
    return {
        **_pack_ids(records.ids_of(rows)),
        "values": records.values[rows],
        "places": narrow(places),
        **pack_categories(categories),
    }


def _pack_ids(ids: list[RecordId]) -> dict[str, Array]:
    texts = [item.encode("utf-8", "surrogatepass") for item in ids if isinstance(item, str)]
    return pack_texts("ids", texts) if texts else {"ids": np.array(ids, np.int64)}


@dataclass(frozen=True)
class StoredRecords:
    """What a file says of the records."""

    ids: list[RecordId]
    table: Table
    categories: list[tuple[Category, ...]]


def take_records(entries: Entries, schema: Schema, number: int, string_ids: bool) -> StoredRecords:
    """Take the ids and the values of so many records, or raise."""
    ids = _take_ids(entries, number, string_ids)
    is_numeric = [variable.kind is Kind.NUMERIC for variable in schema.variables]
    values = entries.take("values", np.float64, number, sum(is_numeric))
    categories = take_categories(entries, schema)
    most = max(map(len, categories), default=0)
    numbers = entries.take_integers("places", most + 1, number, len(is_numeric) - sum(is_numeric))
    columns: list[Column] = []
    numeric, categorical = iter(values.T), iter(numbers.T)
    for variable, known in zip(schema.variables, categories, strict=True):
        if variable.kind is Kind.NUMERIC:
            columns.append(Column(variable.name, variable.family, next(numeric)))
        else:
            places = _occurring(variable.name, known, next(categorical))
            columns.append(Column(variable.name, Family.MIXED, places, distinct=list(known)))
    return StoredRecords(ids, Table(columns, number, named=True), categories)


def restore_records(stored: StoredRecords, schema: Schema, seed: int, n_bins: int) -> Records:
    """Return the records as a fit makes them; the categories must be in canonical order."""
    records = Records.learn(schema, seed, n_bins, stored.ids, stored.table)
    for v, categories in enumerate(stored.categories):
        canonical = records.encoding.categorical(v).canonical_categories if categories else ()
        if [*map(token, canonical)] != [*map(token, categories)]:
            raise StorageError(f"the categories of column {schema.names[v]!r} are not in order")
    return records


def _take_ids(entries: Entries, number: int, strings: bool) -> list[RecordId]:
    if strings:
        texts = take_texts(entries, "ids", number)
        # In UTF-8 the order of the bytes is that of the texts.
        _require_order(all(a < b for a, b in pairwise(texts)))
        try:
            return [text.decode("utf-8", "surrogatepass") for text in texts]
        except UnicodeDecodeError as error:
            raise StorageError("an id is no text") from error
    numbers = entries.take("ids", np.int64, number)
    _require_order(bool((numbers[1:] > numbers[:-1]).all()))
    return list(numbers.tolist())


def _require_order(ordered: bool) -> None:
    if not ordered:
        raise StorageError("the ids are not in order, or one occurs twice")


def _occurring(name: str, categories: tuple[Category, ...], places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the place of each record's category, -1 where it is missing; each category must occur."""
    counts = np.bincount(places, minlength=len(categories) + 1)
    if len(counts) > len(categories) + 1:
        raise StorageError(f"a record has a category that column {name!r} does not have")
    if not counts[1:].all():
        raise StorageError(f"column {name!r} has a category that no record has")
    return places - 1

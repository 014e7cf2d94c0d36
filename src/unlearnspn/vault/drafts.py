"""Records before there is a model: kept as the tables they came in, in chunks, from which they can be removed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any

import numpy as np

from unlearnspn.ids import RecordId
from unlearnspn.schema import Kind, Schema, Variable
from unlearnspn.storage.columns import describe_schema, pack_categories, read_schema, take_categories
from unlearnspn.storage.container import Array, Container, pack, unpack
from unlearnspn.storage.entries import Entries, narrow
from unlearnspn.storage.texts import pack_texts, take_texts
from unlearnspn.tables import Category, Column, Family, Table, is_missing
from unlearnspn.vault.forms import Batch, Form
from unlearnspn.vault.pages import PageStore

_KIND = "draft"
_PREFIX = "draft "
#: So many records go into a chunk, which is written anew when one of them is removed.
_CHUNK_ROWS = 10_000


class Drafts:
    """The records of a vault that has no model yet."""

    def __init__(self) -> None:
        self._chunks: dict[str, Batch] = {}
        self._places: dict[RecordId, str] = {}
        self._changed: set[str] = set()
        self._next = 0

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, item: RecordId) -> bool:
        return item in self._places

    @property
    def ids(self) -> list[RecordId]:
        """The ids of all records."""
        return list(self._places)

    def add(self, batch: Batch) -> None:
        """Keep more records."""
        for start in range(0, batch.table.n_rows, _CHUNK_ROWS):
            end = start + _CHUNK_ROWS
            chunk = Batch(batch.table.rows(start, end), batch.ids[start:end], batch.subjects[start:end])
            name = f"{_PREFIX}{self._next}"
            self._next += 1
            self._put(name, chunk)
            self._changed.add(name)

    def remove(self, ids: Sequence[RecordId]) -> None:
        """Remove records, which must be there."""
        gone = set(ids)
        for name in {self._places.pop(item) for item in ids}:
            chunk = self._chunks[name]
            kept = np.array([place for place, item in enumerate(chunk.ids) if item not in gone], np.int64)
            self._chunks[name] = chunk.take(kept)
            self._changed.add(name)

    def of_subject(self, subject: str) -> list[RecordId]:
        """Return the ids of a subject's records."""
        pairs = ((c.ids[i], s) for c in self._chunks.values() for i, s in enumerate(c.subjects))
        return [item for item, found in pairs if found == subject]

    def those_with_records(self, subjects: set[str]) -> set[str]:
        """Return those of some subjects that have records."""
        return subjects & {subject for chunk in self._chunks.values() for subject in chunk.subjects}

    def find(self, ids: Sequence[RecordId]) -> Iterator[Batch]:
        """Yield the records with some ids, chunk by chunk, in no particular order."""
        wanted = set(ids)
        for name in sorted({self._places[item] for item in ids}):
            chunk = self._chunks[name]
            rows = np.array([place for place, item in enumerate(chunk.ids) if item in wanted], np.int64)
            yield chunk.take(rows)

    def all(self, form: Form) -> Batch:
        """Return all records as one table."""
        chunks = [chunk for chunk in self._chunks.values() if chunk.ids]
        columns = []
        for place, (name, family, categorical) in enumerate(form.columns):
            parts = [chunk.table.columns[place] for chunk in chunks]
            columns.append(joined_column(name, family, categorical, parts))
        ids = [item for chunk in chunks for item in chunk.ids]
        subjects = [subject for chunk in chunks for subject in chunk.subjects]
        return Batch(Table(columns, len(ids), True, form.origin), ids, subjects)

    def _put(self, name: str, chunk: Batch) -> None:
        self._chunks[name] = chunk
        self._places.update(dict.fromkeys(chunk.ids, name))

    # -- storing ---------------------------------------------------------------------------------------------------

    def save(self, store: PageStore) -> None:
        """Store what has changed."""
        for name in sorted(self._changed):
            if self._chunks[name].ids:
                store.save(name, np.frombuffer(b"".join(pack(_packed(self._chunks[name]))), np.uint8))
                continue
            del self._chunks[name]
            if name in store.names:
                store.remove(name)
        self._changed.clear()

    @classmethod
    def load(cls, store: PageStore) -> Drafts:
        """Read what was stored."""
        drafts = cls()
        for name in store.names:
            if name.startswith(_PREFIX):
                drafts._put(name, _unpacked(unpack(store.load(name).tobytes(), _KIND)))
                drafts._next = max(drafts._next, 1 + int(name.removeprefix(_PREFIX)))
        return drafts

    @staticmethod
    def erase(store: PageStore) -> None:
        """Erase what was stored."""
        for name in store.names:
            if name.startswith(_PREFIX):
                store.remove(name)


def joined_column(name: str, family: Family, categorical: bool, parts: Sequence[Column]) -> Column:
    """Join the parts of a column; parts without any value have no family of their own."""
    if family.is_numeric and all(part.inexact_row() is None for part in parts):
        return Column(name, family, np.concatenate([part.numbers() for part in parts]), categorical)
    objects = np.concatenate([part.objects() for part in parts])
    distinct: dict[tuple[type, Any], int] = {}
    values = objects.tolist()
    present = [not is_missing(value) for value in values]
    keys = [distinct.setdefault((type(value), value), len(distinct)) for value in compress(values, present)]
    places = np.full(len(values), -1, np.int64)
    places[present] = keys
    return Column(name, family, places, categorical, [value for _, value in distinct])


def _packed(chunk: Batch) -> Container:
    variables: list[Variable] = []
    categories: list[list[Category]] = []
    numbers: list[Array] = []
    places: list[Array] = []
    for column in chunk.table.columns:
        # Numbers that no double holds can only be kept as categories can.
        numeric = column.family.is_numeric and column.inexact_row() is None
        kind = Kind.NUMERIC if numeric else Kind.CATEGORICAL
        variables.append(Variable(column.name, kind, column.family))
        if kind is Kind.NUMERIC:
            numbers.append(column.numbers())
            categories.append([])
        else:
            factor = column.factor()
            categories.append(factor.categories)
            places.append(factor.places + 1)
    flags = [column.categorical for column in chunk.table.columns]
    n_rows, texts = len(chunk.ids), [item for item in chunk.ids if isinstance(item, str)]
    ids = pack_texts("ids", [_encoded(item) for item in texts]) if texts else {"ids": np.array(chunk.ids, np.int64)}
    document = {
        "schema": describe_schema(Schema(tuple(variables))),
        "categorical": flags,
        "n_rows": n_rows,
        "string_ids": bool(texts),
        "has_subject": [subject is not None for subject in chunk.subjects],
    }
    arrays = {
        **ids,
        **pack_texts("subjects", [_encoded(subject or "") for subject in chunk.subjects]),
        "numbers": np.array(numbers, np.float64).reshape(len(numbers), n_rows),
        "places": narrow(np.array(places, np.int64).reshape(len(places), n_rows)),
        **pack_categories(categories),
    }
    return Container(_KIND, document, arrays)


def _unpacked(container: Container) -> Batch:
    document, entries = container.document, Entries(container.arrays)
    schema, n_rows = read_schema(document["schema"]), document["n_rows"]
    n_numeric = sum(variable.kind is Kind.NUMERIC for variable in schema.variables)
    numbers = iter(entries.take("numbers", np.float64, n_numeric, n_rows))
    places = iter(entries.take_integers("places", 1 << 31, len(schema.variables) - n_numeric, n_rows))
    categories = take_categories(entries, schema)
    columns = []
    for variable, known, flag in zip(schema.variables, categories, document["categorical"], strict=True):
        if variable.kind is Kind.NUMERIC:
            columns.append(Column(variable.name, variable.family, next(numbers), flag))
        else:
            columns.append(Column(variable.name, variable.family, next(places) - 1, flag, list(known)))
    if document["string_ids"]:
        ids: list[RecordId] = [_decoded(text) for text in take_texts(entries, "ids", n_rows)]
    else:
        ids = entries.take("ids", np.int64, n_rows).tolist()
    texts = take_texts(entries, "subjects", n_rows)
    pairs = zip(texts, document["has_subject"], strict=True)
    subjects = [_decoded(text) if present else None for text, present in pairs]
    entries.finish()
    return Batch(Table(columns, n_rows, named=True), ids, subjects)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogatepass")

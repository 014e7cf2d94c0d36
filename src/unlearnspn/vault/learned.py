"""What a vault holds once there is a model: the records by slot, the network's nodes, and whose records they are.

Of the records only what history has a part in is stored: which slot a record is in, which code a category has. All else
follows from these and is derived on opening; that it is what it was, the state's digest tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unlearnspn.certificates import Digests
from unlearnspn.coding import CategoricalCoder
from unlearnspn.errors import InvalidTableError, RecordIdError
from unlearnspn.identifying import warn_of
from unlearnspn.ids import RecordId
from unlearnspn.leaves import check_support
from unlearnspn.model import Model
from unlearnspn.parameters import Parameters, read_settings
from unlearnspn.rare_categories import HiddenCell, HiddenCells
from unlearnspn.records import Records
from unlearnspn.schema import Schema
from unlearnspn.settings import Settings
from unlearnspn.slices import Rows
from unlearnspn.spn.dump import load_network
from unlearnspn.spn.report import Report
from unlearnspn.storage import settings as stored_settings
from unlearnspn.storage.blocks import decode_with_blocks, encode_with_blocks, known_blocks
from unlearnspn.storage.columns import read_tokens
from unlearnspn.storage.errors import StorageError
from unlearnspn.tables import Category, Column, Table, token
from unlearnspn.tables.names import Label
from unlearnspn.tables.origins import Origin
from unlearnspn.vault.errors import DamagedVaultError
from unlearnspn.vault.forms import Batch, Form
from unlearnspn.vault.nodes import StoredNodes
from unlearnspn.vault.pages import PageStore, Stretches
from unlearnspn.vault.texts import TextColumn

#: The arrays of a model, and those that have a line for each slot.
_NETWORK, _MODEL = "network", "model"
_TOKENS, _LENGTHS, _COUNTS = "categories.tokens", "categories.lengths", "categories.counts"
_BY_SLOT = ("live", "values", "levels")
_IDS, _SUBJECTS, _HIDDEN = "ids", "subjects", "hidden"
_TEXT_PARTS = ("texts", "starts", "lengths")
#: Whose parameters a vault's are.
_ESTIMATOR = "SPN"


class Learned:
    """A model with its records and their subjects; knows what has to be stored after a change."""

    def __init__(
        self,
        model: Model,
        parameters: Parameters,
        subjects: TextColumn,
        id_texts: TextColumn | None,
        nodes: StoredNodes | None = None,
    ) -> None:
        is_stored = nodes is not None
        self.model = model
        self.parameters = parameters
        self.subjects = subjects
        self._id_texts = id_texts
        self._nodes = StoredNodes() if nodes is None else nodes
        #: What has changed since everything was stored: some slots, or more than that.
        self._slots: list[Rows] = []
        self._rewritten = not is_stored
        self._stored_encoding = self.model.records.encoding if is_stored else None
        self._stored_hidden = list(self.model.hidden) if is_stored else None

    @classmethod
    def fit(cls, batch: Batch, id_column: Label, parameters: Parameters) -> Learned:
        """Learn from scratch; where records lie follows from their ids, so that it tells nothing of what was before."""
        batch = batch.in_order()
        schema = Schema.of(batch.table, parameters.categorical_features, id_column)
        settings = read_settings(parameters, schema, batch.table.column_names)
        check_support(settings.leaves, batch.table)
        model = Model.learn(settings, batch.ids, batch.table)
        warn_of(model.identifying, "samples and exported circuits of this model show")
        id_texts = TextColumn.of(batch.ids) if isinstance(batch.ids[0], str) else None  # type: ignore[arg-type]
        return cls(model, parameters, TextColumn.of(batch.subjects), id_texts)

    # -- reading ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.model.n_records

    @property
    def digests(self) -> Digests:
        """The digests of the released model and of all kept state."""
        return Digests(*self.model.digests)

    @property
    def settings_digest(self) -> str:
        """The digest of schema, parameters and seed."""
        return self.model.settings.all.hex()

    def holds(self, ids: Sequence[RecordId]) -> list[bool]:
        """Tell of each id whether a record that is held has it."""
        found: list[bool] = self.model.holds(ids).tolist()
        return found

    def of_subject(self, subject: str) -> list[RecordId]:
        """Return the ids of a subject's records."""
        return self.model.records.ids_of(self.subjects.find(subject))

    def those_with_records(self, subjects: set[str]) -> set[str]:
        """Return those of some subjects that have records."""
        return self.subjects.those_there(subjects)

    def batch(self, form: Form, rows: Rows | None = None) -> Batch:
        """Return some records, or all, as they were read."""
        records = self.model.records
        rows = records.rows if rows is None else rows
        columns = []
        for v, (name, family, categorical) in enumerate(form.columns):
            place = records.place[v]
            if records.is_numeric[v]:
                columns.append(
                    Column(name, records.schema.variables[v].family, records.values[rows, place], categorical)
                )
                continue
            categories: list[Any] = list(records.encoding.categorical(v).categories)
            places = records.levels[rows, place].astype(np.int64)
            columns.append(Column(name, family, places, categorical, categories))
        ids = records.ids_of(rows)
        table = self.model.hidden.put_back(Table(columns, len(rows), True, form.origin), ids)
        return Batch(table, ids, self.subjects.get(rows))

    # -- changing --------------------------------------------------------------------------------------------------

    def revise(self, minus: Sequence[RecordId], plus: Batch | None, dry_run: bool) -> Report:
        """Remove some records and add others, all or nothing; if this raises, throw the whole object away."""
        model, records = self.model, self.model.records
        left = records.find(minus)
        subjects_before = self.subjects
        ids, table = ([], None) if plus is None else (plus.ids, plus.table)
        report = model.revise(minus, ids, table, dry_run)
        if dry_run:
            return report
        self._nodes.drop(model.dropped)
        if model.records is not records:
            self._follow(records, subjects_before, plus)
            return report
        moved, slots = model.moved
        subjects = [*([] if plus is None else plus.subjects), *self.subjects.get(slots)]
        ids, left = [*ids, *moved], np.concatenate([left, slots])
        came = model.records.find(ids)
        self._slots += [left, came]
        for texts, new in ((self._id_texts, ids), (self.subjects, subjects)):
            if texts is not None:
                texts.resize(model.records.capacity)
                texts.wipe(left)
                texts.put(came, new)  # type: ignore[arg-type]
        return report

    def _follow(self, before: Records, subjects: TextColumn, plus: Batch | None) -> None:
        """Give subjects to records that were given other slots."""
        rows = before.rows
        by_id = dict(zip(before.ids_of(rows), subjects.get(rows), strict=True))
        if plus is not None:
            by_id.update(zip(plus.ids, plus.subjects, strict=True))
        records = self.model.records
        self.subjects = TextColumn.of([by_id[item] for item in records.ids_of(records.rows)])
        if self._id_texts is not None:
            self._id_texts = TextColumn.of(records.ids.tolist())
        self._rewritten = True

    # -- storing ---------------------------------------------------------------------------------------------------

    def save(self, store: PageStore) -> None:
        """Store what has changed since the last time."""
        model, records = self.model, self.model.records
        slots = None
        if self._rewritten:
            self._make_way(store)
        else:
            slots = np.unique(np.concatenate([*self._slots, np.zeros(0, np.int64)]))
        self._nodes.put(model.root)
        self._nodes.save(store)
        described = {"root": model.root.number, "records": records.multiset.tobytes().hex()}
        store.save_document(_NETWORK, described)
        for name in _BY_SLOT:
            array = getattr(records, name)
            store.save(name, array, _lines(array, slots))
        if self._id_texts is None:
            store.save(_IDS, records.ids, _lines(records.ids, slots))
        else:
            self._id_texts.save(store, _IDS, slots)
        self.subjects.save(store, _SUBJECTS, slots)
        if records.encoding is not self._stored_encoding:
            self._save_categories(store)
        self._save_hidden(store)
        if _MODEL not in store.names:
            store.save_document(_MODEL, self._describe())
        self._slots, self._rewritten = [], False
        self._stored_encoding = records.encoding

    def _make_way(self, store: PageStore) -> None:
        """Erase what is stored, so that pages do not stay where history has put them."""
        self.erase(store)
        self._stored_encoding = self._stored_hidden = None

    def _describe(self) -> dict[str, Any]:
        return {
            "estimator": _ESTIMATOR,
            "parameters": encode_with_blocks(self.parameters.by_name(), "parameters"),
            "settings": stored_settings.describe_settings(self.model.settings),
            "string_ids": self.model.string_ids,
        }

    def _save_categories(self, store: PageStore) -> None:
        """Store each column's categories in the order of their codes; a code that is free has no bytes."""
        coders = self.model.records.encoding.coders
        listed = [coder.categories if isinstance(coder, CategoricalCoder) else () for coder in coders]
        tokens = [b"" if each is None else token(each) for categories in listed for each in categories]
        store.save(_TOKENS, np.frombuffer(b"".join(tokens), np.uint8))
        store.save(_LENGTHS, np.array([len(each) for each in tokens], np.int64))
        store.save(_COUNTS, np.array([len(categories) for categories in listed], np.int64))

    def _save_hidden(self, store: PageStore) -> None:
        """Store the values that are left out of the network, if they are others than before."""
        cells = list(self.model.hidden)
        if cells == self._stored_hidden:
            return
        if cells:
            store.save_document(_HIDDEN, [[cell.variable, cell.record, token(cell.category).hex()] for cell in cells])
        elif _HIDDEN in store.names:
            store.remove(_HIDDEN)
        self._stored_hidden = cells

    @staticmethod
    def is_stored(store: PageStore) -> bool:
        """Tell whether there is a model."""
        return _MODEL in store.names

    @staticmethod
    def erase(store: PageStore) -> None:
        """Erase everything."""
        names = {*StoredNodes.names(), _NETWORK, _MODEL, _HIDDEN, _TOKENS, _LENGTHS, _COUNTS, _IDS, *_BY_SLOT}
        names |= {f"{name}.{part}" for name in (_IDS, _SUBJECTS) for part in _TEXT_PARTS}
        for name in store.names:
            if name in names:
                store.remove(name)

    @classmethod
    def load(cls, store: PageStore, origin: Origin | None, components: Iterable[type]) -> Learned:
        """Read what was stored; the digests must be compared with those in the ledger before the model is used."""
        described, known = store.load_document(_MODEL), known_blocks(components)
        if not isinstance(described, dict) or described.get("estimator") != _ESTIMATOR:
            raise DamagedVaultError("the vault holds no model that this version knows")
        try:
            settings = stored_settings.read_settings(described["settings"], known)
            parameters = Parameters(**decode_with_blocks(described["parameters"], known))
        except (StorageError, KeyError, TypeError, ValueError) as error:
            raise DamagedVaultError(f"the vault does not describe a model: {error}") from error
        id_texts = TextColumn.load(store, _IDS) if described["string_ids"] else None
        extent = store.load_document(_NETWORK)
        records = _load_records(store, settings, id_texts, extent["records"])
        learner = settings.learner(records, records.encoding)
        nodes = StoredNodes.load(store)
        try:
            root = load_network(learner, nodes.read, extent["root"], records.rows)
        except ValueError as error:
            raise DamagedVaultError(f"the network in the vault cannot be one: {error}") from error
        model = Model(settings, records, learner, root)
        model.origin, model.hidden = origin, _load_hidden(store, settings.schema)
        return cls(model, parameters, TextColumn.load(store, _SUBJECTS), id_texts, nodes)


def _load_records(store: PageStore, settings: Settings, id_texts: TextColumn | None, digest: str) -> Records:
    slots = {name: store.load(name) for name in _BY_SLOT}
    if id_texts is None:
        slots[_IDS] = store.load(_IDS)
    else:
        texts = id_texts.get(np.arange(id_texts.capacity))
        slots[_IDS] = np.empty(len(texts), object)
        slots[_IDS][:] = [0 if text is None else text for text in texts]
    categories = _load_categories(store, settings.schema)
    try:
        multiset = np.frombuffer(bytes.fromhex(digest), np.uint64).copy()
        n_bins = settings.n_bins_among(int(slots["live"].sum()))
        return Records.restore(settings.schema, settings.seed, n_bins, slots, categories, multiset)
    except (RecordIdError, InvalidTableError, ValueError, IndexError) as error:
        raise DamagedVaultError(f"the records in the vault cannot be what they are said to be: {error}") from error


def _load_hidden(store: PageStore, schema: Schema) -> HiddenCells:
    if _HIDDEN not in store.names:
        return HiddenCells()
    try:
        return HiddenCells(
            HiddenCell(variable, record, read_tokens(schema.names[variable], [bytes.fromhex(written)])[0])
            for variable, record, written in store.load_document(_HIDDEN)
        )
    except (TypeError, ValueError, LookupError) as error:
        raise DamagedVaultError("the values that the vault leaves out of its model are none") from error


def _load_categories(store: PageStore, schema: Schema) -> list[list[Category | None]]:
    tokens, lengths, counts = store.load(_TOKENS).tobytes(), store.load(_LENGTHS), store.load(_COUNTS)
    ends = np.cumsum(lengths)
    if len(counts) != len(schema.variables) or counts.sum() != len(lengths) or (lengths < 0).any():
        raise DamagedVaultError("the categories in the vault are not those of its columns")
    listed = [tokens[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]
    columns, start = [], 0
    for variable, count in zip(schema.variables, counts.tolist(), strict=True):
        own = listed[start : start + count]
        found = iter(read_tokens(variable.name, [each for each in own if each]))
        columns.append([next(found) if each else None for each in own])
        start += count
    return columns


def _lines(array: Any, slots: Rows | None) -> Stretches | None:
    """Return where the lines of some slots lie, in bytes."""
    if slots is None:
        return None
    width = array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
    return np.stack([slots * width, slots * width + width], axis=1)

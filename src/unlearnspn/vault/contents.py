"""What a vault holds: how its tables look, the records, with a model or not yet, and the guard."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unlearnspn.certificates import Commitments, Digests, new_nonce
from unlearnspn.ids import RecordId
from unlearnspn.spn.report import Report
from unlearnspn.storage.errors import StorageError
from unlearnspn.tables import Table
from unlearnspn.vault.drafts import Drafts, joined_column
from unlearnspn.vault.errors import DamagedVaultError
from unlearnspn.vault.forms import Batch, Form
from unlearnspn.vault.guard import Guard
from unlearnspn.vault.inbox import Inbox
from unlearnspn.vault.learned import Learned
from unlearnspn.vault.pages import PageStore

_CHARTER, _NONCE = "vault", "nonce"


@dataclass
class Contents:
    """The whole of a vault in memory; after an error it must be thrown away and read anew."""

    vault: str
    guard: Guard
    #: None before the first table has come.
    form: Form | None
    #: The records, as long as there is no model.
    drafts: Drafts
    learned: Learned | None
    #: Under which the ledger commits to the present state; erased with it.
    nonce: bytes = field(default_factory=new_nonce, repr=False)
    #: What people have asked for.
    inbox: Inbox = field(default_factory=Inbox)
    _stored_charter: tuple[Form | None, bool] | None = None

    @classmethod
    def empty(cls, path: Path) -> Contents:
        """Return what a new vault holds."""
        return cls(secrets.token_hex(16), Guard(path, is_on=False), None, Drafts(), None)

    # -- reading ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.drafts) if self.learned is None else len(self.learned)

    @property
    def digests(self) -> Digests | None:
        """The digests of the model and of the state, once there is a model."""
        return None if self.learned is None else self.learned.digests

    @property
    def commitments(self) -> Commitments | None:
        """What the ledger says of the present digests, once there is a model."""
        digests = self.digests
        return None if digests is None else digests.commit(self.nonce)

    @property
    def settings(self) -> str | None:
        """The digest of schema, parameters and seed, once there is a model."""
        return None if self.learned is None else self.learned.settings_digest

    def holds(self, ids: Sequence[RecordId]) -> list[bool]:
        """Tell of each id whether a record that is held has it."""
        return [item in self.drafts for item in ids] if self.learned is None else self.learned.holds(ids)

    def of_subject(self, subject: str) -> list[RecordId]:
        """Return the ids of a subject's records."""
        return (self.drafts if self.learned is None else self.learned).of_subject(subject)

    def subjects_of(self, ids: Sequence[RecordId]) -> set[str]:
        """Return whose records these are, which must be there."""
        return {subject for part in self.find(ids) for subject in part.subjects if subject is not None}

    def without_records(self, subjects: set[str]) -> set[str]:
        """Return those of some subjects that have no records, or none any more."""
        return subjects - (self.drafts if self.learned is None else self.learned).those_with_records(subjects)

    def find(self, ids: Sequence[RecordId]) -> Iterable[Batch]:
        """Yield the records with some ids, which must be there, in no particular order."""
        if self.learned is None:
            return self.drafts.find(ids)
        assert self.form is not None
        return [self.learned.batch(self.form, self.learned.model.records.find(ids))]

    def held(self, ids: Sequence[RecordId]) -> Batch:
        """Return the records with some ids, which must be there, in this order."""
        assert self.form is not None
        parts = list(self.find(ids))
        columns = [
            joined_column(name, family, categorical, [part.table.columns[place] for part in parts])
            for place, (name, family, categorical) in enumerate(self.form.columns)
        ]
        found = [item for part in parts for item in part.ids]
        subjects = [subject for part in parts for subject in part.subjects]
        places = {item: place for place, item in enumerate(found)}
        whole = Batch(Table(columns, len(found), True), found, subjects)
        return whole.take(np.array([places[item] for item in ids], np.int64))

    def all(self) -> Batch:
        """Return all records as one table."""
        assert self.form is not None
        return self.drafts.all(self.form) if self.learned is None else self.learned.batch(self.form)

    def inherit_circuit(self, before: Contents) -> None:
        """Take over what the circuit was made of before: most of it is the same."""
        if self.learned is not None and before.learned is not None:
            self.learned.model.inherit_circuit(before.learned.model)

    # -- changing --------------------------------------------------------------------------------------------------

    def revise(self, minus: Sequence[RecordId], plus: Batch | None, dry_run: bool = False) -> Report | None:
        """Remove some records and add others; the last ones take the model with them. Returns what the model did."""
        if self.learned is not None and len(self) - len(minus) + (0 if plus is None else len(plus.ids)) > 0:
            report = self.learned.revise(minus, plus, dry_run)
            if not dry_run:
                self.nonce = new_nonce()
            return report
        if dry_run:
            return None
        self.nonce = new_nonce()
        if self.learned is not None:
            self.learned, self.drafts = None, Drafts()
            return None
        self.drafts.remove(minus)
        if plus is not None:
            self.drafts.add(plus)
        return None

    def learn(self, learned: Learned) -> None:
        """Take a model over, and the records with it."""
        self.learned, self.drafts, self.nonce = learned, Drafts(), new_nonce()

    # -- storing ---------------------------------------------------------------------------------------------------

    def save(self, store: PageStore) -> None:
        """Store what has changed."""
        charter = (self.form, self.guard.is_on)
        if charter != self._stored_charter:
            store.save_document(_CHARTER, self._describe())
            self._stored_charter = charter
        if self.learned is None:
            Learned.erase(store)
            self.drafts.save(store)
        else:
            Drafts.erase(store)
            self.learned.save(store)
        store.save(_NONCE, np.frombuffer(self.nonce, np.uint8))
        self.guard.save(store)
        self.inbox.save(store)
        store.finish()

    def _describe(self) -> dict[str, Any]:
        form = None if self.form is None else self.form.describe()
        return {"vault": self.vault, "guard": self.guard.is_on, "form": form}

    @classmethod
    def load(cls, path: Path, store: PageStore, components: Iterable[type]) -> Contents:
        """Read what was stored, or raise."""
        try:
            charter = store.load_document(_CHARTER)
            form = None if charter["form"] is None else Form.from_description(charter["form"])
            guard = Guard(path, charter["guard"])
            guard.load(store)
            learned, drafts = None, Drafts()
            if Learned.is_stored(store):
                learned = Learned.load(store, None if form is None else form.origin, components)
            else:
                drafts = Drafts.load(store)
            nonce, inbox = store.load(_NONCE).tobytes(), Inbox.load(store)
        except DamagedVaultError:
            raise
        except (StorageError, LookupError, TypeError, ValueError) as error:
            raise DamagedVaultError(f"{path} is damaged: {error}") from error
        return cls(charter["vault"], guard, form, drafts, learned, nonce, inbox, (form, guard.is_on))

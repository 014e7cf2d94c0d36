"""What a vault is asked, and does not change by: whom it knows, what it holds, and whether all of it is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from unlearnspn.certificates import Audit, Envelope, PublicKey
from unlearnspn.ids import RecordId
from unlearnspn.progress import Progress
from unlearnspn.spn.views import NodeView
from unlearnspn.storage.files import PathLike
from unlearnspn.vault.auditing import audit_vault
from unlearnspn.vault.database import resolve
from unlearnspn.vault.finding import rows_like
from unlearnspn.vault.held import HeldRecords, held_records
from unlearnspn.vault.inbox import Inbox
from unlearnspn.vault.info import Info, describe
from unlearnspn.vault.open_vault import OpenVault, in_turn
from unlearnspn.vault.preview import Preview, preview_removal
from unlearnspn.vault.requests import records_to_remove
from unlearnspn.vault.sealed import read_envelopes

T = TypeVar("T")


class VaultQuestions(OpenVault):
    """Questions to a vault about its records, its model, its requests and its evidence."""

    # -- records and model -----------------------------------------------------------------------------------------

    @property
    @in_turn
    def root_(self) -> NodeView:
        """The network as it is now, for reading."""
        return self._learned().model.view()

    @in_turn
    def __len__(self) -> int:
        return len(self._home.contents())

    @in_turn
    def ids(self) -> list[RecordId]:
        """Return the ids of all records, in order."""
        contents = self._home.contents()
        return sorted(contents.drafts.ids) if contents.learned is None else contents.learned.model.ids

    @in_turn
    def read_id(self, text: str) -> RecordId:
        """Read an id as people type it: a number if the records have numbers."""
        form = self._home.contents().form
        return text if form is None else form.read_id(text)

    @in_turn
    def records_of(self, ids: Any = None, *, subject: Any = None) -> list[RecordId]:
        """Return the ids of all records of a subject; or of some records, which must be there."""
        return records_to_remove(self._home.contents(), ids, subject, "error")[0]

    @in_turn
    def holds_any(self, ids: Sequence[RecordId] = (), *, subject: str | None = None) -> bool:
        """Tell whether there is any record of a subject, or any of some."""
        contents = self._home.contents()
        return any(contents.holds(ids)) if subject is None else bool(contents.of_subject(subject))

    @in_turn
    def access(self, ids: Any = None, *, subject: Any = None) -> HeldRecords:
        """Return what is held on a person: all records of a subject, or some by their ids, as they were read."""
        contents = self._home.contents()
        names, _ = records_to_remove(contents, ids, subject, "error")
        assert contents.form is not None
        return held_records(contents.form, contents.find(names))

    @in_turn
    def find_like(self, wanted: Mapping[str, str], limit: int = 100) -> HeldRecords:
        """Return the first records whose values are like those that somebody has typed, by the names of columns.

        Of a text a part is enough; numbers, flags and dates are the same, and a day stands for all its times.
        """
        contents = self._home.contents()
        if contents.form is None or not len(contents):
            return HeldRecords((), ())
        everything = contents.all()
        rows = rows_like(everything.table, wanted)
        return held_records(contents.form, [everything.take(rows[:limit])])

    @in_turn
    def subjects_of(self, ids: Sequence[RecordId]) -> set[str]:
        """Return whose records these are; those that are not there are nobody's."""
        contents = self._home.contents()
        return contents.subjects_of([item for item, there in zip(ids, contents.holds(ids), strict=True) if there])

    @in_turn
    def preview(self, ids: Any = None, *, subject: Any = None) -> Preview:
        """Return what the removal of records would do to the model, with the network before and after it.

        Nothing is changed. More is looked at than with `unlearn(…, dry_run=True)`, and the next question reads the file
        anew: ask a vault that was opened for reading.
        """
        contents = self._home.contents()
        names, _ = records_to_remove(contents, ids, subject, "error")
        try:
            return preview_removal(contents, names)
        finally:
            self._home.forget()

    @in_turn
    def read_inbox(self, read: Callable[[Inbox], T]) -> T:
        """Return what is read from the requests of people."""
        return read(self._home.contents().inbox)

    # -- evidence --------------------------------------------------------------------------------------------------

    @in_turn
    def info(self) -> Info:
        """Return what the vault is and holds."""
        return describe(self._home)

    @in_turn
    def log(self, first: int = 0) -> list[Envelope]:
        """Return the entries of the ledger, from one on."""
        with self._home.database.reading():
            return read_envelopes(self._home.database, first)

    @property
    @in_turn
    def public_key(self) -> PublicKey:
        """The public key that fits the private key in use."""
        self._home.contents()
        return self._home.public_key

    @in_turn
    def verify(
        self,
        key: PublicKey | None = None,
        head: str | None = None,
        *,
        relearn: bool = True,
        progress: Progress | None = None,
    ) -> Audit:
        """Check everything: the file, every page, the ledger, and that learning from scratch gives the same digests.

        `key` is a public key, and `head` the digest of an entry, that the auditor knows from elsewhere.
        """
        return audit_vault(self._home, key, head, relearn, progress)

    @in_turn
    def backup(self, path: PathLike) -> None:
        """Write a consistent copy of the vault into a new file, whatever others do meanwhile.

        It is a vault like this one, as it is now: what is removed later stays in the copy. The private key is not in
        it.
        """
        self._home.contents()
        self._home.copy_to(resolve(path))

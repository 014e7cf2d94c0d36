"""What changes a vault: memory, file and ledger together, or nothing of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar

from unlearnspn.certificates import Action, Commitments, Counts, Envelope, Statement, commit, state_removal
from unlearnspn.errors import RecordIdError, listing, not_fitted
from unlearnspn.identifying import warn_of
from unlearnspn.ids import RecordId
from unlearnspn.parameters import Parameters
from unlearnspn.progress import Progress, tell
from unlearnspn.spn.report import Report
from unlearnspn.storage.files import PathLike
from unlearnspn.vault.comparing import without_known
from unlearnspn.vault.contents import Contents
from unlearnspn.vault.errors import InboxError
from unlearnspn.vault.exports import writing_circuit
from unlearnspn.vault.forms import Batch, Form
from unlearnspn.vault.inbox import Inbox, Wish
from unlearnspn.vault.learned import Learned
from unlearnspn.vault.ledger import SOFTWARE, Asked
from unlearnspn.vault.open_vault import OpenVault, in_turn
from unlearnspn.vault.outcome import Outcome
from unlearnspn.vault.requests import (
    read_batch,
    records_to_remove,
    refuse_held_back,
    refuse_returning,
    refuse_taken_away,
    refuse_unanswered,
    require_held,
)

T = TypeVar("T")


class VaultChanges(OpenVault):
    """Changes of a vault: of its records, its model, its requests and its key."""

    # -- records and models ----------------------------------------------------------------------------------------

    @in_turn
    def ingest(
        self,
        tables: Any,
        ids: Any = None,
        subjects: Any = None,
        *,
        allow_returning: bool = False,
        progress: Progress | None = None,
        request_id: str | None = None,
        operator: str | None = None,
    ) -> Outcome:
        """Store records; if there is a model, it learns them, too.

        `tables` is a table or an iterator of tables. `ids` and `subjects` name the columns that say which record it is
        and whose, or are lists of them; later tables have them in the same columns. Records that are there already
        with the same values are skipped, so an ingest that was interrupted can be run again. All tables are stored
        together or none of them.
        """
        self._home.require_writable()
        contents, asked = self._home.contents(), Asked.now(request_id, operator)
        action = Action.INGEST if contents.learned is None else Action.ADDITION
        added, skipped, before = 0, 0, contents.commitments
        report: Report | None = None
        with self._changing():
            for table in tables if isinstance(tables, Iterator) else [tables]:
                batch = self._read(contents, table, ids, subjects)
                warn_of(batch.identifying(), "samples and exported circuits of a model of it would show")
                known = contents.holds(batch.ids)
                held = [item for item, there in zip(batch.ids, known, strict=True) if there]
                fresh = without_known(batch, known, contents.find(held) if held else ())
                skipped += len(held)
                if fresh is not None:
                    refuse_returning(contents, fresh, allow_returning)
                    report = contents.revise([], fresh)
                    added += len(fresh.ids)
                if progress is not None:
                    progress("ingest", added + skipped, 0)
            if added:
                tell(progress, "store", 0)
                certificate = self._commit(contents, action, asked, before, Counts(0, added, len(contents)))
            else:
                self._home.forget()
                certificate = None
        return Outcome(certificate, report, 0, added, len(self._home.contents()), skipped)

    @in_turn
    def fit(
        self,
        *,
        progress: Progress | None = None,
        request_id: str | None = None,
        operator: str | None = None,
        **parameters: Any,
    ) -> Outcome:
        """Learn a model from all records; `parameters` are those of `SPN`. A model that is there is replaced."""
        self._home.require_writable()
        contents, asked = self._home.contents(), Asked.now(request_id, operator)
        if not len(contents):
            raise not_fitted("the vault is empty: ingest records first")
        assert contents.form is not None
        before = contents.commitments
        with self._changing():
            tell(progress, "fit", 0)
            contents.learn(Learned.fit(contents.all(), contents.form.id_column, Parameters(**parameters)))
            tell(progress, "store", 0)
            certificate = self._commit(contents, Action.FIT, asked, before, Counts(0, 0, len(contents)))
            tell(progress, "store", 1)
        return Outcome(certificate, None, 0, 0, len(contents))

    @in_turn
    def unlearn(
        self,
        ids: Any = None,
        *,
        subject: Any = None,
        missing: Literal["error", "ignore"] = "error",
        dry_run: bool = False,
        progress: Progress | None = None,
        request_id: str | None = None,
        operator: str | None = None,
        received: str | None = None,
        ground: str = "",
    ) -> Outcome:
        """Remove records by their ids, or all records of a subject: from the file, from the model, for good.

        Returns the certificate, and what opens its commitment for the requesters. With `dry_run` nothing is changed.
        The last record takes the model with it. What `request_id` and `operator` say stays in the ledger for good: put
        no personal data into them. `ground`, a legal one, stays with the request in the inbox.
        """
        contents, asked = self._home.contents(), Asked.now(request_id, operator, received, ground)
        names, items = records_to_remove(contents, ids, subject, missing)
        if dry_run:
            return self._try_out(contents, names, None)
        key = self._home.require_writable()
        contents = self._home.contents()
        before, settings, subjects = contents.commitments, contents.settings, contents.subjects_of(names)
        refuse_held_back(contents, subjects)
        contents.inbox.require_same(
            asked.id,
            Wish.ERASE,
            lambda request: _all_in(
                request.ids if request.subject is None else contents.of_subject(request.subject), names
            ),
        )
        with self._changing():
            tell(progress, "revise", 0)
            report = contents.revise(names, None)
            contents.guard.note(items)
            commitment, openings = commit(items)
            gone = contents.without_records(subjects)
            contents.inbox.forget(gone, set(names), contents.holds, asked, self._home.ledger.link.entry, commitment)
            counts = Counts(len(names), 0, len(contents))
            statement = state_removal(
                self._home.ledger.link,
                asked.completed(),
                SOFTWARE,
                counts,
                commitment,
                before,
                contents.commitments,
                settings,
            )
            tell(progress, "store", 0)
            certificate = self._home.commit(statement, [key], names)
            tell(progress, "store", 1)
        return Outcome(certificate, report, len(names), 0, len(contents), openings=tuple(openings))

    @in_turn
    def learn(
        self,
        table: Any,
        ids: Any = None,
        subjects: Any = None,
        *,
        dry_run: bool = False,
        allow_returning: bool = False,
        progress: Progress | None = None,
        request_id: str | None = None,
        operator: str | None = None,
    ) -> Outcome:
        """Add records whose ids are new; the model learns them."""
        contents, asked = self._home.contents(), Asked.now(request_id, operator)
        form, batch = read_batch(contents, table, ids, subjects)
        existing = [item for item, there in zip(batch.ids, contents.holds(batch.ids), strict=True) if there]
        if existing:
            raise RecordIdError(f"these ids exist already: {listing(existing)}; use rectify to replace their values")
        refuse_returning(contents, batch, allow_returning)
        if dry_run:
            return self._try_out(contents, [], batch)
        contents.inbox.require_same(asked.id, None, lambda request: False)
        action = Action.INGEST if contents.learned is None else Action.ADDITION
        return self._revise(action, asked, [], batch, form, set(), progress)

    @in_turn
    def rectify(
        self,
        table: Any,
        ids: Any = None,
        subjects: Any = None,
        *,
        within: Sequence[RecordId] | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
        request_id: str | None = None,
        operator: str | None = None,
        received: str | None = None,
    ) -> Outcome:
        """Replace the values of existing records; the old ones are erased. Columns that the table lacks stay.

        With `within` nothing but these records may be in the table: those of one person, for one.
        """
        contents, asked = self._home.contents(), Asked.now(request_id, operator, received)
        form, batch = read_batch(contents, table, ids, subjects, correction=True)
        require_held(contents, batch.ids)
        if within is not None and not set(batch.ids) <= set(within):
            others = [item for item in batch.ids if item not in set(within)]
            raise InboxError(f"these are records of others, and nothing was changed: {listing(others)}")
        if dry_run:
            return self._try_out(contents, batch.ids, batch)
        owners = contents.subjects_of(batch.ids)
        refuse_taken_away(contents, batch)
        refuse_unanswered(contents, batch)
        contents.inbox.require_same(
            asked.id, Wish.CORRECT, lambda request: owners == {request.subject} or _all_in(batch.ids, request.ids)
        )
        return self._revise(Action.CORRECTION, asked, batch.ids, batch, form, owners, progress)

    @in_turn
    def export(
        self,
        path: PathLike,
        *,
        format: Literal["circuit", "json", "dot"] = "circuit",
        request_id: str | None = None,
        operator: str | None = None,
    ) -> Outcome:
        """Write the serving circuit alone into a file, free of records and state; `Circuit.load` reads it.

        `format` is that of `Circuit.save`, JSON, or Graphviz's dot. Who took which model, and when, is entered into
        the ledger; if the vault was opened for reading, it is not, and the outcome has no certificate. The file is
        there only once this was entered: what fails before that changes nothing.
        """
        asked, circuit = Asked.now(request_id, operator), self._learned().model.circuit
        if self._home.is_writable:
            self._home.require_writable()
        contents, certificate = self._home.contents(), None
        with writing_circuit(circuit, path, format):
            if self._home.is_writable:
                counts = Counts(0, 0, len(contents))
                with self._changing():
                    certificate = self._commit(contents, Action.EXPORT, asked, contents.commitments, counts)
        return Outcome(certificate, None, 0, 0, len(contents))

    # -- requests and evidence -------------------------------------------------------------------------------------

    @in_turn
    def change_inbox(self, change: Callable[[Inbox], T]) -> T:
        """Change what is kept of requests, and store it; nothing is entered into the ledger.

        What raises an `InboxError` must not have changed anything: so the vault need not be read anew.
        """
        key = self._home.require_writable()
        inbox = self._home.contents().inbox
        with self._changing():
            try:
                changed = change(inbox)
            except InboxError as error:
                refusal = error
            else:
                self._home.commit(None, [key])
                return changed
        raise refusal

    @in_turn
    def rotate_key(self, *, request_id: str | None = None, operator: str | None = None) -> Outcome:
        """Sign with a new private key from now on; the old one introduces it in the ledger and is then wiped."""
        old, asked, home = self._home.require_writable(), Asked.now(request_id, operator), self._home
        contents = home.contents()
        with self._changing():
            new = home.keys.stage()
            statement = Statement(
                Action.KEY_ROTATION,
                home.ledger.link,
                asked.completed(),
                SOFTWARE,
                Counts(0, 0, len(contents)),
                contents.commitments,
                contents.commitments,
                contents.settings,
                introduced=new.public,
            )
            certificate = home.commit(statement, [old, new])
            home.keys.settle(new.public.id)
        return Outcome(certificate, None, 0, 0, len(contents))

    @in_turn
    def turn_guard_on(self) -> None:
        """Tell from now on when removed ids or subjects come back; a keyed hash of them is kept, never an id."""
        key = self._home.require_writable()
        with self._changing():
            self._home.contents().guard.turn_on()
            self._home.commit(None, [key])

    # -- inside ----------------------------------------------------------------------------------------------------

    def _read(self, contents: Contents, table: Any, ids: Any, subjects: Any) -> Batch:
        """Read a table, and take over what it tells of the form."""
        contents.form, batch = read_batch(contents, table, ids, subjects)
        return batch

    def _try_out(self, contents: Contents, minus: Sequence[RecordId], plus: Batch | None) -> Outcome:
        added = 0 if plus is None else len(plus.ids)
        with self._changing():
            report = contents.revise(minus, plus, dry_run=True)
        return Outcome(None, report, len(minus), added, len(contents) - len(minus) + added)

    def _revise(
        self,
        action: Action,
        asked: Asked,
        minus: Sequence[RecordId],
        plus: Batch,
        form: Form,
        owners: set[str],
        progress: Progress | None,
    ) -> Outcome:
        """Remove records, of these owners, and add others."""
        self._home.require_writable()
        contents = self._home.contents()
        before = contents.commitments
        with self._changing():
            tell(progress, "revise", 0)
            contents.form = form
            report = contents.revise(minus, plus)
            counts = Counts(len(minus), len(plus.ids), len(contents))
            gone = contents.without_records(owners.difference(plus.subjects))
            contents.inbox.forget(gone, set(), contents.holds, asked, self._home.ledger.link.entry, None)
            tell(progress, "store", 0)
            certificate = self._commit(contents, action, asked, before, counts)
            tell(progress, "store", 1)
        return Outcome(certificate, report, counts.removed, counts.added, counts.remaining)

    def _commit(
        self,
        contents: Contents,
        action: Action,
        asked: Asked,
        before: Commitments | None,
        counts: Counts,
    ) -> Envelope | None:
        key = self._home.require_key()
        statement = Statement(
            action,
            self._home.ledger.link,
            asked.completed(),
            SOFTWARE,
            counts,
            before,
            contents.commitments,
            contents.settings,
        )
        return self._home.commit(statement, [key])


def _all_in(some: Sequence[RecordId], others: Sequence[RecordId]) -> bool:
    """Tell whether there are some ids, and all of them are among others."""
    return bool(some) and set(some) <= set(others)

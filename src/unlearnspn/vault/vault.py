"""`Vault`: a durable home for records, model and ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self, TypeVar, cast

from unlearnspn.certificates import (
    Action,
    Audit,
    Commitments,
    Counts,
    Envelope,
    PublicKey,
    Statement,
    commit,
    state_removal,
)
from unlearnspn.circuit import Circuit
from unlearnspn.circuit.queries import Queries
from unlearnspn.errors import RecordIdError, listing
from unlearnspn.identifying import warn_of
from unlearnspn.ids import RecordId
from unlearnspn.interrupts import Uninterrupted
from unlearnspn.parameters import Parameters
from unlearnspn.progress import Progress, tell
from unlearnspn.publishing import Publication
from unlearnspn.spn.report import Report
from unlearnspn.spn.views import NodeView
from unlearnspn.storage.files import PathLike
from unlearnspn.vault.auditing import audit_vault
from unlearnspn.vault.comparing import without_known
from unlearnspn.vault.contents import Contents
from unlearnspn.vault.database import require_file, resolve
from unlearnspn.vault.desk import Desk
from unlearnspn.vault.errors import InboxError, VaultError, not_fitted
from unlearnspn.vault.exports import writing_circuit
from unlearnspn.vault.finding import rows_like
from unlearnspn.vault.forms import Batch, Form
from unlearnspn.vault.held import HeldRecords, held_records
from unlearnspn.vault.home import Home, key_file, new_key_file, resolve_new
from unlearnspn.vault.inbox import Inbox, Wish
from unlearnspn.vault.info import Info, describe
from unlearnspn.vault.learned import Learned
from unlearnspn.vault.ledger import SOFTWARE, Asked
from unlearnspn.vault.locking import WriterLock
from unlearnspn.vault.outcome import Outcome
from unlearnspn.vault.preview import Preview, preview_removal
from unlearnspn.vault.requests import (
    read_batch,
    records_to_remove,
    refuse_held_back,
    refuse_returning,
    refuse_taken_away,
    refuse_unanswered,
    require_held,
)
from unlearnspn.vault.sealed import read_envelopes

M = TypeVar("M", bound=Callable[..., Any])
T = TypeVar("T")


def _in_turn(method: M) -> M:
    """Have a method wait until no other thread is at work on the vault."""

    @wraps(method)
    def call(vault: Vault, *arguments: Any, **named: Any) -> Any:
        return vault.take_turn(lambda: method(vault, *arguments, **named))

    return cast(M, call)


class _Facts(NamedTuple):
    """What is published beside a circuit."""

    read_at: int
    last_entry: int


class Vault(Queries):
    """Records, model and ledger in one file, that survives crashes and keeps evidence of what it forgot.

    `create` makes one, `open` opens it: any number of readers, and one writer (``write=True``). A vault that is open
    answers all questions that a model answers (`score_samples`, `probability`, `sample`, `impute`, …), always about the
    records that it holds at that moment. Use it as a context manager. Many threads may use one vault: requests take
    turns, and questions are answered meanwhile.

    >>> from tempfile import TemporaryDirectory
    >>> import pandas as pd
    >>> people = pd.DataFrame({
    ...     "customer": [f"c-{i}" for i in range(60)],
    ...     "person": [f"p-{i // 2}" for i in range(60)],
    ...     "age": [20.0 + i % 50 for i in range(60)],
    ...     "pays": ["late" if i % 3 else "in time" for i in range(60)],
    ... })
    >>> folder = TemporaryDirectory()
    >>> with Vault.create(f"{folder.name}/people.uspn") as vault:
    ...     added = vault.ingest(people, ids="customer", subjects="person")
    ...     fitted = vault.fit(min_rows=20)
    ...     gone = vault.unlearn(subject="p-7", request_id="2026-17")
    ...     gone.removed, gone.remaining, bool(vault.verify())
    (2, 58, True)
    >>> with Vault.open(f"{folder.name}/people.uspn") as vault:
    ...     vault.info().n_records, round(vault.probability({"pays": "late"}), 1)
    (58, 0.7)
    >>> folder.cleanup()
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        #: Beside the circuit: which state of the file it is of, for readers, and of which entry of the ledger.
        self._publication = Publication(self._facts())
        #: Whether the one whose turn it is has begun to change something, and has not stored it yet.
        self._is_changing = False

    @classmethod
    def create(
        cls,
        path: PathLike,
        *,
        key: PathLike | None = None,
        guard: bool = False,
        operator: str | None = None,
        request_id: str | None = None,
    ) -> Self:
        """Make a new vault and open it for writing.

        The private key that signs its certificates is made beside it, in a file with the same name and `.key`, unless
        `key` says where to put it, or where one is that signs for other vaults, too. With `guard` the vault tells when
        removed ids or subjects come back.
        """
        place, asked = resolve_new(path), Asked.now(request_id, operator)
        lock = WriterLock(place)
        try:
            if place.exists():
                raise VaultError(f"{place} is there already: choose another path, or open it")
            contents, keys = Contents.empty(place), new_key_file(place, key)
            if guard:
                contents.guard.turn_on()
            Home.create(
                place,
                contents,
                keys,
                lambda ledger, public: Statement(
                    Action.INIT, ledger.link, asked.completed(), SOFTWARE, introduced=public
                ),
            )
            return cls._opened(Home(place, keys, (), lock))
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(
        cls, path: PathLike, *, write: bool = False, key: PathLike | None = None, components: Iterable[type] = ()
    ) -> Self:
        """Open a vault, for reading or for writing; its integrity, version and digests are checked.

        Building blocks of users' own classes are made only if these are passed in `components`. Raises `VaultError`
        if anything is wrong, and its subclass `VaultBusyError` if somebody else is writing.
        """
        place = resolve(path)
        lock = None
        if write:
            require_file(place)
            lock = WriterLock(place)
        try:
            return cls._opened(Home(place, key_file(place, key), components, lock))
        except BaseException:
            if lock is not None:
                lock.release()
            raise

    @classmethod
    def _opened(cls, home: Home) -> Self:
        try:
            home.contents()
            if home.is_writable:
                home.require_writable()
                home.tidy()
        except BaseException:
            home.close()
            raise
        return cls(home)

    @_in_turn
    def close(self) -> None:
        """Close the vault; it is complete on the disk at any time."""
        self._home.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- records and models ----------------------------------------------------------------------------------------

    @_in_turn
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
        return Outcome(certificate, report, 0, added, len(self), skipped)

    @_in_turn
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

    @_in_turn
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

    @_in_turn
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

    @_in_turn
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

    @_in_turn
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

    # -- questions -------------------------------------------------------------------------------------------------

    @property
    def circuit_(self) -> Circuit:
        """The circuit that serves the model as it is now; what others have removed meanwhile is not in it."""
        return self.served()[0]

    def served(self) -> tuple[Circuit, int]:
        """Return the circuit that serves, as `circuit_` does, and the number of the ledger's entry when it was made."""
        if self._publication.has_turn:
            return self.take_turn(self._derive), self._home.last_entry
        if not self._home.is_writable and self._home.changes() != self._publication.facts.read_at:
            self.take_turn(self._home.contents)
        facts, circuit = self._publication.both(self._derive)
        return circuit, facts.last_entry

    @property
    def has_circuit(self) -> bool:
        """Whether a circuit is at hand, so that no question waits for a model that is being learned."""
        return self._publication.has_circuit

    def _derive(self) -> Circuit:
        return self._learned().model.circuit

    def _facts(self) -> _Facts:
        return _Facts(self._home.read_at, self._home.last_entry)

    def take_turn(self, act: Callable[[], T]) -> T:
        """Do something, in several steps perhaps, while no other thread is at work on the vault."""

        def act_and_publish() -> T:
            with Uninterrupted() as uninterrupted:
                try:
                    with uninterrupted.except_here():
                        return act()
                finally:
                    self._publication.publish(self._facts(), self._derive)

        if not self._publication.has_turn:
            return self._publication.take_turn(act_and_publish)
        if self._is_changing:
            raise RuntimeError("the vault is being changed by the one who asks: ask again when the request is done")
        return act()

    @property
    @_in_turn
    def root_(self) -> NodeView:
        """The network as it is now, for reading."""
        return self._learned().model.view()

    @_in_turn
    def __len__(self) -> int:
        return len(self._home.contents())

    @_in_turn
    def ids(self) -> list[RecordId]:
        """Return the ids of all records, in order."""
        contents = self._home.contents()
        return sorted(contents.drafts.ids) if contents.learned is None else contents.learned.model.ids

    @_in_turn
    def read_id(self, text: str) -> RecordId:
        """Read an id as people type it: a number if the records have numbers."""
        form = self._home.contents().form
        return text if form is None else form.read_id(text)

    @_in_turn
    def records_of(self, ids: Any = None, *, subject: Any = None) -> list[RecordId]:
        """Return the ids of all records of a subject; or of some records, which must be there."""
        return records_to_remove(self._home.contents(), ids, subject, "error")[0]

    @_in_turn
    def holds_any(self, ids: Sequence[RecordId] = (), *, subject: str | None = None) -> bool:
        """Tell whether there is any record of a subject, or any of some."""
        contents = self._home.contents()
        return any(contents.holds(ids)) if subject is None else bool(contents.of_subject(subject))

    @_in_turn
    def access(self, ids: Any = None, *, subject: Any = None) -> HeldRecords:
        """Return what is held on a person: all records of a subject, or some by their ids, as they were read."""
        contents = self._home.contents()
        names, _ = records_to_remove(contents, ids, subject, "error")
        assert contents.form is not None
        return held_records(contents.form, contents.find(names))

    @_in_turn
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

    @_in_turn
    def subjects_of(self, ids: Sequence[RecordId]) -> set[str]:
        """Return whose records these are; those that are not there are nobody's."""
        contents = self._home.contents()
        return contents.subjects_of([item for item, there in zip(ids, contents.holds(ids), strict=True) if there])

    @_in_turn
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

    @_in_turn
    def backup(self, path: PathLike) -> None:
        """Write a consistent copy of the vault into a new file, whatever others do meanwhile.

        It is a vault like this one, as it is now: what is removed later stays in the copy. The private key is not in
        it.
        """
        self._home.contents()
        self._home.copy_to(resolve(path))

    # -- requests of people ----------------------------------------------------------------------------------------

    @property
    def desk(self) -> Desk:
        """The requests of the people whose records these are."""
        return Desk(self)

    @_in_turn
    def read_inbox(self, read: Callable[[Inbox], T]) -> T:
        """Return what is read from the requests of people."""
        return read(self._home.contents().inbox)

    @_in_turn
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

    # -- evidence --------------------------------------------------------------------------------------------------

    @_in_turn
    def info(self) -> Info:
        """Return what the vault is and holds."""
        return describe(self._home)

    @_in_turn
    def log(self, first: int = 0) -> list[Envelope]:
        """Return the entries of the ledger, from one on."""
        with self._home.database.reading():
            return read_envelopes(self._home.database, first)

    @property
    @_in_turn
    def public_key(self) -> PublicKey:
        """The public key that fits the private key in use."""
        self._home.contents()
        return self._home.public_key

    @_in_turn
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

    @_in_turn
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

    @_in_turn
    def turn_guard_on(self) -> None:
        """Tell from now on when removed ids or subjects come back; a keyed hash of them is kept, never an id."""
        key = self._home.require_writable()
        with self._changing():
            self._home.contents().guard.turn_on()
            self._home.commit(None, [key])

    # -- inside ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Throw away what is in memory if a change is not completed, for whatever reason: it may be half made.

        Whoever is told of progress, or gives tables one by one, must not come in between with something else.
        """
        self._is_changing = True
        try:
            yield
        except OSError as error:
            self._home.forget()
            raise VaultError(
                f"cannot write beside {self._home.path}: {error.strerror}; the vault is complete, try again"
            ) from error
        except BaseException:
            self._home.forget()
            raise
        finally:
            self._is_changing = False

    def _learned(self) -> Learned:
        learned = self._home.contents().learned
        if learned is None:
            raise not_fitted("the vault has no model yet: call fit first")
        return learned

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

"""What the API and the console do: each change once, whoever asks for it how often, and written into the audit log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from sklearn.exceptions import NotFittedError

from unlearnspn.certificates import Action, Envelope
from unlearnspn.circuit import Circuit
from unlearnspn.ids import RecordId
from unlearnspn.parameters import Parameters
from unlearnspn.progress import Progress
from unlearnspn.service.accounts import Accounts
from unlearnspn.service.attempts import Attempts
from unlearnspn.service.audit_log import AuditLog
from unlearnspn.service.database import Database
from unlearnspn.service.errors import ConflictError, InvalidInputError
from unlearnspn.service.jobs import Job, Jobs
from unlearnspn.service.ledger_index import LedgerIndex
from unlearnspn.service.metrics import Metrics
from unlearnspn.service.problems import explain
from unlearnspn.service.sessions import Sessions
from unlearnspn.service.tokens import Tokens
from unlearnspn.storage.files import PathLike
from unlearnspn.tables import Table
from unlearnspn.vault import HeldRecords, InboxRequest, NewRequest, Outcome, Preview, Vault, Wish
from unlearnspn.vault.desk import require_ground

T = TypeVar("T")

#: What the name of the service's own file ends with.
SUFFIX = ".service"


@dataclass(frozen=True)
class Person:
    """Whose records are meant: a subject, or some ids."""

    subject: str | None = None
    ids: tuple[RecordId, ...] = ()

    def as_arguments(self) -> dict[str, Any]:
        """Return how a vault is told."""
        return {"ids": list(self.ids)} if self.subject is None else {"subject": self.subject}

    @classmethod
    def of(cls, request: InboxRequest) -> Self:
        """Return whose records a request is about."""
        return cls(request.subject, request.ids)


@dataclass(frozen=True)
class HeldOut:
    """How likely records that the model has not seen are, measured at an entry of the ledger."""

    n_records: int
    mean: float
    n_entries: int


class DeskService:
    """A vault, and the people and systems who work with it."""

    def __init__(self, vault: Vault, database: Database) -> None:
        self.vault = vault
        self.path = Path(vault.info().path)
        self.desk = vault.desk
        self._database = database
        self.accounts = Accounts(database)
        self.tokens = Tokens(database)
        self.sessions = Sessions(database, self.accounts)
        self.audit = AuditLog(database)
        self.attempts = Attempts()
        self.jobs = Jobs(lambda error: explain(error).detail)
        self.ledger = LedgerIndex(vault)
        self.metrics = Metrics()
        self._held_out: HeldOut | None = None

    @classmethod
    def open(cls, path: PathLike, key: PathLike | None = None) -> Self:
        """Open a vault for writing, and the service's own file beside it."""
        vault = Vault.open(path, write=True, key=key)
        try:
            own = Path(vault.info().path)
            return cls(vault, Database(own.with_name(own.name + SUFFIX)))
        except BaseException:
            vault.close()
            raise

    def close(self) -> None:
        """Finish what is being done, and close everything."""
        self.jobs.close()
        # It waits for whoever has its turn, who may still have something to tell the audit log.
        self.vault.close()
        self.audit.catch_up()
        self._database.close()

    # -- requests of people ----------------------------------------------------------------------------------------

    def file(
        self,
        wish: Wish,
        person: Person,
        *,
        who: str,
        received: str | None = None,
        request_id: str | None = None,
        note: str = "",
    ) -> InboxRequest:
        """Enter a request; the same one once more, by its id, is the one that is there."""
        new: dict[str, Any] = {"received": received, "request_id": request_id, "note": note}
        return self._changed(who, "filed", lambda: self.desk.file(wish, who=who, **person.as_arguments(), **new))

    def file_all(self, new: Sequence[NewRequest], *, who: str) -> list[InboxRequest]:
        """Enter requests, all of them or none."""

        def act() -> list[InboxRequest]:
            requests = self.desk.file_all(new, who=who)
            self.audit.write_done(who, "filed", [request.id for request in requests])
            return requests

        return self.vault.take_turn(act)

    def verify_identity(self, request_id: str, *, who: str) -> InboxRequest:
        """Say that the requester is the person."""
        return self._changed(who, "identity verified", lambda: self.desk.verify_identity(request_id, who=who))

    def extend(self, request_id: str, until: str, *, who: str, reason: str) -> InboxRequest:
        """Set a later date, once."""
        return self._changed(who, "extended", lambda: self.desk.extend(request_id, until, who=who, reason=reason))

    def deny(self, request_id: str, *, ground: str, who: str, reason: str) -> InboxRequest:
        """Refuse a request."""
        return self._changed(who, "denied", lambda: self.desk.deny(request_id, ground=ground, who=who, reason=reason))

    def withdraw(self, request_id: str, *, who: str) -> InboxRequest:
        """Close a request that the person does not make any more."""
        return self._changed(who, "withdrawn", lambda: self.desk.withdraw(request_id, who=who))

    def note(self, request_id: str, text: str, *, who: str) -> InboxRequest:
        """Put a remark on the timeline of a request."""
        return self._changed(who, "remark", lambda: self.desk.note(request_id, text, who=who))

    def hold(self, subject: str, *, who: str, reason: str) -> None:
        """Block the erasure of a person."""
        self._done(who, "hold placed", "", lambda: self.desk.hold(subject, who=who, reason=reason))

    def lift(self, subject: str, *, who: str) -> None:
        """Allow the erasure of a person again."""
        self._done(who, "hold lifted", "", lambda: self.desk.lift(subject))

    def erase(self, request_id: str, *, ground: str, who: str) -> Outcome:
        """Carry an erasure out; asked once more, it returns the same certificate."""

        def act() -> Outcome:
            outcome = self.desk.erase(request_id, ground=ground, who=who)
            self.jobs.forget()
            return outcome

        return self._done(who, "erased", request_id, act)

    def answer_access(self, request_id: str, *, who: str) -> HeldRecords:
        """Return all that is held on the person, and close the request."""
        return self._done(who, "access given", request_id, lambda: self.desk.access(request_id, who=who))

    def correct(self, request_id: str, table: Any, *, who: str) -> Outcome:
        """Replace values of the person's records."""

        def act() -> Outcome:
            outcome = self.desk.correct(request_id, table, who=who)
            self.jobs.forget()
            return outcome

        return self._done(who, "corrected", request_id, act)

    def preview(self, request_id: str) -> Preview:
        """Return what an erasure would do to the model; a reader of its own finds out, so that nobody waits."""
        with Vault.open(self.path) as vault:
            return vault.desk.preview(request_id)

    # -- changes that other systems ask for ------------------------------------------------------------------------

    def remove(self, person: Person, *, who: str, ground: str, request_id: str, received: str | None = None) -> Outcome:
        """Erase a person whose identity another system has verified: filed, verified and carried out at once."""

        def act() -> Outcome:
            done, known = self._known(request_id, (Action.REMOVAL,)), self._in_inbox(request_id)
            if done is not None or (known is not None and known.is_carried_out):
                if self.vault.holds_any(person.ids, subject=person.subject):
                    raise ConflictError(f"request {request_id!r} was for somebody else: give this one another id")
                return done or self.desk.erase(request_id, ground=ground, who=who)
            require_ground(ground, person.subject, person.ids)
            self.vault.records_of(**person.as_arguments())  # who is not there is not to be written down here
            request = self.desk.file(
                Wish.ERASE, who=who, **person.as_arguments(), received=received, request_id=request_id
            )
            if request.is_open and request.verified_by is None:
                self.desk.verify_identity(request_id, who=who)
            return self.erase(request_id, ground=ground, who=who)

        return self.vault.take_turn(act)

    def try_out(self, person: Person) -> Outcome:
        """Return what the erasure of a person would do."""
        return self.vault.unlearn(**person.as_arguments(), dry_run=True)

    def look_up(self, person: Person, *, who: str, about: str = "") -> HeldRecords:
        """Return what is held on a person; `about` is the id of a request of theirs."""
        held = self.vault.access(**person.as_arguments())
        self.audit.write(who, "records seen", about)
        return held

    def find_like(self, wanted: Mapping[str, str], *, who: str, limit: int = 100) -> HeldRecords:
        """Return the first records whose values are like those that somebody has typed."""
        held = self.vault.find_like(wanted, limit)
        self.audit.write(who, "records seen")
        return held

    def add(self, table: Any, *, who: str, request_id: str, allow_returning: bool = False) -> Outcome:
        """Add records, once by the request's id."""

        def act() -> Outcome:
            known = self._known(request_id, (Action.ADDITION, Action.INGEST))
            if known is not None:
                return _of_as_many(known, table)
            outcome = self.vault.learn(table, allow_returning=allow_returning, request_id=request_id, operator=who)
            self.audit.write_done(who, "records added", [request_id])
            return outcome

        return self.vault.take_turn(act)

    def replace(self, table: Any, *, who: str, request_id: str) -> Outcome:
        """Replace values of records, once by the request's id."""

        def act() -> Outcome:
            known = self._known(request_id, (Action.CORRECTION,))
            if known is not None:
                return _of_as_many(known, table)
            outcome = self.vault.rectify(table, request_id=request_id, operator=who)
            self.jobs.forget()
            self.audit.write_done(who, "records corrected", [request_id])
            return outcome

        return self.vault.take_turn(act)

    # -- the model -------------------------------------------------------------------------------------------------

    @property
    def held_out(self) -> HeldOut | None:
        """The last measurement, as long as the model is the one that was measured: of another it would be a trace."""
        if self._held_out is not None and self._held_out.n_entries != self.vault.info().n_entries:
            self._held_out = None
        return self._held_out

    def take_circuit(self, *, who: str) -> Circuit:
        """Return the circuit that serves, once the audit log tells who took it, and of which entry of the ledger."""
        if not self.vault.has_circuit and any(job.kind == "fit" and job.is_running for job in self.jobs.all()):
            raise ConflictError("there is no circuit yet: a model is being learned, ask again when that is done")
        circuit, entry = self.vault.served()
        self.audit.write(who, "circuit taken", str(entry))
        return circuit

    def measure(self, read: Callable[[Circuit], Table], *, who: str) -> HeldOut:
        """Measure the mean log-density of records that the model has not seen."""
        # Counted first: if the vault changes meanwhile, what is measured here counts for nothing.
        n_entries, circuit = self.vault.info().n_entries, self.vault.circuit_
        densities = circuit.score_samples(read(circuit))
        self._held_out = HeldOut(len(densities), float(densities.mean()), n_entries)
        self.audit.write(who, "held-out records scored")
        return self._held_out

    # -- long work -------------------------------------------------------------------------------------------------

    def start_verification(self, *, who: str) -> Job:
        """Have everything verified."""

        def work(progress: Progress) -> dict[str, Any]:
            # A reader of its own: nobody waits meanwhile.
            with Vault.open(self.path) as vault:
                audit = vault.verify(progress=progress)
            findings = [vars(finding) for finding in audit.findings]
            return {"verified": bool(audit), "head": audit.head, "findings": findings}

        self.audit.write(who, "verification started")
        return self.jobs.start("verification", who, work)

    def start_fit(self, *, who: str, request_id: str, parameters: dict[str, Any]) -> Job:
        """Have a model learned from all records, once by the request's id."""
        unknown = sorted(set(parameters) - set(Parameters.names()))
        if unknown:
            raise InvalidInputError(f"there is no parameter {unknown[0]!r}: see SPN")
        self._known(request_id, (Action.FIT,))

        def work(progress: Progress) -> dict[str, Any]:
            def act() -> Outcome:
                known = self._known(request_id, (Action.FIT,))
                if known is not None:
                    return known
                return self.vault.fit(progress=progress, request_id=request_id, operator=who, **parameters)

            with suppress(NotFittedError):
                self.vault.served()  # so that whoever asks meanwhile is answered by the model of before
            outcome = self.vault.take_turn(act)
            assert outcome.certificate is not None
            return {"entry": outcome.certificate.statement.link.entry, "certificate": outcome.certificate.digest}

        self.audit.write(who, "fit started", request_id)
        return self.jobs.start("fit", who, work)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _in_inbox(self, request_id: str) -> InboxRequest | None:
        return self.vault.read_inbox(lambda inbox: inbox.find(request_id))

    def _changed(self, who: str, what: str, change: Callable[[], InboxRequest]) -> InboxRequest:
        """Change a request in the vault's turn, and tell the audit log of it before the vault can be closed."""

        def act() -> InboxRequest:
            request = change()
            self.audit.write_done(who, what, [request.id])
            return request

        return self.vault.take_turn(act)

    def _done(self, who: str, what: str, about: str, act: Callable[[], T]) -> T:
        """Do something in the vault's turn, and tell the audit log of it before the vault can be closed."""

        def act_and_tell() -> T:
            done = act()
            self.audit.write_done(who, what, [about])
            return done

        return self.vault.take_turn(act_and_tell)

    def _known(self, request_id: str, actions: Sequence[Action]) -> Outcome | None:
        """Return what was done for a request before, if it was of this kind."""
        for action in actions:
            envelope = self.ledger.of_request(request_id, action)
            if envelope is not None:
                return outcome_of(envelope)
        others = [action for action in Action if self.ledger.of_request(request_id, action) is not None]
        if others:
            raise ConflictError(
                f"request {request_id!r} was for something else ({others[0]}): give this one another id"
            )
        return None


def _of_as_many(known: Outcome, table: Any) -> Outcome:
    """Return what was done before, if it was done to as many records as were sent now: nobody keeps which they were."""
    number = table.num_rows if hasattr(table, "num_rows") else table.n_rows
    if known.added != number:
        raise ConflictError(
            f"a request with this id was for {known.added:,} records, and now there are {number:,}: "
            f"give this one another id"
        )
    return known


def outcome_of(envelope: Envelope) -> Outcome:
    """Return what an entry of the ledger says that was done."""
    counts = envelope.statement.counts
    return Outcome(envelope, None, counts.removed, counts.added, counts.remaining)

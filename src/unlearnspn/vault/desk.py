"""What a data protection officer does with the requests of people; each step is durable when it returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unlearnspn.ids import RecordId, read_ids
from unlearnspn.vault.errors import InboxError, InboxInputError
from unlearnspn.vault.forms import read_subject
from unlearnspn.vault.held import HeldRecords
from unlearnspn.vault.inbox import (
    Hold,
    Inbox,
    InboxRequest,
    NewRequest,
    State,
    Wish,
    require_nameless,
    require_text,
)
from unlearnspn.vault.outcome import Outcome
from unlearnspn.vault.preview import Preview

if TYPE_CHECKING:
    from unlearnspn.vault.vault import Vault


class Desk:
    """The inbox of a vault.

    A request is filed, the identity of the requester verified; then it is carried out, or denied. What is carried out
    changes records, model, ledger and inbox in one transaction. Once somebody was erased, nothing names them any more.

    >>> from tempfile import TemporaryDirectory
    >>> import pandas as pd
    >>> from unlearnspn import Vault
    >>> people = pd.DataFrame({
    ...     "customer": [f"c-{i}" for i in range(60)],
    ...     "person": [f"p-{i // 2}" for i in range(60)],
    ...     "age": [20.0 + i % 50 for i in range(60)],
    ... })
    >>> folder = TemporaryDirectory()
    >>> with Vault.create(f"{folder.name}/people.uspn") as vault:
    ...     added = vault.ingest(people, ids="customer", subjects="person")
    ...     fitted = vault.fit(min_rows=20)
    ...     request = vault.desk.file("erase", subject="p-7", who="anna")
    ...     verified = vault.desk.verify_identity(request.id, who="anna")
    ...     outcome = vault.desk.erase(request.id, ground="Art. 17(1)(b)", who="anna")
    ...     done = vault.desk.get(request.id)
    >>> outcome.removed, str(done.state), done.subject, done.entry
    (2, 'done', None, 3)
    >>> folder.cleanup()
    """

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    # -- reading ---------------------------------------------------------------------------------------------------

    def requests(self) -> list[InboxRequest]:
        """Return all requests; those that are due first come first, and what is closed last."""
        return self._vault.read_inbox(Inbox.requests)

    def get(self, request_id: str) -> InboxRequest:
        """Return a request."""
        return self._vault.read_inbox(lambda inbox: inbox.get(request_id))

    def related(self, request_id: str) -> list[InboxRequest]:
        """Return the other requests of the same person."""
        return self._vault.read_inbox(lambda inbox: inbox.related(inbox.get(request_id)))

    def holds(self) -> list[Hold]:
        """Return the legal holds, by subject."""
        return self._vault.read_inbox(Inbox.holds)

    def holds_on(self, request_id: str) -> list[Hold]:
        """Return the legal holds on the person whom a request is about."""

        def act() -> list[Hold]:
            request = self.get(request_id)
            subjects = self._vault.subjects_of(request.ids) if request.subject is None else {request.subject}
            return self._vault.read_inbox(lambda inbox: inbox.held(subjects))

        return self._vault.take_turn(act)

    # -- requests --------------------------------------------------------------------------------------------------

    def file(
        self,
        wish: Wish | str,
        *,
        who: str,
        subject: Any = None,
        ids: Any = None,
        received: str | None = None,
        request_id: str | None = None,
        note: str = "",
    ) -> InboxRequest:
        """Enter a request of a person, named by subject or by ids of records.

        It may be repeated under its id: the one that is there is returned. Ids stay in the ledger for good: put no
        personal data into them.
        """
        name = None if subject is None else read_subject(subject)
        records: Sequence[RecordId] = () if ids is None else read_ids(ids)
        wish = _read_wish(wish)

        return self.file_all([NewRequest(wish, name, tuple(records), received, request_id, note)], who=who)[0]

    def file_all(self, new: Sequence[NewRequest], *, who: str) -> list[InboxRequest]:
        """Enter requests, all of them or none."""

        def act() -> list[InboxRequest]:
            for each in new:
                self._refuse_other(each)
            return self._vault.change_inbox(lambda inbox: inbox.file_all(new, who))

        return self._vault.take_turn(act)

    def _refuse_other(self, new: NewRequest) -> None:
        """Raise if there was a request with this id of somebody who was erased, and this one is of somebody else."""
        request_id = new.request_id
        known = None if request_id is None else self._vault.read_inbox(lambda inbox: inbox.find(request_id))
        if known is not None and known.is_nameless and self._vault.holds_any(new.ids, subject=new.subject):
            raise InboxError(f"there is another request {request_id!r} already: give this one another id")

    def verify_identity(self, request_id: str, *, who: str) -> InboxRequest:
        """Say that the requester is the person."""
        return self._vault.change_inbox(lambda inbox: inbox.verify_identity(request_id, who))

    def extend(self, request_id: str, until: str, *, who: str, reason: str) -> InboxRequest:
        """Set a later date, once, by up to two months, with a reason."""
        return self._vault.change_inbox(lambda inbox: inbox.extend(request_id, until, who, reason))

    def deny(self, request_id: str, *, ground: str, who: str, reason: str) -> InboxRequest:
        """Refuse a request, with a ground that the law knows, and a reason for the person."""

        def act() -> InboxRequest:
            is_held = self._is_held(request_id)
            return self._vault.change_inbox(lambda inbox: inbox.deny(request_id, ground, who, reason, is_held))

        return self._vault.take_turn(act)

    def withdraw(self, request_id: str, *, who: str) -> InboxRequest:
        """Close a request that the person does not make any more."""

        def act() -> InboxRequest:
            is_held = self._is_held(request_id)
            return self._vault.change_inbox(lambda inbox: inbox.withdraw(request_id, who, is_held))

        return self._vault.take_turn(act)

    def note(self, request_id: str, text: str, *, who: str) -> InboxRequest:
        """Put a remark on the timeline of a request."""
        return self._vault.change_inbox(lambda inbox: inbox.note(request_id, who, text))

    def hold(self, subject: Any, *, who: str, reason: str) -> Hold:
        """Block the erasure of a person of whom something is held, until the hold is lifted."""
        name = str(read_subject(subject))

        def act() -> Hold:
            self._vault.records_of(subject=name)
            return self._vault.change_inbox(lambda inbox: inbox.hold(name, who, reason))

        return self._vault.take_turn(act)

    def lift(self, subject: Any) -> None:
        """Allow the erasure of a person again."""
        self._vault.change_inbox(lambda inbox: inbox.lift(str(read_subject(subject))))

    # -- carrying out ----------------------------------------------------------------------------------------------

    def ready(self, request_id: str, wish: Wish) -> InboxRequest:
        """Return a request that can be carried out, or raise: open, verified, and for what is wished."""
        request = self.get(request_id)
        if request.wish is not wish:
            raise InboxError(f"request {request_id!r} asks to {request.wish}, not to {wish}")
        if not request.is_open:
            raise InboxError(f"request {request_id!r} is {request.state} already")
        if request.verified_by is None:
            raise InboxError(f"nobody has verified who made request {request_id!r}: do that first")
        return request

    def try_out(self, request_id: str) -> Outcome:
        """Return what the erasure that is asked for would do; nothing is changed."""

        def act() -> Outcome:
            return self._vault.unlearn(**_person(self.ready(request_id, Wish.ERASE)), dry_run=True)

        return self._vault.take_turn(act)

    def preview(self, request_id: str) -> Preview:
        """Return what the erasure that is asked for would do to the model; see `Vault.preview`."""
        return self._vault.take_turn(lambda: self._vault.preview(**_person(self.ready(request_id, Wish.ERASE))))

    def erase(self, request_id: str, *, ground: str, who: str) -> Outcome:
        """Remove the person's records from vault and model, and all that names them from the inbox.

        Asked once more under the same id, it returns the same certificate and changes nothing. Receipts are in the
        first outcome alone: the vault keeps nothing of them.
        """

        def act() -> Outcome:
            request = self.get(request_id)
            if request.wish is Wish.ERASE and request.is_carried_out:
                return self._done(request)
            request = self.ready(request_id, Wish.ERASE)
            require_ground(ground, request.subject, request.ids)
            asked: dict[str, Any] = {
                "request_id": request_id,
                "operator": who,
                "received": request.received,
                "ground": ground,
            }
            return self._vault.unlearn(**_person(request), **asked)

        return self._vault.take_turn(act)

    def access(self, request_id: str, *, who: str) -> HeldRecords:
        """Return all records of the person, and close the request.

        Asked once more under the same id, it returns what is held then.
        """

        def act() -> HeldRecords:
            request = self.get(request_id)
            if request.wish is Wish.ACCESS and request.state is State.DONE and not request.is_nameless:
                return self._vault.access(**_person(request))
            held = self._vault.access(**_person(self.ready(request_id, Wish.ACCESS)))
            self._vault.change_inbox(lambda inbox: inbox.close(request_id, who))
            return held

        return self._vault.take_turn(act)

    def correct(self, request_id: str, table: Any, *, who: str, ids: Any = None) -> Outcome:
        """Replace values of the person's records by those of a table, which has just the columns that change.

        Asked once more under the same id, it returns the same certificate and changes nothing.
        """

        def act() -> Outcome:
            request = self.get(request_id)
            if request.wish is Wish.CORRECT and request.is_carried_out:
                return self._done(request)
            own = self._vault.records_of(**_person(self.ready(request_id, Wish.CORRECT)))
            return self._vault.rectify(
                table, ids, within=own, request_id=request_id, operator=who, received=request.received
            )

        return self._vault.take_turn(act)

    def _is_held(self, request_id: str) -> bool:
        request = self.get(request_id)
        return self._vault.holds_any(request.ids, subject=request.subject)

    def _done(self, request: InboxRequest) -> Outcome:
        assert request.entry is not None
        certificate = self._vault.log(request.entry)[0]
        counts = certificate.statement.counts
        return Outcome(certificate, None, counts.removed, counts.added, counts.remaining)


def require_ground(ground: str, subject: str | None, ids: Sequence[RecordId]) -> None:
    """Raise unless there is a ground for the erasure of a person, which does not name them."""
    require_text("an approval needs a ground", ground)
    require_nameless("a ground", ground, subject, ids)


def _person(request: InboxRequest) -> dict[str, Any]:
    """Return how a vault is told whose records are meant."""
    return {"ids": list(request.ids)} if request.subject is None else {"subject": request.subject}


def _read_wish(wish: Wish | str) -> Wish:
    try:
        return Wish(wish)
    except ValueError as error:
        raise InboxInputError(f"{wish!r} is none of 'erase', 'access', 'correct'") from error

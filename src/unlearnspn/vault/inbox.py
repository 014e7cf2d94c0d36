"""The requests of people whose records a vault holds, and what became of them.

A request names a person: by subject, or by ids of records. Once an erasure is done, or a correction that leaves them
without records, nothing here names them any more: the request keeps its id, its dates, its ground and its outcome, and
in place of the person the commitment of the erasure's certificate. Requests are texts in a heap in which bytes that are
removed are wiped, stored with the records under one seal; so they change in one transaction with these.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any

import numpy as np

from unlearnspn.certificates import CertificateError, utc_now
from unlearnspn.certificates.dates import check_date, days_between
from unlearnspn.ids import RecordId
from unlearnspn.vault.deadlines import due_after, latest_extension
from unlearnspn.vault.errors import DamagedVaultError, InboxError, InboxInputError, UnknownRequestError
from unlearnspn.vault.ledger import Asked
from unlearnspn.vault.pages import PageStore
from unlearnspn.vault.texts import TextColumn

_REQUESTS, _HOLDS = "inbox.requests", "inbox.holds"
_LEAST_ROOM = 16
#: In characters; what is shorter may well be part of something else.
_SHORTEST_NAME = 3


class Wish(StrEnum):
    """What a person asks for."""

    ERASE = "erase"
    ACCESS = "access"
    CORRECT = "correct"


class State(StrEnum):
    """How far a request has come."""

    OPEN = "open"
    DONE = "done"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Step:
    """Something that happened to a request: when, by whom, and what; `note` may name the person, and goes with them."""

    at: str
    who: str
    what: str
    note: str = ""


@dataclass(frozen=True)
class InboxRequest:
    """A request as it is now."""

    id: str
    wish: Wish
    #: The person; neither once they were erased.
    subject: str | None
    ids: tuple[RecordId, ...]
    received: str
    due: str
    state: State = State.OPEN
    #: Who has made sure that the requester is the person.
    verified_by: str | None = None
    #: Until when it was extended before, once.
    is_extended: bool = False
    #: Why it was done, or denied: a legal ground, which names nobody.
    ground: str = ""
    #: The entry of the ledger that says that it was done, and the commitment in place of the person.
    entry: int | None = None
    commitment: str | None = None
    steps: tuple[Step, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether something is still to be done."""
        return self.state is State.OPEN

    @property
    def is_nameless(self) -> bool:
        """Whether nothing here says any more whose request it was."""
        return self.subject is None and not self.ids

    @property
    def is_carried_out(self) -> bool:
        """Whether the ledger says that it was done."""
        return self.state is State.DONE and self.entry is not None

    @property
    def days_left(self) -> int | None:
        """How many days there are until it is due, from date to date; None once it is closed."""
        return days_between(utc_now(), self.due) if self.is_open else None

    @property
    def is_late(self) -> bool:
        """Whether it should have been answered before now."""
        return self.is_open and self.due < utc_now()

    def names(self, subjects: set[str], ids: set[RecordId]) -> bool:
        """Tell whether it names one of some subjects or records."""
        return self.subject in subjects or not ids.isdisjoint(self.ids)

    def without_person(self, commitment: str | None) -> InboxRequest:
        """Return the request with nothing that may name the person."""
        steps = tuple(replace(step, note="") for step in self.steps)
        return replace(self, subject=None, ids=(), commitment=commitment, steps=steps)

    def with_step(self, who: str, what: str, note: str = "", **changed: Any) -> InboxRequest:
        """Return the request after something has happened to it."""
        return replace(self, **changed, steps=(*self.steps, Step(utc_now(), who, what, note)))


@dataclass(frozen=True)
class NewRequest:
    """What a person asks for: named by a subject, or by ids of records."""

    wish: Wish
    subject: str | None = None
    ids: tuple[RecordId, ...] = ()
    received: str | None = None
    request_id: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Hold:
    """A duty to keep what is held on a person, which blocks erasure until it is lifted."""

    subject: str
    reason: str
    who: str
    since: str


class Inbox:
    """All requests by their ids, and legal holds by subject."""

    def __init__(self) -> None:
        self._requests = _Stored(_REQUESTS, lambda request: request.id)
        self._holds = _Stored(_HOLDS, lambda hold: hold.subject)

    # -- reading ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._requests.by_key)

    def requests(self) -> list[InboxRequest]:
        """Return all requests; those that are due first come first, and what is closed last."""
        return sorted(
            self._requests.by_key.values(), key=lambda request: (not request.is_open, request.due, request.id)
        )

    def find(self, request_id: str) -> InboxRequest | None:
        """Return a request, if there is one with this id."""
        found: InboxRequest | None = self._requests.by_key.get(request_id)
        return found

    def get(self, request_id: str) -> InboxRequest:
        """Return a request, or raise."""
        found = self.find(request_id)
        if found is None:
            raise UnknownRequestError(f"there is no request {request_id!r} in the inbox")
        return found

    def related(self, request: InboxRequest) -> list[InboxRequest]:
        """Return the other requests of the same person; open ones for the same are likely duplicates."""
        subjects = set() if request.subject is None else {request.subject}
        return [each for each in self.requests() if each.id != request.id and each.names(subjects, set(request.ids))]

    def holds(self) -> list[Hold]:
        """Return the legal holds, by subject."""
        return sorted(self._holds.by_key.values(), key=lambda hold: hold.subject)

    def held(self, subjects: Iterable[str | None]) -> list[Hold]:
        """Return the legal holds on some subjects."""
        found = (self._holds.by_key.get(subject) for subject in sorted({each for each in subjects if each is not None}))
        return [hold for hold in found if hold is not None]

    # -- requests --------------------------------------------------------------------------------------------------

    def file(
        self,
        wish: Wish,
        subject: str | None,
        ids: Sequence[RecordId],
        who: str,
        received: str | None = None,
        request_id: str | None = None,
        note: str = "",
    ) -> InboxRequest:
        """Enter a request; the same one once more, by its id, is the one that is there."""
        return self.file_all([NewRequest(wish, subject, tuple(ids), received, request_id, note)], who)[0]

    def file_all(self, new: Iterable[NewRequest], who: str) -> list[InboxRequest]:
        """Enter requests, all of them or none."""
        entered: dict[str, InboxRequest] = {}
        filed = [self._entered(each, who, entered) for each in new]
        for request in entered.values():
            self._put(request)
        return filed

    def _entered(self, new: NewRequest, who: str, entered: dict[str, InboxRequest]) -> InboxRequest:
        """Return the request that is there, or else a new one, which is added to those that are entered."""
        if (new.subject is None) == (not new.ids):
            raise InboxInputError("a request names a person: by a subject, or by the ids of records")
        received = _read_date(new.received) if new.received is not None else utc_now()
        if received > utc_now():
            raise InboxInputError(f"a request cannot have been received on {received}, which is in the future")
        request_id = new.request_id or f"q-{secrets.token_hex(8)}"
        known = self.find(request_id) or entered.get(request_id)
        if known is not None:
            if known.wish is new.wish and ((known.subject, known.ids) == (new.subject, new.ids) or known.is_nameless):
                return known
            raise InboxError(f"there is another request {request_id!r} already: give this one another id")
        request = InboxRequest(request_id, new.wish, new.subject, new.ids, received, due_after(received))
        require_nameless("the id of a request", request_id, new.subject, new.ids)
        entered[request_id] = request.with_step(who, "filed", new.note)
        return entered[request_id]

    def verify_identity(self, request_id: str, who: str) -> InboxRequest:
        """Say that the requester is the person; who said so first is who did."""
        request = self._open(request_id)
        if request.verified_by is not None:
            return request
        return self._put(request.with_step(who, "identity verified", verified_by=who))

    def extend(self, request_id: str, until: str, who: str, reason: str) -> InboxRequest:
        """Set a later date, once, by up to two months, with a reason."""
        request, until = self._open(request_id), _read_date(until)
        if request.is_extended:
            raise InboxError(f"request {request_id!r} was extended before: the law allows one extension")
        if not request.due < until <= latest_extension(request.received):
            raise InboxInputError(
                f"request {request_id!r} can be extended beyond {request.due}, until "
                f"{latest_extension(request.received)}, not until {until}"
            )
        require_text("an extension needs a reason", reason)
        return self._put(request.with_step(who, "extended", reason, due=until, is_extended=True))

    def deny(self, request_id: str, ground: str, who: str, reason: str, is_held: bool) -> InboxRequest:
        """Refuse a request, with a ground that the law knows, and a reason for the person.

        Of whom nothing is held, nothing stays here: they may have been erased before, and no erasure comes after this.
        """
        require_text("a refusal needs a ground", ground)
        require_text("a refusal needs a reason", reason)
        request = self._open(request_id)
        require_nameless("a ground", ground, request.subject, request.ids)
        denied = request.with_step(who, "denied", reason, state=State.DENIED, ground=ground)
        return self._put(denied if is_held else denied.without_person(None))

    def withdraw(self, request_id: str, who: str, is_held: bool) -> InboxRequest:
        """Close a request that the person does not make any more; of whom nothing is held, nothing stays here."""
        withdrawn = self._open(request_id).with_step(who, "withdrawn", state=State.WITHDRAWN)
        return self._put(withdrawn if is_held else withdrawn.without_person(None))

    def note(self, request_id: str, who: str, text: str) -> InboxRequest:
        """Put a remark on the timeline of a request."""
        require_text("a remark needs a text", text)
        request = self.get(request_id)
        if request.is_nameless:
            raise InboxError(f"request {request_id!r} is about somebody who was erased: no remark may name them again")
        return self._put(request.with_step(who, "remark", text))

    def close(self, request_id: str, who: str) -> InboxRequest:
        """Say that a request was answered without a change of the vault: somebody got to see what is held."""
        return self._put(self._open(request_id).with_step(who, "done", state=State.DONE))

    def require_same(self, request_id: str, wish: Wish | None, is_about: Callable[[InboxRequest], bool]) -> None:
        """Raise if there is an open request with this id that asks for something else, or for somebody else."""
        request = self.find(request_id)
        if request is None or not request.is_open:
            return
        if request.wish is not wish:
            raise InboxError(f"request {request_id!r} in the inbox asks to {request.wish}: give this change another id")
        if not is_about(request):
            raise InboxError(f"request {request_id!r} in the inbox is about other records: give this change another id")

    def settle(self, asked: Asked, entry: int) -> None:
        """Close the request under whose id something was changed, if it is here; the ledger says what was."""
        request = self.find(asked.id)
        if request is not None and request.is_open:
            if asked.ground:
                request = request.with_step(asked.operator, "approved", ground=asked.ground)
            self._put(request.with_step(asked.operator, "done", state=State.DONE, entry=entry))

    def forget(
        self,
        subjects: set[str],
        ids: set[RecordId],
        holds: Callable[[Sequence[RecordId]], list[bool]],
        asked: Asked,
        entry: int,
        commitment: str | None,
    ) -> None:
        """Erase all that names people or records that were removed; requests keep what names nobody.

        `holds` tells which records are held now: no others are named any more. Open requests of those who have left are
        done with that, whatever they asked for: there is nothing left to see or to correct.
        """
        self.settle(asked, entry)
        for request in self.requests():
            if not request.names(subjects, ids):
                continue
            left = tuple(item for item, is_held in zip(request.ids, holds(request.ids), strict=True) if is_held)
            if left and request.subject not in subjects:
                self._put(replace(request, ids=left))
                continue
            if request.is_open:
                request = request.with_step(asked.operator, "done", state=State.DONE, entry=entry)  # noqa: PLW2901
            self._put(request.without_person(commitment))
        for subject in subjects:
            self._holds.remove(subject)

    # -- holds -----------------------------------------------------------------------------------------------------

    def hold(self, subject: str, who: str, reason: str) -> Hold:
        """Block the erasure of a person."""
        require_text("a legal hold needs a reason", reason)
        hold = Hold(subject, reason, who, utc_now())
        self._holds.put(hold, asdict(hold))
        return hold

    def lift(self, subject: str) -> None:
        """Allow the erasure of a person again."""
        if subject not in self._holds.by_key:
            raise InboxError(f"there is no legal hold on {subject!r}")
        self._holds.remove(subject)

    # -- storing ---------------------------------------------------------------------------------------------------

    def save(self, store: PageStore) -> None:
        """Store what has changed."""
        self._requests.save(store)
        self._holds.save(store)

    @classmethod
    def load(cls, store: PageStore) -> Inbox:
        """Read what was stored."""
        inbox = cls()
        inbox._requests.load(store, _read_request)
        inbox._holds.load(store, lambda document: Hold(**document))
        return inbox

    # -- inside ----------------------------------------------------------------------------------------------------

    def _open(self, request_id: str) -> InboxRequest:
        request = self.get(request_id)
        if not request.is_open:
            raise InboxError(f"request {request_id!r} is {request.state} already")
        return request

    def _put(self, request: InboxRequest) -> InboxRequest:
        self._requests.put(request, asdict(request))
        return request


class _Stored:
    """Things by their keys, each a text in a slot."""

    def __init__(self, name: str, key: Callable[[Any], str]) -> None:
        self._name = name
        self._key = key
        self._texts = TextColumn(0)
        self._slots: dict[str, int] = {}
        self._free: list[int] = []
        self._touched: set[int] = set()
        self.by_key: dict[str, Any] = {}

    def put(self, thing: Any, document: dict[str, Any]) -> None:
        """Keep something, in place of what had its key."""
        key = self._key(thing)
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = self._take_slot()
        self._texts.put(np.array([slot]), [json.dumps(document, separators=(",", ":"))])
        self._touched.add(slot)
        self.by_key[key] = thing

    def remove(self, key: str) -> None:
        """Remove what has a key, if there is anything."""
        slot = self._slots.pop(key, None)
        if slot is not None:
            self._texts.wipe(np.array([slot]))
            self._free.append(slot)
            self._touched.add(slot)
            del self.by_key[key]

    def _take_slot(self) -> int:
        if not self._free:
            capacity = self._texts.capacity
            grown = max(capacity + capacity // 4, _LEAST_ROOM)
            self._texts.resize(grown)
            self._touched.update(range(capacity, grown))
            self._free = list(range(grown - 1, capacity - 1, -1))
        return self._free.pop()

    def save(self, store: PageStore) -> None:
        """Store what has changed."""
        if self._touched:
            self._texts.save(store, self._name, np.array(sorted(self._touched), np.int64))
            self._touched = set()

    def load(self, store: PageStore, read: Callable[[dict[str, Any]], Any]) -> None:
        """Read what was stored."""
        if f"{self._name}.starts" not in store.names:
            return
        self._texts = TextColumn.load(store, self._name)
        for slot, text in enumerate(self._texts.get(np.arange(self._texts.capacity))):
            if text is None:
                self._free.append(slot)
                continue
            thing = read(json.loads(text))
            if self._key(thing) in self._slots:
                raise DamagedVaultError(f"the vault is damaged: {self._name!r} has {self._key(thing)!r} twice")
            self._slots[self._key(thing)], self.by_key[self._key(thing)] = slot, thing
        self._free.reverse()


def _read_request(document: dict[str, Any]) -> InboxRequest:
    if set(document) != {each.name for each in fields(InboxRequest)}:
        raise ValueError("a request of the inbox has other fields than it should have")
    steps = tuple(Step(**step) for step in document.pop("steps"))
    wish, state, ids = Wish(document.pop("wish")), State(document.pop("state")), tuple(document.pop("ids"))
    return InboxRequest(**document, wish=wish, state=state, ids=ids, steps=steps)


def _read_date(text: str) -> str:
    try:
        return check_date(text)
    except CertificateError as error:
        raise InboxInputError(str(error)) from error


def require_text(message: str, text: str) -> None:
    """Raise, with a message, if there is no text."""
    if not text.strip():
        raise InboxInputError(message)


def require_nameless(what: str, text: str, subject: str | None, ids: Iterable[RecordId]) -> None:
    """Raise if something that stays for good names a person; what has no letters is no name."""
    names = [subject, *ids]
    for name in {str(name).strip().casefold() for name in names if name is not None}:
        if len(name) >= _SHORTEST_NAME and re.search(r"[^\W\d_]", name) and _is_word_of(name, text.casefold()):
            raise InboxInputError(f"{what} stays for good, also once the person was erased: do not name them in it")


def _is_word_of(name: str, text: str) -> bool:
    """Tell whether a name is in a text, and not as a part of a longer word."""
    # Not by a regular expression of the name: Python keeps the last ones.
    place = text.find(name)
    while place >= 0:
        end = place + len(name)
        if not (text[max(place - 1, 0) : place].isalnum() or text[end : end + 1].isalnum()):
            return True
        place = text.find(name, place + 1)
    return False

"""What an entry of the ledger says: an in-toto statement, version 1, with predicates of our own.

The subjects of a statement are the model and the state after the entry, by commitments to their digests; before there
is a model, and when a key is introduced, the public key. A statement holds no personal data: counts, dates, commitments
to digests that only the vault can open as long as it is in that state, and one to removed ids that nobody can open
without a receipt. Which operations changed is not told: whoever knows the records that remain could try out which
record, removed, changes just these.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from unlearnspn.certificates.canonical import decode_base64, decode_json, encode_base64, encode_json
from unlearnspn.certificates.dates import check_date, days_between
from unlearnspn.certificates.errors import CertificateError
from unlearnspn.certificates.fields import Fields
from unlearnspn.certificates.keys import PublicKey
from unlearnspn.certificates.state import Commitments
from unlearnspn.certificates.wording import GUARANTEE, LIMITS

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
_PREDICATE_TYPE = "urn:unlearnspn:{action}:v2"

#: Longer texts of operators are no names, and might hold what does not belong into a certificate.
TEXT_LIMIT = 200


class Action(StrEnum):
    """What an entry of the ledger did."""

    INIT = "init"
    INGEST = "ingest"
    FIT = "fit"
    REMOVAL = "removal"
    ADDITION = "addition"
    CORRECTION = "correction"
    KEY_ROTATION = "key-rotation"
    #: Somebody took the model that serves.
    EXPORT = "export"

    @property
    def predicate_type(self) -> str:
        """The URI of the predicate."""
        return _PREDICATE_TYPE.format(action=self.value)


@dataclass(frozen=True)
class Link:
    """An entry's place in the ledger of a vault; `previous` is the digest of the entry before, None for the first."""

    vault: str
    entry: int
    previous: str | None


@dataclass(frozen=True)
class Request:
    """Who asked for what and when is for the request id to say; the dates are UTC, such as 2026-01-31T09:30:00Z."""

    id: str
    received: str
    completed: str
    operator: str

    @property
    def days(self) -> int:
        """How many days it took, from date to date."""
        return days_between(self.received, self.completed)


@dataclass(frozen=True)
class Counts:
    """How many records were removed and added, and how many there are afterwards.

    A corrected record counts as removed and added.
    """

    removed: int
    added: int
    remaining: int


@dataclass(frozen=True)
class Statement:
    """One entry of the ledger.

    >>> key = PublicKey(bytes(32))
    >>> request = Request("r-1", "2026-01-31T09:30:00Z", "2026-01-31T09:30:01Z", "registry")
    >>> first = Statement(Action.INIT, Link("0" * 32, 0, None), request, "unlearnspn 0.1.0", introduced=key)
    >>> Statement.decode(first.encode()) == first
    True
    """

    action: Action
    link: Link
    request: Request
    software: str
    counts: Counts = Counts(0, 0, 0)
    #: None as long as there is no model.
    before: Commitments | None = None
    after: Commitments | None = None
    #: The digest of schema, parameters and seed, once there are any.
    settings: str | None = None
    #: Of a removal: the commitment to the ids, which only receipts can open.
    commitment: str | None = None
    guarantee: str = ""
    limits: tuple[str, ...] = ()
    #: Of the first entry and of key rotations: the key that signs from now on.
    introduced: PublicKey | None = None

    def __post_init__(self) -> None:
        for text in (self.request.id, self.request.operator):
            if not 0 < len(text) <= TEXT_LIMIT or not text.isprintable():
                raise CertificateError(
                    f"a request id or an operator must be a line of 1 to {TEXT_LIMIT} characters, not {text[:50]!r}"
                )
        check_date(self.request.received)
        check_date(self.request.completed)
        self._require(self.introduced, self.action in (Action.INIT, Action.KEY_ROTATION), "a key that is introduced")
        self._require(self.commitment, self.action is Action.REMOVAL, "a commitment")
        self._require(self.link.previous, self.link.entry > 0, "a previous entry")
        if self.after is None and (self.action is Action.FIT or (self.before is not None and self.counts.remaining)):
            raise CertificateError(f"the {self.action} leaves no model behind")

    def _require(self, value: Any, wanted: bool, what: str) -> None:
        if (value is not None) != wanted:
            verb = "must" if wanted else "must not"
            raise CertificateError(f"entry {self.link.entry} ({self.action}) {verb} have {what}")

    def encode(self) -> bytes:
        """Write the statement as canonical JSON."""
        return encode_json(
            {
                "_type": STATEMENT_TYPE,
                "subject": self._subjects(),
                "predicateType": self.action.predicate_type,
                "predicate": self._predicate(),
            }
        )

    @classmethod
    def decode(cls, encoded: bytes) -> Statement:
        """Read a statement; anything that `encode` would not write is refused."""
        statement = _read_statement(decode_json(encoded, "the statement"))
        if statement.encode() != encoded:
            raise CertificateError("the statement contradicts itself: its subject is not what its predicate says")
        return statement

    def _subjects(self) -> list[dict[str, Any]]:
        subjects: list[dict[str, Any]] = []
        if self.after is not None:
            subjects += [
                {"name": "model", "digest": {"unlearnspnCommitment": self.after.model}},
                {"name": "state", "digest": {"unlearnspnCommitment": self.after.state}},
            ]
        if self.introduced is not None:
            subjects.append({"name": "public key", "digest": {"sha256": self.introduced.id}})
        # A statement must have a subject: before there is a model, that is the ledger so far.
        return subjects or [{"name": "ledger", "digest": {"sha256": self.link.previous}}]

    def _predicate(self) -> dict[str, Any]:
        return {
            "ledger": vars(self.link),
            "request": vars(self.request),
            "software": self.software,
            "records": vars(self.counts),
            "before": None if self.before is None else vars(self.before),
            "after": None if self.after is None else vars(self.after),
            "settings": self.settings,
            "commitment": self.commitment,
            "guarantee": self.guarantee,
            "limits": list(self.limits),
            "publicKey": None if self.introduced is None else encode_base64(self.introduced.raw),
        }


def state_removal(
    link: Link,
    request: Request,
    software: str,
    counts: Counts,
    commitment: str,
    before: Commitments | None,
    after: Commitments | None,
    settings: str | None,
) -> Statement:
    """Return the statement of a removal, with guarantee and limits in words."""
    return Statement(
        Action.REMOVAL,
        link,
        request,
        software,
        counts,
        before,
        after,
        settings,
        commitment,
        GUARANTEE,
        LIMITS,
    )


# -- reading ---------------------------------------------------------------------------------------------------------


def _read_statement(document: Any) -> Statement:
    outer = Fields(document, "the statement", {"_type", "subject", "predicateType", "predicate"})
    if outer.text("_type") != STATEMENT_TYPE:
        raise CertificateError(f"the statement is of type {outer.text('_type')!r}, not {STATEMENT_TYPE}")
    action = _read_action(outer.text("predicateType"))
    names = {
        *("ledger", "request", "software", "records", "before", "after", "settings"),
        *("commitment", "guarantee", "limits", "publicKey"),
    }
    inner = Fields(outer.value("predicate"), "the predicate", names)
    key = inner.optional_text("publicKey")
    return Statement(
        action,
        _read_link(inner.fields("ledger", {"vault", "entry", "previous"})),
        _read_request(inner.fields("request", {"id", "received", "completed", "operator"})),
        inner.text("software"),
        _read_counts(inner.fields("records", {"removed", "added", "remaining"})),
        _read_commitments(inner, "before"),
        _read_commitments(inner, "after"),
        inner.optional_digest("settings"),
        inner.optional_digest("commitment"),
        inner.text("guarantee"),
        inner.texts("limits"),
        None if key is None else _read_key(key),
    )


def _read_action(predicate_type: str) -> Action:
    for action in Action:
        if action.predicate_type == predicate_type:
            return action
    raise CertificateError(f"the predicate type {predicate_type!r} is unknown; a newer unlearnspn may know it")


def _read_link(fields: Fields) -> Link:
    return Link(fields.text("vault"), fields.number("entry"), fields.optional_digest("previous"))


def _read_request(fields: Fields) -> Request:
    return Request(*(fields.text(name) for name in ("id", "received", "completed", "operator")))


def _read_counts(fields: Fields) -> Counts:
    return Counts(*(fields.number(name) for name in ("removed", "added", "remaining")))


def _read_commitments(fields: Fields, name: str) -> Commitments | None:
    if fields.value(name) is None:
        return None
    inner = fields.fields(name, {"model", "state"})
    return Commitments(inner.digest("model"), inner.digest("state"))


def _read_key(text: str) -> PublicKey:
    raw = decode_base64(text, "the public key")
    if len(raw) != 32:
        raise CertificateError(f"the public key has {len(raw)} bytes, not 32")
    return PublicKey(raw)

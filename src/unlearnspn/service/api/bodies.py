"""What is sent to the API, and what it answers."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictBool, StrictInt, StrictStr, model_validator

from unlearnspn.certificates.statement import TEXT_LIMIT
from unlearnspn.exchange.outcomes import describe_outcome
from unlearnspn.service.desk_service import Person
from unlearnspn.service.jobs import Job
from unlearnspn.vault import InboxRequest, Outcome, State, Wish

Cell = StrictBool | StrictInt | Annotated[FiniteFloat, Field(strict=True)] | StrictStr | None
RecordId = StrictInt | StrictStr
RequestId = Annotated[
    str,
    Field(
        min_length=1,
        max_length=TEXT_LIMIT,
        pattern=r"^[A-Za-z0-9._:-]+$",
        description="The id of a request. It stays in the ledger for good: put no personal data into it.",
    ),
]
Text = Annotated[str, Field(min_length=1, max_length=2000)]
Date = Annotated[str, Field(description="UTC, such as 2026-01-31T09:30:00Z", max_length=40)]


class Body(BaseModel):
    """Something that was sent; what nobody knows is refused."""

    model_config = ConfigDict(extra="forbid")


#: How the description of the API says that a person is named by one of two.
_ONE_OF_TWO: dict[str, Any] = {
    "oneOf": [
        {"required": ["subject"], "properties": {"subject": {"type": "string"}}},
        {"required": ["ids"], "properties": {"ids": {"type": "array"}}},
    ]
}


class PersonBody(Body):
    """Whose records are meant: a subject, or some ids."""

    model_config = ConfigDict(json_schema_extra=_ONE_OF_TWO)

    subject: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    ids: Annotated[list[RecordId], Field(min_length=1, max_length=100_000)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.subject is None) == (self.ids is None):
            raise ValueError("say whose records are meant: either subject or ids")
        return self

    @property
    def person(self) -> Person:
        """The person."""
        return Person(self.subject, tuple(self.ids or ()))


class FileBody(PersonBody):
    """A request of a person."""

    wish: Wish
    request_id: RequestId | None = None
    received: Date | None = None
    note: Annotated[str, Field(max_length=2000)] = ""


class SearchBody(Body):
    """Which requests are looked for; not in the address, since addresses are logged."""

    person: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    states: list[State] | None = None
    wishes: list[Wish] | None = None
    late: StrictBool | None = None


class ExtendBody(Body):
    """An extension."""

    until: Date
    reason: Text


class DenyBody(Body):
    """A refusal, with a ground that the law knows, and a reason for the person."""

    ground: Text
    reason: Text


class EraseBody(Body):
    """An approval, with a ground that the law knows."""

    ground: Text


class NoteBody(Body):
    """A remark."""

    text: Text


class HoldBody(Body):
    """A duty to keep what is held on a person."""

    subject: Annotated[str, Field(min_length=1, max_length=1000)]
    reason: Text


class SubjectBody(Body):
    """A person, by subject."""

    subject: Annotated[str, Field(min_length=1, max_length=1000)]


class RemovalBody(PersonBody):
    """An erasure that is carried out at once: the caller has verified who asks."""

    request_id: RequestId
    ground: Text
    received: Date | None = None


class RecordsBody(Body):
    """Records: values by the names of columns."""

    records: Annotated[list[dict[str, Cell]], Field(min_length=1, max_length=1_000_000)]


class FitBody(Body):
    """A model to be learned; parameters are those of SPN."""

    request_id: RequestId
    parameters: dict[str, Cell] = {}


class StepAnswer(BaseModel):
    """Something that happened to a request."""

    at: str
    who: str
    what: str
    note: str


class RequestAnswer(BaseModel):
    """A request as it is now."""

    id: str
    wish: Wish
    subject: str | None
    ids: list[int | str]
    received: str
    due: str
    days_left: int | None
    state: State
    verified_by: str | None
    is_extended: bool
    ground: str
    entry: int | None
    commitment: str | None
    steps: list[StepAnswer]

    @classmethod
    def of(cls, request: InboxRequest) -> Self:
        """Return a request for the wire."""
        return cls(
            id=request.id,
            wish=request.wish,
            subject=request.subject,
            ids=list(request.ids),
            received=request.received,
            due=request.due,
            days_left=request.days_left,
            state=request.state,
            verified_by=request.verified_by,
            is_extended=request.is_extended,
            ground=request.ground,
            entry=request.entry,
            commitment=request.commitment,
            steps=[StepAnswer(**vars(step)) for step in request.steps],
        )


class JobAnswer(BaseModel):
    """Work in the background."""

    id: str
    kind: str
    who: str
    asked: str
    state: str
    step: str
    share: float | None
    result: dict[str, Any] | None
    error: str | None

    @classmethod
    def of(cls, job: Job) -> Self:
        """Return a job for the wire."""
        return cls(**(vars(job) | {"state": job.state.value}))


def answer_of(outcome: Outcome) -> dict[str, Any]:
    """Return what a change did; receipts are for the requesters, and nobody keeps them."""
    receipts = [receipt.encode().decode() for receipt in outcome.receipts()]
    certificate = None if outcome.certificate is None else outcome.certificate.encoded.decode()
    return describe_outcome(outcome) | {"envelope": certificate, "receipts": receipts}

"""Errors as answers: which status each has, and its message, as RFC 9457 describes problems."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from sklearn.exceptions import NotFittedError

from unlearnspn.certificates import CertificateError
from unlearnspn.errors import (
    ImpossibleEvidenceError,
    InvalidEvidenceError,
    InvalidTableError,
    LastRecordError,
    ParameterTypeError,
    RecordIdError,
    UnknownRecordError,
)
from unlearnspn.service.errors import (
    ConflictError,
    EndingError,
    ForbiddenError,
    InvalidInputError,
    NotSignedInError,
    NotThereError,
    ServiceError,
    TooLargeError,
    TooManyAttemptsError,
    TooSlowError,
    UnsupportedTypeError,
    WrongHostError,
)
from unlearnspn.storage.errors import StorageError
from unlearnspn.vault import InboxError, ReturningRecordError, VaultBusyError
from unlearnspn.vault.errors import InboxInputError, UnknownRequestError

#: The first that fits counts.
_STATUSES: tuple[tuple[type[BaseException], HTTPStatus], ...] = (
    (NotSignedInError, HTTPStatus.UNAUTHORIZED),
    (ForbiddenError, HTTPStatus.FORBIDDEN),
    (NotThereError, HTTPStatus.NOT_FOUND),
    (ConflictError, HTTPStatus.CONFLICT),
    (TooManyAttemptsError, HTTPStatus.TOO_MANY_REQUESTS),
    (InvalidInputError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (UnsupportedTypeError, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    (TooLargeError, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (WrongHostError, HTTPStatus.BAD_REQUEST),
    (TooSlowError, HTTPStatus.REQUEST_TIMEOUT),
    (EndingError, HTTPStatus.SERVICE_UNAVAILABLE),
    (ServiceError, HTTPStatus.INTERNAL_SERVER_ERROR),
    (UnknownRequestError, HTTPStatus.NOT_FOUND),
    (UnknownRecordError, HTTPStatus.NOT_FOUND),
    (InboxInputError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (InboxError, HTTPStatus.CONFLICT),
    (ReturningRecordError, HTTPStatus.CONFLICT),
    (NotFittedError, HTTPStatus.CONFLICT),
    (LastRecordError, HTTPStatus.CONFLICT),
    (VaultBusyError, HTTPStatus.SERVICE_UNAVAILABLE),
    (StorageError, HTTPStatus.SERVICE_UNAVAILABLE),
    (CertificateError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (InvalidTableError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (RecordIdError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (InvalidEvidenceError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (ImpossibleEvidenceError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (ParameterTypeError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (ValueError, HTTPStatus.UNPROCESSABLE_ENTITY),
)
#: Of what nobody expected; whether it came before or after a change was made, nobody knows.
_UNEXPECTED = (
    "something went wrong here; a change is made as a whole or not at all: "
    "look whether this one was made, or ask again with the same id"
)


@dataclass(frozen=True)
class Problem:
    """What went wrong, for whoever asked."""

    status: HTTPStatus
    detail: str


def explain(error: BaseException) -> Problem:
    """Return the status and the message of an error."""
    for kind, status in _STATUSES:
        if isinstance(error, kind):
            return Problem(status, str(error))
    return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, _UNEXPECTED)

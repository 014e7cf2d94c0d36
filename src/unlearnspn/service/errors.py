"""What can be wrong with what somebody asks of the service."""

from __future__ import annotations


class ServiceError(Exception):
    """The service cannot do what it is asked; the message says why, and names nobody but the one who asks."""


class ServiceFileError(ServiceError):
    """The service's own file cannot be used."""


class AddressError(ServiceError):
    """Nobody can listen where the service is to be reached."""


class CertificateFilesError(ServiceError):
    """The files for TLS cannot be used."""


class InvalidInputError(ServiceError):
    """Something that was passed cannot be used."""


class UnsupportedTypeError(ServiceError):
    """What was sent is of a type that nobody reads here."""


class TooLargeError(ServiceError):
    """More was sent than is taken."""


class TooSlowError(ServiceError):
    """What was sent did not come in time."""


class WrongHostError(ServiceError):
    """The service was called by a name that is not its own."""


class NotSignedInError(ServiceError):
    """Nobody knows who asks: no password, no token, or one that is wrong or too old."""


class ForbiddenError(ServiceError):
    """Who asks may not do this."""


class NotThereError(ServiceError):
    """There is no such thing."""


class ConflictError(ServiceError):
    """It cannot be done as things are now."""


class EndingError(ServiceError):
    """The service ends before it has answered."""


class TooManyAttemptsError(ServiceError):
    """Somebody has tried too often; `seconds` tells when to try again."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many attempts: try again in {seconds} seconds")
        self.seconds = seconds

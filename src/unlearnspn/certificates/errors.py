"""What can be wrong with a certificate, a receipt or a key."""

from __future__ import annotations


class CertificateError(ValueError):
    """A certificate, a ledger or a receipt is not what it should be; the message says where and why."""


class KeyFileError(ValueError):
    """A key cannot be read, or is not the one that is needed; the message says what to do."""

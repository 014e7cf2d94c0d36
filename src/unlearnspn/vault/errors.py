"""What can be wrong with a vault, or with what is asked of it."""

from __future__ import annotations

from unlearnspn.storage.errors import StorageError


class VaultError(StorageError):
    """A vault cannot be opened, read or changed; the message says why, and what to do."""


class VaultBusyError(VaultError):
    """Somebody else is changing the vault."""


class DamagedVaultError(VaultError):
    """The vault is not what was written; the message says where."""


class ReturningRecordError(VaultError):
    """Ids or subjects that were removed before would come back, and the owner wants to be told."""


class InboxError(VaultError):
    """What is asked of a request in the inbox cannot be done; nothing was changed."""


class InboxInputError(InboxError):
    """What is said of a request cannot be used: a date, a person, a text that is missing or names somebody."""


class UnknownRequestError(InboxError):
    """There is no request with this id in the inbox."""

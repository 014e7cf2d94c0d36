"""The vault: records, model and ledger in one file that survives crashes and really erases."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unlearnspn.vault.desk import Desk
    from unlearnspn.vault.errors import (
        DamagedVaultError,
        InboxError,
        ReturningRecordError,
        VaultBusyError,
        VaultError,
    )
    from unlearnspn.vault.held import HeldRecords
    from unlearnspn.vault.inbox import Hold, InboxRequest, NewRequest, State, Wish
    from unlearnspn.vault.info import Info
    from unlearnspn.vault.outcome import Outcome
    from unlearnspn.vault.preview import Likelihood, ModelChange, Preview
    from unlearnspn.vault.vault import Vault

__all__ = [
    "DamagedVaultError",
    "Desk",
    "HeldRecords",
    "Hold",
    "InboxError",
    "InboxRequest",
    "Info",
    "Likelihood",
    "ModelChange",
    "NewRequest",
    "Outcome",
    "Preview",
    "ReturningRecordError",
    "State",
    "Vault",
    "VaultBusyError",
    "VaultError",
    "Wish",
]

#: Imported when asked for: whoever reads the ledger, or tells errors apart, needs nothing of models.
_MODULES = {
    "DamagedVaultError": "errors",
    "Desk": "desk",
    "HeldRecords": "held",
    "Hold": "inbox",
    "InboxError": "errors",
    "InboxRequest": "inbox",
    "Info": "info",
    "Likelihood": "preview",
    "ModelChange": "preview",
    "NewRequest": "inbox",
    "Outcome": "outcome",
    "Preview": "preview",
    "ReturningRecordError": "errors",
    "State": "inbox",
    "Vault": "vault",
    "VaultBusyError": "errors",
    "VaultError": "errors",
    "Wish": "inbox",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

"""The vault: records, model and ledger in one file that survives crashes and really erases."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unlearnspn.vault.errors import DamagedVaultError, ReturningRecordError, VaultBusyError, VaultError
    from unlearnspn.vault.held import HeldRecords
    from unlearnspn.vault.info import Info
    from unlearnspn.vault.outcome import Outcome
    from unlearnspn.vault.vault import Vault

__all__ = [
    "DamagedVaultError",
    "HeldRecords",
    "Info",
    "Outcome",
    "ReturningRecordError",
    "Vault",
    "VaultBusyError",
    "VaultError",
]

#: Imported when asked for: whoever reads the ledger, or tells errors apart, needs nothing of models.
_MODULES = {
    "DamagedVaultError": "errors",
    "HeldRecords": "held",
    "Info": "info",
    "Outcome": "outcome",
    "ReturningRecordError": "errors",
    "Vault": "vault",
    "VaultBusyError": "errors",
    "VaultError": "errors",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

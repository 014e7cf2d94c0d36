"""The vault: records, model and ledger in one file that survives crashes and really erases."""

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

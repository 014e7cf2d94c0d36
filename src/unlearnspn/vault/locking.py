"""Who may change a vault: one process at a time, which the operating system sees to, also after a crash."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from unlearnspn.vault.errors import VaultBusyError, VaultError


class WriterLock:
    """A lock on a file beside the vault, held until it is released or the process ends.

    It is not on the vault's own file: closing that one would also give up the locks that SQLite has on it.
    """

    def __init__(self, vault: Path) -> None:
        path = vault.with_name(vault.name + ".lock")
        try:
            self._file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise VaultError(
                f"cannot write beside {vault}: {error.strerror}; check the folder's permissions"
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise VaultBusyError(
                f"{vault} is being changed by somebody else: wait until they are done, or open it for reading"
            ) from error

    def release(self) -> None:
        """Let others change the vault."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

"""Opening what a command is about: a vault, an exported circuit, a ledger or a certificate."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unlearnspn.cli.exits import CommandError, ExitCode

if TYPE_CHECKING:
    from unlearnspn.certificates import Envelope
    from unlearnspn.circuit import Circuit
    from unlearnspn.vault import Vault

_SQLITE = b"SQLite format 3\0"


def open_vault(path: Path, write: bool = False, key: Path | None = None) -> Vault:
    """Open a vault."""
    from unlearnspn.vault import Vault  # noqa: PLC0415

    require_file(path)
    return Vault.open(path, write=write, key=key)


def read_ledger(path: Path, first: int = 0) -> list[Envelope]:
    """Return the entries of a vault's ledger, from one on, without loading its model."""
    from unlearnspn.vault import sealed  # noqa: PLC0415

    require_file(path)
    return sealed.read_ledger(path, first)


def load_circuit(path: Path) -> Circuit:
    """Return the circuit of a vault as it is now, or one that was exported."""
    from unlearnspn.circuit import Circuit  # noqa: PLC0415

    if not is_vault(path):
        return Circuit.load(path)
    with open_vault(path) as vault:
        return vault.circuit_


def is_vault(path: Path) -> bool:
    """Tell whether a file is a database; whether it is a vault is for the vault to say."""
    require_file(path)
    with open(path, "rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def require_file(path: Path) -> None:
    """Raise unless there is a file."""
    if not path.exists():
        raise CommandError(ExitCode.NOT_FOUND, f"there is no {path}")
    if not path.is_file():
        raise CommandError(ExitCode.USAGE, f"{path} is no file")


def require_free(path: Path | None) -> None:
    """Raise if a file that is to be written is there already, before anything is done."""
    if path is None:
        return
    if os.path.lexists(path):
        raise CommandError(ExitCode.USAGE, f"{path} is there already: choose another name, or move it away")
    if not path.parent.is_dir():
        raise CommandError(ExitCode.NOT_FOUND, f"there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise CommandError(ExitCode.VAULT, f"{path} cannot be written: check the permissions of its folder")


def write_new(path: Path, content: str | bytes, private: bool = False) -> None:
    """Write a new file, all or nothing; one that others must not read is made so from the beginning."""
    from unlearnspn.storage.errors import explained  # noqa: PLC0415
    from unlearnspn.storage.files import write_new_file  # noqa: PLC0415

    encoded = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    require_free(path)
    with explained("write", path):
        write_new_file(path, [encoded], private=private)


def describe(value: Any) -> Any:
    """Return a setting as JSON can hold it."""
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)

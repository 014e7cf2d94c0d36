"""The file of private keys beside a vault: readable for its owner only, and complete at every moment.

A rotation takes three steps, and the file survives a crash between any two of them: `stage` adds the new key; the
ledger, in a transaction of its own, introduces it; `settle` forgets every key but the one that is in use by then.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from unlearnspn.certificates.errors import KeyFileError
from unlearnspn.certificates.keys import SigningKey
from unlearnspn.storage.files import leftovers_of, sync_folder, temporary_beside, write_new_file

_BLOCK = re.compile(rb"-----BEGIN PRIVATE KEY-----\n.*?-----END PRIVATE KEY-----\n", re.DOTALL)
_SIZE_LIMIT = 1 << 16


class KeyFile:
    """The private keys of a vault: one, or two while the key is being changed.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     keys = KeyFile(Path(folder) / "people.uspn.key")
    ...     first = keys.create()
    ...     second = keys.stage()                # and now the ledger introduces it
    ...     active = keys.settle(second.public.id)
    ...     active.public == second.public, [key.public == second.public for key in keys.read()]
    (True, [True])
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def create(self) -> SigningKey:
        """Make the file with a first key; a file that is already there is left alone."""
        key = SigningKey.generate()
        try:
            write_new_file(self.path, [key.pem()], private=True)
        except FileExistsError as error:
            raise KeyFileError(
                f"{self.path} is there already, and keys are never overwritten: move it away, or choose another vault"
            ) from error
        return key

    def read(self) -> list[SigningKey]:
        """Return all keys in the file, the oldest first."""
        try:
            with open(self.path, "rb") as file:
                _require_private(self.path, file.fileno())
                content = file.read(_SIZE_LIMIT)
        except FileNotFoundError as error:
            raise KeyFileError(
                f"{self.path} is missing: without the private key the vault can be read and verified, but not changed"
            ) from error
        blocks = _BLOCK.findall(content)
        if not blocks or b"".join(blocks) != content:
            raise KeyFileError(f"{self.path} is damaged: it holds no private keys in PEM format; restore it")
        try:
            return [SigningKey.from_pem(block) for block in blocks]
        except KeyFileError as error:
            raise KeyFileError(f"{self.path} is damaged: {error}; restore it") from error

    def find(self, key_id: str) -> SigningKey:
        """Return the key with this fingerprint."""
        for key in self.read():
            if key.public.id == key_id:
                return key
        raise KeyFileError(
            f"{self.path} does not hold the key {key_id[:16]}… that the ledger says is in use: restore the right file"
        )

    def stage(self) -> SigningKey:
        """Add a new key to the file, on the disk before it is returned."""
        new = SigningKey.generate()
        self._replace([*self.read(), new])
        return new

    def settle(self, key_id: str) -> SigningKey:
        """Forget all keys but the one in use, which is returned; without others the file is only read."""
        keys = self.read()
        active = next((key for key in keys if key.public.id == key_id), None)
        if active is None:
            return self.find(key_id)
        if len(keys) > 1:
            self._replace([active])
        return active

    def discard_leftovers(self) -> None:
        """Wipe what a crash has left of a change of keys: files beside this one that hold private keys."""
        for path in leftovers_of(self.path):
            try:
                if not (self.path.exists() and path.samefile(self.path)):
                    _wipe(path)
            finally:
                path.unlink(missing_ok=True)

    def _replace(self, keys: list[SigningKey]) -> None:
        """Put other keys into the file; the old content keeps a name until it has been overwritten where it lies."""
        new, old = temporary_beside(self.path), temporary_beside(self.path)
        try:
            self._write(new, b"".join(key.pem() for key in keys))
            with suppress(OSError):  # not all file systems let a file have two names
                os.link(self.path, old)
            os.replace(new, self.path)
            sync_folder(self.path.parent)
        finally:
            self.discard_leftovers()

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


def _require_private(path: Path, descriptor: int) -> None:
    if os.name == "posix" and stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o077:
        raise KeyFileError(f"others may read the private key in {path}: run `chmod 600` on it")


def _wipe(path: Path) -> None:
    with open(path, "r+b") as file:
        file.write(bytes(os.fstat(file.fileno()).st_size))
        file.flush()
        os.fsync(file.fileno())

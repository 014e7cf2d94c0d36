"""The re-ingestion guard: tells when an id or a subject that was removed comes back.

It keeps a keyed hash of what was removed, never an id. The key is in a file of its own beside the vault: whoever has
the vault's file alone cannot even try ids out.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from unlearnspn.certificates import Item
from unlearnspn.certificates.canonical import encode_json
from unlearnspn.storage.errors import explained
from unlearnspn.storage.files import write_new_file
from unlearnspn.vault.errors import VaultError
from unlearnspn.vault.pages import PageStore

_MARKS = "guard.marks"
_MARK_BYTES = 32


class Guard:
    """The marks of ids and subjects that were removed."""

    def __init__(self, vault: Path, is_on: bool) -> None:
        self._path = vault.with_name(vault.name + ".guard")
        self.is_on = is_on
        self._marks: list[bytes] = []
        self._known: set[bytes] = set()
        self._stored = 0
        self._secret: bytes | None = None

    def __len__(self) -> int:
        return len(self._marks)

    def turn_on(self) -> None:
        """Take note of removals from now on."""
        self._read_secret(create=True)
        self.is_on = True

    def note(self, items: Iterable[Item]) -> None:
        """Take note of what is removed, if the guard is on."""
        if not self.is_on:
            return
        for mark in map(self._mark, items):
            if mark not in self._known:
                self._marks.append(mark)
                self._known.add(mark)

    def returning(self, items: Iterable[Item]) -> list[Item]:
        """Return those that were removed before."""
        return [item for item in items if self._mark(item) in self._known] if self._known else []

    def _mark(self, item: Item) -> bytes:
        return hmac.digest(self._read_secret(), encode_json([item.kind.value, item.id]), "sha256")

    def _read_secret(self, create: bool = False) -> bytes:
        if self._secret is None:
            if create and not self._path.exists():
                with explained("write", self._path):
                    write_new_file(self._path, [secrets.token_bytes(_MARK_BYTES)], private=True)
            try:
                self._secret = self._path.read_bytes()
            except OSError as error:
                raise VaultError(
                    f"cannot read {self._path}, the key of the guard against removed ids that come back: restore it"
                ) from error
            if len(self._secret) != _MARK_BYTES:
                raise VaultError(f"{self._path} is damaged: it must hold {_MARK_BYTES} bytes; restore it")
        return self._secret

    # -- storing ---------------------------------------------------------------------------------------------------

    def save(self, store: PageStore) -> None:
        """Store the marks that are new."""
        if len(self._marks) == self._stored:
            return
        array = np.frombuffer(b"".join(self._marks), np.uint8).reshape(-1, _MARK_BYTES)
        store.save(_MARKS, array, np.array([[self._stored * _MARK_BYTES, array.size]], np.int64))
        self._stored = len(self._marks)

    def load(self, store: PageStore) -> None:
        """Read the marks."""
        if _MARKS in store.names:
            self._marks = [mark.tobytes() for mark in store.load(_MARKS)]
            self._known, self._stored = set(self._marks), len(self._marks)

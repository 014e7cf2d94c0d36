"""Arrays in pages of equal size, each with its digest; only pages whose content has changed are written.

A page fills a page of the database and is overwritten where it lies, so that nothing of what it held remains. One
digest of all pages (`PageStore.digest`) stands for everything that is stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.storage.container import parse_json
from unlearnspn.storage.errors import StorageError
from unlearnspn.vault.database import Database
from unlearnspn.vault.errors import DamagedVaultError

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
#: Stretches of bytes, [start, end) each.
Stretches = npt.NDArray[np.int64]

#: What is left of a page of the database beside the digest and what SQLite needs.
PAGE = 8000
_DIGEST = 32
_DIRECTORY = 0
_FIRST_PLACE = 1 << 32
#: Arrays are read with room for this share more, and for so many pages at least.
_SPARE_SHARE, _SPARE_PAGES = 16, 4
_TYPES = {np.dtype(kind).str: np.dtype(kind) for kind in ("<i8", "<f8", "<i4", "<i2", "|u1", "|b1")}


class Entry(NamedTuple):
    """What the directory says of an array."""

    number: int
    dtype: str
    shape: tuple[int, ...]

    @property
    def n_items(self) -> int:
        """How many items the array has."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def n_bytes(self) -> int:
        """How many bytes the array has."""
        return self.n_items * _TYPES[self.dtype].itemsize

    @property
    def n_pages(self) -> int:
        """How many pages the array takes."""
        return -(-self.n_bytes // PAGE)


class PageStore:
    """The arrays of a vault, by name; knows the digests of all pages that are stored.

    Reading and writing must happen within a transaction. If that fails, this object does not know any more what is
    stored: read the store anew.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._entries: dict[str, Entry] = {}
        #: The digests of each array's pages, by the array's number; one line each.
        self._digests: dict[int, Bytes] = {_DIRECTORY: _no_digests()}
        #: What was read and not taken yet.
        self._read: dict[int, Bytes] = {}

    # -- reading ---------------------------------------------------------------------------------------------------

    @classmethod
    def read(cls, database: Database) -> PageStore:
        """Read all pages, comparing each with its digest; the one that is damaged is named."""
        store = cls(database)
        numbers = dict(database.rows("SELECT place >> 32, count(*) FROM pages GROUP BY 1"))
        if not all(isinstance(number, int) and number >= 0 for number in numbers):
            raise DamagedVaultError(f"{database.path} is damaged: it has pages in places that do not exist")
        store._read_array(_DIRECTORY, numbers.pop(_DIRECTORY, 0), "the directory")
        store._entries = _read_directory(store._read.pop(_DIRECTORY).tobytes().rstrip(b"\0"))
        for name, entry in store._entries.items():
            if numbers.pop(entry.number, 0) != entry.n_pages:
                raise DamagedVaultError(f"{database.path} is damaged: {name!r} does not have {entry.n_pages} pages")
            store._read_array(entry.number, entry.n_pages, repr(name))
        if numbers:
            raise DamagedVaultError(f"{database.path} is damaged: it has pages that belong to nothing")
        return store

    def _read_array(self, number: int, n_pages: int, name: str) -> None:
        start, path = number * _FIRST_PLACE, self._database.path
        # With room for more: arrays that grow need not be copied at once.
        data = np.zeros(n_pages * PAGE + max(n_pages // _SPARE_SHARE, _SPARE_PAGES) * PAGE, np.uint8)
        digests = np.zeros((n_pages, _DIGEST), np.uint8)
        view, seen = data.data, digests.reshape(-1).data
        statement = "SELECT place, digest, data FROM pages WHERE place >= ? AND place < ? ORDER BY place"
        rows = self._database.rows(statement, (start, start + _FIRST_PLACE))
        for found, (place, digest, page) in enumerate(rows):
            if place != start + found:
                raise DamagedVaultError(f"{path} is damaged: page {found} of {name} is missing")
            if not isinstance(page, bytes) or len(page) != PAGE or sha256(page).digest() != digest:
                raise DamagedVaultError(f"{path} is damaged: page {found} of {name} is not as it was written")
            view[found * PAGE : (found + 1) * PAGE] = page
            seen[found * _DIGEST : (found + 1) * _DIGEST] = digest
        self._digests[number], self._read[number] = digests, data

    @property
    def names(self) -> list[str]:
        """The names of all arrays."""
        return list(self._entries)

    def load(self, name: str) -> Array:
        """Return an array that was read; this can be done once."""
        entry = self._entry(name)
        return self._take(name).view(_TYPES[entry.dtype])[: entry.n_items].reshape(entry.shape)

    def load_with_room(self, name: str) -> tuple[Array, int]:
        """Return an array that was read, with room for more items, which are zeros, and its length."""
        entry = self._entry(name)
        return self._take(name).view(_TYPES[entry.dtype]), entry.n_items

    def load_document(self, name: str) -> Any:
        """Return a document of JSON values."""
        return parse_json(self.load(name).tobytes(), name)

    def digest(self) -> str:
        """Digest everything that is stored."""
        total = sha256()
        for number, digests in sorted(self._digests.items()):
            total.update(number.to_bytes(8, "little") + len(digests).to_bytes(8, "little"))
            total.update(digests.tobytes())
        return total.hexdigest()

    def _entry(self, name: str) -> Entry:
        if name not in self._entries:
            raise DamagedVaultError(f"{self._database.path} is damaged: it has no {name!r}")
        return self._entries[name]

    def _take(self, name: str) -> Bytes:
        entry = self._entry(name)
        data = self._read.pop(entry.number)
        if data[entry.n_bytes : entry.n_pages * PAGE].any():
            raise DamagedVaultError(f"{self._database.path} is damaged: there is more after the end of {name!r}")
        return data

    # -- writing ---------------------------------------------------------------------------------------------------

    def save(self, name: str, array: Array, touched: Stretches | None = None) -> None:
        """Store an array; `touched` says which bytes may differ from those stored, by default all.

        Bytes beyond the end of what is stored are always written.
        """
        known = self._entries.get(name)
        number = known.number if known else 1 + max((entry.number for entry in self._entries.values()), default=0)
        entry = Entry(number, array.dtype.newbyteorder("<").str, array.shape)
        if entry.dtype not in _TYPES:
            raise TypeError(f"arrays of {array.dtype} cannot be stored")
        if known and known.dtype != entry.dtype:
            touched = None
        self._entries[name] = entry
        little = np.ascontiguousarray(array, _TYPES[entry.dtype])
        self._write_pages(number, little.reshape(-1).view(np.uint8), touched)

    def save_document(self, name: str, document: Any) -> None:
        """Store a document of JSON values."""
        written = json.dumps(document, separators=(",", ":"), allow_nan=False).encode("ascii")
        self.save(name, np.frombuffer(written, np.uint8))

    def remove(self, name: str) -> None:
        """Erase an array."""
        number = self._entries.pop(name).number
        self._write_pages(number, np.zeros(0, np.uint8), None)
        del self._digests[number]

    def finish(self) -> None:
        """Store the directory, after all else."""
        listed = {name: [entry.number, entry.dtype, list(entry.shape)] for name, entry in self._entries.items()}
        written = json.dumps(listed, separators=(",", ":")).encode("ascii")
        self._write_pages(_DIRECTORY, np.frombuffer(written, np.uint8), None)

    def _write_pages(self, number: int, data: Bytes, touched: Stretches | None) -> None:
        before = self._digests.get(number, _no_digests())
        n_before, n_pages = len(before), -(-data.size // PAGE)
        digests = before
        if n_pages != n_before:
            digests = np.zeros((n_pages, _DIGEST), np.uint8)
            kept = min(n_before, n_pages)
            digests[:kept] = before[:kept]
        lines, start = [], number * _FIRST_PLACE
        for page in _pages_in(touched, n_before, n_pages):
            content = data[page * PAGE : (page + 1) * PAGE].tobytes().ljust(PAGE, b"\0")
            digest = sha256(content).digest()
            if page >= n_before or digest != before[page].tobytes():
                digests[page] = np.frombuffer(digest, np.uint8)
                lines.append((start + page, digest, content))
            if len(lines) == 256:
                self._write(lines)
        self._write(lines)
        if n_pages < n_before:
            self._erase(start + n_pages, start + n_before)
        self._digests[number] = digests

    def _write(self, lines: list[tuple[int, bytes, bytes]]) -> None:
        self._database.execute_many(
            "INSERT INTO pages VALUES (?, ?, ?) "
            "ON CONFLICT (place) DO UPDATE SET digest = excluded.digest, data = excluded.data",
            lines,
        )
        lines.clear()

    def _erase(self, first: int, last: int) -> None:
        # Overwritten before they are given back, whatever SQLite does with pages that are free.
        self._database.execute(
            "UPDATE pages SET data = zeroblob(?) WHERE place >= ? AND place < ?", (PAGE, first, last)
        )
        self._database.execute("DELETE FROM pages WHERE place >= ? AND place < ?", (first, last))


def _no_digests() -> Bytes:
    return np.zeros((0, _DIGEST), np.uint8)


def _pages_in(touched: Stretches | None, n_before: int, n_pages: int) -> Iterable[int]:
    """Return the pages that stretches of bytes lie on, and all that are new."""
    if touched is None:
        return range(n_pages)
    pages = {page for start, end in touched.tolist() for page in range(start // PAGE, -(-end // PAGE))}
    # The last page of before may end elsewhere now.
    pages.update(range(max(min(n_before, n_pages) - 1, 0), n_pages))
    return sorted(page for page in pages if page < n_pages)


def _read_directory(written: bytes) -> dict[str, Entry]:
    try:
        listed = parse_json(written, "the directory")
        entries = {name: Entry(number, dtype, tuple(shape)) for name, (number, dtype, shape) in listed.items()}
        if any(entry.dtype not in _TYPES or not _are_lengths(entry.shape) for entry in entries.values()):
            raise StorageError("the directory names an array of an unknown kind")
    except (StorageError, TypeError, ValueError, AttributeError) as error:
        raise DamagedVaultError(f"the vault is damaged: {error}") from error
    return entries


def _are_lengths(shape: tuple[Any, ...]) -> bool:
    return all(type(length) is int and 0 <= length < 1 << 48 for length in shape)

"""Arrays in pages of equal size, each with its digest; only pages whose content has changed are written.

A page is a row that fills a page of the database. It is overwritten where it lies, so that nothing of what it held
remains; one that is not needed any more is filled with zeros, and waits for another use. One digest of all pages
(`PageStore.digest`) stands for everything that is stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.storage.container import parse_json
from unlearnspn.storage.errors import StorageError
from unlearnspn.vault.database import Database
from unlearnspn.vault.errors import DamagedVaultError, VaultError
from unlearnspn.vault.series import Row, Series

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
#: Stretches of bytes, [start, end) each.
Stretches = npt.NDArray[np.int64]

#: What is left of a page of the database beside the digest and what SQLite needs.
PAGE = 8000
_DIGEST, _PLACE = 32, 8
#: A page's place: the number of its array, from 1 on, and the page's number within it.
_DIRECTORY = 1
_FIRST_PLACE = 1 << 32
#: Room is given back once more than half of it is free, and as much as this many rows.
_LEAST_FREE = 512
#: So many rows are read back at once; until then they are kept in memory.
_MOST_UNCONFIRMED = 2048
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
        self._path = database.path
        self._rows = Series(database, "pages")
        self._entries: dict[str, Entry] = {}
        #: The digests of each array's pages, by the array's number; one line each.
        self._digests: dict[int, Bytes] = {_DIRECTORY: _no_digests()}
        #: What was read and not taken yet.
        self._read: dict[int, Bytes] = {}
        #: In which row each page is, and the rows that are free.
        self._row_of: dict[int, int] = {}
        self._free: list[int] = []
        self._n_rows = 0
        #: What rows must hold that were written and not read back yet.
        self._unconfirmed: dict[int, Row] = {}

    # -- reading ---------------------------------------------------------------------------------------------------

    @classmethod
    def read(cls, database: Database) -> PageStore:
        """Read all pages, comparing each with its digest; the one that is damaged is named."""
        store = cls(database)
        store._read_places()
        store._read_directory()
        names = store._prepare_arrays()
        for number, *row in store._rows.rows("place", "digest", "data"):
            array, page = divmod(int.from_bytes(row[0], "big"), _FIRST_PLACE)
            if array in names:
                store._read_page(tuple(row), array, page, names[array])
            elif array != _DIRECTORY and tuple(row) != _free_row():
                raise DamagedVaultError(f"{store._path} is damaged: row {number} of its pages is free, yet not empty")
        return store

    def _read_directory(self) -> None:
        n_pages = self._sizes().get(_DIRECTORY, 0)
        self._make_room(_DIRECTORY, n_pages)
        for page in range(n_pages):
            row = self._row_of.get(_DIRECTORY * _FIRST_PLACE + page)
            self._read_page(None if row is None else self._rows.row(row), _DIRECTORY, page, "the directory")
        self._entries = _parse_directory(self._read.pop(_DIRECTORY).tobytes().rstrip(b"\0"))

    def _read_places(self) -> None:
        for number, place in self._rows.rows("place"):
            if not isinstance(place, bytes) or len(place) != _PLACE:
                raise DamagedVaultError(f"{self._path} is damaged: row {number} of its pages says nowhere it belongs")
            found = int.from_bytes(place, "big")
            if found == 0:
                heappush(self._free, number)
            elif self._row_of.setdefault(found, number) != number:
                raise DamagedVaultError(f"{self._path} is damaged: two rows of its pages belong to the same place")
            self._n_rows = number + 1

    def _sizes(self) -> dict[int, int]:
        """Return how many pages of each array there are."""
        sizes: dict[int, int] = {}
        for place in self._row_of:
            sizes[place >> 32] = sizes.get(place >> 32, 0) + 1
        return sizes

    def _prepare_arrays(self) -> dict[int, str]:
        """Make room for all arrays; return their names, by their numbers."""
        sizes, names = self._sizes(), {}
        sizes.pop(_DIRECTORY, None)
        for name, entry in self._entries.items():
            start, n_pages = entry.number * _FIRST_PLACE, sizes.pop(entry.number, 0)
            if n_pages != entry.n_pages or not all(start + page in self._row_of for page in range(n_pages)):
                raise DamagedVaultError(f"{self._path} is damaged: {name!r} does not have {entry.n_pages} pages")
            self._make_room(entry.number, n_pages)
            names[entry.number] = repr(name)
        if sizes:
            raise DamagedVaultError(f"{self._path} is damaged: it has pages that belong to nothing")
        return names

    def _make_room(self, number: int, n_pages: int) -> None:
        # With room for more: arrays that grow need not be copied at once.
        self._read[number] = np.zeros((n_pages + max(n_pages // _SPARE_SHARE, _SPARE_PAGES)) * PAGE, np.uint8)
        self._digests[number] = np.zeros((n_pages, _DIGEST), np.uint8)

    def _read_page(self, row: Row | None, number: int, page: int, name: str) -> None:
        content, digest = (b"", b"") if row is None else (row[2], row[1])
        if not isinstance(content, bytes) or len(content) != PAGE or sha256(content).digest() != digest:
            raise DamagedVaultError(f"{self._path} is damaged: page {page} of {name} is not as it was written")
        self._read[number].data[page * PAGE : (page + 1) * PAGE] = content
        self._digests[number][page] = np.frombuffer(digest, np.uint8)

    @property
    def names(self) -> list[str]:
        """The names of all arrays."""
        return list(self._entries)

    def load(self, name: str) -> Array:
        """Return an array that was read; this can be done once."""
        entry = self._entry(name)
        return self._take(name).view(_TYPES[entry.dtype])[: entry.n_items].reshape(entry.shape)

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
            raise DamagedVaultError(f"{self._path} is damaged: it has no {name!r}")
        return self._entries[name]

    def _take(self, name: str) -> Bytes:
        entry = self._entry(name)
        data = self._read.pop(entry.number)
        if data[entry.n_bytes : entry.n_pages * PAGE].any():
            raise DamagedVaultError(f"{self._path} is damaged: there is more after the end of {name!r}")
        return data

    # -- writing ---------------------------------------------------------------------------------------------------

    def save(self, name: str, array: Array, touched: Stretches | None = None) -> None:
        """Store an array; `touched` says which bytes may differ from those stored, by default all.

        Bytes beyond the end of what is stored are always written.
        """
        known = self._entries.get(name)
        number = (
            known.number if known else 1 + max((each.number for each in self._entries.values()), default=_DIRECTORY)
        )
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
        self._give_room_back()

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
        """Write pages, given by place, digest and content, into their rows, into free ones, or into new ones."""
        known: list[tuple[int, Row]] = []
        for place, digest, content in lines:
            where = place.to_bytes(_PLACE, "big")
            row = self._row_of.get(place)
            if row is None and self._free:
                row = heappop(self._free)
            if row is None:
                row, self._n_rows = self._n_rows, self._n_rows + 1
                self._rows.append(row, (where, digest, content))
            else:
                known.append((row, (where, digest, content)))
            self._row_of[place] = row
            self._unconfirmed[row] = where, digest, content
        self._rows.overwrite(known)
        lines.clear()
        if len(self._unconfirmed) > _MOST_UNCONFIRMED:
            self.confirm()

    def _erase(self, first: int, last: int) -> None:
        gone = [self._row_of.pop(place) for place in range(first, last)]
        self._rows.overwrite((row, _free_row()) for row in gone)
        for row in gone:
            heappush(self._free, row)
            self._unconfirmed[row] = _free_row()

    def _give_room_back(self) -> None:
        """Shorten the file once most of it is free: pages at its end take the place of free ones."""
        if len(self._free) < _LEAST_FREE or 2 * len(self._free) < self._n_rows:
            return
        n_used = len(self._row_of)
        for place, row in [(place, row) for place, row in self._row_of.items() if row >= n_used]:
            found = self._rows.row(row)
            assert found is not None
            self._write_elsewhere(place, row, found)
        self._n_rows = self._rows.cut(n_used)
        self._free = [row for row in sorted(self._free) if row < self._n_rows]
        self._unconfirmed = {row: held for row, held in self._unconfirmed.items() if row < self._n_rows}

    def _write_elsewhere(self, place: int, row: int, content: Row) -> None:
        free = heappop(self._free)
        self._rows.overwrite([(free, content), (row, _free_row())])
        heappush(self._free, row)
        self._row_of[place] = free
        self._unconfirmed |= {free: content, row: _free_row()}

    def confirm(self) -> None:
        """Read back what was written, before anybody is told that it was; raise if it is not there."""
        for number, written in self._unconfirmed.items():
            if self._rows.row(number) != written:
                raise VaultError(f"{self._path} does not hold what was just written to it: nothing was changed")
        self._unconfirmed.clear()


def _free_row() -> Row:
    return bytes(_PLACE), bytes(_DIGEST), bytes(PAGE)


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


def _parse_directory(written: bytes) -> dict[str, Entry]:
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

"""Every byte of a vault's file: what SQLite says of itself, rows of our tables in the one form they have, and zeros.

SQLite reads what it needs and does not look at the rest: unused space of a page, free pages, fields of no importance.
A copy of what was erased could hide there. So the file is read here as its format describes it
(https://www.sqlite.org/fileformat2.html), and each byte must be one that follows from the rows; what the rows hold is
for digests, chain and seal to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from unlearnspn.vault import schema

_LEAF, _INTERIOR = 0x0D, 0x05
_HEADER_BYTES = 100
_OVERFLOW = 4
#: In a file of 1 GiB and more, the page with this byte is used for locks and for nothing else.
_LOCK_BYTE = 1 << 30
#: Fields of the file's header: where, how long, and what they must say. The size of a page is checked before.
_HEADER = {
    "file format": (18, 2, 0x0101),
    "reserved space": (20, 1, 0),
    "payload fractions": (21, 3, 0x402020),
    "free pages": (32, 8, 0),
    "schema format": (44, 4, 4),
    "cache size": (48, 4, 0),
    "largest root": (52, 4, 0),
    "text encoding": (56, 4, 1),
    "vacuum mode": (64, 4, 0),
    "reserved bytes": (72, 20, 0),
}
_CHANGES, _PAGES, _CHANGES_AT_VERSION = 24, 28, 92


class LayoutError(Exception):
    """A byte of the file follows from nothing that the vault holds; the message says where."""


def require_accounted(image: bytes, page_bytes: int) -> None:
    """Raise unless every byte of a vault's file is one that follows from its rows.

    Three numbers are SQLite's own, and may be any: which version of it wrote last (byte 96 to 99), how often the file
    was changed (24 to 27, and again 92 to 95), and how often the schema was (40 to 43).
    """
    geometry = Geometry(page_bytes, len(image) // page_bytes)
    walk = Walk(geometry, memoryview(image))
    tables = [_read_table(record) for _, record in walk.rows(1, _HEADER_BYTES)]
    _check_header(image, geometry)
    for name, root in tables:
        series, _, part = name.rpartition("_")
        number, n_columns = (int(part) * schema.PART_ROWS, len(schema.columns(series))) if series else (1, 2)
        for found, record in walk.rows(root):
            if found != number or record != _blobs(record, n_columns):
                raise LayoutError(f"row {found} of {name!r} is not in the form that it must have")
            number += 1
    walk.require_all_owned()


def _check_header(image: bytes, geometry: Geometry) -> None:
    fields = {
        **_HEADER,
        "number of pages": (_PAGES, 4, geometry.n_pages),
        "counter of changes": (_CHANGES, 4, _integer(image, _CHANGES_AT_VERSION, 4)),
    }
    for name, (start, length, wanted) in fields.items():
        found = _integer(image, start, length)
        if found != wanted:
            raise LayoutError(f"the header of the file says {found} of the {name}, not {wanted}")


def _read_table(record: bytes) -> tuple[str, int]:
    """Return the name of a table and the first page of its tree, from its row in the schema."""
    types, at = _types(record)
    lengths = [_n_bytes(kind) for kind in types]
    ends = [at + sum(lengths[: i + 1]) for i in range(len(lengths))]
    if len(types) != 5 or ends[-1] != len(record):
        raise LayoutError("a row of the schema is not in the form that it must have")
    parts = [record[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    name, root = parts[1], int.from_bytes(parts[3], "big")
    width = next(width for width in (1, 2, 3, 4, 6, 8) if root < 1 << (8 * width - 1))
    text = [_varint(13 + 2 * length) for length in lengths]
    kinds = b"".join([*text[:3], bytes([(1, 2, 3, 4, 6, 8).index(width) + 1]), text[4]])
    if record != _header(kinds) + b"".join([*parts[:3], root.to_bytes(width, "big"), parts[4]]):
        raise LayoutError("a row of the schema is not in the form that it must have")
    return name.decode("utf-8", "replace"), root


def _blobs(record: bytes, number: int) -> bytes | None:
    """Write a row of so many blobs behind its number, which is not in the record, in the one form that it has."""
    types, at = _types(record)
    if len(types) != 1 + number or types[0] != 0 or any(kind < 12 or kind % 2 for kind in types[1:]):
        return None
    kinds = b"".join(map(_varint, types))
    return _header(kinds) + record[at : at + sum(map(_n_bytes, types))]


def _types(record: bytes) -> tuple[list[int], int]:
    """Return what a record says of the kinds of its values, and where these begin."""
    end, at = _read_varint(record, 0)
    types = []
    while at < min(end, len(record)):
        kind, at = _read_varint(record, at)
        types.append(kind)
    return types, end


def _n_bytes(kind: int) -> int:
    return (kind - 12) // 2 if kind >= 12 else (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)[kind]


def _header(kinds: bytes) -> bytes:
    # The header's own length counts; headers here are short enough for one byte of it.
    return _varint(1 + len(kinds)) + kinds


@dataclass(frozen=True)
class Geometry:
    """The size of a page, and how many pages the file has."""

    page_bytes: int
    n_pages: int

    @property
    def lock_page(self) -> int:
        """The page that is used for locks alone, if the file has as many."""
        return _LOCK_BYTE // self.page_bytes + 1

    def local_bytes(self, payload: int) -> int:
        """Return how many bytes of a row lie in its leaf; the others lie on pages of their own."""
        most = self.page_bytes - 35
        if payload <= most:
            return payload
        least = (self.page_bytes - 12) * 32 // 255 - 23
        kept = least + (payload - least) % (self.page_bytes - _OVERFLOW)
        return kept if kept <= most else least


@dataclass
class Walk:
    """Reads a file's trees page by page, and takes note of which of them belong to one."""

    geometry: Geometry
    image: memoryview
    #: The pages that belong to a tree.
    owned: set[int] = field(default_factory=lambda: {1})

    def read_page(self, number: int) -> bytes:
        """Return a page; the first one has the number 1."""
        size = self.geometry.page_bytes
        return bytes(self.image[(number - 1) * size : number * size])

    def rows(self, root: int, first_byte: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield number and record of each row of a table, in order; raise if a page holds anything else."""
        if root != 1:
            self._own(root, 1)
        last: int | None = None
        for number, record in self._tree(root, first_byte):
            if last is not None and number <= last:
                raise LayoutError(f"row {number} of the tree at page {root} is out of order")
            last = number
            yield number, record

    def _own(self, page: int, parent: int) -> None:
        if not 2 <= page <= self.geometry.n_pages or page == self.geometry.lock_page:
            raise LayoutError(f"page {parent} refers to page {page}, which cannot be one of a table")
        if page in self.owned:
            raise LayoutError(f"page {page} is referred to twice")
        self.owned.add(page)

    def _tree(self, number: int, start: int) -> Iterator[tuple[int, bytes]]:
        page = self.read_page(number)
        kind = page[start]
        if kind not in (_LEAF, _INTERIOR):
            raise LayoutError(f"page {number} is no page of a table")
        cells = _cells(page, number, start, kind == _INTERIOR)
        if kind == _LEAF:
            yield from self._leaf(page, number, start, cells)
        else:
            yield from self._interior(page, number, start, cells)

    def _leaf(self, page: bytes, number: int, start: int, cells: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        used = []
        for cell in cells:
            length, at = _read_varint(page, cell)
            row, at = _read_varint(page, at)
            local = self.geometry.local_bytes(length)
            record = page[at : at + local]
            end = at + local
            if local < length:
                record += self._overflow(number, _integer(page, end, _OVERFLOW), length - local)
                end += _OVERFLOW
            if len(record) != length or _varint(length) + _varint(row) != page[cell:at]:
                raise LayoutError(f"a row of page {number} is not in the form that it must have")
            used.append((cell, max(end, cell + 4)))
            yield _signed(row), record
        _require_zeros_elsewhere(page, number, start, 8, used)

    def _interior(self, page: bytes, number: int, start: int, cells: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        used = []
        for cell in cells:
            child = _integer(page, cell, 4)
            key, end = _read_varint(page, cell + 4)
            if _varint(key) != page[cell + 4 : end]:
                raise LayoutError(f"a key of page {number} is not in the form that it must have")
            used.append((cell, end))
            self._own(child, number)
            last = None
            for last, record in self._tree(child, 0):
                yield last, record
            if last != _signed(key):
                raise LayoutError(f"page {number} says that row {_signed(key)} is the last of page {child}, not {last}")
        right = _integer(page, start + 8, 4)
        self._own(right, number)
        yield from self._tree(right, 0)
        _require_zeros_elsewhere(page, number, start, 12, used)

    def _overflow(self, parent: int, page: int, length: int) -> bytes:
        parts = []
        while length:
            self._own(page, parent)
            content = self.read_page(page)
            taken = min(length, len(content) - _OVERFLOW)
            parts.append(content[_OVERFLOW : _OVERFLOW + taken])
            _require_zeros(content, page, _OVERFLOW + taken, len(content))
            length -= taken
            parent, page = page, _integer(content, 0, _OVERFLOW)
        if page != 0:
            raise LayoutError(f"page {parent} goes on where nothing is left")
        return b"".join(parts)

    def require_all_owned(self) -> None:
        """Raise unless every page belongs to a table, but for the one that is for locks."""
        for page in range(2, self.geometry.n_pages + 1):
            if page == self.geometry.lock_page:
                _require_zeros(self.read_page(page), page, 0, self.geometry.page_bytes)
            elif page not in self.owned:
                raise LayoutError(f"page {page} belongs to no table")


def _cells(page: bytes, number: int, start: int, interior: bool) -> list[int]:
    """Return where the cells of a page are; the numbers in its head must be those that follow from them."""
    n_cells, content = _integer(page, start + 3, 2), _integer(page, start + 5, 2)
    pointers = start + (12 if interior else 8)
    cells = [_integer(page, pointers + 2 * i, 2) for i in range(n_cells)]
    lowest = min(cells, default=len(page))
    if _integer(page, start + 1, 2) or page[start + 7]:
        raise LayoutError(f"page {number} has free room between its rows")
    if content != lowest or lowest < pointers + 2 * n_cells or (not cells and start == 0 and interior):
        raise LayoutError(f"page {number} does not say where its rows begin")
    return cells


def _require_zeros_elsewhere(page: bytes, number: int, start: int, head: int, used: list[tuple[int, int]]) -> None:
    """Raise unless cells follow one another up to the end of a page, and all between its head and them is zero."""
    pointers_end = start + head + 2 * len(used)
    ordered = [*sorted(used), (len(page), len(page))]
    for (_, end), (begin, _) in pairwise(ordered):
        if end != begin:
            raise LayoutError(f"rows of page {number} overlap, or leave room between them")
    _require_zeros(page, number, pointers_end, ordered[0][0])


def _require_zeros(page: bytes, number: int, start: int, end: int) -> None:
    if page[start:end].strip(b"\0"):
        raise LayoutError(f"unused bytes of page {number} are not zero")


def _integer(page: bytes, start: int, length: int) -> int:
    return int.from_bytes(page[start : start + length], "big")


def _read_varint(page: bytes, start: int) -> tuple[int, int]:
    """Return an integer of SQLite's variable length, and where it ends."""
    value = 0
    for at in range(start, start + 8):
        byte = page[at] if at < len(page) else 0
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + 1
    return value << 8 | (page[start + 8] if start + 8 < len(page) else 0), start + 9


def _varint(value: int) -> bytes:
    """Write an integer in SQLite's variable length, the shortest that holds it."""
    if value >> 56:
        high = value >> 8
        return bytes(0x80 | high >> shift & 0x7F for shift in range(49, -1, -7)) + bytes([value & 0xFF])
    parts = [value & 0x7F]
    while value := value >> 7:
        parts.append(0x80 | value & 0x7F)
    return bytes(reversed(parts))


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value

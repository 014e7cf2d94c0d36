"""The file format: named arrays and a JSON document in one file, sealed.

It is safetensors' layout (8 bytes with the header's length, a JSON header that names each array's type, shape and
place, then the arrays), so that any tool for safetensors can look inside. On top of that

- the bytes are a function of the content alone: the same arrays and document give the same file;
- the header has a BLAKE2b checksum for each array, and the file ends with one of the header (`seal`), so that a bit
  flipped anywhere is noticed, and where;
- reading is strict: every number of the header is checked before it is used, arrays must lie side by side and cover
  the file, and nothing is allocated that the file itself does not have the size of.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.storage.errors import StorageError

FORMAT = "unlearnspn"
#: Raised when files are written that earlier versions of the library would misread.
VERSION = 1

Array = npt.NDArray[Any]

_TYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "U64": np.dtype("<u8"),
    "I32": np.dtype("<i4"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}

_DOCUMENT, _SEAL = "document", "seal"
_SEAL_BYTES = 32
_CHECKSUM = "blake2b "
_START = b'{"__metadata__":{"format":"' + FORMAT.encode() + b'",'
_LONGEST_HEADER = 1 << 20
_MOST_DIMENSIONS = 4
_MOST_ITEMS = 1 << 48


@dataclass(frozen=True, eq=False)
class Container:
    """What a file holds: its kind, a document of JSON values, and arrays by name."""

    kind: str
    document: Any
    arrays: Mapping[str, Array]


def pack(container: Container) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file, part by part."""
    parts = {name: _little_endian(array) for name, array in container.arrays.items()}
    text = json.dumps(container.document, separators=(",", ":"), allow_nan=False)
    parts[_DOCUMENT] = np.frombuffer(text.encode("ascii"), np.uint8)
    # Wide items first, so that each array is aligned to its items.
    names = sorted(parts, key=lambda name: (-parts[name].dtype.itemsize, name))
    metadata = {"format": FORMAT, "version": str(VERSION), "kind": container.kind, "library": _library_version()}
    header: dict[str, Any] = {"__metadata__": metadata}
    start = 0
    for name in names:
        array = parts[name]
        metadata[_CHECKSUM + name] = _checksum(array.data)
        header[name] = _entry(_NAMES[array.dtype], array.shape, start, array.nbytes)
        start += array.nbytes
    header[_SEAL] = _entry("U8", (_SEAL_BYTES,), start, _SEAL_BYTES)
    written = json.dumps(header, separators=(",", ":"))
    written += " " * (-len(written) % 8)
    head = len(written).to_bytes(8, "little") + written.encode("ascii")
    yield head
    for name in names:
        yield parts[name].data
    yield _seal(head)


def unpack(data: bytes, kind: str) -> Container:
    """Read a file's bytes; raise unless it is an undamaged file of the given kind that this version understands."""
    head = _read_head(data)
    header = _read_header(head[8:])
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise StorageError("the header's metadata are no strings")
    _require_known(metadata, kind)
    places = _read_places(header, len(data) - len(head))
    if list(places)[-1:] != [_SEAL] or places[_SEAL].shape != (_SEAL_BYTES,):
        raise StorageError("the header does not end with a seal")
    arrays = {}
    for name, place in places.items():
        part = memoryview(data)[len(head) + place.start : len(head) + place.start + place.length]
        if name == _SEAL:
            continue
        if metadata.get(_CHECKSUM + name) != _checksum(part):
            raise StorageError(f"entry {name!r} is damaged: its checksum does not match its content")
        arrays[name] = _read_array(part, place)
    if _DOCUMENT not in arrays:
        raise StorageError("there is no document")
    return Container(kind, parse_json(arrays.pop(_DOCUMENT).tobytes(), "the document"), arrays)


def parse_json(text: bytes, what: str) -> Any:
    """Parse strict JSON: no NaN, no key twice, no nesting without end."""
    try:
        return json.loads(text.decode("ascii"), object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{what} is no valid JSON: {error}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise ValueError("a key occurs twice")
    return read


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _library_version() -> str:
    try:
        return version("unlearnspn")
    except PackageNotFoundError:  # run from a folder, without having been installed
        return "unknown"


def _little_endian(array: Array) -> Array:
    dtype = array.dtype.newbyteorder("<")
    if dtype not in _NAMES:
        raise TypeError(f"arrays of type {array.dtype} cannot be stored")
    return np.asarray(array, dtype, order="C")


def _entry(dtype: str, shape: Iterable[int], start: int, length: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, start + length]}


def _checksum(data: bytes | memoryview) -> str:
    return blake2b(data, digest_size=_SEAL_BYTES).hexdigest()


def _seal(head: bytes | memoryview) -> bytes:
    return blake2b(head, digest_size=_SEAL_BYTES).digest()


def _read_head(data: bytes) -> bytes:
    """Return the length and the header, once the seal has shown that they are undamaged."""
    if not data:
        raise StorageError("the file is empty")
    if data[8 : 8 + len(_START)] != _START:
        hint = ": it looks like a pickle, which is never loaded" if data[:1] == b"\x80" else ""
        raise StorageError(f"this is no file of unlearnspn, or its first bytes are damaged{hint}")
    end = 8 + int.from_bytes(data[:8], "little")
    if end > 8 + _LONGEST_HEADER:
        raise StorageError(f"the header claims to be {end - 8} bytes long: the file is damaged")
    if end + _SEAL_BYTES > len(data):
        raise StorageError(f"the file is cut off: it has {len(data)} bytes, and its header alone needs {end}")
    head = data[:end]
    if _seal(head) != data[-_SEAL_BYTES:]:
        raise StorageError("the header is damaged, or the file is cut off or has something added: the seal is broken")
    return head


def _read_header(text: bytes) -> dict[str, Any]:
    header = parse_json(text, "the header")
    if not isinstance(header, dict):
        raise StorageError("the header is no JSON object")
    return header


def _require_known(metadata: Mapping[str, str], kind: str) -> None:
    number, writer = metadata.get("version", ""), metadata.get("library", "")
    if not number.isascii() or not number.isdecimal() or len(number) > 9:
        raise StorageError(f"the file has no format version but {number!r}")
    if int(number) > VERSION:
        raise StorageError(
            f"the file has format version {int(number)}, and this library, unlearnspn {_library_version()}, reads up "
            f"to {VERSION}: install unlearnspn {writer}, which wrote it, or newer"
        )
    if int(number) < VERSION:
        raise StorageError(f"the file has format version {int(number)}, which never existed")
    if metadata.get("kind") != kind:
        raise StorageError(f"the file holds a {metadata.get('kind')!r}, not a {kind!r}")


@dataclass(frozen=True)
class _Place:
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    length: int


def _read_places(header: Mapping[str, Any], n_bytes: int) -> dict[str, _Place]:
    """Return where the arrays are: side by side, and all of the file."""
    places, reached = {}, 0
    for name, entry in header.items():
        place = _read_place(name, entry)
        if place.start != reached:
            raise StorageError(f"entry {name!r} does not follow the one before it")
        reached += place.length
        places[name] = place
    if reached != n_bytes:
        raise StorageError(f"the entries take {reached} bytes, and the file has {n_bytes} for them")
    return places


def _read_place(name: str, entry: Any) -> _Place:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise StorageError(f"entry {name!r} is not described by dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _TYPES:
        raise StorageError(f"entry {name!r} has the unknown type {dtype!r}")
    if not _are_sizes(shape) or len(shape) > _MOST_DIMENSIONS or math.prod(filter(None, shape)) > _MOST_ITEMS:
        raise StorageError(f"entry {name!r} has no shape but {shape!r}")
    if not _are_sizes(offsets) or len(offsets) != 2:
        raise StorageError(f"entry {name!r} has no place but {offsets!r}")
    start, end = offsets
    if end - start != math.prod(shape) * _TYPES[dtype].itemsize:
        raise StorageError(f"entry {name!r} takes {end - start} bytes, which does not fit {dtype} of shape {shape}")
    return _Place(_TYPES[dtype], tuple(shape), start, end - start)


def _are_sizes(numbers: Any) -> bool:
    return isinstance(numbers, list) and all(type(number) is int and 0 <= number < 1 << 62 for number in numbers)


def _read_array(part: memoryview, place: _Place) -> Array:
    array = np.frombuffer(part, place.dtype) if place.length else np.zeros(0, place.dtype)
    return array.reshape(place.shape).astype(place.dtype.newbyteorder("="), copy=False)

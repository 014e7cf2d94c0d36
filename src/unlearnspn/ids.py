"""Record ids: unique integers or strings, given by the user, that say who a record is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unlearnspn.errors import RecordIdError, UnknownRecordError, listing
from unlearnspn.mixing import Keys, mix_integer, mix_keys
from unlearnspn.tables import is_missing

RecordId = int | str

_LIMIT = 1 << 63
_NO_SALT = np.uint64(0)


def read_ids(ids: Any) -> list[RecordId]:
    """Turn a column, an array, a list or a single id into a list of ids, all integers or all strings.

    >>> read_ids(np.array([3, 1])), read_ids("c-17")
    ([3, 1], ['c-17'])
    """
    items = _as_list(ids)
    if _plain(items):
        return items
    missing = [row for row, item in enumerate(items, 1) if is_missing(item)]
    if missing:
        raise RecordIdError(f"ids are missing in rows {listing(missing)}: every record needs one")
    read = [_read_id(item) for item in items]
    if len({type(item) for item in read}) > 1:
        other = next(item for item in read if type(item) is not type(read[0]))
        raise RecordIdError(f"ids must be all integers or all strings, but {read[0]!r} and {other!r} are among them")
    return read


def require_unique(ids: Sequence[RecordId]) -> None:
    """Raise if an id occurs twice in one call, and name those that do."""
    if len(set(ids)) == len(ids):
        return
    seen: set[RecordId] = set()
    repeated: dict[RecordId, None] = {}
    for item in ids:
        if item in seen:
            repeated[item] = None
        seen.add(item)
    raise RecordIdError(f"ids must be unique, but these occur more than once: {listing(repeated)}")


def require_found(ids: Sequence[RecordId], found: Sequence[bool]) -> None:
    """Raise if some ids are nobody's, and name them."""
    if not all(found):
        unknown = [item for item, is_found in zip(ids, found, strict=True) if not is_found]
        raise UnknownRecordError(f"there are no records with these ids: {listing(unknown)}")


def record_keys(ids: Sequence[RecordId]) -> Keys:
    """Return a 64-bit key for each id: what the record is, to everything that is random."""
    if ids and isinstance(ids[0], str):
        return np.frombuffer(b"".join(map(_digest_text, ids)), "<u8").astype(np.uint64)
    return mix_keys(np.array(ids, np.int64).view(np.uint64), _NO_SALT)


def record_key(item: RecordId) -> int:
    """Return the key of one id.

    >>> [record_key(7), record_key(-1)] == record_keys([7, -1]).tolist()
    True
    """
    return int.from_bytes(_digest_text(item), "little") if isinstance(item, str) else mix_integer(item)


def _digest_text(text: RecordId) -> bytes:
    return hashlib.blake2b(str(text).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _plain(items: list[Any]) -> bool:
    """Tell whether all are ids already, of one kind, without a look at each from Python."""
    kinds = set(map(type, items))
    return kinds == {str} or (kinds == {int} and min(items) >= -_LIMIT and max(items) < _LIMIT)


def _as_list(ids: Any) -> list[Any]:
    if type(ids) is list:
        return ids.copy()
    if isinstance(ids, str | int | np.integer):
        return [ids]
    if isinstance(ids, bytes | bytearray | dict) or hasattr(ids, "columns") or getattr(ids, "ndim", 1) > 1:
        raise RecordIdError(f"ids must be a list of integers or strings, not {type(ids).__name__}")
    for method in ("to_list", "to_pylist", "tolist"):
        if hasattr(ids, method):
            listed = getattr(ids, method)()
            return listed if isinstance(listed, list) else [listed]
    if not isinstance(ids, Iterable):
        raise RecordIdError(f"ids must be integers or strings, not {type(ids).__name__}")
    return list(ids)


def _read_id(item: Any) -> RecordId:
    if isinstance(item, str):
        return str(item)
    if isinstance(item, int | np.integer) and not isinstance(item, bool):
        if not -_LIMIT <= item < _LIMIT:
            raise RecordIdError(f"id {item} does not fit into 64 bits: use strings")
        return int(item)
    raise RecordIdError(f"ids must be integers or strings, but {item!r} is of type {type(item).__name__}")

"""Documents: values as JSON that come back as what they were.

What JSON has no form for is an object with the key `$`, which says what it is: tuples, numbers that are not finite or
very large, NumPy's arrays and numbers, and mappings with other keys than strings. Whoever has more kinds of values to
write, such as building blocks, passes functions for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from unlearnspn.storage.errors import StorageError

KIND = "$"

#: Encodes a value of another kind; is given its name for errors.
Encoder = Callable[[Any, str], Any]
#: Decodes an object that an `Encoder` made.
Decoder = Callable[[dict[str, Any]], Any]

_EXACT = 1 << 63
_NUMPY_TYPES = {
    np.dtype(kind).name: np.dtype(kind)
    for kind in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "O")
}


def refuse(value: Any, where: str) -> Any:
    """Raise: there is no form for such a value."""
    raise StorageError(
        f"{where} is of type {type(value).__name__}, which cannot be stored: use numbers, strings, lists or mappings "
        "of them, and dataclasses for building blocks of your own"
    )


def refuse_kind(value: dict[str, Any]) -> Any:
    """Raise: nobody knows such a kind of value."""
    raise StorageError(f"the document has a value of the unknown kind {value[KIND]!r}")


def encode(value: Any, where: str = "document", other: Encoder = refuse) -> Any:
    """Return a value in JSON's terms; `where` names it in errors.

    >>> encode({"a": (1, 2.5), "b": None})
    {'a': {'$': 'tuple', 'items': [1, 2.5]}, 'b': None}
    """
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        return value if abs(value) < _EXACT else {KIND: "integer", "hex": hex(value)}
    if type(value) is float:
        return value if math.isfinite(value) else {KIND: "float", "name": repr(value)}
    if isinstance(value, np.generic | np.ndarray):
        return _encode_numpy(value, where)
    if isinstance(value, list):
        return _encode_items(value, where, other)
    if isinstance(value, tuple):
        return {KIND: "tuple", "items": _encode_items(value, where, other)}
    if isinstance(value, Mapping):
        return _encode_mapping(value, where, other)
    return other(value, where)


def decode(value: Any, other: Decoder = refuse_kind) -> Any:
    """Return what was encoded, or raise.

    >>> decode(encode([(1, float("inf")), np.array([True, False])]))
    [(1, inf), array([ True, False])]
    """
    if isinstance(value, list):
        return [decode(item, other) for item in value]
    if not isinstance(value, dict):
        return value
    if KIND not in value:
        return {key: decode(item, other) for key, item in value.items()}
    try:
        return _decode_object(value, other)
    except StorageError:
        raise
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise StorageError(f"the document has a malformed {value[KIND]!r}") from error


def _encode_items(items: Any, where: str, other: Encoder) -> list[Any]:
    return [encode(item, f"{where}[{place}]", other) for place, item in enumerate(items)]


def _encode_mapping(value: Mapping[Any, Any], where: str, other: Encoder) -> Any:
    items = {key: encode(item, f"{where}[{key!r}]", other) for key, item in value.items()}
    if all(type(key) is str for key in items) and KIND not in items:
        return items
    return {KIND: "mapping", "items": [[encode(key, where), item] for key, item in items.items()]}


def _encode_numpy(value: Any, where: str) -> Any:
    if isinstance(value, np.str_):
        return str(value)
    name = value.dtype.name
    if isinstance(value, np.generic):
        return _numpy(name, None, value.tolist(), where) if name in _NUMPY_TYPES else refuse(value, where)
    # Strings, and what else has a type of its own, as the objects that they are.
    return _numpy(name if name in _NUMPY_TYPES else "object", list(value.shape), value.ravel().tolist(), where)


def _numpy(name: str, shape: list[int] | None, items: Any, where: str) -> dict[str, Any]:
    listed = [items] if shape is None else items
    return {KIND: "numpy", "dtype": name, "shape": shape, "items": _encode_items(listed, where, refuse)}


def _decode_object(value: dict[str, Any], other: Decoder) -> Any:
    kind = value[KIND]
    if kind == "integer":
        return int(value["hex"], 16)
    if kind == "float":
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[value["name"]]
    if kind == "tuple":
        return tuple(decode(value["items"], other))
    if kind == "mapping":
        return dict(decode(value["items"], other))
    if kind == "numpy":
        return _decode_numpy(value)
    return other(value)


def _decode_numpy(value: dict[str, Any]) -> Any:
    items, shape = decode(value["items"]), value["shape"]
    array = np.empty(len(items), _NUMPY_TYPES[value["dtype"]])
    array[:] = items
    if shape is None:
        return array[0]
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError("no shape")
    return array.reshape(shape)

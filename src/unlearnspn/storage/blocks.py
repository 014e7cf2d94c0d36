"""Building blocks by name: which classes a file may name, and the settings they are made from.

A file names a class and its settings, nothing else. The library's own classes are known; those of users must be handed
to whoever reads the file, so that a file alone never decides what code runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from unlearnspn.clustering import QKMeans
from unlearnspn.errors import listing
from unlearnspn.independence import RDC, GTest
from unlearnspn.leaves import (
    Bernoulli,
    Categorical,
    ChowLiu,
    Exponential,
    Gaussian,
    Histogram,
    LogNormal,
    Poisson,
)
from unlearnspn.storage.documents import KIND, decode, encode, refuse, refuse_kind
from unlearnspn.storage.errors import StorageError

#: The library's own building blocks.
OWN: frozenset[type] = frozenset(
    [
        GTest,
        RDC,
        QKMeans,
        Bernoulli,
        Categorical,
        ChowLiu,
        Exponential,
        Gaussian,
        Histogram,
        LogNormal,
        Poisson,
    ]
)

_BLOCK = "block"
#: The types that settings of these are declared with.
_TYPES: dict[str, type] = {"int": int, "float": float, "None": type(None)}
#: More of anything, of clusters, features or bins, would fit into no machine.
_MOST = 1 << 31


def known_blocks(components: Iterable[type] = ()) -> dict[str, type]:
    """Return the classes that a file may name, by name."""
    known = {_name(block): block for block in OWN}
    for component in components:
        if not isinstance(component, type) or not is_dataclass(component):
            raise TypeError(f"components must be dataclasses, and {component!r} is none")
        known[_name(component)] = component
    return known


def encode_with_blocks(value: Any, where: str) -> Any:
    """Return a value in JSON's terms; it may be or hold building blocks."""
    return encode(value, where, _encode_other)


def decode_with_blocks(value: Any, known: Mapping[str, type]) -> Any:
    """Return what was encoded, with building blocks of the classes that are known."""

    def decode_block(described: dict[str, Any]) -> Any:
        if described[KIND] != _BLOCK:
            return refuse_kind(described)
        settings = {name: decode(setting, decode_block) for name, setting in described["settings"].items()}
        return _make(known, described["class"], settings)

    return decode(value, decode_block)


def _name(block: type) -> str:
    """Return the name of a class in files: short for the library's own, else with its module."""
    return block.__qualname__ if block in OWN else f"{block.__module__}.{block.__qualname__}"


def _encode_other(value: Any, where: str) -> Any:
    if hasattr(value, "tolist"):  # a pandas index, a polars series, …: what it lists is what counts
        return encode(value.tolist(), where, _encode_other)
    if isinstance(value, type) or not is_dataclass(value):
        return refuse(value, where)
    settings = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    if type(value) in OWN:
        _check_settings(type(value), settings)
    return {KIND: _BLOCK, "class": _name(type(value)), "settings": encode(settings, where, _encode_other)}


def _make(known: Mapping[str, type], name: Any, settings: Mapping[str, Any]) -> Any:
    """Make a building block from its name and settings, or raise."""
    if not isinstance(name, str) or name not in known:
        raise StorageError(
            f"the file names the building block {name!r}, and known are only {listing(sorted(known), len(known))}: if "
            "it is your own class, pass it in components"
        )
    kind = known[name]
    names = {field.name for field in fields(kind) if field.init}
    if set(settings) != names:
        raise StorageError(f"the building block {name!r} has the settings {listing(sorted(names))}, and no others")
    if kind in OWN:
        _check_settings(kind, settings)
    try:
        return kind(**settings)
    except (TypeError, ValueError) as error:
        raise StorageError(f"the building block {name!r} refuses its settings: {error}") from error


def _check_settings(kind: type, settings: Mapping[str, Any]) -> None:
    """Raise unless every setting is of the type that the class declares, and counts are counts.

    What makes sense is for the classes to check; this is about what compiled code must never be handed.
    """
    declared = {field.name: str(field.type).split(" | ") for field in fields(kind)}
    for name, value in settings.items():
        words = declared[name]
        wanted = tuple(_TYPES[word] for word in words) + ((int,) if "float" in words else ())
        fault = None
        if not isinstance(value, wanted) or isinstance(value, bool):
            fault = f"of type {' or '.join(words)}"
        elif isinstance(value, int) and "float" not in words and not 0 <= value < _MOST:
            fault = f"from 0 to {_MOST - 1}"
        if fault is not None:
            raise StorageError(f"{kind.__name__} cannot be stored with {name}={value!r}: it must be {fault}")

"""The settings of a model, as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from unlearnspn.clustering import Clustering
from unlearnspn.coding import MOST_BINS
from unlearnspn.independence import IndependenceTest
from unlearnspn.leaves import ChowLiu, Leaf
from unlearnspn.schema import Kind, Schema
from unlearnspn.settings import Settings
from unlearnspn.spn.digest import describe
from unlearnspn.storage.blocks import decode_with_blocks, encode_with_blocks, known_blocks
from unlearnspn.storage.columns import describe_schema, read_schema
from unlearnspn.storage.errors import StorageError


def describe_settings(settings: Settings) -> dict[str, Any]:
    """Return settings as JSON values, or raise if a building block of the user's cannot be stored."""
    described = {field.name: getattr(settings, field.name) for field in fields(settings)}
    schema = described.pop("schema")
    for block in (settings.independence, settings.clustering, *settings.leaves):
        _require_restorable(block)
    return {"schema": describe_schema(schema), **encode_with_blocks(described, "settings")}


def _require_restorable(block: Any) -> None:
    """Raise unless a building block can be made again from the fields of its dataclass."""
    encoded = encode_with_blocks(block, "a building block")
    try:
        same = describe(decode_with_blocks(encoded, known_blocks([type(block)]))) == describe(block)
    except StorageError as error:
        raise StorageError(f"{block!r} cannot be stored, since it cannot be made again: {error}") from error
    if not same:
        raise StorageError(f"{block!r} cannot be stored: it is more than the fields of its dataclass")


def read_settings(described: Any, known: Mapping[str, type]) -> Settings:
    """Return the settings that were described, or raise."""
    if isinstance(described, Mapping):
        described = {"min_category_count": 1, **described}  # which earlier versions did not know
    if not isinstance(described, Mapping) or set(described) != {field.name for field in fields(Settings)}:
        raise StorageError("the document does not describe a model's settings")
    schema = read_schema(described["schema"])
    values = {name: decode_with_blocks(value, known) for name, value in described.items() if name != "schema"}
    _require_integer("seed", values["seed"], 0, (1 << 64) - 1)
    _require_integer("min_category_count", values["min_category_count"], 1, 1 << 62)
    for name, least, most in (("min_rows", 1, 1 << 62), ("n_bins", 2, MOST_BINS)):
        if values[name] is not None:
            _require_integer(name, values[name], least, most)
    _require_offer("independence", values["independence"], IndependenceTest)
    _require_offer("clustering", values["clustering"], Clustering)
    _require_offer("tree", values["tree"], ChowLiu | None)
    _require_leaves(values["leaves"], schema)
    _require_target(values["target"], schema)
    return Settings(schema=schema, **values)


def _require_integer(name: str, value: Any, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise StorageError(f"{name} is {value!r}, and must be from {least} to {most}")


def _require_offer(name: str, block: Any, wanted: Any) -> None:
    if not isinstance(block, wanted):
        raise StorageError(f"{name} is {block!r}, which does not offer what it must")


def _require_target(target: Any, schema: Schema) -> None:
    if target is None:
        return
    _require_integer("target", target, 0, len(schema.variables) - 1)
    if schema.variables[target].kind is not Kind.CATEGORICAL:
        raise StorageError(f"column {schema.variables[target].name!r} is to be predicted, but is numeric")


def _require_leaves(leaves: Any, schema: Schema) -> None:
    if not isinstance(leaves, tuple) or len(leaves) != len(schema.variables):
        raise StorageError("there must be a leaf for each column")
    for variable, leaf in zip(schema.variables, leaves, strict=True):
        if not isinstance(leaf, Leaf) or leaf.kind is not variable.kind:
            raise StorageError(f"column {variable.name!r} is {variable.kind}, and {leaf!r} is no leaf for that")

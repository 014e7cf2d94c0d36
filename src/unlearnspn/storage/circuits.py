"""Circuits in files: columns, and the flat arrays that are executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from unlearnspn.circuit.domains import Domain, Domains
from unlearnspn.circuit.layout import NORMAL_ARRAYS, TREE_ARRAYS, Layout
from unlearnspn.circuit.validation import InvalidCircuitError, validate
from unlearnspn.schema import Kind
from unlearnspn.storage.columns import describe_schema, pack_categories, read_schema, take_categories
from unlearnspn.storage.container import Container, pack, unpack
from unlearnspn.storage.documents import decode, encode
from unlearnspn.storage.entries import Entries
from unlearnspn.storage.errors import StorageError, explained
from unlearnspn.storage.files import PathLike, read_file, write_file

_KIND = "circuit"
_NAMES = {"schema", "extra"}
_TYPES: dict[str, type[np.generic]] = {
    "units": np.uint8,
    "variables": np.int32,
    "child_starts": np.int64,
    "children": np.int32,
    "log_weights": np.float64,
    "parameter_starts": np.int64,
    "parameters": np.float64,
    "tree_starts": np.int64,
    "tree_nodes": np.int32,
    "normal_starts": np.int64,
    "normal_variables": np.int32,
}


def write_circuit(path: PathLike, layout: Layout, domains: Domains, document: Mapping[str, Any]) -> None:
    """Write a circuit, and a document beside it, into one file: a function of both alone."""
    with explained("write", path):
        write_file(path, pack(pack_circuit(layout, domains, document)))


def read_circuit(path: PathLike) -> tuple[Layout, Domains, dict[str, Any]]:
    """Read a circuit and its document; nothing that the file says is run.

    Raises `StorageError` if anything is wrong with the file. What is returned has been validated: it is a distribution
    over its columns, and compiled code can walk it.
    """
    with explained("read", path):
        return unpack_circuit(unpack(read_file(path), _KIND))


def pack_circuit(layout: Layout, domains: Domains, document: Mapping[str, Any]) -> Container:
    """Return what a file holds of a circuit."""
    described = {"schema": describe_schema(domains.schema), "extra": encode(document)}
    categories = pack_categories([column.categories for column in domains.columns])
    return Container(_KIND, described, {**layout.arrays(), **categories})


def unpack_circuit(container: Container) -> tuple[Layout, Domains, dict[str, Any]]:
    """Return the circuit that a file holds, its columns and its document, or raise."""
    described = container.document
    if not isinstance(described, dict) or set(described) != _NAMES:
        raise StorageError("the document does not describe a circuit")
    schema, extra = read_schema(described["schema"]), decode(described["extra"])
    if not isinstance(extra, dict):
        raise StorageError("the document beside the circuit is none")
    entries = Entries(container.arrays)
    categories = take_categories(entries, schema)
    layout = _take_layout(entries, container)
    entries.finish()
    columns = zip(schema.variables, categories, strict=True)
    domains = Domains(tuple(Domain(v.name, v.kind, v.family, known) for v, known in columns), schema.id_column)
    try:
        validate(layout, [None if v.kind is Kind.NUMERIC else len(v.categories) for v in domains.columns])
    except InvalidCircuitError as error:
        raise StorageError(str(error)) from error
    return layout, domains, extra


def _take_layout(entries: Entries, container: Container) -> Layout:
    """Return the arrays of a circuit; those of trees and of joint normals are left out if there are none."""
    arrays = {}
    left_out = [names for names in (TREE_ARRAYS, NORMAL_ARRAYS) if names[0] not in container.arrays]
    for field in fields(Layout):
        if not any(field.name in names for names in left_out):
            shape = (None, 3) if field.name == "tree_nodes" else (None,)
            arrays[field.name] = entries.take(field.name, _TYPES[field.name], *shape)
    return Layout(**arrays)

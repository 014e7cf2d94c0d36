"""Columns in a file: names and kinds in the document, categories in arrays, since there may be very many."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unlearnspn.schema import Kind, Schema, Variable
from unlearnspn.storage.container import Array
from unlearnspn.storage.entries import Entries, narrow
from unlearnspn.storage.errors import StorageError
from unlearnspn.storage.texts import pack_texts, take_texts
from unlearnspn.tables.cells import Category, Family, read_number_token, token
from unlearnspn.tables.origins import label_of, plain_label

_BOOLEANS: dict[bytes, Category] = {token(False): False, token(True): True}


def describe_schema(schema: Schema) -> dict[str, Any]:
    """Return a schema as JSON values."""
    columns = [[variable.name, variable.kind.value, variable.family.value] for variable in schema.variables]
    return {"columns": columns, "id_column": plain_label(schema.id_column)}


def read_schema(described: Any) -> Schema:
    """Return the schema that was described, or raise."""
    if not isinstance(described, Mapping) or set(described) != {"columns", "id_column"}:
        raise StorageError("the document describes no schema")
    id_column, columns = described["id_column"], described["columns"]
    try:
        id_column = label_of(id_column)
    except ValueError as error:
        raise StorageError("the document describes no schema") from error
    if not isinstance(columns, list):
        raise StorageError("the document describes no schema")
    variables = tuple(map(_read_variable, columns))
    if not variables:
        raise StorageError("there are no columns")
    if len({variable.name for variable in variables}) < len(variables):
        raise StorageError("two columns have the same name")
    return Schema(variables, id_column)


def _read_variable(described: Any) -> Variable:
    if not isinstance(described, list) or len(described) != 3 or not all(isinstance(part, str) for part in described):
        raise StorageError(f"a column is not described by name, kind and family but by {described!r}")
    name, kind, family = described
    try:
        variable = Variable(name, Kind(kind), Family(family))
    except ValueError as error:
        raise StorageError(f"column {name!r} cannot be {kind!r} with {family!r} values") from error
    if (variable.kind is Kind.NUMERIC and not variable.family.is_numeric) or (
        variable.kind is Kind.CATEGORICAL and variable.family.is_time
    ):
        raise StorageError(f"column {name!r} is {kind}, but holds {family!r} values")
    return variable


def pack_categories(categories: Sequence[Sequence[Category]]) -> dict[str, Array]:
    """Return the arrays that hold the categories of each column, in the order given; numeric columns have none."""
    tokens = [token(category) for column in categories for category in column]
    counts = narrow(np.array([len(column) for column in categories], np.int64))
    return {"category_counts": counts, **pack_texts("categories", tokens)}


def take_categories(entries: Entries, schema: Schema) -> list[tuple[Category, ...]]:
    """Take the categories of each column: distinct ones, and none of numeric columns."""
    counts = entries.take_integers("category_counts", 1 << 31, len(schema.variables))
    tokens = take_texts(entries, "categories", int(counts.sum()))
    columns, start = [], 0
    for variable, count in zip(schema.variables, counts.tolist(), strict=True):
        if count and variable.kind is Kind.NUMERIC:
            raise StorageError(f"column {variable.name!r} is numeric, but has categories")
        columns.append(read_tokens(variable.name, tokens[start : start + count]))
        start += count
    return columns


def read_tokens(name: str, tokens: list[bytes]) -> tuple[Category, ...]:
    """Return the categories that were written as these tokens, or raise."""
    if len(set(tokens)) < len(tokens):
        raise StorageError(f"column {name!r} has a category twice")
    categories = []
    for written in tokens:
        category = _read_number(name, written) if written[:1] in (b"n", b"i") else _read_token(name, written)
        if token(category) != written:
            raise StorageError(f"column {name!r} has a category in a form that is not its own")
        categories.append(category)
    return tuple(categories)


def _read_token(name: str, written: bytes) -> Category:
    if written in _BOOLEANS:
        return _BOOLEANS[written]
    if written[:1] != b"s":
        raise StorageError(f"column {name!r} has a category of an unknown kind")
    try:
        return written[1:].decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise StorageError(f"column {name!r} has a category that is no text") from error


def _read_number(name: str, written: bytes) -> Category:
    try:
        number = read_number_token(written)
    except (ValueError, OverflowError) as error:
        raise StorageError(f"column {name!r} has a category that is no number") from error
    if number != number or number in (math.inf, -math.inf):
        raise StorageError(f"column {name!r} has a category that is no number")
    return number

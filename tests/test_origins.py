"""Origins: what is remembered of a table is its types, in JSON, and nothing that it held."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unlearnspn import InvalidTableError
from unlearnspn.tables import read_table
from unlearnspn.tables.names import Label, read_label
from unlearnspn.tables.origins import CellType, Library, Origin

SECRET = "category of one person"
TEXT = [SECRET, "other", None]

TABLES = {
    "pandas": pd.DataFrame(
        {
            "category": pd.Categorical(TEXT),
            "text": pd.Series(TEXT),
            "object": pd.Series(TEXT, dtype=object),
            "arrow": pd.array(TEXT, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
            7: pd.array([1, None, 3], dtype="UInt16"),
        }
    ),
    "polars": pl.DataFrame(
        {
            "category": pl.Series(TEXT, dtype=pl.Categorical),
            "price": pl.Series([1, 2, 3], dtype=pl.Decimal(7, 2)),
        }
    ),
    "pyarrow": pa.table({"dictionary": pa.array(TEXT).dictionary_encode(), "text": TEXT}),
    "numpy": np.array([[SECRET], ["other"]]),
    "numpy.ma": np.ma.masked_array([[1, 2]], [[True, False]]),
    "lists": [[SECRET, 1.5], ["other", None]],
    "row": {"text": SECRET, "number": 1.5},
}


@pytest.mark.parametrize("library", TABLES)
def test_an_origin_survives_json_and_holds_no_value(library):
    origin = read_table(TABLES[library]).origin
    assert origin.library == library
    text = json.dumps(origin.to_dict())
    assert Origin.from_dict(json.loads(text)) == origin
    assert SECRET not in text
    assert SECRET not in repr(origin)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": pd.Categorical(["b"], categories=["b", "a"], ordered=True)}),
        pl.DataFrame({"a": pl.Series(["b"], dtype=pl.Enum(["b", "a"]))}),
        pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), ["b", "a"], ordered=True)}),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_categories_that_a_type_declares_in_order_belong_to_it(table):
    origin = read_table(table).origin
    assert origin.columns[0].type.declared == ("b", "a")
    assert Origin.from_dict(json.loads(json.dumps(origin.to_dict()))) == origin


def test_how_long_strings_are_is_not_remembered():
    short, long = (read_table(np.array([[text]])).origin for text in ("a", "much longer"))
    assert short == long


def test_the_id_column_is_no_part_of_it():
    assert read_table(TABLES["pyarrow"], without="text").origin.names == ["dictionary"]


def test_columns_can_be_picked():
    origin = read_table(TABLES["pandas"]).origin
    picked = origin.only(["7", "category"])
    assert picked.names == ["7", "category"]
    assert [column.label for column in picked.columns] == [7, "category"]
    assert picked.columns[0].type == CellType("UInt16")
    with pytest.raises(InvalidTableError, match=r"no columns 'nowhere'"):
        origin.only(["nowhere"])


@pytest.mark.parametrize(
    ("label", "kept"),
    [("a", "a"), (3, 3), (None, None), (("a", 1), ("a", 1)), (pd.Timestamp("2024-01-01"), "2024-01-01 00:00:00")],
)
def test_labels_are_kept_as_json_can_hold_them(label: object, kept: Label):
    assert read_label(label) == kept


GOOD = Origin.arrays(["a"]).to_dict()


def changed(*path_and_value):
    *path, last, value = path_and_value
    plain = json.loads(json.dumps(GOOD))
    inner = plain
    for step in path:
        inner = inner[step]
    inner[last] = value
    return plain


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        "pandas",
        {},
        {**GOOD, "more": 1},
        changed("library", "os"),
        changed("library", []),
        changed("columns", {}),
        changed("columns", [1]),
        changed("columns", 0, "name", 3),
        changed("columns", 0, "label", {}),
        changed("columns", 0, "label", [[[[[[]]]]]]),
        changed("columns", 0, "type", None),
        changed("columns", 0, "type", "name", 1),
        changed("columns", 0, "type", "details", "x"),
        changed("columns", 0, "type", "details", [None]),
        changed("columns", 0, "type", "of", "text"),
        changed("columns", 0, "type", "declared", "a"),
        changed("columns", 0, "type", "declared", [None]),
        changed("columns", 0, "type", "declared", ["a", "a"]),
    ],
    ids=repr,
)
def test_what_is_no_origin_is_refused(plain):
    with pytest.raises(ValueError, match="no table's origin"):
        Origin.from_dict(plain)


def test_types_are_not_nested_without_end():
    cell_type = CellType("category")
    for _ in range(10):
        cell_type = CellType("category", (), cell_type)
    with pytest.raises(ValueError, match="no table's origin"):
        CellType.from_dict(cell_type.to_dict())


def test_every_library_has_an_origin_here():
    assert set(TABLES) == {library.value for library in Library}

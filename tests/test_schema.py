"""Kinds of variables: read off the types, or declared."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unlearnspn import SPN, InvalidTableError
from unlearnspn.schema import Kind, Schema
from unlearnspn.tables import read_table


def kinds(table, categorical_features="from_dtype"):
    variables = Schema.of(read_table(table), categorical_features, None).variables
    return "".join("c" if variable.kind is Kind.CATEGORICAL else "n" for variable in variables)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.Series([1.5, 2.5]), "n"),
        (pd.array([1, None], "Int8"), "n"),
        (pd.Series([1, 2.5], dtype=object), "n"),
        (pd.Series(["a", None]), "c"),
        (pd.Series([True, False]), "c"),
        (pd.array([True, None], "boolean"), "c"),
        (pd.Series([True, None], dtype=object), "c"),
        (pd.Categorical(["a", "b"]), "c"),
        (pd.Categorical([1, 2]), "c"),
        (pd.Categorical([0.5, None]), "c"),
        (pd.Categorical([None, None], categories=["a"]), "c"),
        (pd.array([None, None], "string"), "c"),
        (pd.array([None, None], "boolean"), "c"),
        (pd.array([None, None], "Int64"), "n"),
        (pd.Series([None, None], dtype=object), "c"),
    ],
    ids=lambda column: str(getattr(column, "dtype", column)),
)
def test_kinds_come_from_pandas_types(column, kind):
    assert kinds(pd.DataFrame({"a": column})) == kind


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        (pl.Int64, "n"),
        (pl.Float32, "n"),
        (pl.Decimal(10, 2), "n"),
        (pl.Boolean, "c"),
        (pl.String, "c"),
        (pl.Categorical, "c"),
        (pl.Enum(["a"]), "c"),
    ],
    ids=str,
)
def test_kinds_come_from_polars_types_not_from_values(dtype, kind):
    # Nothing but nulls: the type alone must tell.
    assert kinds(pl.DataFrame({"a": pl.Series([None, None], dtype=dtype)})) == kind


def test_kinds_come_from_arrow_types():
    codes = pa.array([3, 1, 3])
    assert kinds(pa.table({"a": codes, "b": codes.dictionary_encode(), "c": ["x", None, "y"]})) == "ncc"


def test_a_text_column_that_was_empty_at_fit_takes_text_later():
    empty = pl.DataFrame({"a": pl.Series([None] * 4, dtype=pl.String), "b": [1.0, 2.0, 3.0, 4.0]})
    spn = SPN().fit(empty)
    spn.learn(pl.DataFrame({"a": ["late"], "b": [5.0]}))
    assert spn.verify()
    assert spn.score_samples([["late", None]]) > spn.score_samples([["never", None]])


TABLE = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": [3, 4]})


@pytest.mark.parametrize(
    ("categorical_features", "expected"),
    [
        ("from_dtype", "nnn"),
        (None, "nnn"),
        ([], "nnn"),
        ("all", "ccc"),
        ([True, False, True], "cnc"),
        (np.array([False, True, False]), "ncn"),
        ([0, 2], "cnc"),
        (np.array([1]), "ncn"),
        (["c", "a"], "cnc"),
        (np.array(["b"]), "ncn"),
        (("b",), "ncn"),
        (pd.Index(["a"]), "cnn"),
    ],
    ids=repr,
)
def test_kinds_may_be_declared(categorical_features, expected):
    assert kinds(TABLE, categorical_features) == expected


@pytest.mark.parametrize(
    ("categorical_features", "culprit"),
    [
        ("some", "'some'"),
        (["a", "nowhere", "neither"], "unknown columns: 'nowhere', 'neither'"),
        ([0, 3, -1], "columns 3, -1, out of 3"),
        ([True, False], r"shape \(2,\), expected \(3,\)"),
    ],
)
def test_declarations_that_do_not_fit_are_refused(categorical_features, culprit):
    with pytest.raises(ValueError, match=rf"categorical_features.*{culprit}"):
        kinds(TABLE, categorical_features)


@pytest.mark.parametrize("form", [list, np.array, tuple, pd.Index])
@pytest.mark.parametrize("declared", [["m", "n"], [0, 1], [True, True]])
def test_a_mixed_column_may_be_declared_in_any_form(form, declared):
    table = pd.DataFrame({"m": pd.Series([1, "x", None], dtype=object), "n": [1, 2, 3]})
    assert kinds(table, form(declared)) == "cc"


def test_text_that_is_not_declared_is_refused():
    table = TABLE.assign(t=["x", "y"])
    for declared in (None, ["a"], []):
        with pytest.raises(InvalidTableError, match="'t' holds text values"):
            kinds(table, declared)


def test_names_and_kinds_are_part_of_the_model_and_families_are_not():
    digest = SPN().fit(TABLE).digest()
    assert SPN().fit(TABLE.rename(columns={"a": "z"})).digest() != digest
    assert SPN(categorical_features=["a"]).fit(TABLE).digest() != digest
    assert SPN().fit(TABLE.astype(float)).digest() == digest


@pytest.mark.parametrize(
    ("columns", "culprit"),
    [
        ({"a": [1], "c": [1]}, "Missing columns: 'b'"),
        ({"a": [1], "b": [1], "c": [1], "d": [1]}, "unseen at fit: 'd'"),
        ({"a": [1], "b": [1], "z": [1]}, "Missing columns: 'c'.*unseen at fit: 'z'"),
        ({"b": [1], "a": [1], "c": [1]}, "same order: 'a', 'b', 'c'"),
        ({"A": [1], "b": [1], "c": [1]}, "Missing columns: 'a'.*unseen at fit: 'A'"),
    ],
)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_other_columns_are_named(columns, culprit, make):
    schema = Schema.of(read_table(TABLE), "from_dtype", None)
    with pytest.raises(InvalidTableError, match=culprit):
        schema.check(read_table(make(columns)))


def test_missing_values_fit_any_kind():
    table = pd.DataFrame({"n": [1.0, 2.0], "t": ["x", "y"], "b": [True, False]})
    schema = Schema.of(read_table(table), "from_dtype", None)
    schema.check(read_table([[None, None, None]]))
    schema.check(read_table(pl.DataFrame({"n": [None], "t": [None], "b": [None]})))


@pytest.mark.parametrize("missing", [[np.nan, np.nan], [None, None]])
def test_a_column_without_a_value_fits_any_kind(missing):
    frame = pd.DataFrame({"letter": ["a", "b"] * 20, "day": pd.date_range("2020-01-01", periods=40), "x": range(40)})
    spn = SPN(min_rows=10).fit(frame)
    for name in frame.columns:
        rows = frame.iloc[:2].assign(**{name: missing})
        others = rows.drop(columns=name)
        expected = spn.marginal(list(others.columns)).score_samples(others)
        assert spn.score_samples(rows) == pytest.approx(expected)
    spn.learn(frame.iloc[:2].assign(letter=missing), ids=[40, 41])
    assert spn.verify()

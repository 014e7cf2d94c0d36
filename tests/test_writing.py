"""Writing tables: what was read is written as it was, by every library, and only what is missing is filled in."""

import datetime as dt
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unlearnspn import InvalidTableError
from unlearnspn.tables import Family, is_missing, read_table
from unlearnspn.tables.origins import CellType, ColumnOrigin, Library, Origin
from unlearnspn.tables.writing import fill_table, write_table

# -- content ---------------------------------------------------------------------------------------------------------

TEXT = st.text("aébc ", max_size=3)
WHOLE = st.integers(0, 100)
BITS_32 = st.floats(-1e6, 1e6, width=32)
BITS_16 = st.floats(-1e3, 1e3, width=16)
BITS_64 = st.floats(-1e6, 1e6)
CENTS = st.integers(-(10**5), 10**5).map(lambda number: Decimal(number) / 100)
FLAGS = st.booleans()


def arrow(native):
    return lambda values: pd.array(values, dtype=pd.ArrowDtype(native))


def categories(ordered=False):
    return lambda values: pd.Categorical(
        values, categories=sorted({value for value in values if value is not None}), ordered=ordered
    )


#: For each library the types a column can have: which values, whether some may be missing, and how to make one.
PANDAS = {
    **{name: (WHOLE, False, lambda values, name=name: np.array(values, name)) for name in ("int8", "uint16", "int64")},
    "float16": (BITS_16, True, lambda values: np.array(values, "float16")),
    "float32": (BITS_32, True, lambda values: np.array(values, "float32")),
    "float64": (BITS_64, True, lambda values: np.array(values, "float64")),
    "bool": (FLAGS, False, lambda values: np.array(values, bool)),
    "object": (TEXT, True, lambda values: pd.Series(values, dtype=object)),
    "str": (TEXT, True, lambda values: pd.Series(values, dtype="str")),
    "string": (TEXT, True, lambda values: pd.array(values, dtype="string")),
    "string[python]": (TEXT, True, lambda values: pd.array(values, dtype=pd.StringDtype("python"))),
    "Int8": (WHOLE, True, lambda values: pd.array(values, dtype="Int8")),
    "UInt64": (WHOLE, True, lambda values: pd.array(values, dtype="UInt64")),
    "Float32": (BITS_32, True, lambda values: pd.array(values, dtype="Float32")),
    "Float64": (BITS_64, True, lambda values: pd.array(values, dtype="Float64")),
    "boolean": (FLAGS, True, lambda values: pd.array(values, dtype="boolean")),
    "category of strings": (TEXT, True, categories()),
    "category of objects": (TEXT, True, lambda values: pd.Categorical(pd.Series(values, dtype=object))),
    "category of integers": (WHOLE, True, categories()),
    "category of floats": (BITS_32, True, categories()),
    "category of booleans": (FLAGS, True, categories()),
    "ordered category": (WHOLE, True, categories(ordered=True)),
    "arrow integers": (WHOLE, True, arrow(pa.int16())),
    "arrow floats": (BITS_32, True, arrow(pa.float32())),
    "arrow booleans": (FLAGS, True, arrow(pa.bool_())),
    "arrow strings": (TEXT, True, arrow(pa.large_string())),
    "arrow dictionaries": (TEXT, True, lambda values: pd.arrays.ArrowExtensionArray(arrow_strings(values))),
    "arrow decimals": (CENTS, True, arrow(pa.decimal128(7, 2))),
}
POLARS = {
    **{
        name: (WHOLE, True, lambda values, name=name: pl.Series(values, dtype=getattr(pl, name)))
        for name in ("Int8", "Int64", "UInt8", "UInt64", "Int128")
    },
    "Float32": (BITS_32, True, lambda values: pl.Series(values, dtype=pl.Float32)),
    "Float64": (BITS_64, True, lambda values: pl.Series(values, dtype=pl.Float64)),
    "Decimal": (CENTS, True, lambda values: pl.Series(values, dtype=pl.Decimal(7, 2))),
    "Boolean": (FLAGS, True, lambda values: pl.Series(values, dtype=pl.Boolean)),
    "String": (TEXT, True, lambda values: pl.Series(values, dtype=pl.String)),
    "Categorical": (TEXT, True, lambda values: pl.Series(values, dtype=pl.Categorical)),
    "Enum": (TEXT, True, lambda values: pl.Series(values, dtype=pl.Enum(sorted({v for v in values if v is not None})))),
    "Object": (TEXT, True, lambda values: pl.Series(values, dtype=pl.Object)),
}
ARROW = {
    **{
        str(native): (values, True, lambda values, native=native: pa.array(values, native))
        for native, values in (
            (pa.int8(), WHOLE),
            (pa.uint64(), WHOLE),
            (pa.float16(), BITS_16.map(np.float16)),
            (pa.float32(), BITS_32),
            (pa.float64(), BITS_64),
            (pa.decimal128(7, 2), CENTS),
            (pa.decimal256(7, 2), CENTS),
            (pa.bool_(), FLAGS),
            (pa.string(), TEXT),
            (pa.large_string(), TEXT),
            (pa.string_view(), TEXT),
        )
    },
    "dictionary of strings": (TEXT, True, lambda values: arrow_dictionary(values, pa.int8(), pa.string())),
    "dictionary of integers": (WHOLE, True, lambda values: arrow_dictionary(values, pa.int32(), pa.int16())),
}


def arrow_strings(values):
    return arrow_dictionary(values, pa.int16(), pa.string())


def arrow_dictionary(values, index, native):
    known = sorted({value for value in values if value is not None})
    places = pa.array([None if value is None else known.index(value) for value in values], index)
    return pa.DictionaryArray.from_arrays(places, pa.array(known, native))


LIBRARIES = {"pandas": (PANDAS, pd.DataFrame), "polars": (POLARS, pl.DataFrame), "pyarrow": (ARROW, pa.table)}


@st.composite
def columns_of(draw, types, n_rows, name):
    values, may_be_missing, make = types[name]
    options = st.none() | values if may_be_missing else values
    drawn = draw(st.lists(options, min_size=n_rows, max_size=n_rows))
    return make(drawn)


@st.composite
def frames(draw, library):
    types, make = LIBRARIES[library]
    n_rows = draw(st.integers(1, 6))
    chosen = draw(st.lists(st.sampled_from(sorted(types)), min_size=1, max_size=4))
    return make({f"column {j}": draw(columns_of(types, n_rows, name)) for j, name in enumerate(chosen)})


def answers(table, numeric=True):
    """Return what a model that repeats its table would answer."""
    return [
        column.numbers()
        if numeric and not column.categorical and column.family in (Family.NUMBER, Family.EMPTY)
        else column.factor()
        for column in table.columns
    ]


def assert_same(one, other):
    """Check that two tables are alike in library, names, types and values."""
    assert type(one) is type(other)
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
    elif isinstance(one, pl.DataFrame):
        assert one.schema == other.schema
        assert one.to_dicts() == other.to_dicts()
    elif isinstance(one, pa.Table):
        assert one.schema == other.schema
        assert one.to_pylist() == other.to_pylist()
    else:
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


# -- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numeric", [True, False], ids=["numbers as numbers", "numbers as categories"])
@pytest.mark.parametrize("library", LIBRARIES)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_what_was_read_is_written_as_it_was(library, numeric, data):
    frame = data.draw(frames(library))
    table = read_table(frame)
    assert_same(write_table(table.origin, table.names, answers(table, numeric)), frame)


@pytest.mark.parametrize("library", LIBRARIES)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_some_columns_in_another_order(library, data):
    frame = data.draw(frames(library))
    table = read_table(frame)
    by_name = dict(zip(table.names, answers(table), strict=True))
    wanted = data.draw(st.lists(st.sampled_from(table.names), min_size=1, unique=True))
    picked = frame[wanted] if library == "pandas" else frame.select(wanted)
    for origin in (table.origin, table.origin.only(wanted)):
        assert_same(write_table(origin, wanted, [by_name[name] for name in wanted]), picked)


ARRAYS = {
    **{dtype: (WHOLE, dtype) for dtype in ("int8", "<u4", ">i8")},
    **{dtype: (BITS_16, dtype) for dtype in ("float16", "float32", "float64", ">f4")},
    "bool": (FLAGS, bool),
    "strings": (TEXT, str),
    "variable strings": (TEXT, np.dtypes.StringDType()),
    "objects": (st.none() | TEXT | FLAGS | WHOLE, object),
}


@st.composite
def arrays(draw, kind):
    values, dtype = ARRAYS[kind]
    shape = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    size = shape[0] * shape[1]
    return np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype).reshape(shape)


@pytest.mark.parametrize("kind", ARRAYS)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_arrays_keep_their_type(kind, data):
    array = data.draw(arrays(kind))
    table = read_table(array)
    for chosen in (slice(None), slice(-1, None)):
        written = write_table(table.origin, table.names[chosen], answers(table)[chosen])
        expected = array[:, chosen]
        if kind == "strings":  # as wide as they need to be
            expected = np.array(expected.tolist())
        assert_same(written, expected)


@pytest.mark.parametrize("kind", ["int8", "float32", "bool", "strings", "objects"])
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_masked_arrays_keep_type_and_mask(kind, data):
    array = data.draw(arrays(kind))
    mask = np.array(data.draw(st.lists(FLAGS, min_size=array.size, max_size=array.size))).reshape(array.shape)
    table = read_table(np.ma.masked_array(array, mask))
    written = write_table(table.origin, table.names, [column.factor() for column in table.columns])
    assert isinstance(written, np.ma.MaskedArray)
    assert written.dtype.kind == array.dtype.kind
    gone = mask | np.array([[is_missing(cell) for cell in row] for row in array.tolist()])
    assert np.ma.getmaskarray(written).tolist() == gone.tolist()
    assert written[~gone].tolist() == array[~gone].tolist()


def test_lists_are_written_as_arrays():
    numbers = read_table([[1, 2.5], [3, None]])
    assert_same(write_table(numbers.origin, numbers.names, answers(numbers)), np.array([[1.0, 2.5], [3.0, np.nan]]))
    mixed = read_table([["a", 1], [None, 2]])
    expected = np.array([["a", 1.0], [None, 2.0]], object)
    assert_same(write_table(mixed.origin, mixed.names, answers(mixed)), expected)
    assert_same(write_table(mixed.origin, ["x1"], answers(mixed)[1:]), expected[:, 1:].astype(float))


NUMBERS = np.array([2.5, -1.0, 3.7, 1e30, -1e30])
TENTHS = [Decimal("2.5"), -1, Decimal("3.7"), Decimal("999.9"), Decimal("-999.9")]


@pytest.mark.parametrize(
    ("frame", "rounded"),
    [
        (pd.DataFrame({"a": pd.Series([0], dtype="uint8")}), [2, 0, 4, 255, 0]),
        (pd.DataFrame({"a": pd.Series([0], dtype="int64")}), [2, -1, 4, 2**63 - 1, -(2**63)]),
        (pd.DataFrame({"a": pd.Series([0], dtype="UInt64")}), [2, 0, 4, 2**64 - 1, 0]),
        (pd.DataFrame({"a": pd.Series([0], dtype="int16[pyarrow]")}), [2, -1, 4, 2**15 - 1, -(2**15)]),
        (pl.DataFrame({"a": pl.Series([0], dtype=pl.Int8)}), [2, -1, 4, 127, -128]),
        (pl.DataFrame({"a": pl.Series([0], dtype=pl.UInt32)}), [2, 0, 4, 2**32 - 1, 0]),
        (pl.DataFrame({"a": pl.Series([0], dtype=pl.Int128)}), [2, -1, 4, int(1e30), int(-1e30)]),
        (pl.DataFrame({"a": pl.Series([0], dtype=pl.Decimal(4, 1))}), TENTHS),
        (pa.table({"a": pa.array([0], pa.int32())}), [2, -1, 4, 2**31 - 1, -(2**31)]),
        (pa.table({"a": pa.array([0], pa.decimal128(4, 1))}), TENTHS),
    ],
    ids=lambda value: str(getattr(value, "schema", getattr(value, "dtypes", ""))),
)
def test_numbers_are_rounded_and_kept_within_range(frame, rounded):
    origin = read_table(frame).origin
    written = write_table(origin, ["a"], [NUMBERS])
    values = written["a"].to_pylist() if isinstance(written, pa.Table) else written["a"].to_list()
    assert values == rounded
    assert read_table(written).origin == origin


def test_arrays_are_rounded_and_kept_within_range():
    origin = read_table(np.zeros((1, 1), np.uint8)).origin
    assert write_table(origin, ["x0"], [NUMBERS])[:, 0].tolist() == [2, 0, 4, 255, 0]
    origin = read_table(np.zeros((1, 1), np.float32)).origin
    assert np.isfinite(write_table(origin, ["x0"], [np.array([1e300, -1e300])])).all()


@pytest.mark.parametrize(
    ("frame", "dtype", "values"),
    [
        (pd.DataFrame({"x0": np.array([3], "uint8")}), "UInt8", [None, 1]),
        (pd.DataFrame({"x0": [3]}), "Int64", [None, 1]),
        (pd.DataFrame({"x0": pd.array([3], dtype="Int32")}), "Int32", [None, 1]),
        (pl.DataFrame({"x0": [3]}), pl.Int64, [None, 1]),
        (pl.DataFrame({"x0": [3.0]}), pl.Float64, [None, 1.2]),
        (np.array([[3]], np.int32), np.float64, [None, 1.2]),
    ],
    ids=["uint8", "int64", "Int32", "polars integers", "polars floats", "array"],
)
def test_what_is_missing_gets_a_type_that_can_be(frame, dtype, values):
    written = write_table(read_table(frame).origin, ["x0"], [np.array([np.nan, 1.2])])
    column = written[:, 0] if isinstance(written, np.ndarray) else written["x0"]
    assert column.dtype == dtype
    assert [None if is_missing(value) else value for value in list(column)] == values


def test_missing_booleans():
    answer = ((False, True), np.array([1, -1, 0]))
    frame = write_table(read_table(pd.DataFrame({"x0": [True]})).origin, ["x0"], [answer])
    assert frame["x0"].dtype == "boolean"
    assert frame["x0"].tolist() == [True, pd.NA, False]
    array = write_table(read_table(np.array([[True]])).origin, ["x0"], [answer])
    assert array.tolist() == [[True], [None], [False]]
    frame = write_table(read_table(pl.DataFrame({"x0": [True]})).origin, ["x0"], [answer])
    assert frame["x0"].to_list() == [True, None, False]


# -- categories ------------------------------------------------------------------------------------------------------


def test_categories_are_the_models_and_no_others():
    answer = (("new", "b"), np.array([1, 0, 7]))  # 7 is no place, so it is missing
    frame = pd.DataFrame({"a": pd.Categorical(["a", "b"], categories=["b", "a", "unused"])})
    column = write_table(read_table(frame).origin, ["a"], [answer])["a"]
    assert column.cat.categories.tolist() == ["b", "new"]
    assert column.cat.codes.tolist() == [0, 1, -1]
    frame = pl.DataFrame({"a": pl.Series(["a"], dtype=pl.Categorical)})
    column = write_table(read_table(frame).origin, ["a"], [answer])["a"]
    assert column.to_list() == ["b", "new", None]
    frame = pa.table({"a": pa.array(["a"]).dictionary_encode()})
    column = write_table(read_table(frame).origin, ["a"], [answer])["a"].combine_chunks()
    assert column.dictionary.to_pylist() == ["b", "new"]
    assert column.to_pylist() == ["b", "new", None]


def test_an_order_is_kept_where_the_values_tell_it():
    ordered = pd.CategoricalDtype([3, 10, 2.5], ordered=True)
    numbers = read_table(pd.DataFrame({"a": pd.Series([3, 10], dtype=ordered)}))
    column = write_table(numbers.origin, ["a"], [([10, 3], np.array([0, 1]))])["a"]
    assert column.dtype == ordered
    assert column.tolist() == [10, 3]
    # Where nobody remembers the order, as in files of earlier versions, values tell it and the alphabet does not.
    for listed, is_ordered in (([10, 3], True), (["low", "high"], False)):
        inner = CellType("int64" if is_ordered else "object")
        origin = Origin(Library.PANDAS, (ColumnOrigin("a", "a", CellType("category", (True,), inner)),))
        assert write_table(origin, ["a"], [(listed, np.array([0, 1]))])["a"].cat.ordered is is_ordered
    # A category that was not declared has no place in the order: better no order than a wrong one.
    sizes = pd.CategoricalDtype(["low", "high"], ordered=True)
    texts = read_table(pd.DataFrame({"a": pd.Series(["low", "high"], dtype=sizes)}))
    column = write_table(texts.origin, ["a"], [(["low", "middle"], np.array([0, 1]))])["a"]
    assert not column.cat.ordered
    assert column.cat.categories.tolist() == ["low", "high", "middle"]


def test_a_dictionary_that_outgrows_its_indices_gets_wider_ones():
    table = read_table(pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), ["x"])}))
    known = [f"category {number}" for number in range(200)]
    assert write_table(table.origin, ["a"], [(known, np.arange(200))])["a"].to_pylist() == known


@pytest.mark.parametrize("categories", [("a", True, 1), ("a", 2.5)])
def test_mixed_categories_are_objects(categories):
    answer = (categories, np.arange(len(categories)))
    for make in (pd.DataFrame, pl.DataFrame):
        origin = read_table(make({"a": ["x"]})).origin
        values = write_table(origin, ["a"], [answer])["a"].to_list()
        assert [repr(value) for value in values] == [repr(value) for value in categories]
    with pytest.raises(InvalidTableError, match=r"'a' mixes kinds"):
        write_table(read_table(pa.table({"a": ["x"]})).origin, ["a"], [answer])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    ("column", "answer", "values"),
    [
        (["a", "b"], np.array([1.5, 2.0]), [1.5, 2.0]),
        ([1.5, 2.0], (("a", "b"), np.array([1, 0])), ["b", "a"]),
        ([True, False], (("a", "b"), np.array([1, 0])), ["b", "a"]),
        ([None, None], (("a", "b"), np.array([1, 0])), ["b", "a"]),
        ([None, None], np.array([1.5, np.nan]), [1.5, None]),
        ([None, None], ((False, True), np.array([1, 0])), [True, False]),
        ([None, None], ((), np.array([-1, -1])), [None, None]),
    ],
)
def test_values_that_a_type_cannot_hold_get_another(make, column, answer, values):
    table = read_table(make({"a": column}))
    written = read_table(write_table(table.origin, ["a"], [answer])).columns[0].objects().tolist()
    assert [None if is_missing(value) else value for value in written] == values


# -- names and libraries ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "columns", [[0, 1], ["a", 3], pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])], ids=["numbers", "both", "levels"]
)
def test_column_names_of_all_kinds_come_back(columns):
    frame = pd.DataFrame([[1, "x"], [2, "y"]], columns=columns)
    table = read_table(frame)
    origin = Origin.from_dict(table.origin.to_dict())
    assert_same(write_table(origin, table.names, answers(table)), frame)


def test_columns_that_the_origin_does_not_know_suit_their_values():
    origin = read_table(pl.DataFrame({"a": [1]})).origin
    written = write_table(origin, ["a", "b", "c"], [np.array([1.0]), np.array([2.5]), (("x",), np.array([0]))])
    assert written.to_dicts() == [{"a": 1, "b": 2.5, "c": "x"}]
    assert written.dtypes == [pl.Int64, pl.Float64, pl.String]


def test_no_rows_at_all():
    for frame in (pd.DataFrame({"a": [1], "b": ["x"]}), pl.DataFrame({"a": [1], "b": ["x"]}), [[1, "x"]]):
        table = read_table(frame)
        written = write_table(table.origin, table.names, [np.zeros(0), (("x",), np.zeros(0, int))])
        assert written.shape == (0, 2)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_library_that_is_not_installed_is_named(library, monkeypatch):
    origin = Origin(Library(library), (ColumnOrigin("a", "a", CellType("anything")),))
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=f"pip install {library}"):
        write_table(origin, ["a"], [np.zeros(2)])


@pytest.mark.parametrize("library", Library)
@pytest.mark.parametrize(
    "name", ["<f99", "O; import os", "system", "DataFrame", "Datetime", "category", "arrow", "Enum", "decimal128"]
)
def test_types_that_nobody_knows_are_written_as_suits_the_values(library, name):
    origin = Origin(library, (ColumnOrigin("a", "a", CellType(name)),))
    written = read_table(write_table(origin, ["a"], [np.array([1.5, 2.5])]))
    assert written.columns[0].numbers().tolist() == [1.5, 2.5]


# -- filling in ------------------------------------------------------------------------------------------------------

KNOWN = {
    Family.TEXT: ("b", "never seen", "a"),
    Family.BOOLEAN: (False, True),
    Family.NUMBER: (1, 101, 2),
    Family.EMPTY: ("x",),
    Family.MIXED: ("x", True, 2.5),
}


@st.composite
def completions(draw, table):
    """Return a value for each cell, of the same sort as its column's, and some that are missing here too."""
    n_rows = table.n_rows
    columns = []
    for column in table.columns:
        if column.family is Family.NUMBER and not column.categorical:
            numbers = draw(st.lists(st.integers(0, 100) | st.just(np.nan), min_size=n_rows, max_size=n_rows))
            columns.append(np.array(numbers, float))
        else:
            known = KNOWN[column.family]
            places = draw(st.lists(st.integers(-1, len(known) - 1), min_size=n_rows, max_size=n_rows))
            columns.append((known, np.array(places)))
    return columns


def cells_of(answer):
    if isinstance(answer, np.ndarray):
        return [None if is_missing(value) else value for value in answer.tolist()]
    known, places = answer
    return [None if place < 0 else known[place] for place in places.tolist()]


def objects(column):
    return [None if is_missing(value) else value for value in column.objects().tolist()]


def check_filling(frame, answer):
    """Fill in a table and compare it cell by cell; return it."""
    table = read_table(frame)
    before = [objects(column) for column in table.columns]
    filled = fill_table(frame, dict(zip(table.names, answer, strict=True)))
    again = read_table(filled)
    assert again.names == table.names
    for was, now, given_cells in zip(before, again.columns, map(cells_of, answer), strict=True):
        expected = [new if old is None else old for old, new in zip(was, given_cells, strict=True)]
        assert [repr(cell) for cell in map(plain, objects(now))] == [repr(cell) for cell in map(plain, expected)]
    assert [objects(column) for column in read_table(frame).columns] == before
    return filled


def plain(cell):
    return float(cell) if isinstance(cell, int | float | Decimal | np.generic) and not isinstance(cell, bool) else cell


@pytest.mark.parametrize("library", LIBRARIES)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_only_what_is_missing_is_filled_in(library, data):
    frame = data.draw(frames(library))
    table = read_table(frame)
    filled = check_filling(frame, data.draw(completions(table)))
    assert type(filled) is type(frame)
    for old, new, column in zip(table.origin.columns, read_table(filled).origin.columns, table.columns, strict=True):
        assert column.family is Family.EMPTY or old.type.name == new.type.name


@pytest.mark.parametrize("kind", ["float16", "float32", ">f4", "int8", "bool", "strings", "objects"])
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_arrays_are_filled_in(kind, data):
    array = data.draw(arrays(kind))
    if array.dtype.kind == "f":
        array[0, 0] = np.nan
    filled = check_filling(array, data.draw(completions(read_table(array))))
    assert filled is not array
    assert filled.dtype == array.dtype


@pytest.mark.parametrize("kind", ["int8", "float32", "bool", "objects"])
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_masked_arrays_are_filled_in(kind, data):
    array = data.draw(arrays(kind))
    mask = np.array(data.draw(st.lists(FLAGS, min_size=array.size, max_size=array.size))).reshape(array.shape)
    masked = np.ma.masked_array(array, mask)
    table = read_table(masked)
    answer = data.draw(completions(table))
    filled = check_filling(masked, answer)
    assert isinstance(filled, np.ma.MaskedArray)
    assert Family.EMPTY in {column.family for column in table.columns} or filled.dtype == array.dtype


def test_lists_are_filled_in_as_arrays():
    numbers = [[1, None], [2.5, 3]]
    assert_same(fill_table(numbers, {"x1": np.array([7.5, 0.0])}), np.array([[1.0, 7.5], [2.5, 3.0]]))
    mixed = [["a", None], [None, 3]]
    filled = fill_table(mixed, {"x0": (("c",), np.array([0, 0])), "x1": np.array([7.5, 0.0])})
    assert_same(filled, np.array([["a", 7.5], ["c", 3]], object))
    assert mixed == [["a", None], [None, 3]]


def test_index_other_columns_and_bits_stay():
    odd_nan = np.array([0x7FF8DEADBEEF0001], np.uint64).view(np.float64)[0]
    frame = pd.DataFrame(
        {
            "born": [dt.date(2000, 1, 1), dt.date(2001, 1, 1), None],
            "x": [-0.0, odd_nan, 0.1],
            "untouched": [1.0, np.nan, odd_nan],
            "size": pd.Categorical(["low", None, "high"], categories=["low", "high", "unused"], ordered=True),
        },
        index=pd.Index(["u", "v", "w"], name="who"),
    )
    frame.attrs["source"] = "here"
    before = frame.copy(deep=True)
    filled = fill_table(frame, {"x": np.array([5.0, 6.0, 7.0]), "size": (("high",), np.array([0, 0, 0]))})
    assert filled["x"].to_numpy().tobytes() == np.array([-0.0, 6.0, 0.1]).tobytes()
    assert filled["untouched"].to_numpy().tobytes() == before["untouched"].to_numpy().tobytes()
    assert filled["born"].tolist() == before["born"].tolist()
    assert filled["size"].tolist() == ["low", "high", "high"]
    assert filled["size"].dtype == frame["size"].dtype
    assert filled.index.equals(frame.index)
    assert filled.index.name == "who"
    assert filled.attrs == {"source": "here"}
    pd.testing.assert_frame_equal(frame, before)


def test_other_columns_of_polars_and_arrow_stay():
    born = [dt.date(2000, 1, 1), None]
    frame = pl.DataFrame({"born": born, "x": [None, float("nan")], "id": [[1], [2]]})
    assert fill_table(frame, {"x": np.array([5.0, 6.0])}).to_dict(as_series=False) == {
        "born": born,
        "x": [5.0, 6.0],
        "id": [[1], [2]],
    }
    schema = pa.schema([pa.field("born", pa.date32(), metadata={"k": "v"}), pa.field("x", pa.int8())], {"a": "b"})
    table = pa.table({"born": born, "x": [None, 3]}, schema=schema)
    filled = fill_table(table, {"x": np.array([5.2, 6.0])})
    assert filled.to_pydict() == {"born": born, "x": [5, 3]}
    assert filled.schema.equals(schema, check_metadata=True)


def test_a_column_whose_type_cannot_hold_the_values_is_written_anew():
    frame = pd.DataFrame({"a": pd.Categorical([1, None])})
    assert fill_table(frame, {"a": np.array([0.0, 2.5])})["a"].tolist() == [1.0, 2.5]
    frame = pl.DataFrame({"a": [None, None]})
    assert fill_table(frame, {"a": (("x",), np.array([0, 0]))})["a"].to_list() == ["x", "x"]
    table = pa.table({"a": pa.nulls(2)})
    assert fill_table(table, {"a": np.array([1.5, np.nan])})["a"].to_pylist() == [1.5, None]


def test_tables_without_names_are_filled_in_by_position():
    # The names are the model's; that they look like the array's own must not matter.
    answer = {"x1": np.array([5.0, 6.0]), "x0": np.array([7.0, 8.0])}
    expected = [[1.0, 7.0], [6.0, 4.0]]
    array = np.array([[1.0, np.nan], [np.nan, 4.0]])
    assert fill_table(array, answer).tolist() == expected
    assert fill_table(array.tolist(), answer).tolist() == expected
    frame = pd.DataFrame({0: array[:, 0], "id": [None, 9.0], 1: array[:, 1]})
    filled = fill_table(frame, answer, without="id")
    assert filled[[0, 1]].to_numpy().tolist() == expected
    assert filled["id"].isna().tolist() == [True, False]
    with pytest.raises(InvalidTableError, match=r"no columns 'a'"):
        fill_table(array, {"a": np.zeros(2)})


def test_nothing_to_fill_in_gives_a_copy():
    array = np.ones((2, 1))
    filled = fill_table(array, {"x0": np.zeros(2)})
    assert filled.tolist() == [[1.0], [1.0]]
    filled[:] = 5.0
    assert array.tolist() == [[1.0], [1.0]]


def test_filling_in_refuses_what_does_not_fit():
    frame = pl.DataFrame({"a": [1.0, None]})
    with pytest.raises(InvalidTableError, match=r"no columns 'b'"):
        fill_table(frame, {"b": np.zeros(2)})
    with pytest.raises(InvalidTableError, match=r"'a' has 2 rows, but 3"):
        fill_table(frame, {"a": np.zeros(3)})

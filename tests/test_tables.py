"""Reading tables: the same content is the same table, wherever it is held."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unlearnspn import SPN, InvalidTableError
from unlearnspn.tables import Column, Family, is_missing, read_table, token

NAN = float("nan")
N = 48
NUMBERS = [None if i % 11 == 0 else math.sin(i) + (i % 2) * 6 for i in range(N)]
WHOLE = [None if i % 13 == 0 else (i * 7) % 5 for i in range(N)]
TEXT = [None if i % 7 == 0 else ("odd" if i % 2 else f"even {i % 4}") for i in range(N)]
FLAGS = [None if i % 17 == 0 else i % 3 == 0 for i in range(N)]
CONTENT = {"x0": NUMBERS, "x1": WHOLE, "x2": TEXT, "x3": FLAGS}


def with_nan(values):
    return [NAN if value is None else value for value in values]


HOLDERS = {
    "pandas plain": lambda: pd.DataFrame(
        {
            "x0": pd.Series(NUMBERS, dtype="float64"),
            "x1": pd.Series(WHOLE, dtype="float64"),
            "x2": pd.Series(TEXT),
            "x3": pd.Series(FLAGS, dtype=object),
        }
    ),
    "pandas nullable": lambda: pd.DataFrame(
        {
            "x0": pd.array(NUMBERS, "Float64"),
            "x1": pd.array(WHOLE, "Int8"),
            "x2": pd.array(TEXT, "string"),
            "x3": pd.array(FLAGS, "boolean"),
        }
    ),
    "pandas on Arrow": lambda: pd.DataFrame(
        {
            "x0": pd.array(NUMBERS, "double[pyarrow]"),
            "x1": pd.array(WHOLE, "int64[pyarrow]"),
            "x2": pd.Categorical(TEXT),
            "x3": pd.array(FLAGS, "bool[pyarrow]"),
        }
    ),
    "pandas objects": lambda: pd.DataFrame(
        {name: pd.Series(values, dtype=object) for name, values in CONTENT.items()}
    ).where(lambda frame: frame.notna(), pd.NA),
    "polars": lambda: pl.DataFrame(CONTENT),
    "polars types": lambda: pl.DataFrame(
        {
            "x0": pl.Series(with_nan(NUMBERS)),
            "x1": pl.Series(WHOLE, dtype=pl.UInt8),
            "x2": pl.Series(TEXT, dtype=pl.Categorical),
            "x3": FLAGS,
        }
    ),
    "polars enum": lambda: pl.DataFrame(CONTENT).with_columns(
        pl.col("x2").cast(pl.Enum(["odd", "even 2", "even 0", "unused"]))
    ),
    "arrow": lambda: pa.table(CONTENT),
    "arrow types": lambda: pa.table(
        {
            "x0": pa.chunked_array([NUMBERS[:5], NUMBERS[5:]], type=pa.float64()),
            "x1": pa.array(WHOLE, pa.int16()),
            "x2": pa.array(TEXT).dictionary_encode(),
            "x3": pa.array(FLAGS, pa.bool_()),
        }
    ),
    "array": lambda: np.array(list(zip(*CONTENT.values(), strict=True)), object),
    "array with NaN": lambda: np.array(list(zip(*map(with_nan, CONTENT.values()), strict=True)), object),
    "lists": lambda: [list(row) for row in zip(*CONTENT.values(), strict=True)],
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_the_same_content_gives_the_same_model(holder):
    reference = SPN(min_rows=8).fit(HOLDERS["polars"]())
    spn = SPN(min_rows=8).fit(HOLDERS[holder]())
    assert (spn.digest(), spn.state_digest()) == (reference.digest(), reference.state_digest())
    assert np.array_equal(spn.score_samples(HOLDERS[holder]()), reference.score_samples(HOLDERS["polars"]()))


def test_numeric_arrays_of_any_precision_equal_frames():
    whole = np.arange(40).reshape(20, 2) % 7
    digests = {
        SPN(min_rows=4).fit(table).digest()
        for table in (
            whole,
            whole.astype(np.float32),
            np.asfortranarray(whole, np.uint8),
            pd.DataFrame(whole, columns=["x0", "x1"], index=range(100, 120)),
            pl.DataFrame(whole, schema=["x0", "x1"]),
            pa.table({"x0": whole[:, 0], "x1": whole[:, 1]}),
        )
    }
    assert len(digests) == 1


def test_records_may_come_from_another_library():
    parts = [HOLDERS["pandas nullable"]()[:30], HOLDERS["arrow types"]()[30:40], HOLDERS["array"]()[40:]]
    spn = SPN(min_rows=8).fit(parts[0])
    spn.learn(parts[1])
    spn.learn(parts[2])
    assert spn.digest() == SPN(min_rows=8).fit(HOLDERS["polars"]()).digest()


@pytest.mark.parametrize("missing", [None, NAN, np.float64("nan"), np.float32("nan"), pd.NA, pd.NaT], ids=repr)
def test_missing_values_of_every_sort_are_missing(missing):
    assert is_missing(missing)
    text, numbers, flags = read_table([["x", 1.5, True], [missing] * 3]).columns
    assert (text.family, numbers.family, flags.family) == (Family.TEXT, Family.NUMBER, Family.BOOLEAN)
    assert text.factor().places.tolist() == flags.factor().places.tolist() == [0, -1]
    assert np.isnan(numbers.numbers()).tolist() == [False, True]
    all_missing = read_table([[missing], [None]]).columns[0]
    assert all_missing.family is Family.EMPTY


def test_masked_values_are_missing():
    values = np.array([[1.0, 2.0], [777.0, 4.0], [5.0, 6.0]])
    masked = np.ma.masked_array(values, values == 777.0)
    plain = np.where(values == 777.0, np.nan, values)
    assert SPN().fit(masked).digest() == SPN().fit(plain).digest()


@pytest.mark.parametrize("value", ["", "nan", "None", "NA", 0, False])
def test_values_that_only_look_missing_are_not(value):
    assert not is_missing(value)


def test_nulls_without_a_type_are_missing():
    for table in (pl.DataFrame({"a": [None, None]}), pa.table({"a": pa.nulls(2)}), [[None], [None]]):
        (column,) = read_table(table).columns
        assert column.family is Family.EMPTY
        assert np.isnan(column.numbers()).all()
        assert column.factor().places.tolist() == [-1, -1]


def test_equal_numbers_have_equal_bits():
    rows = [[0.0, 1.0], [2.0, 1.0], [2.0, NAN]]
    negative = [[-0.0, 1.0], [2.0, 1.0], [2.0, -NAN]]
    assert SPN().fit(rows).state_digest() == SPN().fit(negative).state_digest()
    for categorical in ("all", [0]):
        digests = {SPN(categorical_features=categorical).fit(table).state_digest() for table in (rows, negative)}
        assert len(digests) == 1


PARTS, DECODE = "column of its own", "decode it to strings"
REFUSED = {
    "pandas periods": (pd.DataFrame({"x0": pd.period_range("2024-02", periods=1, freq="M")}), "to strings"),
    "pandas intervals": (pd.DataFrame({"x0": pd.arrays.IntervalArray.from_tuples([(0, 1)])}), "middles"),
    "pandas cut": (pd.DataFrame({"x0": pd.cut([1.0, 2.0, 3.0], 2)}), "middles"),
    "pandas lists": (pd.DataFrame({"x0": [[1, 2], [3]]}), PARTS),
    "pandas bytes": (pd.DataFrame({"x0": [b"x"]}), DECODE),
    "polars lists": (pl.DataFrame({"x0": [[1, 2]]}), PARTS),
    "polars arrays": (pl.DataFrame({"x0": pl.Series([[1, 2]], dtype=pl.Array(pl.Int8, 2))}), PARTS),
    "polars structs": (pl.DataFrame({"x0": [{"a": 1}]}), PARTS),
    "polars bytes": (pl.DataFrame({"x0": [b"x"]}), DECODE),
    "arrow lists": (pa.table({"x0": [[1, 2]]}), PARTS),
    "arrow structs": (pa.table({"x0": [{"a": 1}]}), PARTS),
    "arrow maps": (pa.table({"x0": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8()))}), PARTS),
    "arrow bytes": (pa.table({"x0": [b"x"]}), DECODE),
    "arrow long bytes": (pa.table({"x0": pa.array([b"x"], pa.large_binary())}), DECODE),
    "array of bytes": (np.array([[b"x"]]), DECODE),
    "list of mappings": ([[{"a": 1}]], PARTS),
}


@pytest.mark.parametrize("sort", REFUSED)
def test_what_cannot_be_modelled_is_refused_with_advice(sort):
    table, advice = REFUSED[sort]
    with pytest.raises(InvalidTableError, match=f"column 'x0' .*: .*{advice}"):
        read_table(table)


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"x0": pl.Series([Decimal("1.5"), None], dtype=pl.Decimal(5, 2))}),
        pa.table({"x0": pa.array([Decimal("1.5"), None], pa.decimal256(5, 2))}),
        pd.DataFrame({"x0": [Decimal("1.5"), None]}),
        pd.DataFrame({"x0": pd.arrays.SparseArray([1.5, np.nan])}),
        pd.DataFrame({"x0": np.array([1.5, np.nan], np.longdouble)}),
        np.array([[1.5], [np.nan]], np.longdouble),
        pa.record_batch({"x0": [1.5, None]}),
    ],
    ids=["polars", "arrow", "pandas objects", "sparse", "pandas long double", "long double", "record batch"],
)
def test_unusual_numbers_are_numbers(table):
    (column,) = read_table(table).columns
    assert (column.name, column.family) == ("x0", Family.NUMBER)
    assert np.array_equal(column.numbers(), [1.5, np.nan], equal_nan=True)


def test_integers_of_128_bits_are_numbers():
    (column,) = read_table(pl.DataFrame({"a": pl.Series([2**100, None, -3], dtype=pl.Int128)})).columns
    assert np.array_equal(column.numbers(), [2.0**100, np.nan, -3.0], equal_nan=True)


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical(["b", None, "a"], categories=["unused", "a", "b", "never"]),
        pd.Series(["b", None, "a"], dtype="category").cat.add_categories(["unused"]),
        pd.Categorical(["b", None, "a"], categories=[7, "a", 2.5, "b"]),
        pl.Series(["b", None, "a"], dtype=pl.Enum(["unused", "a", "b"])),
        pl.Series(["unused", "b", None, "a"], dtype=pl.Categorical)[1:],
        pa.DictionaryArray.from_arrays(pa.array([2, None, 1], pa.int8()), ["unused", "a", "b"]),
        pa.DictionaryArray.from_arrays(pa.array([0, 2, 1], pa.int8()), ["b", "a", None]),
        pa.chunked_array([pa.array(["b", None]).dictionary_encode(), pa.array(["a"]).dictionary_encode()]),
    ],
    ids=["pandas", "pandas added", "pandas mixed", "enum", "polars", "arrow", "null in dictionary", "chunks"],
)
def test_categories_that_do_not_occur_are_not_read(column):
    make = pd.DataFrame if isinstance(column, pd.Categorical | pd.Series) else pl.DataFrame
    table = read_table((make if not type(column).__module__.startswith("pyarrow") else pa.table)({"a": column}))
    factor = table.columns[0].factor()
    assert sorted(factor.categories) == ["a", "b"]
    assert [None if place < 0 else factor.categories[place] for place in factor.places] == ["b", None, "a"]
    assert (table.columns[0].family, table.columns[0].categorical) == (Family.TEXT, True)


def test_a_dictionary_that_repeats_itself_has_each_category_once():
    repeated = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), ["a", "b", "a"])
    factor = read_table(pa.table({"k": repeated})).columns[0].factor()
    assert len(factor.categories) == 2
    assert factor.places[0] == factor.places[2] != factor.places[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_numbers_are_not_copied_until_they_are_used(dtype):
    array, frame = np.ones((5, 2), dtype), pd.DataFrame(np.ones((5, 2), dtype))
    for table, own in ((read_table(array), array), (read_table(frame), frame.to_numpy())):
        for column in (*table.columns, *table.rows(1, 3).columns):
            assert column.values.dtype == dtype
            assert np.shares_memory(column.values, own)
            assert not np.shares_memory(column.numbers(), own)


def test_rows_of_a_table_are_a_table():
    table = read_table(HOLDERS["pandas nullable"]())
    part, expected = table.rows(10, 20), read_table(HOLDERS["pandas nullable"]()[10:20])
    assert (part.n_rows, part.names, part.named) == (10, expected.names, True)
    for column, other in zip(part.columns, expected.columns, strict=True):
        assert column.family is other.family
        factor, wanted = column.factor(), other.factor()
        assert sorted(map(token, factor.categories)) == sorted(map(token, wanted.categories))
        names, wanted_names = [*factor.categories, None], [*wanted.categories, None]
        assert [names[place] for place in factor.places] == [wanted_names[place] for place in wanted.places]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
        pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "b", "a"]),
        pd.DataFrame([[1, 2]], columns=[7, "7"]),
    ],
)
def test_repeated_column_names_are_refused(table):
    with pytest.raises(InvalidTableError, match=r"unique.*('a'|'7')"):
        SPN().fit(table)


def test_columns_named_by_integers_are_read_by_position():
    values = np.arange(20.0).reshape(10, 2) % 3
    frame = pd.DataFrame(values)
    spn = SPN(min_rows=3).fit(frame)
    assert not hasattr(spn, "feature_names_in_")
    assert spn.root_.scope == ("0", "1")
    assert np.array_equal(spn.score_samples(frame), spn.score_samples(values))
    assert SPN(categorical_features=["0"]).fit(frame).digest() != SPN().fit(frame).digest()


def test_an_id_column_beside_columns_named_by_integers():
    frame = pd.DataFrame({0: [1.0, 2.0, 4.0], "id": [7, 8, 9]})
    spn = SPN().fit(frame, ids="id")
    spn.learn(pd.DataFrame({0: [1.0], "id": [11]}))
    assert spn.ids_ == [7, 8, 9, 11]
    assert np.array_equal(spn.score_samples(frame), spn.score_samples(frame[[0]]))


@pytest.mark.parametrize(
    ("values", "odd"), [([1, 2.5, "x"], r"row 3 holds 'x'"), (["x", None, 3], "row 3 holds 3"), ([0, True], "True")]
)
def test_a_column_that_mixes_kinds_is_refused_unless_declared(values, odd):
    table = pd.DataFrame({"m": pd.Series(values, dtype=object), "n": range(len(values))})
    with pytest.raises(InvalidTableError, match=f"'m' mixes .*{odd}"):
        SPN().fit(table)
    with pytest.raises(InvalidTableError, match="'m' holds mixed"):
        SPN(categorical_features=None).fit(table)
    assert SPN(categorical_features=["m"]).fit(table).verify()


@pytest.mark.parametrize("pair", [(1, "1"), (True, 1), (0, False), (1, True), ("True", True)], ids=repr)
def test_values_of_different_kinds_stay_different_categories(pair):
    one, other = pair
    assert token(one) != token(other)
    # Text in between makes the column mixed whichever values are removed.
    rows = [[one], [other], ["text"], [other], [other]]
    spn = SPN(categorical_features="all", alpha=0.1).fit(rows)
    spn.unlearn(0)
    assert spn.digest() == SPN(categorical_features="all", alpha=0.1).fit(rows[1:], ids=range(1, 5)).digest()
    seen = spn.score_samples([[other], ["text"]])
    # (3 + 0.1) / (4 + 0.1 · 2.01): one category with three records, "text" with one; `one` is gone.
    assert math.exp(seen[0]) == pytest.approx(3.1 / 4.201)
    assert math.exp(spn.score_samples([[one], ["text"]])[0]) == pytest.approx(0.001 / 4.201)


def test_the_probabilities_of_a_mixed_column_name_every_category():
    rows = [[True], [1], ["1"], [1.0], [0.5], [True]]
    (probabilities, unseen) = SPN(categorical_features="all").fit(rows).root_.parameters.values()
    assert sum(probabilities.values()) + unseen == pytest.approx(1.0)


def test_whole_numbers_are_the_same_category_however_written():
    frames = [
        pd.DataFrame({"k": pd.Series(values, dtype=dtype)})
        for values, dtype in (
            ([1, 2, 2], "int64"),
            ([1.0, 2.0, 2.0], "float64"),
            ([1, 2.0, np.int8(2)], object),
        )
    ]
    assert len({SPN(categorical_features="all").fit(frame).digest() for frame in frames}) == 1


@pytest.mark.parametrize(
    ("table", "culprit"),
    [
        (np.array([[1j]]), r"Complex.*'x0'"),
        ([[object()]], r"'x0' holds <object"),
        (pl.DataFrame({"a": [[1, 2]]}), r"'a' has type List"),
        (np.zeros(3), "2D"),
        (np.zeros((3, 0)), "no columns"),
        ([[1, 2], [3]], "2D|rows"),
    ],
)
def test_what_is_no_table_of_numbers_and_categories_is_refused(table, culprit):
    with pytest.raises(InvalidTableError, match=culprit):
        read_table(table)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_large_integers_are_rounded_alike(make):
    # 2**53 + 1 is no double: it is read as the nearest one, as numpy does.
    (column,) = read_table(make({"a": [2**53 + 1, 2**62 + 1, -5]})).columns
    assert column.numbers().tolist() == [2.0**53, 2.0**62, -5.0]


def test_reading_does_not_change_or_share_the_input():
    array = np.array([[1.0, -0.0], [np.nan, 3.0]])
    before = array.tobytes()
    spn = SPN().fit(array)
    digest = spn.state_digest()
    assert array.tobytes() == before
    array[:] = 99.0
    spn.learn([[1.0, 2.0]])
    spn.unlearn(2)
    assert spn.state_digest() == digest
    assert spn.verify()


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "uint32", "int64", "uint64", ">i4"])
@pytest.mark.parametrize("numbers", [[3], [0, 1, 1, 0], [7, 2, 2, 100], [0, 120, 5]])
def test_integers_are_the_categories_that_numbers_are(kind, numbers):
    values = np.array(numbers, kind)
    columns = [pd.Series(values), pd.Series(values.astype(float)), pd.Series(values.astype(object))]
    factors = [read_table(pd.DataFrame({"a": column})).columns[0].factor() for column in columns]
    for factor in factors:
        assert [factor.categories[place] for place in factor.places] == numbers
        assert {type(category) for category in factor.categories} == {int}
        assert factor.categories == sorted(set(numbers))


@pytest.mark.parametrize("numbers", [[-5, 3, -5], [0, 2**40, 7], [2**53 - 1, 2**53], [-(2**63), 2**62], []])
def test_integers_far_from_each_other_are_the_categories_that_numbers_are(numbers):
    values = np.array(numbers, np.int64)
    factor, wanted = (Column("a", Family.NUMBER, each).factor() for each in (values, values.astype(float)))
    assert factor.categories == wanted.categories
    assert list(map(type, factor.categories)) == list(map(type, wanted.categories))
    assert factor.places.tolist() == wanted.places.tolist()

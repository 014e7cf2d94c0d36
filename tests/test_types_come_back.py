"""Types that went in come out: samples have the types of the data, with all categories of those that declare them."""

import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unlearnspn import SPN, Circuit
from unlearnspn.vault import Vault

N = 60
SIZES = ["small", "middle", "large", "never seen"]
WORDS = [SIZES[i % 3] for i in range(N)]
WHOLE = [i % 5 for i in range(N)]
FLOATS = [i % 7 + 0.5 for i in range(N)]
FLAGS = [i % 4 == 0 for i in range(N)]
CENTS = [Decimal(i % 9) / 4 for i in range(N)]


def arrow(values, native):
    return pd.array(values, dtype=pd.ArrowDtype(native))


def ordered_dictionary(values, declared):
    places = pa.array([declared.index(value) for value in values], pa.int8())
    return pa.DictionaryArray.from_arrays(places, pa.array(declared), ordered=True)


PANDAS = {
    **{name: np.array(WHOLE, name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint32", "uint64")},
    **{name: np.array(FLOATS, name) for name in ("float16", "float32", "float64")},
    **{name: pd.array(WHOLE, dtype=name) for name in ("Int8", "Int64", "UInt16")},
    **{name: pd.array(FLOATS, dtype=name) for name in ("Float32", "Float64")},
    "bool": np.array(FLAGS),
    "boolean": pd.array(FLAGS, dtype="boolean"),
    "object": pd.Series(WORDS, dtype=object),
    "str": pd.Series(WORDS, dtype="str"),
    "string": pd.array(WORDS, dtype="string[python]"),
    "string[pyarrow]": pd.array(WORDS, dtype="string[pyarrow]"),
    "category": pd.Categorical(WORDS),
    "category of integers": pd.Categorical(WHOLE),
    "ordered": pd.Categorical(WORDS, categories=SIZES, ordered=True),
    "ordered integers": pd.Categorical(WHOLE, categories=[9, 4, 3, 2, 1, 0], ordered=True),
    "ordered floats": pd.Categorical(FLOATS, categories=sorted({*FLOATS, 99.5}, reverse=True), ordered=True),
    "ordered booleans": pd.Categorical(FLAGS, categories=[True, False], ordered=True),
    "arrow integers": arrow(WHOLE, pa.int16()),
    "arrow floats": arrow(FLOATS, pa.float32()),
    "arrow booleans": arrow(FLAGS, pa.bool_()),
    "arrow strings": arrow(WORDS, pa.string()),
    "arrow decimals": arrow(CENTS, pa.decimal128(9, 2)),
    "arrow dictionary": pd.arrays.ArrowExtensionArray(pa.array(WORDS).dictionary_encode()),
    "arrow ordered": pd.arrays.ArrowExtensionArray(ordered_dictionary(WORDS, SIZES)),
    "sparse integers": pd.arrays.SparseArray(WHOLE, fill_value=0),
    "sparse floats": pd.arrays.SparseArray([np.nan if i % 3 else i % 7 + 0.5 for i in range(N)]),
    "sparse booleans": pd.arrays.SparseArray(FLAGS, fill_value=False),
}


def check_types(sample, data):
    assert sample.dtypes.tolist() == data.dtypes.tolist()
    assert pd.concat([data, sample]).dtypes.tolist() == data.dtypes.tolist()


@pytest.mark.parametrize("categorical", ["from_dtype", "all"])
@pytest.mark.parametrize("name", PANDAS)
def test_pandas(name, categorical, tmp_path):
    data = pd.DataFrame({"a": PANDAS[name], "b": FLOATS})
    spn = SPN(min_rows=20, categorical_features=categorical).fit(data)
    spn.save(tmp_path / "model")
    spn.circuit_.save(tmp_path / "circuit")
    kept = (SPN.load(tmp_path / "model"), Circuit.load(tmp_path / "circuit"), pickle.loads(pickle.dumps(spn)))
    for model in (spn, *kept):
        check_types(model.sample(200, random_state=0), data)
    spn.unlearn([0, 7])
    check_types(spn.sample(200, random_state=0), data)


POLARS = {
    **{name: pl.Series(WHOLE, dtype=getattr(pl, name)) for name in ("Int8", "Int64", "UInt16", "UInt64", "Int128")},
    **{name: pl.Series(FLOATS, dtype=getattr(pl, name)) for name in ("Float32", "Float64")},
    "Boolean": pl.Series(FLAGS),
    "String": pl.Series(WORDS),
    "Categorical": pl.Series(WORDS, dtype=pl.Categorical),
    "Enum": pl.Series(WORDS, dtype=pl.Enum(SIZES)),
    "Decimal": pl.Series(CENTS, dtype=pl.Decimal(9, 2)),
}


@pytest.mark.parametrize("categorical", ["from_dtype", "all"])
@pytest.mark.parametrize("name", POLARS)
def test_polars(name, categorical):
    data = pl.DataFrame({"a": POLARS[name], "b": FLOATS})
    sample = SPN(min_rows=20, categorical_features=categorical).fit(data).sample(200, random_state=0)
    assert sample.schema == data.schema
    assert pl.concat([data, sample]).schema == data.schema


@pytest.mark.parametrize(
    "column",
    [
        pa.array(WHOLE, pa.int8()),
        pa.array(FLOATS, pa.float32()),
        pa.array(FLAGS),
        pa.array(WORDS, pa.large_string()),
        pa.array(CENTS, pa.decimal128(9, 2)),
        pa.array(WORDS).dictionary_encode(),
        ordered_dictionary(WORDS, SIZES),
    ],
    ids=lambda column: str(column.type)[:40],
)
def test_arrow(column):
    data = pa.table({"a": column, "b": FLOATS})
    sample = SPN(min_rows=20).fit(data).sample(200, random_state=0)
    assert sample.schema == data.schema
    if pa.types.is_dictionary(column.type) and column.type.ordered:
        assert sample["a"].combine_chunks().dictionary.to_pylist() == SIZES


def ordered_frame():
    sizes = pd.Categorical(WORDS, categories=SIZES, ordered=True)
    return pd.DataFrame({"id": np.arange(N) + 7, "size": sizes, "x": FLOATS})


def test_order_and_categories_survive_the_vault(tmp_path):
    data = ordered_frame()
    with Vault.create(tmp_path / "v.uspn") as vault:
        vault.ingest(data, ids="id")
        vault.fit(min_rows=20)
        vault.unlearn([7])
    with Vault.open(tmp_path / "v.uspn") as vault:
        check_types(vault.sample(50), data[["size", "x"]])


def test_declared_categories_stay_and_others_go_with_their_records():
    data = ordered_frame().drop(columns="id")
    data["plain"] = pd.Categorical(["odd one" if i == 0 else "usual" for i in range(N)])
    data.loc[1, "size"] = "never seen"
    spn = SPN().fit(data)
    spn.unlearn([0, 1])
    rest = data.iloc[2:]
    fresh = SPN().fit(rest, ids=rest.index)
    assert spn.state_digest() == fresh.state_digest()
    sample = spn.sample(20, random_state=0)
    assert sample["size"].dtype == data["size"].dtype
    assert sample["plain"].cat.categories.tolist() == ["usual"]
    # A declared category that no record has is known to the type, not to the model.
    assert spn.circuit_.categories("size") == ["large", "middle", "small"]
    pd.testing.assert_frame_equal(sample, fresh.sample(20, random_state=0))


def test_a_category_beyond_the_declared_ones_ends_the_order():
    data = ordered_frame().drop(columns="id")
    spn = SPN(min_rows=5).fit(data)
    spn.learn(pd.DataFrame({"size": ["huge"] * 30, "x": [1.5] * 30}))
    column = spn.sample(50, random_state=0)["size"]
    assert column.cat.categories.tolist() == [*SIZES, "huge"]
    assert not column.cat.ordered
    assert "huge" in set(column)


def test_models_of_the_same_records_are_equal_whatever_their_types_declare():
    plain = ordered_frame().drop(columns="id")
    digests = {SPN().fit(plain.astype({"size": kind})).digest() for kind in (object, "category", plain["size"].dtype)}
    assert len(digests) == 1

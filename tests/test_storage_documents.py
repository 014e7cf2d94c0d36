"""Documents: values that come back as what they were, and building blocks that only known classes make."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlearnspn import (
    RDC,
    Bernoulli,
    Categorical,
    ChowLiu,
    Exponential,
    Gaussian,
    GTest,
    Histogram,
    LogNormal,
    Poisson,
    QKMeans,
)
from unlearnspn.storage import StorageError
from unlearnspn.storage.blocks import OWN, decode_with_blocks, encode_with_blocks, known_blocks
from unlearnspn.storage.documents import decode, encode

keys = st.one_of(st.text(max_size=3), st.just("$"))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
        st.dictionaries(st.integers(), inner, max_size=2),
    ),
    max_leaves=12,
)


def through_json(value):
    return json.loads(json.dumps(value, allow_nan=False))


def same(a, b):
    return repr(a) == repr(b)


@given(values)
def test_values_come_back_as_what_they_were(value):
    assert same(decode(through_json(encode(value))), value)


@pytest.mark.parametrize(
    "value",
    [
        np.float64(0.1),
        np.int8(-3),
        np.bool_(True),
        np.array([1.5, np.nan, -np.inf]),
        np.array([[True], [False]]),
        np.array(["a", None, 3], object),
        np.zeros((0, 3), np.int16),
        np.array([2**64 - 1], np.uint64),
        float("nan"),
        10**4000,
    ],
)
def test_numbers_and_arrays_of_numpy(value):
    restored = decode(through_json(encode(value)))
    assert type(restored) is type(value)
    assert same(getattr(restored, "dtype", None), getattr(value, "dtype", None))
    assert np.array_equal(np.asarray(restored, object), np.asarray(value, object)) or same(restored, value)


@pytest.mark.parametrize("listed", [pd.Index(["a", "b"]), pd.Series(["a", "b"]), np.array(["a", "b"])])
def test_columns_of_names_become_lists_of_names(listed):
    assert list(decode_with_blocks(through_json(encode_with_blocks(listed, "x")), {})) == ["a", "b"]


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", print, np.datetime64("2020-01-01"), pl.DataFrame()])
def test_what_cannot_be_stored_is_named(value):
    with pytest.raises(StorageError, match=r"parameters\['leaves'\]\[0\] is of type .* cannot be stored"):
        encode_with_blocks({"leaves": [value]}, "parameters")


BLOCKS = [
    GTest(2.5),
    RDC(0.4, 7, 2.0, 16),
    QKMeans(3, 0.01, 4),
    QKMeans(),
    Bernoulli(0.5),
    Categorical(0.1),
    ChowLiu(0.2, 3.0),
    Exponential(),
    Gaussian(0.01),
    Histogram(17, 0.5),
    LogNormal(),
    Poisson(),
]


@pytest.mark.parametrize("block", BLOCKS, ids=repr)
def test_building_blocks_come_back_equal(block):
    assert decode_with_blocks(through_json(encode_with_blocks([block], "x")), known_blocks()) == [block]


def test_every_building_block_is_known():
    assert {type(block) for block in BLOCKS} == OWN


@dataclass(frozen=True)
class Own:
    inner: GTest
    words: tuple[str, ...] = ()


def test_ones_own_building_blocks_must_be_handed_over():
    own = Own(GTest(1.0), ("a", "b"))
    written = through_json(encode_with_blocks(own, "x"))
    with pytest.raises(StorageError, match=r"'test_storage_documents\.Own'.*pass it in components"):
        decode_with_blocks(written, known_blocks())
    assert decode_with_blocks(written, known_blocks([Own])) == own
    with pytest.raises(TypeError, match="components must be dataclasses"):
        known_blocks([print])


def block(name, **settings):
    return {"$": "block", "class": name, "settings": settings}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (block("os.system", command="true"), "names the building block 'os.system'"),
        (block("builtins.eval", source="1"), "names the building block"),
        (block(["GTest"], threshold=1.0), "names the building block"),
        (block("GTest"), "has the settings 'tables_above', 'threshold', and no others"),
        (block("GTest", threshold=1.0, more=2, tables_above=2048), "and no others"),
        (block("GTest", threshold="1.0", tables_above=2048), "threshold='1.0': it must be of type float"),
        (block("GTest", threshold=None, tables_above=2048), "threshold=None"),
        (block("GTest", threshold=True, tables_above=2048), "threshold=True"),
        (block("RDC", threshold=0.3, n_features=-1, width=1.0, levels=32), "n_features=-1: it must be from 0 to"),
        (block("RDC", threshold=0.3, n_features=2**40, width=1.0, levels=32), "n_features"),
        (block("RDC", threshold=0.3, n_features=10, width=1.0, levels=256), "levels=256 must be from 2 to 255"),
        (block("QKMeans", n_clusters=2.0, epsilon=None, max_rounds=1), "n_clusters=2.0"),
        (block("QKMeans", n_clusters=[2], epsilon=None, max_rounds=1), "n_clusters"),
        (block("Categorical", alpha=-1.0), "refuses its settings: alpha=-1.0 must be a positive number"),
        ({"$": "block", "class": "GTest"}, "malformed 'block'"),
        ({"$": "block", "class": "GTest", "settings": 3}, "malformed 'block'"),
        ({"$": "code", "source": "1"}, "unknown kind 'code'"),
        ({"$": {}}, "unknown kind"),
        ({"$": "integer", "hex": "x"}, "malformed 'integer'"),
        ({"$": "integer", "hex": 3}, "malformed 'integer'"),
        ({"$": "float", "name": "1.0"}, "malformed 'float'"),
        ({"$": "tuple"}, "malformed 'tuple'"),
        ({"$": "tuple", "items": 3}, "malformed 'tuple'"),
        ({"$": "mapping", "items": [[1]]}, "malformed 'mapping'"),
        ({"$": "mapping", "items": [[[1], 2]]}, "malformed 'mapping'"),
        ({"$": "numpy", "dtype": "O", "shape": [1]}, "malformed 'numpy'"),
        ({"$": "numpy", "dtype": "datetime64[s]", "shape": [1], "items": [1]}, "malformed 'numpy'"),
        ({"$": "numpy", "dtype": "int8", "shape": [1], "items": ["a"]}, "malformed 'numpy'"),
        ({"$": "numpy", "dtype": "int8", "shape": [-1], "items": [1]}, "malformed 'numpy'"),
        ({"$": "numpy", "dtype": "int8", "shape": [2], "items": [1]}, "malformed 'numpy'"),
        ({"$": "numpy", "dtype": ["int8"], "shape": [1], "items": [1]}, "malformed 'numpy'"),
        ({"$": "numpy", "dtype": "int8", "shape": None, "items": []}, "malformed 'numpy'"),
        ({"$": "numpy", "dtype": "S99999999999", "shape": [1], "items": ["a"]}, "malformed 'numpy'"),
    ],
)
def test_hostile_documents_are_refused(value, message):
    with pytest.raises(StorageError, match=message):
        decode_with_blocks([value], known_blocks())

"""The digest of a set of records adds up, and tells records apart."""

import struct
from hashlib import blake2b

import numpy as np
import pytest

from unlearnspn import SPN
from unlearnspn import records as records_module
from unlearnspn.hashing import derive_key
from unlearnspn.multiset import digest_records, no_records
from unlearnspn.tables import token

#: Of the second column.
SALT = derive_key(0, "variable", struct.pack("<I", 1)).to_bytes(16, "little")


@pytest.fixture
def records():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=40), rng.integers(0, 3, 40)])
    return SPN(min_rows=10, categorical_features=[1]).fit(table)._model.records


def digest(records, rows):
    columns, bits = records.encoding.columns(records.is_numeric, records.place), records.values.view(np.int64)
    level_digests = records.encoding.level_digests
    return digest_records(columns, records.keys, bits, records.levels, level_digests, np.array(rows, np.int64))


@pytest.mark.parametrize("rows", [[], [3], [3, 5], [7, 3, 5, 39]])
def test_digests_add_up_in_any_order(records, rows):
    rest = [row for row in range(40) if row not in rows]
    assert (digest(records, rows) + digest(records, rest[::-1]) == records.multiset).all()
    assert (digest(records, []) == no_records()).all()


@pytest.mark.parametrize("array", ["keys", "values", "levels"])
def test_whatever_differs_gives_another_digest(records, array):
    before = digest(records, [3])
    values = getattr(records, array)
    values[3] = values[np.flatnonzero((values != values[3]).reshape(40, -1).any(axis=1))[0]]
    assert (digest(records, [3]) != before).any()


def test_a_category_counts_in_its_column():
    swapped = SPN(min_rows=10, categorical_features="all").fit([[0, 1], [1, 0], [1, 1]])._model.records
    before = digest(swapped, [0])
    swapped.levels[0] = swapped.levels[0][::-1]
    assert (digest(swapped, [0]) != before).any()


def test_many_records_are_digested_by_several_threads(records, monkeypatch):
    monkeypatch.setattr(records_module, "_MANY", 7)
    assert (records._digest(records.rows, records.encoding) == records.multiset).all()


def test_a_record_is_the_digest_of_its_words(records):
    category = blake2b(token(int(records.export(np.array([3]), records.encoding).columns[1].values[0])), salt=SALT)
    line = struct.pack("<Qd", int(records.keys[3]), records.values[3, 0]) + category.digest()
    assert digest(records, [3]).tobytes() == blake2b(line).digest()


@pytest.mark.parametrize("n_numbers", [0, 1, 6, 7, 8, 22, 23, 24, 100])
@pytest.mark.parametrize("kind", [np.int16, np.int32])
def test_lines_of_any_length_have_the_digests_of_the_library(n_numbers, kind):
    rng = np.random.default_rng(n_numbers)
    keys, level_digests = (rng.integers(0, 2**64 - 1, shape, np.uint64) for shape in (20, (6, 8)))
    bits = rng.integers(-(2**63), 2**63 - 1, (20, n_numbers))
    levels = rng.integers(-1, 3, (20, 2)).astype(kind)
    columns = np.array([[1, j, 0, 0, 0] for j in range(n_numbers)] + [[0, 0, 0, 0, 0], [0, 1, 3, 0, 0]])
    total = no_records()
    for row in range(20):
        places = [3 * j + level for j, level in enumerate(levels[row].tolist()) if level >= 0]
        line = keys[row].tobytes() + bits[row].tobytes() + level_digests[places].sum(axis=0, dtype=np.uint64).tobytes()
        total += np.frombuffer(blake2b(line).digest(), "<u8")
    rows = rng.permutation(20)
    assert (digest_records(columns, keys, bits, levels, level_digests, rows) == total).all()

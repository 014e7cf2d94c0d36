"""The digest of a set of records adds up, and tells records apart."""

import struct
from hashlib import blake2b

import numpy as np
import pytest

from unlearnspn import SPN, multiset
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


def test_records_are_digested_some_at_a_time(records, monkeypatch):
    monkeypatch.setattr(multiset, "_AT_A_TIME", 7)
    assert (digest(records, range(40)) == records.multiset).all()


def test_a_record_is_the_digest_of_its_words(records):
    category = blake2b(token(int(records.export(np.array([3]), records.encoding).columns[1].values[0])), salt=SALT)
    line = struct.pack("<Qd", int(records.keys[3]), records.values[3, 0]) + category.digest()
    assert digest(records, [3]).tobytes() == blake2b(line).digest()

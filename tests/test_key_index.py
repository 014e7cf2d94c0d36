"""The index of keys: what a dictionary would say, and nothing left of what was taken out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unlearnspn.key_index import KeyIndex

NOBODY = np.zeros(0, np.int64)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2**64 - 1)), max_size=120))
def test_it_finds_what_a_dictionary_finds(requests):
    keys, known, index = np.zeros(128, np.uint64), {}, KeyIndex()
    for slot, (adds, number) in enumerate(requests):
        key = number % 97 if slot % 2 else number  # small keys meet in the same places
        if adds and key not in known:
            keys[slot] = key
            index.add(keys, np.array([slot]))
            known[key] = slot
        elif known:
            gone, row = known.popitem()
            index.discard(keys, np.array([row]))
            keys[row] = 0
            assert index.find(keys, np.array([gone], np.uint64)).tolist() == [-1]
        assert len(index) == len(known)
        wanted = np.array([*known, key], np.uint64)
        assert index.find(keys, wanted).tolist() == [*known.values(), known.get(key, -1)]


def test_nothing_remains_of_slots_taken_out():
    keys = np.arange(1000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    index = KeyIndex()
    index.add(keys, np.arange(1000))
    index.discard(keys, np.arange(1000))
    assert len(index) == 0
    assert (index._table == -1).all()


def test_an_empty_index_finds_nobody():
    assert KeyIndex().find(np.zeros(0, np.uint64), np.array([1], np.uint64)).tolist() == [-1]
    index = KeyIndex()
    index.add(np.zeros(0, np.uint64), NOBODY)
    assert len(index) == 0

"""Hashes of a tree's records: a record is taken out as it was put in, and those of disjoint records add up."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaf_data import slice_of
from reference_coding import mix
from unlearnspn.statistics.trees import TreeHashes

N_ROWS = 40
row_sets = st.sets(st.integers(0, N_ROWS - 1)).map(lambda rows: np.array(sorted(rows), np.int64))
often = settings(max_examples=30, deadline=None)


def mixed_slice():
    """Return a slice of numbers, categories, zeros of either sign and gaps."""
    rng = np.random.default_rng(0)
    numbers, letters = rng.normal(size=N_ROWS), rng.choice(list("abc"), N_ROWS)
    zeros = rng.choice([0.0, -0.0, 1.0, 2.0], N_ROWS)
    columns = [[None if rng.random() < 0.1 else value for value in each] for each in (numbers, letters, zeros)]
    return slice_of(*columns, categorical=[False, True, False])


DATA = mixed_slice()
CODED = DATA.coded
ALL = np.arange(N_ROWS)


def learned(rows, scope=DATA.scope):
    return TreeHashes.learn(CODED, scope, rows)


def by_hand(rows, scope):
    """Return the hashes by integers of Python: over all records' codes, and over all numbers."""
    codes, records, prints = DATA.records.codes, DATA.records, DATA.encoding.prints
    sums = [0, 0, 0, 0]
    for row in rows:
        names = [int(prints[v, codes[row, v]]) for v in scope]
        features = [mix(int(records.features[row, v]) % 2**64) if records.is_numeric[v] else 0 for v in scope]
        names = [mix(name ^ feature) for name, feature in zip(names, features, strict=True)]
        sums[0] += mix(sum(names) % 2**64)
        sums[1] += mix(sum(map(mix, names)) % 2**64)
        for v in scope:
            if records.is_numeric[v] and codes[row, v]:
                value = records.values[row, records.place[v]] + 0.0  # the zero without a sign
                name = mix(int(prints[v, codes[row, v]]) ^ mix(int(value.view(np.uint64))))
                sums[2] += name
                sums[3] += mix(name)
    return b"".join((each % 2**64).to_bytes(8, "little") for each in sums)


@often
@given(row_sets, st.sampled_from([[0, 1, 2], [2, 0], [1]]))
def test_hashes_are_those_of_the_codes_and_of_the_numbers(rows, scope):
    assert learned(rows, np.array(scope)).fingerprint() == by_hand(rows, scope)


@often
@given(row_sets)
def test_what_is_dumped_is_loaded(rows):
    hashes = learned(rows)
    assert TreeHashes.load(hashes.dump()).fingerprint() == hashes.fingerprint()


def test_a_copy_is_independent():
    hashes = learned(ALL)
    copy, before = hashes.copy(), hashes.fingerprint()
    copy.shift(CODED, DATA.scope, ALL[:1], -1)
    assert hashes.fingerprint() == before
    assert copy.fingerprint() == learned(ALL[1:]).fingerprint()


def test_no_records_have_the_hash_of_nothing():
    assert learned(ALL[:0]).fingerprint() == TreeHashes().fingerprint() == bytes(32)


@pytest.mark.parametrize("v", [0, 1, 2])
def test_every_variable_counts(v):
    assert learned(ALL, np.delete(DATA.scope, v)).fingerprint() != learned(ALL).fingerprint()

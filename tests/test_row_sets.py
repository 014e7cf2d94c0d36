"""Sets of rows: what sets of Python say, in order, and nothing left of what was taken out."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unlearnspn.mixing import mix_keys
from unlearnspn.rows.coded import CodedRows
from unlearnspn.rows.row_set import RowSet
from unlearnspn.rows.sorted_rows import difference, in_order, merged, split_by_label

N_SLOTS = 60
KEYS = np.random.default_rng(0).integers(0, 2**64 - 1, N_SLOTS, np.uint64)
some_rows = st.sets(st.integers(0, N_SLOTS - 1))
exactly = settings(deadline=None)


def array(rows):
    return np.array(sorted(rows), np.int64)


def coded_rows():
    none, no_words = np.zeros((N_SLOTS, 0), np.int16), np.zeros(0, np.int64)
    codes, values, flags = none.astype(np.uint8), none.astype(np.float64), no_words.astype(np.bool_)
    prints = np.zeros((0, 0), np.uint64)
    return CodedRows(
        codes, none, values, none, KEYS, np.ones(N_SLOTS, np.bool_), flags, no_words, no_words, prints, flags
    )


CODED = coded_rows()


def contents(row_set):
    assert len(row_set) == len(row_set.rows)
    return row_set.rows.tolist(), row_set.members


def fingerprint(rows):
    """Sum mixed keys, modulo 2**64."""
    keys = KEYS[array(rows)]
    return tuple(int(mix_keys(keys, salt).sum()) for salt in (0, 0xBF58476D1CE4E5B9))


def learned(rows):
    return contents(RowSet.of(CODED, array(rows)))


@exactly
@given(some_rows)
def test_a_set_keeps_rows_in_order_and_names_its_records(rows):
    row_set = RowSet.of(CODED, array(rows))
    assert contents(row_set) == (sorted(rows), fingerprint(rows))
    assert contents(pickle.loads(pickle.dumps(row_set))) == contents(row_set)


@exactly
@given(some_rows, some_rows)
def test_sets_are_merged_and_taken_apart(one, other):
    one = one - other
    both = RowSet.of(CODED, array(one)).merge(RowSet.of(CODED, array(other)))
    assert contents(both) == learned(one | other)
    both.shift(CODED, array(other), -1)
    assert contents(both) == learned(one)


@exactly
@given(st.lists(some_rows, max_size=8))
def test_rows_come_and_go_in_any_order(changes):
    row_set, known = RowSet.of(CODED, array([])), set()
    for rows in changes:
        before = row_set.copy()
        minus, plus = known & rows, rows - known
        row_set.shift(CODED, array(minus), -1)
        row_set.shift(CODED, array(plus), 1)
        assert contents(before) == learned(known)
        known = known ^ rows
        assert contents(row_set) == learned(known)


@exactly
@given(some_rows, st.data())
def test_nothing_remains_of_rows_taken_out(rows, data):
    row_set = RowSet.of(CODED, array(rows))
    room = row_set.rows.base
    gone = data.draw(st.sets(st.sampled_from(sorted(rows)))) if rows else set()
    row_set.shift(CODED, array(gone), -1)
    assert room.tolist() == sorted(rows - gone) + [0] * (len(room) - len(rows - gone))


# -- sorted rows -------------------------------------------------------------------------------------------------------

rows_or_far = st.one_of(st.integers(0, 50), st.integers(-(2**40), 2**40))


@given(st.lists(rows_or_far, max_size=30), st.booleans())
def test_rows_are_sorted(rows, once):
    rows = list(dict.fromkeys(rows)) if once else rows
    given_rows = np.array(rows, np.int64)
    found = in_order(given_rows)
    assert found.tolist() == sorted(rows)
    assert given_rows.tolist() == rows
    assert not np.shares_memory(found, given_rows)


@given(some_rows, some_rows)
def test_rows_are_merged_and_left_out_as_sets_are(one, other):
    assert merged(array(one), array(other - one)).tolist() == sorted(one | other)
    assert difference(array(one), array(other)).tolist() == sorted(one - other)


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 4)), max_size=40))
def test_rows_are_split_by_label_in_their_order(labelled):
    rows, labels = (np.array([pair[k] for pair in labelled], np.int64) for k in (0, 1))
    split = split_by_label(rows, labels, 6)
    assert [part.tolist() for part in split] == [[row for row, own in labelled if own == k] for k in range(6)]


def test_rows_that_are_not_there_are_not_taken_out():
    row_set = RowSet.of(CODED, array({3, 5, 8}))
    for absent in ({4}, {9}, {0}, {3, 5, 8, 11}, {3, 4}):
        before = contents(row_set)
        with pytest.raises(ValueError, match="not where the model says"):
            row_set.shift(CODED, array(absent), -1)
        assert contents(row_set) == before

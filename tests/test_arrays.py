"""The kernels on arrays do what NumPy's functions do."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from unlearnspn.arrays import (
    count_of,
    equal,
    extended,
    first_reaching,
    in_order,
    joined,
    largest,
    merged,
    places_of,
    put,
    tally,
    with_room,
)

words = st.lists(st.integers(-3, 3), max_size=12).map(lambda values: np.array(values, np.int64))


@settings(deadline=None)  # the first example compiles
@given(words, words)
def test_joined_and_merged(one, other):
    assert joined(one, other).tolist() == np.concatenate((one, other)).tolist()
    assert in_order(one).tolist() == np.sort(one).tolist()
    assert merged(np.sort(one), np.sort(other)).tolist() == np.sort(np.concatenate((one, other))).tolist()


@settings(deadline=None)  # the first example compiles
@given(st.lists(st.integers(-20, 20), unique=True), st.sampled_from([1, 1000, 2**58]))
def test_in_order(values, step):
    assert in_order(step * np.array(values, np.int64)).tolist() == [step * value for value in sorted(values)]


@settings(deadline=None)  # the first example compiles
@given(words, st.integers(-4, 4))
def test_searching(values, value):
    assert first_reaching(np.sort(values), value) == np.searchsorted(np.sort(values), value)
    assert equal(values, np.append(values, value)[:-1])
    assert not equal(values, np.append(values, value))
    assert equal(values, np.full_like(values, value)) == (values == value).all()
    assert count_of(values, value) == np.count_nonzero(values == value)
    assert places_of(values, value).tolist() == np.flatnonzero(values == value).tolist()


@settings(deadline=None)  # the first example compiles
@given(words, words)
def test_room_is_made_only_if_there_is_none_and_what_is_there_stays(one, more):
    room = with_room(one, one.size, more.size)
    assert np.shares_memory(room, one) == (one.size > 0 and more.size == 0)
    assert room.size >= (2 * one.size if more.size else one.size)
    assert room.size >= one.size + more.size
    put(room, one.size, more)
    assert room[: one.size + more.size].tolist() == joined(one, more).tolist()
    assert extended(one, one.size, more)[: one.size + more.size].tolist() == joined(one, more).tolist()


@settings(deadline=None)  # the first example compiles
@given(st.lists(st.integers(0, 8)))
def test_tally(values):
    assert tally(np.array(values, np.int64), 9).tolist() == np.bincount(values, minlength=9).tolist()


@settings(deadline=None)  # the first example compiles
@given(words)
def test_largest(values):
    assert largest(values) == max([0, *values.tolist()])


def test_putting_leaves_the_rest_alone():
    target = np.arange(5)
    put(target, 0, np.array([7]))
    assert target.tolist() == [7, 1, 2, 3, 4]

"""Rows of a column by increasing value: as Python sorts them."""

import numpy as np
import pytest

from ranked_columns import random_numbers
from unlearnspn.independence.value_order import find_rows, replace_rows, sort_rows, sorter_for

N_ROWS, PLACE = 120, 1


@pytest.fixture(params=range(8))
def rng(request):
    return np.random.default_rng(request.param)


def column(rng):
    return np.column_stack([np.zeros(N_ROWS), random_numbers(rng, N_ROWS)])


def some_rows(rng, rows, most):
    return rng.permutation(rows)[: rng.integers(0, min(most, len(rows)) + 1)]


def in_order(values, rows):
    """Return the rows that have a value, by increasing value."""
    found = np.empty(len(rows), np.int64)
    number = sort_rows(sorter_for(len(rows)), values, PLACE, rows, found)
    return found[:number]


@pytest.mark.parametrize("most", [5, 16, 17, N_ROWS])
def test_rows_with_a_value_are_sorted(rng, most):
    values = column(rng)
    rows = some_rows(rng, np.arange(N_ROWS), most)
    ordered = in_order(values, rows)
    observed = rows[~np.isnan(values[rows, PLACE])]
    assert sorted(ordered) == sorted(observed)
    assert values[ordered, PLACE].tolist() == sorted(values[observed, PLACE])


@pytest.mark.parametrize("most", [3, 60])
def test_rows_are_found_taken_out_and_put_in(rng, most):
    values = column(rng)
    rows = some_rows(rng, np.arange(N_ROWS), N_ROWS)
    ordered = in_order(values, rows).astype(np.int32)
    leaving = in_order(values, some_rows(rng, rows, most))
    coming = in_order(values, some_rows(rng, np.setdiff1d(np.arange(N_ROWS), rows), most))
    places = np.empty(len(leaving), np.int64)
    find_rows(ordered, values, PLACE, leaving, places)
    assert places.tolist() == sorted(ordered.tolist().index(row) for row in leaving)
    line = np.full(N_ROWS, -1, np.int32)
    number = replace_rows(ordered, values, PLACE, places, coming, line)
    expected = {*ordered.tolist()} - {*leaving.tolist()} | {*coming.tolist()}
    assert sorted(line[:number]) == sorted(expected)
    assert values[line[:number], PLACE].tolist() == sorted(values[[*expected], PLACE])
    assert (line[number:] == -1).all()

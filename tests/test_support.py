"""What a leaf cannot model is refused, by name, before anything is learned from it."""

import numpy as np
import pytest

from leaf_data import object_table, slice_of
from unlearnspn import InvalidTableError
from unlearnspn.leaves import Bernoulli, Categorical, Exponential, Gaussian, LogNormal, Poisson, check_support
from unlearnspn.leaves.support import BINARY, COUNTS, NOT_NEGATIVE, POSITIVE
from unlearnspn.tables import read_table


def accepts(support, *values):
    return support.test(np.array(values)).tolist()


def test_numbers():
    assert accepts(NOT_NEGATIVE, 0.0, -0.0, 5e-324, -5e-324) == [True, True, True, False]
    assert accepts(POSITIVE, 0.0, 5e-324, 1.7e308) == [False, True, True]
    assert accepts(COUNTS, 0.0, 3.0, 0.5, -1.0, 2.0**53, 2.0**53 + 2.0) == [True, True, False, False, True, False]


def test_either_pair_but_not_both():
    assert BINARY.test([]).tolist() == []
    assert BINARY.test([True, False, 1]).tolist() == [True, True, False]
    assert BINARY.test([1, True, 0, 2, "1"]).tolist() == [True, False, True, False, False]


def test_a_table_that_fits_passes():
    table = read_table(object_table([1.0, None], [0.0, 2.5], [3, 0], [True, None], ["a", 1]))
    check_support([LogNormal(), Exponential(), Poisson(), Bernoulli(), Categorical()], table)


def test_the_message_names_column_leaf_row_and_value():
    table = read_table(object_table([-5.0, 1.0, 2.0], [1.0, None, -2.5]))
    with pytest.raises(InvalidTableError) as caught:
        check_support([Gaussian(), Exponential()], table)
    assert str(caught.value) == (
        "column 'x1' has the leaf 'exponential', which needs numbers of at least 0, but row 3 holds -2.5: "
        "correct it, mark it as missing, or choose another leaf"
    )


def test_categories_already_known_count():
    table = read_table(object_table([None, 1]))
    check_support([Bernoulli()], table)
    check_support([Bernoulli()], table, slice_of([0, None], categorical=True).encoding)
    with pytest.raises(InvalidTableError, match="row 2 holds 1"):
        check_support([Bernoulli()], table, slice_of([True, None], categorical=True).encoding)

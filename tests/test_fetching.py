"""Rows that are read column by column, wherever they lie."""

import numpy as np
import pytest

from unlearnspn.fetching import close_together


@pytest.mark.parametrize("n_rows", [0, 1, 63, 64, 300, 700])
@pytest.mark.parametrize("n_columns", [0, 1, 9, 40])
def test_rows_that_are_put_together_have_the_same_cells(n_rows, n_columns):
    rng = np.random.default_rng(n_rows)
    table, rows = rng.integers(-9, 9, (1000, n_columns)), rng.choice(1000, n_rows, replace=False)
    found, lines = close_together(table, rows)
    assert np.array_equal(found[lines], table[rows])
    many = n_rows >= 64 and n_columns > 0
    assert len(found) == (n_rows if many else len(table))

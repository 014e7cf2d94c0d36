"""How many rows agree with one in two variables at once, against a count row by row."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unlearnspn.independence.agreement import compare_rows, count_all, count_common


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 200), st.integers(1, 20), st.integers(0, 4), st.integers(0, 2**32))
def test_counts_of_bits_are_counts_of_rows(n_rows, n_columns, n_codes, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_codes + 1, (n_rows + 1, n_columns)).astype(np.uint8)
    codes[:, ::3] += 1  # so that some columns have a value in each row
    row, *others = rng.permutation(n_rows + 1)
    rows = np.array(others, np.int64)
    agrees, absent, lines = compare_rows(codes, rows, row)
    alike, lacking = codes[rows] == codes[row], codes[rows] == 0
    assert count_all(agrees).tolist() == alike.sum(axis=0).tolist()
    assert (lines >= 0).tolist() == lacking.any(axis=0).tolist()
    for u in range(n_columns):
        for v in range(n_columns):
            assert count_common(agrees[u], agrees[v]) == (alike[:, u] & alike[:, v]).sum()
            if lines[v] >= 0:
                assert count_common(agrees[u], absent[lines[v]]) == (alike[:, u] & lacking[:, v]).sum()

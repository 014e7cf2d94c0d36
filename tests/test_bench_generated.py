"""Generated tables: a function of columns and seed, mixed, dependent, with missing values."""

import numpy as np
import pandas as pd
import pytest

from unlearnspn.bench.generated import CHUNK, generate


@pytest.fixture(scope="module")
def frame():
    return generate(CHUNK + 500, 20, seed=3).frame


def test_the_same_seed_gives_the_same_table(frame):
    pd.testing.assert_frame_equal(generate(CHUNK + 500, 20, seed=3).frame, frame)
    assert not generate(CHUNK + 500, 20, seed=4).frame.equals(frame)


@pytest.mark.parametrize("n_rows", [10, CHUNK, CHUNK + 1])
def test_a_longer_table_begins_with_the_shorter_one(frame, n_rows):
    pd.testing.assert_frame_equal(generate(n_rows, 20, seed=3).frame, frame.iloc[:n_rows])


def test_chunks_differ(frame):
    assert not np.array_equal(frame.iloc[:500, 0], frame.iloc[CHUNK:, 0])


def test_kinds_are_mixed_and_some_cells_are_missing(frame):
    kinds = frame.dtypes.astype(str).value_counts()
    assert kinds["float64"] == kinds["category"] == 10
    assert set(frame["flag_2"].cat.categories) == {"flag_2 a", "flag_2 b"}
    missing = frame.isna().mean()
    assert (missing.iloc[3::4] > 0.03).all()
    assert missing.drop(missing.index[3::4]).sum() == 0
    assert (frame["count_1"] == frame["count_1"].round()).all()
    assert (frame["amount_4"] > 0).all()


def test_columns_depend_on_each_other(frame):
    numeric = frame.select_dtypes("number")
    correlations = np.abs(numeric.corr().to_numpy()[np.triu_indices(numeric.shape[1], 1)])
    assert np.median(correlations) > 0.1
    # a category tells something about a number, too
    assert frame.groupby("category_3", observed=True)["measure_0"].mean().std() > 0.1

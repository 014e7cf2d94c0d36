"""Poisson leaves against SciPy."""

import numpy as np
import pytest
from scipy.stats import poisson

from leaf_data import fitted, learned, log_density, object_table, slice_of
from unlearnspn import InvalidTableError, Poisson


def test_it_is_scipys_with_the_smoothed_rate():
    values = np.random.default_rng(0).poisson(100.0, 50)
    data = slice_of(values)
    column = data.encoding.numeric(0).centre
    assert 90.0 < column < 110.0
    rate = (values.sum() + 0.1 * column) / (50 + 0.1)
    assert Poisson().parameters(learned(Poisson(), data), data) == pytest.approx({"rate": rate}, rel=1e-14)
    queries = np.array([0.0, 1.0, 99.0, 100.0, 5000.0])
    assert log_density(Poisson(), [*values, None], queries) == pytest.approx(poisson.logpmf(queries, rate), rel=1e-11)


def test_what_is_no_count_is_impossible():
    assert log_density(Poisson(), [1, 2, 3], [0.5, -1.0, 2.0])[:2].tolist() == [-np.inf, -np.inf]


def test_a_leaf_of_zeros_has_a_rate():
    data = slice_of([0, 0, 0, 0, 8, 8, 8, 8])
    assert data.encoding.numeric(0).scale == 4.0
    assert data.encoding.numeric(0).centre == 8.0
    assert Poisson(0.5).parameters(learned(Poisson(), data, [0, 1, 2, 3]), data) == {"rate": 0.5 * 8.0 / 4.5}
    assert log_density(Poisson(), [0, 0, 0], [0.0])[0] == pytest.approx(-0.1 / 3.1, rel=1e-12)


@pytest.mark.parametrize(("values", "rate"), [([7, 7, None], 8.0), ([0, 0, None], 1.0), ([0, 8, None], 8.0)])
def test_a_leaf_without_values_is_like_its_column(values, rate):
    data = slice_of(values)
    assert Poisson().parameters(learned(Poisson(), data, [2]), data) == {"rate": rate}


@pytest.mark.parametrize("values", [[0, 0], [2.0**53, 0], [2.0**53, 2.0**53], [None, None]])
def test_extreme_values_have_finite_probabilities(values):
    assert not np.isnan(log_density(Poisson(), values, values)).any()
    assert (log_density(Poisson(), values, values) <= 0.0).all()


@pytest.mark.parametrize("value", [-1, 0.5, 2.0**54])
def test_what_is_no_count_is_refused(value):
    with pytest.raises(
        InvalidTableError, match=r"the leaf 'poisson', which needs whole numbers from 0 to 2.*but row 2 holds"
    ):
        fitted(Poisson(), [3, value])
    spn = fitted(Poisson(), [3, 4])
    before = spn.state_digest()
    for request in (spn.learn, spn.rectify):
        with pytest.raises(InvalidTableError, match="row 1 holds"):
            request(object_table([value]), ids=[1])
    assert spn.state_digest() == before

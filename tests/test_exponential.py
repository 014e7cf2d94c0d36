"""Exponential leaves against SciPy."""

import numpy as np
import pytest
from scipy.stats import expon

from leaf_data import fitted, learned, log_density, slice_of
from unlearnspn import Exponential, InvalidTableError


def test_it_is_scipys():
    values = np.random.default_rng(0).exponential(30.0, 50)
    queries = np.array([0.0, 1e-3, 1.0, 30.0, 1000.0, -0.5])
    expected = expon.logpdf(queries, scale=values.mean())
    assert log_density(Exponential(), [*values, None], queries) == pytest.approx(expected, rel=1e-12)


def test_the_mean_has_a_floor_of_the_columns_scale():
    data = slice_of([0.0, 0.0, 8.0, 8.0])
    assert data.encoding.numeric(0).scale == 4.0
    assert Exponential(0.25).parameters(learned(Exponential(), data, [0, 1]), data) == {"mean": 1.0}
    assert Exponential(0.25).parameters(learned(Exponential(), data), data) == {"mean": 4.0}


@pytest.mark.parametrize(
    ("values", "mean"), [([7.0, 7.0, None], 8.0), ([0.0, 0.0, None], 1.0), ([0.0, 8.0, None], 8.0)]
)
def test_a_leaf_without_values_is_like_its_column(values, mean):
    data = slice_of(values)
    assert Exponential().parameters(learned(Exponential(), data, [2]), data) == {"mean": mean}


@pytest.mark.parametrize("values", [[1.7e308, 0.0], [5e-324, 1e-323], [0.0, 0.0], [1e308, 1e308], [None, None]])
def test_extreme_values_have_finite_densities(values):
    assert np.isfinite(log_density(Exponential(), values, values)).all()


def test_negative_values_are_refused():
    with pytest.raises(
        InvalidTableError, match=r"the leaf 'exponential', which needs numbers of at least 0, but row 2 holds -1"
    ):
        fitted(Exponential(), [0.0, -1.0])
    with pytest.raises(ValueError, match="min_mean=nan must be a positive number"):
        Exponential(min_mean=float("nan"))

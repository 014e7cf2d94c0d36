"""Gaussian leaves against SciPy."""

import numpy as np
import pytest
from scipy.stats import norm

from leaf_data import learned, log_density, slice_of
from unlearnspn import Gaussian


def test_it_is_scipys():
    values = np.random.default_rng(0).normal(3.0, 2.0, 50)
    queries = np.linspace(-10.0, 20.0, 31)
    expected = norm.logpdf(queries, values.mean(), values.std())
    assert log_density(Gaussian(), [*values, None], queries) == pytest.approx(expected, rel=1e-12)


def test_the_deviation_has_a_floor_of_the_columns_scale():
    data = slice_of([1.0, 1.0, 1.0, 9.0, 9.0, 9.0])
    assert data.encoding.numeric(0).scale == 4.0
    constant = Gaussian(0.25).parameters(learned(Gaussian(), data, [0, 1, 2]), data)
    assert constant == {"mean": 1.0, "std": 1.0}
    assert Gaussian(0.25).parameters(learned(Gaussian(), data), data) == {"mean": 5.0, "std": 4.0}


def test_a_leaf_without_values_is_like_its_column():
    data = slice_of([None, 100.0, 101.0, 102.0, 103.0])
    coder = data.encoding.numeric(0)
    assert (coder.centre, coder.scale) == (102.0, 1.0)
    assert Gaussian().parameters(learned(Gaussian(), data, [0]), data) == {"mean": 102.0, "std": 1.0}


@pytest.mark.parametrize("values", [[1.7e308, -1.7e308], [5e-324, 1e-323], [0.0, 0.0], [1e308, 1e308]])
def test_extreme_values_have_finite_densities(values):
    assert np.isfinite(log_density(Gaussian(), values, values)).all()


def test_settings_are_checked():
    with pytest.raises(ValueError, match="min_std=0 must be a positive number"):
        Gaussian(min_std=0)

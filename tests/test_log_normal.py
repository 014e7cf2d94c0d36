"""Log-normal leaves against SciPy."""

import numpy as np
import pytest
from scipy.stats import lognorm

from leaf_data import fitted, learned, log_density, slice_of
from unlearnspn import InvalidTableError, LogNormal


def test_it_is_scipys():
    values = np.exp(np.random.default_rng(0).normal(2.0, 1.5, 50))
    queries = np.array([1e-300, 1e-3, 1.0, 7.0, 1e5, 1e300])
    logs = np.log(values)
    expected = lognorm.logpdf(queries, logs.std(), scale=np.exp(logs.mean()))
    assert log_density(LogNormal(), [*values, None], queries) == pytest.approx(expected, rel=1e-11)


def test_what_is_not_positive_is_impossible():
    assert log_density(LogNormal(), [1.0, 2.0], [0.0, -0.0, -1.0]).tolist() == [-np.inf] * 3


def test_the_deviation_of_the_logarithm_has_a_floor():
    data = slice_of([8.0, 8.0, 1000.0])
    parameters = LogNormal(0.25).parameters(learned(LogNormal(), data, [0, 1]), data)
    assert parameters == pytest.approx({"log_mean": np.log(8.0), "log_std": 0.25}, rel=1e-15)


def test_a_leaf_without_values_is_like_its_column():
    data = slice_of([None, 100.0, 101.0, 102.0, 103.0])
    parameters = LogNormal().parameters(learned(LogNormal(), data, [0]), data)
    assert parameters == pytest.approx({"log_mean": np.log(102.0), "log_std": 1.0}, rel=1e-15)


def test_moments_are_exact_in_any_order():
    values = np.exp(np.random.default_rng(1).normal(0.0, 200.0, 60))
    data, leaf, rows = slice_of(values), LogNormal(), np.arange(60)
    all_at_once = leaf.learn(data, rows)
    assert leaf.learn(data, rows[::-1]) == all_at_once
    part = leaf.learn(data, rows[:20])
    assert leaf.revise(part, data, rows[:10], rows[20:]) == leaf.learn(data, rows[10:])
    assert leaf.revise(all_at_once, data, rows[:59], rows[:0]).mean() == pytest.approx(np.log(values[59]), rel=1e-14)


@pytest.mark.parametrize("values", [[1.7e308, 1e-300], [5e-324, 1e-323], [5e-324, 1.7e308], [1.0, 1.0], [None, None]])
def test_extreme_values_have_finite_densities(values):
    assert np.isfinite(log_density(LogNormal(), values, values)).all()


def test_what_is_not_positive_is_refused():
    with pytest.raises(
        InvalidTableError, match=r"the leaf 'log-normal', which needs numbers above 0, but row 2 holds 0\.0"
    ):
        fitted(LogNormal(), [1.0, 0.0])
    with pytest.raises(ValueError, match="min_std=-1 must be a positive number"):
        LogNormal(min_std=-1)

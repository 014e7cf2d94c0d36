"""Histogram leaves against NumPy's histograms."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from leaf_data import fitted, learned, log_density, object_table, slice_of
from unlearnspn import Histogram


def two_humps(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.5, rng.normal(0.0, 0.3, n), rng.normal(5.0, 0.5, n))


def grid_of(values, n_bins):
    coder = slice_of(values).encoding.numeric(0)
    return coder, np.linspace(coder.centre - 8.0 * coder.scale, coder.centre + 8.0 * coder.scale, n_bins + 1)


def expected_density(values, queries, n_bins, alpha):
    """Return the mixture of NumPy's histogram and a background, by the formula of the docstring."""
    coder, edges = grid_of(values, n_bins)
    counts, _ = np.histogram(values, edges)
    width = edges[1] - edges[0]
    place = np.floor((queries - edges[0]) / width).astype(int)
    inside = (place >= 0) & (place < n_bins)
    in_bins = np.where(inside, counts[np.where(inside, place, 0)], 0) / width
    outside = len(values) - counts.sum()
    background = norm.pdf(queries, coder.centre, 4.0 * coder.scale)
    return (in_bins + (outside + alpha) * background) / (len(values) + alpha)


@pytest.mark.parametrize("n_bins", [1, 7, 32, 64])
@pytest.mark.parametrize("alpha", [0.1, 3.0])
def test_it_is_numpys_histogram_over_a_background(n_bins, alpha):
    values = np.append(two_humps(), [40.0, -70.0])
    queries = np.random.default_rng(1).uniform(-100.0, 100.0, 500)
    ours = log_density(Histogram(n_bins, alpha), [*values, None], queries)
    assert ours == pytest.approx(np.log(expected_density(values, queries, n_bins, alpha)), rel=1e-10)


def test_it_integrates_to_one():
    values = two_humps()
    spn = fitted(Histogram(), values)
    _, edges = grid_of(values, 64)
    bounds = [-np.inf, *edges, np.inf]

    def density(x):
        return float(np.exp(spn.score_samples([[x]])[0]))

    total = sum(quad(density, low, high)[0] for low, high in pairwise(bounds))
    assert total == pytest.approx(1.0, rel=1e-9)


def test_it_fits_two_humps_better_than_a_gaussian():
    train, test = two_humps(400), two_humps(200, seed=1)
    ours, gaussian = log_density(Histogram(), train, test), norm.logpdf(test, train.mean(), train.std())
    assert ours.mean() > gaussian.mean() + 0.3


def test_parameters_add_up():
    values = [*two_humps(), 100.0, None]
    data = slice_of(values)
    parameters = Histogram().parameters(learned(Histogram(), data), data)
    assert len(parameters["probabilities"]) == 64
    assert sum(parameters["probabilities"]) + parameters["background"] == pytest.approx(1.0, rel=1e-14)


def test_a_leaf_without_values_is_all_background():
    data = slice_of([None, 100.0, 101.0, 102.0, 103.0])
    shown = Histogram().express(learned(Histogram(), data, [0]), data)
    assert shown.parameters.tolist() == [-np.inf, np.inf, 0.0, 102.0, 4.0]


@pytest.mark.parametrize(
    "values",
    [
        [1.7e308, -1.7e308, 0.0],
        [1e308, 1e308],
        [5e-324, 1e-323, 0.0],
        [0.0, 0.0],
        [1e300, 1.0000000000000002e300],
        [1e-300, 1.0, 1e300],
        [None, None],
    ],
)
def test_extreme_values_have_finite_densities(values):
    queries = [*values, 0.0, 1.0, None]
    densities = log_density(Histogram(), values, queries)
    assert not np.isnan(densities).any()
    assert np.isfinite(densities[: len(values)]).all()


def test_one_record_hardly_ever_moves_the_bins():
    values = two_humps(300)
    spn = fitted(Histogram(), values)
    unmoved = [not spn.unlearn(row, dry_run=True).recoded for row in range(100)]
    assert sum(unmoved) > 90
    row = unmoved.index(True)
    spn.unlearn(row)
    fresh = fitted(Histogram(), np.delete(values, row))
    queries = object_table(np.linspace(-3.0, 8.0, 50))
    assert spn.score_samples(queries).tobytes() == fresh.score_samples(queries).tobytes()


def test_settings_are_checked():
    with pytest.raises(ValueError, match="n_bins=0 must be an integer of at least 1"):
        Histogram(n_bins=0)
    with pytest.raises(ValueError, match="alpha=-1 must be a positive number"):
        Histogram(alpha=-1)

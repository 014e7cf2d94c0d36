"""Joint normals against SciPy, brute-force integrals and draws."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from unlearnspn.circuit import normal_algebra, normal_boxes, normal_completion
from unlearnspn.circuit.distributions import standard_normal
from unlearnspn.circuit.expressions import Normal

INF = math.inf


def normal_of(mean, covariances) -> Normal:
    return Normal(np.arange(len(mean), dtype=np.int32), np.array(mean, float), np.linalg.cholesky(covariances))


def random_normal(rng: np.random.Generator, size: int, ridge: float = 0.3) -> Normal:
    slopes = rng.normal(size=(size, size))
    return normal_of(rng.normal(size=size), slopes @ slopes.T + ridge * np.eye(size))


def correlated(*correlations: float) -> Normal:
    """Return two or three standard normal numbers."""
    size = 2 if len(correlations) == 1 else 3
    matrix = np.eye(size)
    matrix[np.triu_indices(size, 1)] = matrix.T[np.triu_indices(size, 1)] = correlations
    return normal_of(np.zeros(size), matrix)


def random_box(rng: np.random.Generator, normal: Normal):
    stds = np.sqrt(normal_algebra.covariances(normal).diagonal())
    low = normal.mean - rng.exponential(1.4, len(stds)) * stds
    high = low + rng.exponential(3.0, len(stds)) * stds
    return np.where(rng.random(len(stds)) < 0.2, -INF, low), np.where(rng.random(len(stds)) < 0.2, INF, high)


# --- parts ---


def test_a_marginal_has_the_means_and_covariances_of_its_positions():
    normal = random_normal(np.random.default_rng(0), 5)
    for positions in ([0, 1], [4, 2, 0], [3], [0, 1, 2, 3, 4]):
        part = normal_algebra.marginal(normal, positions)
        assert part.variables.tolist() == positions
        assert part.mean.tolist() == normal.mean[positions].tolist()
        expected = normal_algebra.covariances(normal)[np.ix_(positions, positions)]
        np.testing.assert_allclose(normal_algebra.covariances(part), expected, rtol=1e-13, atol=1e-13)
        assert (part.factor.diagonal() > 0.0).all()
        assert np.array_equal(part.factor, np.tril(part.factor))


@pytest.mark.parametrize("gap", [1e-3, 1e-9, 1e-20, 1e-200])
def test_a_marginal_of_almost_equal_numbers_has_a_factor(gap):
    normal = Normal(np.arange(2, dtype=np.int32), np.zeros(2), np.array([[1.0, 0.0], [1.0, gap]]))
    factor = normal_algebra.marginal(normal, [1, 0]).factor
    np.testing.assert_allclose(factor, [[1.0, 0.0], [1.0, gap]], rtol=1e-6)


def test_a_marginal_keeps_its_digits_when_units_differ():
    normal = Normal(np.arange(2, dtype=np.int32), np.zeros(2), np.array([[1e200, 0.0], [1e-200, 1e-200]]))
    factor = normal_algebra.marginal(normal, [1, 0]).factor
    np.testing.assert_allclose(factor, [[2**0.5 * 1e-200, 0.0], [1e200 * 0.5**0.5, 1e200 * 0.5**0.5]], rtol=1e-14)


def test_known_values_have_scipys_density_and_leave_the_conditional():
    rng = np.random.default_rng(1)
    normal = random_normal(rng, 5)
    whole, matrix = stats.multivariate_normal, normal_algebra.covariances(normal)
    for known in ([2], [0, 3], [4, 1, 2], [0, 1, 2, 3, 4]):
        values = rng.normal(size=len(known))
        rest = [position for position in range(5) if position not in known]
        inner = matrix[np.ix_(known, known)]
        log_density, left = normal_algebra.given_values(normal, known, values)
        assert math.isclose(log_density, whole.logpdf(values, normal.mean[known], inner), rel_tol=1e-11)
        if not rest:
            assert left is None
            continue
        slopes = np.linalg.solve(inner, matrix[np.ix_(known, rest)]).T
        assert left.variables.tolist() == rest
        np.testing.assert_allclose(left.mean, normal.mean[rest] + slopes @ (values - normal.mean[known]), rtol=1e-10)
        expected = matrix[np.ix_(rest, rest)] - slopes @ matrix[np.ix_(known, rest)]
        np.testing.assert_allclose(normal_algebra.covariances(left), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("value", [1e200, -1.7e308, 1.7e308])
def test_enormous_values_leave_finite_means(value):
    for normal in (correlated(0.999), correlated(0.5, -0.5, 0.2)):
        log_density, rest = normal_algebra.given_values(normal, [0], np.array([value]))
        assert log_density == -INF
        assert np.isfinite(rest.mean).all()
        assert np.sign(rest.mean[0]) == np.sign(value)
    _, rest = normal_algebra.given_values(correlated(0.5, -0.5, 0.2), [0, 2], np.array([value, -value]))
    assert np.isfinite(rest.mean).all()


def test_missing_values_have_conditional_means_and_deviations():
    rng = np.random.default_rng(2)
    normal = random_normal(rng, 4)
    values = np.where(rng.random((4, 60)) < 0.4, np.nan, rng.normal(size=(4, 60)))
    means, deviations = normal_completion.conditionals(normal, values)
    for column in range(60):
        known = np.flatnonzero(~np.isnan(values[:, column]))
        missing = np.flatnonzero(np.isnan(values[:, column]))
        assert means[known, column].tolist() == values[known, column].tolist()
        assert not deviations[known, column].any()
        if missing.size:
            rest = normal_algebra.given_values(normal, known.tolist(), values[known, column])[1]
            np.testing.assert_array_equal(means[missing, column], rest.mean)
            expected = np.sqrt(normal_algebra.covariances(rest).diagonal())
            np.testing.assert_allclose(deviations[missing, column], expected, rtol=1e-14)
    # No row's result depends on others.
    np.testing.assert_array_equal(normal_completion.conditionals(normal, values[:, 7:8])[0], means[:, 7:8])
    assert normal_completion.conditionals(normal, np.empty((4, 0)))[0].shape == (4, 0)


def test_what_is_missing_is_drawn_given_the_rest():
    normal, rng = random_normal(np.random.default_rng(3), 3), np.random.default_rng(4)
    draws = normal_completion.draw_missing(normal, np.full((3, 200_000), np.nan), rng.random((3, 200_000))).T
    np.testing.assert_allclose(draws.mean(axis=0), normal.mean, atol=0.03)
    np.testing.assert_allclose(np.cov(draws.T), normal_algebra.covariances(normal), atol=0.06)
    shares = rng.random((3, 200_000))
    values = np.tile([[np.nan], [2.0], [np.nan]], (1, 200_000))
    draws = normal_completion.draw_missing(normal, values, shares)
    assert (draws[1] == 2.0).all()
    rest = normal_algebra.given_values(normal, [1], np.array([2.0]))[1]
    np.testing.assert_allclose(draws[[0, 2]].mean(axis=1), rest.mean, atol=0.03)
    np.testing.assert_allclose(np.cov(draws[[0, 2]]), normal_algebra.covariances(rest), atol=0.06)
    one = normal_completion.draw_missing(normal, values[:, 7:8], shares[:, 7:8])
    np.testing.assert_array_equal(one, draws[:, 7:8])


# --- boxes ---


def integral_over_two(normal: Normal, low, high) -> float:
    """Integrate the density of the first two of three numbers times the third's conditional probability."""
    mean, matrix = normal.mean, normal_algebra.covariances(normal)
    points, weights = np.polynomial.legendre.leggauss(600)
    axes, sizes = [], []
    for i in range(2):
        reach = 9.0 * matrix[i, i] ** 0.5
        start, end = max(low[i], mean[i] - reach), min(high[i], mean[i] + reach)
        axes.append(start + (end - start) * (points + 1.0) / 2.0)
        sizes.append((end - start) / 2.0)
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    slopes = np.linalg.solve(matrix[:2, :2], matrix[:2, 2])
    third = stats.norm(mean[2] + (grid - mean[:2]) @ slopes, (matrix[2, 2] - slopes @ matrix[:2, 2]) ** 0.5)
    inner = stats.multivariate_normal.pdf(grid, mean[:2], matrix[:2, :2]) * (third.cdf(high[2]) - third.cdf(low[2]))
    return float(weights @ inner @ weights) * sizes[0] * sizes[1]


@pytest.mark.parametrize(("size", "tolerance"), [(2, 1e-8), (4, 1e-5), (5, 1e-5)])
def test_boxes_have_scipys_probability(size, tolerance):
    rng = np.random.default_rng(size)
    for _ in range(3):
        normal = random_normal(rng, size)
        low, high = random_box(rng, normal)
        expected = stats.multivariate_normal.cdf(
            high,
            normal.mean,
            normal_algebra.covariances(normal),
            lower_limit=low,
            maxpts=10**6,
            abseps=1e-9,
            releps=1e-9,
        )
        assert abs(math.exp(normal_boxes.log_probability(normal, low, high)) - expected) < tolerance


@pytest.mark.parametrize("ridge", [0.05, 1.0])
def test_boxes_of_three_have_the_probability_of_a_brute_force_integral(ridge):
    rng = np.random.default_rng(6)
    for _ in range(4):
        normal = random_normal(rng, 3, ridge)
        low, high = random_box(rng, normal)
        found = math.exp(normal_boxes.log_probability(normal, low, high))
        assert abs(found - integral_over_two(normal, low, high)) < 1e-12


@pytest.mark.parametrize("correlation", [0.0, 0.5, -0.7, 0.999, -0.999, 0.99999999])
def test_orthants_have_the_known_probability(correlation):
    found = normal_boxes.log_probability(correlated(correlation), np.zeros(2), np.full(2, INF))
    exact = math.atan2(1.0 + correlation, math.sqrt(1.0 - correlation**2)) / math.pi
    assert math.isclose(math.exp(found), exact, rel_tol=1e-8)
    if correlation >= 0.0:
        found = normal_boxes.log_probability(correlated(*[correlation] * 3), np.full(3, -INF), np.zeros(3))
        assert abs(math.exp(found) - (0.125 + 0.75 * math.asin(correlation) / math.pi)) < 1e-10


def test_equally_correlated_orthants_of_five_have_the_known_probability():
    normal = normal_of(np.zeros(5), 0.5 * (np.eye(5) + 1.0))
    assert abs(math.exp(normal_boxes.log_probability(normal, np.zeros(5), np.full(5, INF))) - 1.0 / 6.0) < 1e-5


def test_impossible_and_certain_boxes():
    normal = correlated(0.5, 0.5, 0.5)
    nothing, everything = np.full(3, -INF), np.full(3, INF)
    assert normal_boxes.log_probability(normal, nothing, everything) == 0.0
    assert normal_boxes.log_probability(normal, np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.5, 1.0])) == -INF
    assert normal_boxes.log_probability(normal, nothing, np.array([1.0, -INF, 1.0])) == -INF
    assert normal_boxes.log_probability(normal, np.zeros(3), np.zeros(3)) == -INF


@pytest.mark.parametrize("start", [3.0, 40.0, 450.0])
def test_one_bounded_number_keeps_its_digits(start):
    normal = Normal(np.arange(2, dtype=np.int32), np.array([5.0, 1.0]), np.array([[2.0, 0.0], [3.0, 4.0]]))
    found = normal_boxes.log_probability(normal, np.array([-INF, 1.0 + 5.0 * start]), np.full(2, INF))
    expected = standard_normal.log_mass(np.array([start]), np.array([INF]), np.array([INF]))[0]
    assert math.isclose(found, expected, rel_tol=1e-14)


def test_far_boxes_of_independent_numbers_have_the_sum_of_their_logarithms():
    for size in (2, 3, 4, 6):
        normal = normal_of(np.zeros(size), np.eye(size))
        starts = np.linspace(38.0, 43.0, size)
        expected = stats.norm.logsf(starts).sum()
        assert math.isclose(normal_boxes.log_probability(normal, starts, np.full(size, INF)), expected, rel_tol=1e-13)


@pytest.mark.parametrize("correlation", [-0.999, -0.9, -0.5, 0.3, 0.9, 0.999])
def test_far_corners_have_the_probability_of_an_integral_in_one_number(correlation):
    found = normal_boxes.log_probability(correlated(correlation), np.array([40.0, 39.0]), np.full(2, INF))
    # From 40 on in units of how fast the integrand falls there, by a trapezoidal rule of its own.
    std = math.sqrt((1.0 - correlation) * (1.0 + correlation))
    steps = np.concatenate([np.linspace(0.0, 1e-2, 400_001), np.linspace(1e-2, 1.0, 400_001)[1:]])
    logs = stats.norm.logpdf(40.0 + steps) + stats.norm.logsf((39.0 - correlation * (40.0 + steps)) / std)
    expected = logs.max() + math.log(np.trapezoid(np.exp(logs - logs.max()), steps))
    assert abs(found - expected) < 1e-6


def test_a_far_corner_has_the_asymptotic_probability():
    # Where the density's gradient is large, it is the density over the product of the slopes (Savage 1962).
    normal, start = correlated(0.5, 0.4, 0.3), np.full(3, 400.0)
    inverse = np.linalg.inv(normal_algebra.covariances(normal))
    matrix = normal_algebra.covariances(normal)
    expected = stats.multivariate_normal.logpdf(start, np.zeros(3), matrix) - np.log(inverse @ start).sum()
    assert abs(normal_boxes.log_probability(normal, start, np.full(3, INF)) - expected) < 1e-4


def test_a_bound_that_follows_from_others_costs_nothing():
    alone = normal_boxes.log_probability(correlated(0.999), np.array([40.0, -INF]), np.full(2, INF))
    assert math.isclose(normal_boxes.log_probability(correlated(0.999), np.array([40.0, 30.0]), np.full(2, INF)), alone)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_no_box_is_not_a_number(size):
    rng = np.random.default_rng(size)
    for _ in range(15):
        normal = random_normal(rng, size, 1e-6)
        low = rng.normal(size=size) * 10.0 ** rng.integers(-5, 300, size)
        high = low + np.abs(rng.normal(size=size)) * 10.0 ** rng.integers(-20, 300, size)
        low = np.where(rng.random(size) < 0.2, -INF, low)
        found = normal_boxes.log_probability(normal, low, high)
        assert found <= 0.0
        assert found == normal_boxes.log_probability(normal, low, high)


# --- slices ---


def truncated_integrals(normal: Normal, position: int, low: float, high: float):
    """Return the mean and covariance of all numbers given that one is in the interval."""
    matrix = normal_algebra.covariances(normal)
    std = matrix[position, position] ** 0.5
    cut = stats.truncnorm(*((np.array([low, high]) - normal.mean[position]) / std), normal.mean[position], std)
    slopes = matrix[:, position] / matrix[position, position]
    mean = normal.mean + slopes * (cut.mean() - normal.mean[position])
    return mean, matrix + np.outer(slopes, slopes) * (cut.var() - matrix[position, position]), slopes


@pytest.mark.parametrize(("low", "high"), [(-1.0, 2.0), (0.5, INF), (-INF, 1.0), (-INF, INF)])
@pytest.mark.parametrize("n", [1, 7, 64])
def test_slices_have_the_mean_and_covariance_of_the_rest(low, high, n):
    normal, position = random_normal(np.random.default_rng(8), 3), 1
    log_shares, lows, highs, rests = normal_algebra.slices(normal, position, low, high, n)
    shares = np.exp(log_shares)
    assert len(rests) == n
    assert math.isclose(shares.sum(), 1.0, rel_tol=1e-14)
    mean, std = normal.mean[position], normal_algebra.covariances(normal)[position, position] ** 0.5
    between = [stats.norm(mean, wider * std).cdf(np.append(lows, high)) for wider in (1.0, 3.0**0.5)]
    np.testing.assert_allclose(shares, np.diff(between[0] / (between[0][-1] - between[0][0])), rtol=1e-9)
    np.testing.assert_allclose(np.diff(between[1] / (between[1][-1] - between[1][0])), 1.0 / n, rtol=1e-9)
    assert (lows[0], highs[-1]) == (low, high)
    assert lows[1:].tolist() == np.nextafter(highs[:-1], INF).tolist()
    mean, matrix, _ = truncated_integrals(normal, position, low, high)
    means = np.array([rest.mean for rest in rests])
    assert rests[0].variables.tolist() == [0, 2]
    np.testing.assert_allclose(shares @ means, mean[[0, 2]], rtol=1e-10, atol=1e-10)
    within = sum(share * normal_algebra.covariances(rest) for share, rest in zip(shares, rests, strict=True))
    between = (means - shares @ means).T @ ((means - shares @ means) * shares[:, None])
    np.testing.assert_allclose(within + between, matrix[np.ix_([0, 2], [0, 2])], rtol=1e-8, atol=1e-9)


def lost_covariance(low: float, high: float, n: int) -> float:
    """Return how much of the covariance between the sliced number and another the slices lose."""
    normal = correlated(0.8)
    log_shares, lows, highs, rests = normal_algebra.slices(normal, 0, low, high, n)
    numbers = np.array([stats.truncnorm(*ends).mean() for ends in zip(lows, highs, strict=True)])
    means, shares = np.array([rest.mean[0] for rest in rests]), np.exp(log_shares)
    kept = shares @ ((numbers - shares @ numbers) * (means - shares @ means))
    return 1.0 - kept / (0.8 * stats.truncnorm(low, high).var())


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1.0, 1.0), (-1.0, 2.0), (1.0, 1.5), (-INF, INF), (0.0, INF), (2.0, INF), (-INF, -6.0), (30.0, INF)],
)
def test_slices_of_an_interval_lose_little_of_the_covariances(low, high):
    assert abs(lost_covariance(low, high, 64)) < 1e-3


def test_slices_in_the_far_tail():
    normal = correlated(0.999)
    log_shares, lows, highs, rests = normal_algebra.slices(normal, 0, 1e6, INF, 10)
    # The tail falls exponentially, and that of a normal √3 times as wide a third as fast.
    np.testing.assert_allclose(np.exp(log_shares), -np.diff((1.0 - np.arange(11) / 10) ** 3), rtol=1e-3)
    np.testing.assert_allclose(lows[1:] - 1e6, -3.0 * np.log1p(-np.arange(1, 10) / 10) / 1e6, atol=2e-10)
    assert all(abs(rest.mean[0] - 0.999e6) < 1e-4 for rest in rests)
    assert (highs > lows).all()


def test_slices_of_few_numbers_are_few():
    one = Normal(np.array([4], np.int32), np.zeros(1), np.ones((1, 1)))
    log_shares, lows, highs, rests = normal_algebra.slices(one, 0, 1.0, 1.0, 8)
    assert (log_shares.tolist(), lows.tolist(), highs.tolist(), rests) == ([0.0], [1.0], [1.0], [])
    end = 1.0 + 5 * math.ulp(1.0)
    log_shares, lows, highs, _ = normal_algebra.slices(one, 0, 1.0, end, 64)
    assert (lows < highs).all()
    assert (lows[0], highs[-1]) == (1.0, end)
    assert math.isclose(np.exp(log_shares).sum(), 1.0)
    assert len(normal_algebra.slices(one, 0, -1.0, 1.0, 1)[0]) == 1
    _, _, _, rests = normal_algebra.slices(correlated(0.6), 0, 2.0, 2.0, 3)
    np.testing.assert_allclose([rests[0].mean[0], rests[0].factor[0, 0]], [1.2, 0.8])


# --- moments ---


def test_mixed_moments_are_those_of_draws_and_of_quadrature():
    normal = random_normal(np.random.default_rng(9), 3)
    centres = [0.5, -1.0, 0.0]
    # Gauss-Hermite in three standard normal numbers is exact.
    points, weights = np.polynomial.hermite_e.hermegauss(12)
    lines = np.array(list(product(points, repeat=3)))
    masses = np.array([math.prod(several) for several in product(weights / weights.sum(), repeat=3)])
    distances = normal.mean + lines @ normal.factor.T - centres
    draws = normal.mean + np.random.default_rng(10).normal(size=(400_000, 3)) @ normal.factor.T - centres
    for powers in product(range(4), repeat=3):
        found = normal_algebra.mixed_moment(normal, powers, centres)
        assert math.isclose(found, masses @ (distances**powers).prod(axis=1), rel_tol=1e-9, abs_tol=1e-9)
        if sum(powers) <= 3:
            values = (draws**powers).prod(axis=1)
            assert abs(values.mean() - found) < 6.0 * values.std() / len(values) ** 0.5 + 1e-12


def test_moments_too_large_for_a_number_are_infinite():
    normal = Normal(np.arange(2, dtype=np.int32), np.zeros(2), np.array([[1e200, 0.0], [1e-200, 1e-200]]))
    assert normal_algebra.mixed_moment(normal, [2, 0], [0.0, 0.0]) == INF
    assert normal_algebra.mixed_moment(normal, [3, 0], [1e200, 0.0]) == -INF
    assert math.isclose(normal_algebra.mixed_moment(normal, [2, 2], [0.0, 0.0]), 4.0)
    assert normal_algebra.mixed_moment(correlated(0.5), [400, 400], [0.0, 0.0]) == INF
    assert normal_algebra.mixed_moment(correlated(0.5), [0, 0], [0.0, 0.0]) == 1.0
    assert normal_algebra.mixed_moment(normal, [1, 0], [-1.7e308, 0.0]) == 1.7e308


# --- cells ---


@pytest.mark.parametrize("correlation", [0.0, 0.4, -0.9, 0.999, -0.999999])
def test_cells_have_the_probabilities_of_boxes_and_of_marginals(correlation):
    pair = Normal(np.arange(2, dtype=np.int32), np.array([1.0, -2.0]), correlated(correlation).factor * [[3.0], [0.5]])
    edges_a, edges_b = np.array([-20.0, -1.0, 0.9, 1.0, 5.0, 90.0]), np.array([-2.5, -2.0, -1.9, -1.0])
    cells = normal_boxes.cell_probabilities(pair, edges_a, edges_b)
    ends_a, ends_b = np.array([-INF, *edges_a, INF]), np.array([-INF, *edges_b, INF])
    for i, j in np.ndindex(cells.shape):
        low, high = np.array([ends_a[i], ends_b[j]]), np.array([ends_a[i + 1], ends_b[j + 1]])
        assert abs(cells[i, j] - math.exp(normal_boxes.log_probability(pair, low, high))) < 1e-12
    np.testing.assert_allclose(cells.sum(axis=1), np.diff(stats.norm.cdf(ends_a, 1.0, 3.0)), atol=1e-13)
    np.testing.assert_allclose(cells.sum(axis=0), np.diff(stats.norm.cdf(ends_b, -2.0, 0.5)), atol=1e-12)


def test_a_grid_without_edges_is_one_cell():
    cells = normal_boxes.cell_probabilities(correlated(0.5), np.zeros(0), np.zeros(0))
    np.testing.assert_allclose(cells, [[1.0]], rtol=1e-14)

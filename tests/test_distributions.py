"""Distributions of numbers: against scipy.stats, quadrature and sums, cut off and not, and in far tails."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from unlearnspn.circuit.distributions import (
    NUMERIC,
    Distribution,
    cut_off,
    log_mass,
)
from unlearnspn.circuit.distributions.quadrature import unit_interval_rule
from unlearnspn.circuit.expressions import HIGH, LOG_MASS, LOW, Unit, numeric
from unlearnspn.circuit.log_densities import add_log_density

Floats = npt.NDArray[np.float64]

BINS = np.array([0.25, 0.8, 0.0, 0.6, 0.35])


@dataclass(frozen=True)
class Case:
    """One distribution, with scipy's and some intervals where it has probability."""

    unit: Unit
    own: tuple[float, ...]
    oracle: Any
    intervals: tuple[tuple[float, float], ...]

    @property
    def distribution(self) -> Distribution:
        return NUMERIC[self.unit]

    @property
    def uncut(self) -> Floats:
        return numeric(self.unit, 0, *self.own).parameters[None]

    def cut(self, low: float, high: float) -> Floats:
        return cut_off(self.distribution, self.uncut, np.array([low]), np.array([high]))

    def mass(self, low: float, high: float) -> float:
        return log_mass_of(self.unit, self.uncut, low, high)

    def oracle_mass(self, low: float, high: float) -> float:
        if self.distribution.discrete and low > -math.inf:
            low = math.ceil(low) - 1.0
        return float(self.oracle.cdf(high) - self.oracle.cdf(low))

    def oracle_log_density(self, values: Floats) -> Floats:
        law = self.oracle
        return np.asarray(law.logpmf(values) if self.distribution.discrete else law.logpdf(values))

    @property
    def reach(self) -> tuple[float, float]:
        """Where so little is outside that it does not matter to any moment in these tests."""
        if self.distribution.discrete:
            return 0.0, math.ceil(self.own[0] + 12.0 * math.sqrt(self.own[0]) + 60.0)
        return max(self.oracle.ppf(1e-30), self.oracle.support()[0]), self.oracle.isf(1e-30)


def log_histogram() -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(BINS)


CASES = [
    Case(Unit.GAUSSIAN, (1.0, 2.0), stats.norm(1.0, 2.0), ((0.5, 2.5), (-9.0, 0.0), (4.0, math.inf), (3.0, 3.001))),
    Case(Unit.EXPONENTIAL, (2.0,), stats.expon(0.0, 2.0), ((0.5, 2.5), (-3.0, 1.0), (5.0, math.inf), (3.0, 3.001))),
    Case(
        Unit.LOG_NORMAL,
        (0.3, 0.7),
        stats.lognorm(0.7, scale=math.exp(0.3)),
        ((0.5, 2.5), (-3.0, 1.0), (5.0, math.inf), (3.0, 3.001)),
    ),
    Case(Unit.POISSON, (4.5,), stats.poisson(4.5), ((0.5, 2.5), (-3.0, 1.0), (9.0, math.inf), (3.0, 3.0))),
    Case(Unit.POISSON, (0.01,), stats.poisson(0.01), ((0.0, 2.5), (1.0, math.inf))),
    Case(Unit.POISSON, (300.3,), stats.poisson(300.3), ((290.0, 310.0), (-3.0, 290.0), (330.0, math.inf))),
    Case(Unit.POISSON, (54321.0,), stats.poisson(54321.0), ((54000.0, 54500.0), (0.0, 54100.0), (54600.0, math.inf))),
    Case(
        Unit.HISTOGRAM,
        (-1.0, 0.5, *log_histogram()),
        stats.rv_histogram((BINS, -1.0 + 0.5 * np.arange(6)), density=True),
        ((-0.7, 0.9), (-3.0, -0.25), (0.75, math.inf), (0.6, 0.601)),
    ),
]
CONTINUOUS = [case for case in CASES if not case.distribution.discrete]
by_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.unit.name}-{case.own[0]}")
by_continuous_case = pytest.mark.parametrize("case", CONTINUOUS, ids=lambda case: case.unit.name)
EVERY_CUT = [(case, interval) for case in CASES for interval in case.intervals]
by_cut = pytest.mark.parametrize(
    ("case", "interval"), EVERY_CUT, ids=[f"{case.unit.name}-{case.own[0]}-{interval}" for case, interval in EVERY_CUT]
)


def log_densities(unit: Unit, line: Floats, values: npt.ArrayLike) -> Floats:
    values = np.asarray(values, np.float64)
    total = np.zeros(len(values))
    add_log_density(unit, line, values, total)
    return total


def log_mass_of(unit: Unit, parameters: Floats, low: float, high: float) -> float:
    return float(log_mass(NUMERIC[unit], parameters, np.array([low]), np.array([high]))[0])


def lines(parameters: Floats, count: int) -> Floats:
    return np.repeat(parameters, count, axis=0)


def quantiles(unit: Unit, parameters: Floats, shares: npt.ArrayLike) -> Floats:
    shares = np.asarray(shares, np.float64)
    return NUMERIC[unit].quantile(lines(parameters, len(shares)), shares)


def moment(unit: Unit, parameters: Floats, order: int, centre: float) -> float:
    return float(NUMERIC[unit].moment(parameters, order, np.array([centre]))[0])


def integral(case: Case, function: Callable[[Floats], Floats], low: float, high: float) -> float:
    """Integrate function·density, or sum it, piece by piece where the density has edges."""
    low, high = max(low, case.reach[0]), min(high, case.reach[1])
    if case.distribution.discrete:
        counts = np.arange(math.ceil(low), math.floor(high) + 1.0)
        return math.fsum(function(counts) * case.oracle.pmf(counts))
    decades = 10.0 ** -np.arange(0.5, 30.0)
    edges = np.concatenate([np.arange(-1.0, 2.0, 0.5), case.oracle.ppf(decades), case.oracle.isf(decades), [low, high]])
    edges = np.unique(np.clip(edges, low, high))
    pieces = [(a, b) for a, b in pairwise(edges) if case.oracle.pdf(0.5 * (a + b)) > 0.0]
    return math.fsum(integrate.fixed_quad(lambda x: function(x) * case.oracle.pdf(x), a, b, n=24)[0] for a, b in pieces)


class TestLogDensity:
    @by_case
    def test_is_that_of_scipy(self, case: Case) -> None:
        values = np.concatenate(
            [np.arange(-3.0, 600.0), np.linspace(-3.0, 9.0, 101), 54321.0 + np.arange(-999.0, 999.0)]
        )
        if case.unit is Unit.HISTOGRAM:
            # On an edge, scipy takes the bin to the right, also at the last.
            values = values[values != 1.5]
        with np.errstate(divide="ignore"):
            expected = case.oracle_log_density(values)
        # Of a Poisson distribution, scipy takes differences of large logarithms.
        lost = 1e-14 * case.own[0]
        found = log_densities(case.unit, case.uncut[0], values)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 + lost)

    @by_case
    def test_adds_to_what_is_there_and_nothing_for_missing_values(self, case: Case) -> None:
        total = np.array([3.0, 4.0, -np.inf])
        add_log_density(case.unit, case.uncut[0], np.array([np.nan, 1.0, 1.0]), total)
        assert total.tolist() == [3.0, 4.0 + log_densities(case.unit, case.uncut[0], [1.0])[0], -np.inf]

    @by_case
    def test_is_that_from_before_anything_was_cut_off(self, case: Case) -> None:
        values = np.arange(-3.0, 9.0, 0.5)
        uncut = log_densities(case.unit, case.uncut[0], values)
        assert log_densities(case.unit, case.cut(*case.intervals[0])[0], values).tolist() == uncut.tolist()

    @pytest.mark.parametrize(
        ("unit", "impossible"),
        [
            (Unit.EXPONENTIAL, [-5e-324, -1.0]),
            (Unit.LOG_NORMAL, [0.0, -0.0, -1.0]),
            (Unit.POISSON, [-1.0, 0.5, 3.000001, 1e15 + 0.5]),
            (Unit.HISTOGRAM, [np.nextafter(-1.0, -2.0), np.nextafter(1.5, 2.0)]),
            (Unit.HISTOGRAM, [0.0, 0.25, 0.4999999]),
        ],
    )
    def test_is_minus_infinity_outside_of_the_support(self, unit: Unit, impossible: list[float]) -> None:
        case = next(case for case in CASES if case.unit is unit)
        assert (log_densities(unit, case.uncut[0], [*impossible, np.inf, -np.inf]) == -np.inf).all()

    def test_histogram_includes_its_ends(self) -> None:
        line = numeric(Unit.HISTOGRAM, 0, -1.0, 0.5, *log_histogram()).parameters
        assert np.exp(log_densities(Unit.HISTOGRAM, line, [-1.0, 1.5])).tolist() == pytest.approx([0.25, 0.35])

    def test_point(self) -> None:
        line = np.array([2.5, 2.5, 0.0])
        values = [2.5, np.nan, 2.4999999, np.inf, -np.inf]
        assert log_densities(Unit.POINT, line, values).tolist() == [0.0, 0.0, -np.inf, -np.inf, -np.inf]

    @settings(deadline=None)
    @given(st.data())
    def test_is_never_nan_or_plus_infinity(self, data: st.DataObject) -> None:
        number = st.floats(allow_nan=False, allow_infinity=False)
        scale = st.floats(5e-324, 1.7e308)
        unit = data.draw(st.sampled_from([unit for unit in NUMERIC if unit is not Unit.POINT]))
        own = {
            Unit.GAUSSIAN: st.tuples(number, scale),
            Unit.LOG_NORMAL: st.tuples(number, scale),
            Unit.HISTOGRAM: st.tuples(number, scale, st.just(0.0), st.just(-np.inf), st.just(-700.0)),
        }.get(unit, st.tuples(scale))
        line = numeric(unit, 0, *data.draw(own)).parameters
        values = data.draw(st.lists(st.floats() | number.map(math.floor).map(float), min_size=1))
        result = log_densities(unit, line, values)
        assert (result < np.inf).all()

    @pytest.mark.parametrize("std", [5e-324, 3e-310, 1e-300, 1e-160, 1.0, 1e149, 1e151, 1e300, 5e307])
    def test_gaussian_at_extreme_scales(self, std: float) -> None:
        line = numeric(Unit.GAUSSIAN, 0, 0.0, std).parameters
        scores = np.array([-2.0, 0.0, 1.0, 3.0])
        expected = -0.5 * scores**2 - math.log(std) - 0.5 * math.log(2.0 * math.pi)
        np.testing.assert_allclose(log_densities(Unit.GAUSSIAN, line, scores * std), expected, rtol=1e-13)

    @pytest.mark.parametrize("std", [5e-324, 1e-160, 1.0, 1e149, 1e151])
    @pytest.mark.parametrize("mean", [1e300, -1e300])
    def test_gaussian_far_from_zero(self, mean: float, std: float) -> None:
        line = numeric(Unit.GAUSSIAN, 0, mean, std).parameters
        peak, *others = log_densities(Unit.GAUSSIAN, line, [mean, 0.0, -mean, 1.7e308, -1.7e308])
        assert peak == pytest.approx(-math.log(std) - 0.5 * math.log(2.0 * math.pi))
        assert (np.array(others) < -1e290).all()

    @pytest.mark.parametrize(("mean", "value"), [(1e308, -1e308), (-1.7e308, 1.7e308)])
    def test_gaussian_whose_differences_overflow(self, mean: float, value: float) -> None:
        line = numeric(Unit.GAUSSIAN, 0, mean, 1e308).parameters
        expected = -0.5 * (value / 1e308 - mean / 1e308) ** 2 - math.log(1e308) - 0.5 * math.log(2.0 * math.pi)
        assert log_densities(Unit.GAUSSIAN, line, [value])[0] == pytest.approx(expected, rel=1e-13)

    def test_poisson_of_large_counts(self) -> None:
        """Against Stirling's formula around a mean where differences of logarithms have no digit left."""
        rate = 1e14
        line = numeric(Unit.POISSON, 0, rate).parameters
        scores = np.array([-3.0, -1.0, 0.0, 2.0])
        counts = np.round(rate + scores * math.sqrt(rate))
        normal = -0.5 * scores**2 - 0.5 * math.log(2.0 * math.pi * rate)
        skewness = (scores**3 - 3.0 * scores) / (6.0 * math.sqrt(rate))
        np.testing.assert_allclose(log_densities(Unit.POISSON, line, counts), normal + skewness, rtol=1e-12)

    def test_poisson_of_counts_beyond_integers(self) -> None:
        line = numeric(Unit.POISSON, 0, 1e30).parameters
        assert log_densities(Unit.POISSON, line, [1e30])[0] == pytest.approx(-0.5 * math.log(2.0 * math.pi * 1e30))

    def test_poisson_of_rate_zero_is_zero(self) -> None:
        line = numeric(Unit.POISSON, 0, 0.0).parameters
        assert log_densities(Unit.POISSON, line, [0.0, 1.0, 1000.0]).tolist() == [0.0, -np.inf, -np.inf]


class TestMass:
    @by_cut
    def test_is_that_of_scipy(self, case: Case, interval: tuple[float, float]) -> None:
        assert math.exp(case.mass(*interval)) == pytest.approx(case.oracle_mass(*interval), rel=1e-9)

    @by_cut
    def test_is_the_integral_of_the_density(self, case: Case, interval: tuple[float, float]) -> None:
        def density(x: float) -> float:
            return math.exp(log_densities(case.unit, case.uncut[0], [x])[0])

        low, high = max(interval[0], case.reach[0]), min(interval[1], case.reach[1])
        if case.distribution.discrete:
            total = math.fsum(density(x) for x in np.arange(math.ceil(low), math.floor(high) + 1.0))
        else:
            total = integrate.quad(density, low, high, points=[x for x in (0.0, 0.5, 1.0) if low < x < high])[0]
        assert math.exp(case.mass(*interval)) == pytest.approx(total, rel=1e-7)

    @by_case
    def test_of_everything_is_one_and_of_nothing_is_zero(self, case: Case) -> None:
        assert case.mass(-np.inf, np.inf) == pytest.approx(0.0, abs=1e-14)
        assert case.mass(2.0, 1.0) == -np.inf
        assert case.mass(np.inf, np.inf) == case.mass(-np.inf, -np.inf) == -np.inf

    @by_cut
    def test_of_what_is_left_is_relative(self, case: Case, interval: tuple[float, float]) -> None:
        low, high = interval
        cut = case.cut(low, high)
        assert log_mass_of(case.unit, cut, -np.inf, np.inf) == 0.0
        top = math.ceil(low) + (1.0 if case.distribution.discrete else 0.0)
        if low < top < high:
            expected = case.oracle_mass(low, top) / case.oracle_mass(low, high)
            assert math.exp(log_mass_of(case.unit, cut, -np.inf, top)) == pytest.approx(expected, rel=1e-9)

    def test_outside_of_the_support_is_minus_infinity(self) -> None:
        for unit, own in ((Unit.EXPONENTIAL, (1.0,)), (Unit.LOG_NORMAL, (0.0, 1.0)), (Unit.POISSON, (1.0,))):
            assert log_mass_of(unit, numeric(unit, 0, *own).parameters[None], -5.0, -1.0) == -np.inf
        assert log_mass_of(Unit.POISSON, numeric(Unit.POISSON, 0, 1.0).parameters[None], 1.2, 1.8) == -np.inf

    def test_of_points(self) -> None:
        point_line = np.array([[2.5, 2.5, 0.0]])
        assert log_mass_of(Unit.POINT, point_line, 2.5, 3.0) == log_mass_of(Unit.POINT, point_line, -np.inf, 2.5) == 0.0
        assert log_mass_of(Unit.POINT, point_line, 2.6, 3.0) == log_mass_of(Unit.POINT, point_line, 1.0, 2.4) == -np.inf

    @pytest.mark.parametrize("score", [5.0, 30.0, 1e3, 1e6])
    def test_gaussian_in_far_tails(self, score: float) -> None:
        upper = numeric(Unit.GAUSSIAN, 0, 0.0, 1.0).parameters[None]
        tail = float(stats.norm.logsf(score))
        assert log_mass_of(Unit.GAUSSIAN, upper, score, np.inf) == pytest.approx(tail, rel=1e-14)
        assert log_mass_of(Unit.GAUSSIAN, upper, -np.inf, -score) == pytest.approx(tail, rel=1e-14)
        beyond = float(stats.norm.logsf(score + 1.0))
        assert log_mass_of(Unit.GAUSSIAN, upper, score, score + 1.0) == pytest.approx(
            tail + math.log1p(-math.exp(beyond - tail)), rel=1e-13
        )

    @pytest.mark.parametrize("start", [0.0, 0.3, -0.3, 3.0, -20.0, 100.0])
    @pytest.mark.parametrize("width", [1e-12, 1e-6, 1e-3])
    def test_gaussian_between_close_bounds(self, start: float, width: float) -> None:
        """So close that the density is a parabola; differences of the CDF would have lost most digits."""
        line = numeric(Unit.GAUSSIAN, 0, 0.0, 1.0).parameters[None]
        end = start + width / max(abs(start), 1.0)
        width, middle = end - start, 0.5 * (start + end)
        expected = stats.norm.logpdf(middle) + math.log(width) + math.log1p((middle**2 - 1.0) * width**2 / 24.0)
        assert log_mass_of(Unit.GAUSSIAN, line, start, end) == pytest.approx(expected, rel=1e-13, abs=1e-12)

    def test_exponential_and_log_normal_in_far_tails(self) -> None:
        line = numeric(Unit.EXPONENTIAL, 0, 2.0).parameters[None]
        assert log_mass_of(Unit.EXPONENTIAL, line, 1e6, np.inf) == -5e5
        assert log_mass_of(Unit.EXPONENTIAL, line, 1.0, 1.0 + 2.0**-40) == pytest.approx(-0.5 + math.log(2.0**-41))
        line = numeric(Unit.LOG_NORMAL, 0, 0.0, 1.0).parameters[None]
        assert log_mass_of(Unit.LOG_NORMAL, line, math.exp(30.0), np.inf) == pytest.approx(stats.norm.logsf(30.0))
        assert log_mass_of(Unit.LOG_NORMAL, line, 0.0, math.exp(-30.0)) == pytest.approx(stats.norm.logsf(30.0))

    @pytest.mark.parametrize(
        ("rate", "first", "last"),
        [(1.0, 500.0, np.inf), (1e-3, 20.0, 400.0), (1000.0, 0.0, 300.0), (1000.0, 2000.0, 2100.0), (3e4, 0.0, 2e4)],
    )
    def test_poisson_in_far_tails(self, rate: float, first: float, last: float) -> None:
        counts = np.arange(first, min(last, first + 2e4) + 1.0)
        expected = np.logaddexp.reduce(stats.poisson.logpmf(counts, rate))
        line = numeric(Unit.POISSON, 0, rate).parameters[None]
        assert log_mass_of(Unit.POISSON, line, first, last) == pytest.approx(expected, rel=1e-11)

    @pytest.mark.parametrize("score", [0.5, 2.0, 4.0])
    @pytest.mark.parametrize("rate", [1e10, 1e15])
    def test_poisson_of_large_rates_is_the_incomplete_gamma_function(self, rate: float, score: float) -> None:
        line, count = numeric(Unit.POISSON, 0, rate).parameters[None], math.floor(rate + score * math.sqrt(rate))
        tail = math.exp(log_mass_of(Unit.POISSON, line, count, np.inf))
        assert tail == pytest.approx(special.gammainc(count, rate), rel=1e-10)
        count = math.floor(rate - score * math.sqrt(rate))
        tail = math.exp(log_mass_of(Unit.POISSON, line, 0.0, count))
        assert tail == pytest.approx(special.gammaincc(count + 1.0, rate), rel=1e-10)

    def test_poisson_of_huge_rates_is_normal(self) -> None:
        for rate in (1e12, 1e18, 1e22):
            line, std = numeric(Unit.POISSON, 0, rate).parameters[None], math.sqrt(rate)
            for low, high in ((-1.0, 1.0), (1.0, 2.0), (-5.0, -3.0)):
                mass = log_mass_of(Unit.POISSON, line, rate + low * std, rate + high * std)
                assert math.exp(mass) == pytest.approx(stats.norm.cdf(high) - stats.norm.cdf(low), rel=1e-4)

    @pytest.mark.parametrize("std", [5e-324, 1e-10, 1.0, 1e308])
    @pytest.mark.parametrize("mean", [1e300, -1e300, 0.0])
    def test_gaussian_of_extreme_parameters(self, mean: float, std: float) -> None:
        line = numeric(Unit.GAUSSIAN, 0, mean, std).parameters[None]
        assert log_mass_of(Unit.GAUSSIAN, line, mean, np.inf) == pytest.approx(math.log(0.5))
        assert log_mass_of(Unit.GAUSSIAN, line, -1.7e308, mean) <= math.log(0.5) + 1e-15
        assert log_mass_of(Unit.GAUSSIAN, line, -np.inf, np.inf) == 0.0


class TestQuantile:
    SHARES = np.array([1e-12, 0.001, 0.1, 0.25, 0.5, 0.77, 0.9, 0.999, 1.0 - 1e-9])

    @by_case
    def test_is_that_of_scipy(self, case: Case) -> None:
        np.testing.assert_allclose(
            quantiles(case.unit, case.uncut, self.SHARES), case.oracle.ppf(self.SHARES), rtol=1e-9
        )

    @by_cut
    def test_of_what_is_left_is_that_of_scipy(self, case: Case, interval: tuple[float, float]) -> None:
        low, high = interval
        start = case.oracle.cdf(math.ceil(low) - 1.0 if case.distribution.discrete else low)
        expected = case.oracle.ppf(start + self.SHARES[1:-1] * case.oracle_mass(low, high))
        found = quantiles(case.unit, case.cut(low, high), self.SHARES[1:-1])
        np.testing.assert_allclose(found, expected, rtol=1e-9)

    @by_cut
    def test_stays_within_the_bounds(self, case: Case, interval: tuple[float, float]) -> None:
        low, high = interval
        found = quantiles(case.unit, case.cut(low, high), [0.0, 5e-324, 2.0**-53, 0.5, 1.0 - 2.0**-53, 1.0])
        assert (found >= low).all()
        assert (found <= high).all()
        assert (np.diff(found) >= 0.0).all()
        assert np.isfinite(found[1:-1]).all()
        assert (log_densities(case.unit, case.uncut[0], found[1:-1]) > -np.inf).all()

    @pytest.mark.parametrize(
        ("low", "high"), [(30.0, 31.0), (8.0, np.inf), (1.0, 1.5), (0.0, np.inf), (100.0, 100.001)]
    )
    def test_gaussian_in_far_tails(self, low: float, high: float) -> None:
        case = Case(Unit.GAUSSIAN, (0.0, 1.0), stats.norm, ())
        law = stats.truncnorm(low, high)
        np.testing.assert_allclose(
            quantiles(Unit.GAUSSIAN, case.cut(low, high), self.SHARES) - low,
            law.ppf(self.SHARES) - low,
            rtol=1e-9,
            atol=1e-13 * max(low, 1.0),
        )
        mirrored = quantiles(Unit.GAUSSIAN, case.cut(-high, -low), 1.0 - self.SHARES)
        np.testing.assert_allclose(mirrored, -law.ppf(1.0 - (1.0 - self.SHARES)), rtol=1e-9)

    def test_gaussian_so_far_out_that_it_is_exponential(self) -> None:
        case = Case(Unit.GAUSSIAN, (0.0, 1.0), stats.norm, ())
        found = quantiles(Unit.GAUSSIAN, case.cut(1e5, np.inf), self.SHARES) - 1e5
        np.testing.assert_allclose(found, -np.log1p(-self.SHARES) / 1e5, rtol=1e-8, atol=2e-11)

    def test_between_bounds_that_are_almost_equal_is_uniform(self) -> None:
        width = 2.0**-30
        for unit, own in ((Unit.GAUSSIAN, (0.0, 1.0)), (Unit.EXPONENTIAL, (1.0,)), (Unit.LOG_NORMAL, (0.0, 1.0))):
            case = Case(unit, own, None, ())
            found = (quantiles(unit, case.cut(2.0, 2.0 + width), self.SHARES) - 2.0) / width
            np.testing.assert_allclose(found, self.SHARES, atol=1e-6)

    @pytest.mark.parametrize(
        ("rate", "first", "last"),
        [
            (3e4, 0.0, np.inf),
            (3e4, 4e4, np.inf),
            (3e4, 0.0, 2e4),
            (20000.7, 0.0, 20001.0),
            (1e6, 1e6 - 100.0, 1e6 + 150.0),
            (2.0, 400.0, np.inf),
        ],
    )
    def test_poisson_is_the_least_count_that_reaches_the_share(self, rate: float, first: float, last: float) -> None:
        case = Case(Unit.POISSON, (rate,), stats.poisson(rate), ())
        peak = min(max(math.floor(rate), first), last)
        counts = np.arange(max(first, peak - 5000.0), min(last, peak + 5000.0) + 1.0)
        weights = np.exp(stats.poisson.logpmf(counts, rate) - stats.poisson.logpmf(peak, rate))
        reached = np.cumsum(weights) / weights.sum()
        shares = np.array([1e-6, 0.01, 0.2, 0.5, 0.7, 0.9, 0.999])
        expected = counts[np.searchsorted(reached, shares)]
        assert quantiles(Unit.POISSON, case.cut(first, last), shares).tolist() == expected.tolist()

    def test_poisson_of_huge_rates_is_normal(self) -> None:
        shares = np.array([0.01, 0.3, 0.5, 0.9])
        for rate in (1e12, 1e18, 1e22, 1e24):
            line = numeric(Unit.POISSON, 0, rate).parameters[None]
            scores = (quantiles(Unit.POISSON, line, shares) - rate) / math.sqrt(rate)
            np.testing.assert_allclose(scores, stats.norm.ppf(shares), atol=1e-3)

    @pytest.mark.parametrize("std", [5e-324, 1.0, 1e308])
    @pytest.mark.parametrize("mean", [1e300, -1e300, 0.0])
    def test_gaussian_of_extreme_parameters_is_finite(self, mean: float, std: float) -> None:
        line = numeric(Unit.GAUSSIAN, 0, mean, std).parameters[None]
        found = quantiles(Unit.GAUSSIAN, line, [5e-324, 1e-9, 0.5, 1.0 - 1e-9])
        assert found[2] == mean
        assert np.isfinite(found).all()
        assert (found[:2] <= mean).all()
        assert found[3] >= mean

    @by_cut
    def test_samples_fit(self, case: Case, interval: tuple[float, float]) -> None:
        low, high = interval
        cut = case.cut(low, high)
        sample = quantiles(case.unit, cut, np.random.default_rng(7).random(4000))
        if not case.distribution.discrete:

            def cdf(values: Floats) -> Floats:
                ends = np.asarray(values)
                return np.exp(log_mass(case.distribution, lines(cut, len(ends)), np.full(len(ends), -np.inf), ends))

            assert stats.kstest(sample, cdf).pvalue > 1e-3
            return
        # Spread evenly over the step of the CDF that each count is, they are uniform.
        start, mass = case.oracle_mass(-np.inf, math.ceil(low) - 1.0), case.oracle_mass(low, high)
        spread = case.oracle.cdf(sample) - np.random.default_rng(8).random(len(sample)) * case.oracle.pmf(sample)
        assert stats.kstest((spread - start) / mass, stats.uniform.cdf).pvalue > 1e-3

    def test_of_points(self) -> None:
        assert quantiles(Unit.POINT, np.array([[2.5, 2.5, 0.0]]), [0.0, 0.5, 1.0]).tolist() == [2.5, 2.5, 2.5]


class TestMoment:
    @by_case
    @pytest.mark.parametrize("order", [0, 1, 2, 3, 4, 5])
    def test_is_the_sum_or_integral(self, case: Case, order: int) -> None:
        for centre in (0.0, float(case.oracle.mean()), 2.25):
            size = integral(case, lambda x, c=centre: abs(x - c) ** order, -np.inf, np.inf)  # type: ignore[misc]
            expected = integral(case, lambda x, c=centre: (x - c) ** order, -np.inf, np.inf)  # type: ignore[misc]
            assert moment(case.unit, case.uncut, order, centre) == pytest.approx(expected, abs=1e-9 * size)

    @by_cut
    def test_of_what_is_left_is_the_sum_or_integral(self, case: Case, interval: tuple[float, float]) -> None:
        mass = integral(case, np.ones_like, *interval)
        mean = integral(case, lambda x: x, *interval) / mass
        for order in range(6):
            for centre in (0.0, mean):
                size = integral(case, lambda x, c=centre, k=order: abs(x - c) ** k, *interval) / mass  # type: ignore[misc]
                expected = integral(case, lambda x, c=centre, k=order: (x - c) ** k, *interval) / mass  # type: ignore[misc]
                found = moment(case.unit, case.cut(*interval), order, centre)
                assert found == pytest.approx(expected, abs=1e-8 * size + 1e-12 * abs(mean - centre) ** order)

    def test_closed_forms(self) -> None:
        line = numeric(Unit.GAUSSIAN, 0, 3.0, 2.0).parameters[None]
        assert [moment(Unit.GAUSSIAN, line, order, 3.0) for order in range(7)] == [1, 0, 4, 0, 48, 0, 960]
        line = numeric(Unit.EXPONENTIAL, 0, 2.0).parameters[None]
        assert [moment(Unit.EXPONENTIAL, line, order, 0.0) for order in range(5)] == [1, 2, 8, 48, 384]
        line = numeric(Unit.POISSON, 0, 4.0).parameters[None]
        assert [moment(Unit.POISSON, line, order, 4.0) for order in range(5)] == pytest.approx([1, 0, 4, 4, 52])
        for std in (1e-5, 0.3, 1.0, 5.0, 12.0):
            line = numeric(Unit.LOG_NORMAL, 0, 1.0, std).parameters[None]
            mean = math.exp(1.0 + 0.5 * std**2)
            assert moment(Unit.LOG_NORMAL, line, 1, 0.0) == pytest.approx(mean, rel=1e-13)
            variance = mean**2 * math.expm1(std**2)
            assert moment(Unit.LOG_NORMAL, line, 2, mean) == pytest.approx(variance, rel=1e-10)

    @pytest.mark.parametrize(("low", "high"), [(30.0, 31.0), (6.0, np.inf), (0.5, 0.6), (-1.0, 2.0)])
    def test_gaussian_in_far_tails(self, low: float, high: float) -> None:
        """Against quadrature relative to the density at the bound."""
        nearest = min(max(0.0, low), high)

        def expectation(function: Callable[[float], float]) -> float:
            def weight(x: float) -> float:
                return math.exp(-0.5 * (x - nearest) * (x + nearest))

            top = min(high, nearest + 9.0)
            total = integrate.quad(weight, low, top, epsabs=0.0, epsrel=1e-12)[0]
            return float(
                integrate.quad(lambda x: function(x) * weight(x), low, top, epsabs=0.0, epsrel=1e-12)[0] / total
            )

        cut = Case(Unit.GAUSSIAN, (0.0, 1.0), stats.norm, ()).cut(low, high)
        mean = moment(Unit.GAUSSIAN, cut, 1, 0.0)
        assert mean == pytest.approx(expectation(lambda x: x), rel=1e-12)
        assert moment(Unit.GAUSSIAN, cut, 2, mean) == pytest.approx(expectation(lambda x: (x - mean) ** 2), rel=1e-10)
        assert moment(Unit.GAUSSIAN, cut, 4, mean) == pytest.approx(expectation(lambda x: (x - mean) ** 4), rel=1e-10)

    def test_between_bounds_that_are_almost_equal_is_uniform(self) -> None:
        width = 2.0**-30
        for unit, own in (
            (Unit.GAUSSIAN, (0.0, 1.0)),
            (Unit.EXPONENTIAL, (1.0,)),
            (Unit.LOG_NORMAL, (0.0, 1.0)),
            (Unit.HISTOGRAM, (0.0, 10.0, -math.log(10.0))),
        ):
            cut = Case(unit, own, None, ()).cut(2.0, 2.0 + width)
            assert moment(unit, cut, 2, 2.0 + width / 2) == pytest.approx(width**2 / 12.0, rel=1e-6)

    @pytest.mark.parametrize("first", [9.9999e9, 1e10, 1.00004e10])
    def test_poisson_of_many_counts(self, first: float) -> None:
        """More than are added up one by one: against k·p(k) = rate·p(k - 1), summed over what is left."""
        rate = 1e10
        cut = Case(Unit.POISSON, (rate,), None, ()).cut(first, np.inf)
        edge = math.exp(log_densities(Unit.POISSON, cut[0], [first - 1.0])[0]) / special.gammainc(first, rate)
        mean = rate * edge
        assert moment(Unit.POISSON, cut, 1, rate) == pytest.approx(mean, rel=1e-7)
        square = rate + (first - 1.0 - rate) * mean + mean
        assert moment(Unit.POISSON, cut, 2, rate) == pytest.approx(square, rel=1e-7)

    def test_gaussian_whose_distances_overflow_on_the_way(self) -> None:
        cut = Case(Unit.GAUSSIAN, (0.0, 1e308), None, ()).cut(-1.7e308, 1.7e308)
        assert moment(Unit.GAUSSIAN, cut, 1, -1.7e308) == pytest.approx(1.7e308)
        assert moment(Unit.GAUSSIAN, cut, 1, 1.7e308) == pytest.approx(-1.7e308)

    @pytest.mark.parametrize("unit", [Unit.GAUSSIAN, Unit.EXPONENTIAL, Unit.POISSON, Unit.HISTOGRAM, Unit.LOG_NORMAL])
    def test_that_is_too_large_is_infinite_and_never_nan(self, unit: Unit) -> None:
        own = {
            Unit.GAUSSIAN: (1e300, 1e308),
            Unit.HISTOGRAM: (-1e308, 1e307, *[-math.log(1e308)] * 10),
            Unit.LOG_NORMAL: (700.0, 5.0),
        }.get(unit, (1e300,))
        line = numeric(unit, 0, *own).parameters[None]
        for centre in (0.0, 1e308, -1e308):
            assert not any(math.isnan(moment(unit, line, order, centre)) for order in range(6))
            assert moment(unit, line, 4, centre) == np.inf

    def test_of_points(self) -> None:
        line = np.array([[2.5, 2.5, 0.0]])
        assert [moment(Unit.POINT, line, order, 0.5) for order in range(4)] == [1.0, 2.0, 4.0, 8.0]
        assert [moment(Unit.POINT, line, order, 2.5) for order in range(3)] == [1.0, 0.0, 0.0]


class TestMode:
    @by_case
    def test_has_the_largest_density_on_a_grid(self, case: Case) -> None:
        for low, high in ((-np.inf, np.inf), *case.intervals):
            mode = float(case.distribution.mode(case.cut(low, high))[0])
            assert low <= mode <= high
            ends = np.clip([low, high], case.oracle.ppf(1e-9), max(case.oracle.isf(1e-9), low))
            grid = np.linspace(*ends, 997)
            if case.distribution.discrete:
                grid = np.arange(math.ceil(ends[0]), math.floor(ends[1]) + 1.0)
            densities = log_densities(case.unit, case.uncut[0], grid)
            assert log_densities(case.unit, case.uncut[0], [mode])[0] >= densities.max() - 1e-12

    def test_of_a_histogram_is_the_middle_of_what_is_left_of_a_bin(self) -> None:
        case = next(case for case in CASES if case.unit is Unit.HISTOGRAM)
        assert case.distribution.mode(case.uncut)[0] == -0.25
        assert case.distribution.mode(case.cut(-0.125, 5.0))[0] == -0.0625

    def test_of_points(self) -> None:
        assert NUMERIC[Unit.POINT].mode(np.array([[2.5, 2.5, 0.0]])).tolist() == [2.5]


@st.composite
def distributions(draw: st.DrawFn) -> tuple[Unit, Floats]:
    unit = draw(st.sampled_from([unit for unit in NUMERIC if unit is not Unit.POINT]))
    number, scale = st.floats(-100.0, 100.0), st.floats(1e-3, 1e3)
    own = {
        Unit.GAUSSIAN: st.tuples(number, scale),
        Unit.LOG_NORMAL: st.tuples(st.floats(-5.0, 5.0), st.floats(0.01, 3.0)),
        Unit.HISTOGRAM: st.builds(
            lambda start, width, counts: (start, width, *np.log(np.array(counts) / sum(counts) / width)),
            number,
            scale,
            st.lists(st.integers(1, 50), min_size=1, max_size=9),
        ),
    }.get(unit, st.tuples(scale))
    return unit, numeric(unit, 0, *draw(own)).parameters[None]


class TestLaws:
    @settings(deadline=None)
    @given(distributions(), st.lists(st.floats(-300.0, 300.0), min_size=3, max_size=3))
    def test_masses_of_adjacent_intervals_add_up(self, law: tuple[Unit, Floats], ends: list[float]) -> None:
        unit, line = law
        low, middle, high = sorted(ends)
        after = math.nextafter(middle, math.inf) if NUMERIC[unit].discrete else middle
        parts = np.logaddexp(log_mass_of(unit, line, low, middle), log_mass_of(unit, line, after, high))
        assert log_mass_of(unit, line, low, high) == pytest.approx(parts, rel=1e-12, abs=1e-11)

    @settings(deadline=None)
    @given(distributions(), st.floats(1e-6, 1.0 - 1e-6), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
    def test_quantile_and_cdf_are_inverse(self, law: tuple[Unit, Floats], share: float, a: float, b: float) -> None:
        unit, line = law
        low, high = np.sort(quantiles(unit, line, [a, b]))
        assume(log_mass_of(unit, line, low, high) > math.log(1e-6))
        cut = cut_off(NUMERIC[unit], line, np.array([low]), np.array([high]))
        value = quantiles(unit, cut, [share])[0]
        reached = math.exp(log_mass_of(unit, cut, -np.inf, value))
        if NUMERIC[unit].discrete:
            assert reached >= share - 1e-12
            assert math.exp(log_mass_of(unit, cut, -np.inf, value - 1.0)) < share + 1e-12
        else:
            assert reached == pytest.approx(share, abs=1e-7)

    @settings(deadline=None)
    @given(distributions(), st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
    def test_cutting_off_twice_is_cutting_off_once(
        self, law: tuple[Unit, Floats], a: float, b: float, c: float, d: float
    ) -> None:
        unit, line = law
        low, inner_low, inner_high, high = np.sort(quantiles(unit, line, [a, b, c, d]))
        assume(log_mass_of(unit, line, inner_low, inner_high) > -np.inf)

        def cut(parameters: Floats, low: float, high: float) -> Floats:
            return cut_off(NUMERIC[unit], parameters, np.array([low]), np.array([high]))

        twice = cut(cut(line, low, inner_high), inner_low, high)
        assert twice.tobytes() == cut(line, inner_low, inner_high).tobytes()
        assert (twice[0, LOW], twice[0, HIGH]) == (inner_low, inner_high)
        assert twice[0, LOG_MASS] == log_mass_of(unit, line, inner_low, inner_high)

    @settings(deadline=None)
    @given(distributions(), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
    def test_mean_is_within_the_bounds_and_minimises_the_square(
        self, law: tuple[Unit, Floats], a: float, b: float
    ) -> None:
        unit, line = law
        low, high = np.sort(quantiles(unit, line, [a, b]))
        assume(log_mass_of(unit, line, low, high) > -np.inf)
        cut = cut_off(NUMERIC[unit], line, np.array([low]), np.array([high]))
        mean = moment(unit, cut, 1, 0.0)
        slack = 1e-12 * max(abs(low), abs(high))
        assert low - slack <= mean <= high + slack
        variance = moment(unit, cut, 2, mean)
        for other in (low, high, 0.5 * (low + high)):
            around = variance + (mean - other) ** 2
            assert moment(unit, cut, 2, other) == pytest.approx(around, rel=1e-9, abs=slack**2)

    @settings(deadline=None)
    @given(distributions(), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
    def test_many_lines_at_once_are_each_alone(self, law: tuple[Unit, Floats], a: float, b: float) -> None:
        unit, line = law
        low, high = np.sort(quantiles(unit, line, [a, b]))
        assume(log_mass_of(unit, line, low, high) > -np.inf)
        distribution = NUMERIC[unit]
        both = np.concatenate([line, cut_off(distribution, line, np.array([low]), np.array([high]))])
        shares, centre = np.array([0.3, 0.7]), np.array([1.0, 2.0])
        for i in range(2):
            own = both[i : i + 1]
            assert distribution.quantile(both, shares)[i] == distribution.quantile(own, shares[i : i + 1])[0]
            assert distribution.moment(both, 3, centre)[i] == distribution.moment(own, 3, centre[i : i + 1])[0]
            assert distribution.mode(both)[i] == distribution.mode(own)[0]


class TestQuadrature:
    @pytest.mark.parametrize("count", [1, 2, 3, 10, 48, 64, 128])
    def test_integrates_polynomials(self, count: int) -> None:
        points, weights = unit_interval_rule(count)
        assert len(points) == count
        for degree in {0, 1, count, 2 * count - 1}:
            assert weights @ points**degree == pytest.approx(1.0 / (degree + 1), rel=1e-14)

    @pytest.mark.parametrize("count", [3, 10, 33])
    def test_is_that_of_numpy(self, count: int) -> None:
        points, weights = np.polynomial.legendre.leggauss(count)
        np.testing.assert_allclose(unit_interval_rule(count)[0], 0.5 * points + 0.5, atol=1e-15)
        np.testing.assert_allclose(unit_interval_rule(count)[1], 0.5 * weights, rtol=1e-11)


@pytest.mark.parametrize("unit", list(NUMERIC))
def test_nothing_in_gives_nothing_out(unit: Unit) -> None:
    own = (1.0, 1.0, 0.0) if unit is Unit.HISTOGRAM else (1.0, 1.0)
    none, nothing = numeric(unit, 0, *own).parameters[None][:0], np.zeros(0)
    distribution = NUMERIC[unit]
    assert log_mass(distribution, none, nothing, nothing).size == 0
    assert distribution.quantile(none, nothing).size == distribution.moment(none, 2, nothing).size == 0
    assert distribution.mode(none).size == 0


def test_histograms_of_several_lengths_can_be_stacked() -> None:
    short = numeric(Unit.HISTOGRAM, 0, -1.0, 0.5, *log_histogram()).parameters[None]
    padded = np.concatenate([short, np.full((1, 3), -np.inf)], axis=1)
    distribution, shares, low, high = NUMERIC[Unit.HISTOGRAM], np.array([0.7]), np.array([-0.4]), np.array([1.1])
    assert distribution.raw_log_mass(padded, low, high) == distribution.raw_log_mass(short, low, high)
    assert distribution.quantile(padded, shares) == distribution.quantile(short, shares)
    assert distribution.moment(padded, 3, low) == distribution.moment(short, 3, low)
    assert distribution.mode(padded) == distribution.mode(short)

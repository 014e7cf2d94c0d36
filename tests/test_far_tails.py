"""Distributions cut off far from their mean: moments and shares against series and continued fractions in decimals."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from random_models import laws
from unlearnspn.circuit.distributions import NUMERIC, cut_off, log_mass
from unlearnspn.circuit.expressions import LOG_MASS, Unit, numeric

#: Enough digits for what cancels in the formulas here.
DIGITS = 250
SHARES = (np.arange(4000) + 0.5) / 4000

stds = st.floats(-6.0, 6.0).map(lambda exponent: 10.0**exponent)
scores = st.floats(0.5, 40.0).map(lambda exponent: 10.0**exponent)
signs = st.sampled_from([-1.0, 1.0])


@pytest.fixture(autouse=True)
def many_digits():
    with localcontext() as context:
        context.prec = DIGITS
        yield


def cut(unit, own, low, high):
    """Return the parameters of a distribution between bounds; nothing to test if there is nothing left."""
    line = numeric(unit, 0, *own).parameters[None]
    low, high = np.array([low]), np.array([high])
    assume(log_mass(NUMERIC[unit], line, low, high)[0] > -np.inf)
    return cut_off(NUMERIC[unit], line, low, high)


def moment(unit, line, order, centre):
    return float(NUMERIC[unit].moment(line, order, np.array([centre]))[0])


def share(unit, line, low, high):
    return math.exp(log_mass(NUMERIC[unit], line, np.array([low]), np.array([high]))[0])


def mean_of_quantiles(unit, line, centre):
    quantiles = NUMERIC[unit].quantile(np.repeat(line, SHARES.size, axis=0), SHARES)
    return float((quantiles - centre).mean())


def hazard_excess(score):
    """Return φ(z) / (1 - Φ(z)) - z by its continued fraction, 1 / (z + 2 / (z + 3 / (z + ...)))."""
    n_terms = 4000 if score < 100 else 300
    fraction = Decimal(0)
    for n in range(n_terms, 1, -1):
        fraction = Decimal(n) / (score + fraction)
    return 1 / (score + fraction)


@laws(15)
@given(score=scores, std=stds, sign=signs, mean=st.floats(-1e3, 1e3))
def test_a_gaussian_cut_off_far_from_its_mean(score, std, sign, mean):
    bound = mean + sign * score * std
    low, high = (bound, math.inf) if sign > 0 else (-math.inf, bound)
    line = cut(Unit.GAUSSIAN, (mean, std), low, high)
    z = abs(Decimal(bound) - Decimal(mean)) / Decimal(std)
    assume(z > 3)
    excess = hazard_excess(z)
    variance = 1 - (z + excess) * excess
    expected = sign * float(excess * Decimal(std))
    assert moment(Unit.GAUSSIAN, line, 1, bound) == pytest.approx(expected, rel=1e-11)
    second = float((variance + excess * excess) * Decimal(std) ** 2)
    assert moment(Unit.GAUSSIAN, line, 2, bound) == pytest.approx(second, rel=1e-10)


@laws(15)
@given(score=scores, std=stds, sign=signs, steps=st.floats(1e-3, 20.0))
def test_shares_of_a_tail_add_up_and_fall_like_the_tail(score, std, sign, steps):
    """Beyond z the tail falls by exp(-z·d - d²/2), times the ratio of Mills' ratios."""
    bound = sign * score * std
    further = bound + sign * steps * std / score
    assume(further != bound)
    low, high = (bound, math.inf) if sign > 0 else (-math.inf, bound)
    line = cut(Unit.GAUSSIAN, (0.0, std), low, high)
    z, y = (abs(Decimal(x)) / Decimal(std) for x in (bound, further))
    ratio = (z + hazard_excess(z)) / (y + hazard_excess(y)) * ((z * z - y * y) / 2).exp()
    beyond = (further, high) if sign > 0 else (low, further)
    between = (bound, further) if sign > 0 else (further, bound)
    assert share(Unit.GAUSSIAN, line, *beyond) == pytest.approx(float(ratio), rel=1e-10)
    assert share(Unit.GAUSSIAN, line, *between) == pytest.approx(float(1 - ratio), rel=1e-10)


@laws(15)
@given(
    mean=st.floats(-250.0, 250.0).map(lambda exponent: 10.0**exponent),
    start=st.floats(-300.0, 300.0).map(lambda exponent: 10.0**exponent),
    width=st.floats(-8.0, 3.0).map(lambda exponent: 10.0**exponent),
)
def test_an_exponential_has_no_memory_wherever_it_is_cut_off(mean, start, width):
    line = cut(Unit.EXPONENTIAL, (mean,), start, math.inf)
    assert moment(Unit.EXPONENTIAL, line, 1, start) == pytest.approx(mean, rel=1e-12)
    assert moment(Unit.EXPONENTIAL, line, 1, 0.0) >= start
    end = start + width * mean
    assume(start < end < math.inf)
    steps = (Decimal(end) - Decimal(start)) / Decimal(mean)
    assert share(Unit.EXPONENTIAL, line, end, math.inf) == pytest.approx(float((-steps).exp()), rel=1e-10)
    between = cut(Unit.EXPONENTIAL, (mean,), start, end)
    expected = Decimal(mean) * (1 - steps / (steps.exp() - 1))
    assert moment(Unit.EXPONENTIAL, between, 1, start) == pytest.approx(float(expected), rel=1e-9)


@laws(15)
@given(
    mean=st.floats(-20.0, 20.0),
    std=st.floats(0.05, 3.0),
    exponent=st.floats(-300.0, 300.0),
    steps=st.floats(1e-3, 5.0),
)
def test_a_log_normal_cut_off_far_from_its_mean(mean, std, exponent, steps):
    bound = 10.0**exponent
    log_bound = Decimal(bound).ln()
    z = (log_bound - Decimal(mean)) / Decimal(std)
    assume(z > 3 + Decimal(std) * 2)
    line = cut(Unit.LOG_NORMAL, (mean, std), bound, math.inf)
    tilted = z - Decimal(std)
    ratio = (z + hazard_excess(z)) / (tilted + hazard_excess(tilted))
    assert moment(Unit.LOG_NORMAL, line, 1, 0.0) == pytest.approx(float(Decimal(bound) * ratio), rel=1e-9)
    assert moment(Unit.LOG_NORMAL, line, 1, bound) == pytest.approx(float(Decimal(bound) * (ratio - 1)), rel=1e-8)
    further = bound * math.exp(std * steps / float(z))
    assume(bound < further < math.inf)
    y = (Decimal(further).ln() - Decimal(mean)) / Decimal(std)
    beyond = (z + hazard_excess(z)) / (y + hazard_excess(y)) * ((z * z - y * y) / 2).exp()
    assert share(Unit.LOG_NORMAL, line, further, math.inf) == pytest.approx(float(beyond), rel=1e-8)


@laws(15)
@given(
    rate=st.floats(-3.0, 6.0).map(lambda exponent: 10.0**exponent),
    excess=st.floats(0.05, 9.0).map(lambda exponent: 10.0**exponent),
    steps=st.integers(1, 5),
)
def test_a_poisson_cut_off_far_from_its_rate(rate, excess, steps):
    first = math.ceil(rate * (1.0 + excess))
    line = cut(Unit.POISSON, (rate,), first, math.inf)
    with localcontext() as context:
        context.prec = 60
        total, weighted, tail, term, count = Decimal(0), Decimal(0), Decimal(0), Decimal(1), first
        while term > Decimal("1e-30"):
            total += term
            weighted += term * (count - first)
            tail += term if count >= first + steps else 0
            count += 1
            term *= Decimal(rate) / count
        # What is beyond one step may be less than what was added up.
        expected, beyond = float(weighted / total), float(tail / total)
    assert moment(Unit.POISSON, line, 1, float(first)) == pytest.approx(expected, rel=1e-9, abs=1e-25)
    assert share(Unit.POISSON, line, first + steps, math.inf) == pytest.approx(beyond, rel=1e-9, abs=1e-25)


@laws(15)
@given(
    unit=st.sampled_from([Unit.GAUSSIAN, Unit.EXPONENTIAL, Unit.LOG_NORMAL, Unit.POISSON]),
    exponent=st.floats(-300.0, 300.0),
    width=st.floats(-12.0, 12.0),
    negative=st.booleans(),
)
def test_means_are_within_bounds_and_those_of_quantiles(unit, exponent, width, negative):
    own = {Unit.GAUSSIAN: (3.0, 2.0), Unit.EXPONENTIAL: (2.0,), Unit.LOG_NORMAL: (0.5, 0.7), Unit.POISSON: (4.5,)}[unit]
    low = 10.0**exponent
    high = low * (1.0 + 10.0**width)
    if negative:
        low, high = -high, -low
    line = cut(unit, own, low, high)
    mean, spread = moment(unit, line, 1, low), math.sqrt(max(moment(unit, line, 2, low), 0.0))
    assert 0.0 <= mean <= high - low
    rounding = 3e-16 * abs(low) + 1e-300
    assert mean_of_quantiles(unit, line, low) == pytest.approx(mean, rel=2e-3, abs=2e-3 * spread + rounding)
    assert np.isfinite(line[0, LOG_MASS])

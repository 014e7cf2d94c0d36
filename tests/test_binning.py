"""Bins: evenly laid around a centre, or around the crowd, which nothing but its definition finds here."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from unlearnspn.binning import Crowd, answered, lay_edges, search_crowd
from unlearnspn.coding import NumericCoder
from unlearnspn.statistics.moments import Moments

# Values that crowd at several widths, far away ones, and some that many have.
numbers = st.one_of(
    st.sampled_from([0.0, 0.0, 0.0, 1.0, -0.0]),
    st.integers(-8, 8).map(lambda n: n / 8),
    st.integers(-8, 8).map(lambda n: 3.0 + n / 512),
    st.sampled_from([1e3, -1e3, 4e3, 1e6, 1e-9, math.nan]),
    st.floats(-10, 10),
)
columns = st.lists(numbers, min_size=1, max_size=30)


def find_crowd(values, centre, scale):
    return answered(search_crowd(int(np.count_nonzero(~np.isnan(values))), centre, scale), values)


def coarse(values):
    """Return centre and scale of a column."""
    coder, _ = NumericCoder.learn(
        0, np.array(values), 4, Moments.of(np.array(values).reshape(-1, 1), np.arange(len(values)))
    )
    return coder.centre, coder.scale


def crowd_by_definition(values, centre, scale):
    """Find the narrowest window, the first of several, that has three quarters of the values that count."""
    values = [value for value in values if value == value]
    common, usual = Counter(values).most_common(1), None
    if common and 2 * common[0][1] > len(values) > 0:
        # Beyond these bounds nothing is looked for.
        usual = common[0][0] if scale > 2.0**-300 else None
        if 4 * common[0][1] >= 3 * len(values):
            return centre, scale, usual
        values = [value for value in values if value != common[0][0]]
    if not values or 4 * max(Counter(values).values()) >= 3 * len(values):
        return centre, scale, usual
    width, found = scale / 4, None
    while width > 2.0**-300:
        cells = Counter(math.floor(value / width) for value in values)
        starts = {cell - offset for cell in cells for offset in range(4)}
        crowded = [s for s in starts if 4 * sum(cells[s + offset] for offset in range(4)) >= 3 * len(values)]
        if not crowded:
            break
        found, width = (min(crowded), width), width / 2
    return (centre, scale, usual) if found is None else ((found[0] + 2) * found[1], found[1], usual)


@settings(max_examples=120, deadline=None)
@given(columns)
def test_a_crowd_is_what_its_definition_says(values):
    centre, scale = coarse(values)
    assert find_crowd(np.array(values), centre, scale)[0] == crowd_by_definition(values, centre, scale)


@settings(max_examples=120, deadline=None)
@given(columns, st.data())
def test_as_many_values_as_there_is_slack_may_leave_and_come(values, data):
    centre, scale = coarse(values)
    before, slack = find_crowd(np.array(values), centre, scale)
    n_changes = data.draw(st.integers(0, min(max(slack, 0), 20)))
    for _ in range(n_changes):
        if values and data.draw(st.booleans()):
            values = [*values]
            values.pop(data.draw(st.integers(0, len(values) - 1)))
        else:
            values = [*values, data.draw(st.one_of(numbers, st.sampled_from(values or [1.0])))]
    # With another centre or scale everything is coded anew.
    assume(values and coarse(values) == (centre, scale))
    assert find_crowd(np.array(values), centre, scale)[0] == before


KINDS = {
    "nothing": lambda i: 0.0,
    "the same": lambda i: 1 / 64,
    "close together": lambda i: (1 + i % 7) / 1024,
    "farther apart": lambda i: (1 + i % 9) / 32,
    "far away": lambda i: 1e4 * (-1) ** i,
}


@settings(max_examples=160, deadline=None)
@given(st.fixed_dictionaries({kind: st.integers(0, 40) for kind in KINDS}), st.data())
def test_as_many_values_of_one_kind_may_leave_or_come(numbers, data):
    assume(sum(numbers.values()))
    values = np.array([KINDS[kind](i) for kind, number in numbers.items() for i in range(number)])
    centre, scale = 0.0, 4096.0
    before, slack = find_crowd(values, centre, scale)
    assert before == crowd_by_definition(values.tolist(), centre, scale)
    kind, n_changes = data.draw(st.sampled_from(list(KINDS))), max(min(slack, 60), 0)
    ends = np.cumsum([0, *numbers.values()])
    start, end = ends[list(KINDS).index(kind)], ends[list(KINDS).index(kind) + 1]
    left = np.delete(values, range(start, min(end, start + n_changes)))
    more = np.r_[values, [KINDS[kind](i) for i in range(n_changes)]]
    assert left.size == 0 or find_crowd(left, centre, scale)[0] == before
    assert find_crowd(more, centre, scale)[0] == before


def test_a_few_values_far_away_leave_the_bins_where_the_others_are():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(1000)
    values[:3] = 1e6
    centre, scale = coarse(values)
    assert scale > 1e4
    crowd, slack = find_crowd(values, centre, scale)
    assert 0.5 <= crowd.scale <= 1.0
    assert abs(crowd.centre) <= 1.0
    assert slack > 10


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.random.default_rng(1).standard_normal(5000), id="a bell"),
        pytest.param(np.random.default_rng(1).exponential(size=5000), id="an exponential tail"),
        pytest.param(np.random.default_rng(1).poisson(2.0, 5000) * 1.0, id="counts"),
        pytest.param(np.repeat([0.0, 1.0], [4500, 500]), id="one value alone"),
        pytest.param(np.r_[np.zeros(3000), np.random.default_rng(1).exponential(size=2000)], id="most have nothing"),
    ],
)
def test_nothing_crowds_where_scale_and_values_agree(values):
    centre, scale = coarse(values)
    crowd, slack = find_crowd(values, centre, scale)
    assert crowd[:2] == (centre, scale)
    assert slack > 100  # so that it is hardly ever looked for anew


def test_a_long_tail_leaves_the_bins_at_its_beginning():
    values = np.exp(2.0 * np.random.default_rng(1).standard_normal(5000))
    centre, scale = coarse(values)
    crowd, _ = find_crowd(values, centre, scale)
    assert crowd.scale <= scale / 8
    assert np.mean(np.abs(values - crowd.centre) <= 2 * crowd.scale) >= 0.75


def test_cells_are_counted_alike_whether_compiled_or_not(monkeypatch):
    values = np.exp(2.0 * np.random.default_rng(1).standard_normal(5000))
    centre, scale = coarse(values)
    before = find_crowd(values, centre, scale)
    monkeypatch.setenv("UNLEARNSPN_COMPILE", "always")
    assert find_crowd(values, centre, scale) == before


def test_edges_are_even_and_reach_three_scales():
    assert lay_edges(1.0, 2.0, 13).tolist() == [1.0 + k / 2 for k in range(-11, 12, 2)]
    assert lay_edges(0.0, 1.0, 2).tolist() == [0.0]
    for n_bins in (3, 6, 25):
        edges = lay_edges(0.0, 1.0, n_bins)
        assert len(edges) == n_bins - 1
        assert np.allclose(np.diff(edges), 6.0 / (n_bins - 1))
        assert np.allclose(edges, -edges[::-1])


def test_edges_that_cannot_be_told_apart_are_one():
    assert len(lay_edges(1e20, 1.0, 13)) == 1
    largest = np.finfo(float).max
    assert np.isfinite(lay_edges(largest, largest / 4, 13)).all()


@pytest.mark.parametrize("scale", [2.0**-1022, 2.0**1000])
def test_extreme_scales_have_no_crowd(scale):
    assert find_crowd(np.array([0.0, scale]), 0.0, scale) == (Crowd(0.0, scale), 1 << 62)


def test_nor_has_a_column_that_is_far_from_zero():
    assert find_crowd(np.array([1.7e308]), 1.7e308, 1.0) == (Crowd(1.7e308, 1.0), 1 << 62)


def test_a_crowd_far_from_the_mean_is_found():
    # As far as can be: most have nothing, and the others, hardly more than a quarter, are far away.
    values = np.r_[np.zeros(749), 1000.0 + np.arange(195) / 512, np.full(56, -700.0)]
    values *= 510.0 / values.std()  # hardly less than twice the scale
    centre, scale = coarse(values)
    crowd, _ = find_crowd(values, centre, scale)
    assert scale == 256.0
    assert crowd == crowd_by_definition(values.tolist(), centre, scale)
    assert abs(crowd.centre - values.max()) < 1.0

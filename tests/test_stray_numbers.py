"""Records in which one number of a block strays."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from unlearnspn import SPN
from unlearnspn.leaves.stray_numbers import group_strays


def related(n_rows, n_numbers, seed=0):
    """Return numbers that follow one another closely."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, n_numbers))
    return table + 0.1 * rng.normal(size=(n_rows, n_numbers))


def fitted(n_numbers):
    """Return a network that is one block of jointly normal numbers, and its rows."""
    table = related(600, n_numbers)
    spn = SPN(min_rows=1000).fit(table)
    assert len(spn.circuit_.layout.normal_at(0).variables) == n_numbers
    return spn, table


def density_of(order, normal, apart, x):
    """Return the density of a block by its definition in docs/theory.md; `order` is that of joining."""
    mean, covariances = normal.mean, normal.factor @ normal.factor.T

    def together(chosen, times=1.0):
        chosen = sorted(chosen)
        own = times**2 * covariances[np.ix_(chosen, chosen)]
        return multivariate_normal(mean[chosen], own).pdf(x[chosen]) if chosen else 1.0

    d, every = len(x), range(len(x))
    total = (1 - 1 / 64 - 1 / 32 - 1 / 1024) * together(every) + together(every, 3.0) / 64 + math.prod(apart) / 1024
    for group in np.array_split(order, min(d, 8)):
        outside = together(set(every) - set(group.tolist()))
        for stray in group.tolist():
            total += apart[stray] * together(set(group.tolist()) - {stray}) * outside / (32 * d)
    return total


@pytest.mark.parametrize("n_numbers", [2, 3, 7, 11])
@pytest.mark.parametrize("distance", [0.0, 2.0, 9.0])
def test_a_block_has_the_density_that_the_theory_says(n_numbers, distance):
    spn, table = fitted(n_numbers)
    (block,) = spn.root_.children[0].parameters["normal"]
    order = [int(name[1:]) for name in block["depends_on"]]
    layout = spn.circuit_.layout
    normal, apart = layout.normal_at(0), layout.inputs[-n_numbers:]
    for place in range(n_numbers):
        row = table[17].copy()
        row[place] += distance * table[:, place].std()
        parameters = [layout.parameters_of(int(unit)) for unit in apart]
        alone = [norm(own[3], own[4]).pdf(value) for own, value in zip(parameters, row, strict=True)]
        expected = math.log(density_of(order, normal, alone, row))
        assert spn.score_samples(row[None])[0] == pytest.approx(expected, rel=1e-9)


def test_groups_hold_each_number_once_and_are_as_large_as_each_other():
    covariances = np.eye(19) + 0.5
    order = np.random.default_rng(0).permutation(19)
    groups = group_strays(order, covariances)
    assert np.concatenate([group.members for group in groups]).tolist() == order.tolist()
    assert [group.members.size for group in groups] == [3, 3, 3, 2, 2, 2, 2, 2]
    for group in groups:
        assert sorted([*group.members, *group.outside.positions]) == list(range(19))
        for position, part in zip(group.members, group.without, strict=True):
            assert sorted([position, *part.positions]) == sorted(group.members)
            inner = covariances[np.ix_(part.positions, part.positions)]
            assert part.factor @ part.factor.T == pytest.approx(inner)


def test_covariances_without_a_factor_have_no_groups():
    assert group_strays(np.arange(3), np.ones((3, 3))) is None


def test_a_number_far_away_costs_its_row_little_more_than_that_number():
    """What nine other numbers tell of each other stays: without strays the row would lose ten nats and more."""
    spn, table = fitted(10)
    before = spn.score_samples(table)
    for place in range(10):
        rows = table.copy()
        rows[:, place] += 10.0 * table[:, place].std()
        assert np.mean(before - spn.score_samples(rows)) < 17.0


def test_what_is_expected_of_a_number_hardly_heeds_one_that_strays():
    spn, table = fitted(6)
    deviations = table.std(axis=0)
    rows = table[:20].copy()
    rows[:, 5] = np.nan
    expected = spn.impute(rows)[:, 5]
    for place in range(5):
        strayed = rows.copy()
        strayed[:, place] += 12.0 * deviations[place]
        found = spn.impute(strayed)[:, 5]
        assert np.abs(found - expected).max() < 0.25 * deviations[5]
        assert np.abs(found - table[:20, 5]).max() < 0.5 * deviations[5]

"""Levels of numbers: their ranks among the node's rows, rounded up."""

import numpy as np
import pytest

from ranked_columns import levels_of, random_numbers, variables_of
from unlearnspn.independence.levels import learn_orders, level_of


@pytest.mark.parametrize("seed", range(20))
def test_levels_are_ranks_rounded_up(seed):
    rng = np.random.default_rng(seed)
    values = np.column_stack([random_numbers(rng, 150) for _ in range(3)])
    rows, n_levels = rng.permutation(150)[: rng.integers(1, 150)], int(rng.choice([2, 7, 32, 255]))
    nothing, places = np.zeros((150, 4), np.uint8), [2, 0]
    variables = variables_of(nothing, [5, 0, 5, 0], values, [None, places[0], None, places[1]], n_levels)
    orders = learn_orders(variables, rows)
    assert orders.members.tolist() == rows.tolist()
    for j, place in enumerate(places):
        assert orders.levels[j].tolist() == levels_of(values[rows, place], n_levels).tolist()
        ordered = orders.rows[j, : orders.observed[j]]
        assert sorted(ordered) == sorted(rows[~np.isnan(values[rows, place])])
        assert (np.diff(values[ordered, place]) >= 0).all()


def test_a_level_counts_the_quantiles_that_a_value_reaches():
    cuts = np.array([-1.0, 0.0, 0.0, 2.5])
    assert [level_of(cuts, value) for value in (-7.0, -1.0, -0.5, -0.0, 2.0, 2.5, np.inf, np.nan)] == [
        *(1, 2, 2, 4, 4, 5, 5),
        0,
    ]

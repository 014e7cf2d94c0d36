"""Levels after a change: those of a node that never had the rows that left."""

import numpy as np
import pytest

from ranked_columns import random_numbers, variables_of
from unlearnspn.independence.level_change import LevelChange
from unlearnspn.independence.levels import learn_orders

N_ROWS, PLACES = 200, [2, 0, 1]


@pytest.mark.parametrize("most", [1, 5, 60], ids=["one row", "some", "many"])
@pytest.mark.parametrize("seed", range(10))
def test_changed_levels_are_those_learned_afresh(seed, most):
    rng = np.random.default_rng(seed)
    values = np.column_stack([random_numbers(rng, N_ROWS) for _ in PLACES])
    codes = np.zeros((N_ROWS, len(PLACES)), np.uint8)
    variables = variables_of(codes, [0] * len(PLACES), values, PLACES, int(rng.choice([2, 7, 32, 255])))
    rows = np.sort(rng.permutation(N_ROWS)[: rng.integers(1, N_ROWS - 1)])
    orders = learn_orders(variables, rows)
    for _ in range(6):
        others = np.setdiff1d(np.arange(N_ROWS), rows)
        minus = np.sort(rng.permutation(rows)[: rng.integers(0, min(most, len(rows)) + 1)])
        plus = np.sort(rng.permutation(others)[: rng.integers(0, min(most, len(others)) + 1)])
        rows = np.union1d(np.setdiff1d(rows, minus), plus)
        orders = revised(variables, orders, minus, plus)
        require_same(orders, learn_orders(variables, rows), values)


def revised(variables, orders, minus, plus):
    """Return orders after a change, with rows moved to their new levels."""
    before = [array.copy() for array in orders]
    change = LevelChange(variables, orders, minus, plus)
    assert all((left == right).all() for left, right in zip(before, orders, strict=True))
    moves = np.asarray(change.moves)[: change.n_moves]
    assert len(np.unique(moves[:, :2], axis=0)) == len(moves)
    assert not np.isin(change.orders.members[moves[:, 0]], plus).any()
    change.orders.levels[moves[:, 1], moves[:, 0]] = moves[:, 2]
    return change.orders


def require_same(found, learned, values):
    assert found.members.tolist() == learned.members.tolist()
    assert found.observed.tolist() == learned.observed.tolist()
    assert found.levels.tolist() == learned.levels.tolist()
    for j, place in enumerate(PLACES):
        n_observed = found.observed[j]
        assert sorted(found.rows[j]) == sorted(learned.rows[j])
        assert (values[found.rows[j, :n_observed], place] == values[learned.rows[j, :n_observed], place]).all()
        assert (found.rows[j, n_observed:] == -1).all()


def test_only_rows_between_quantiles_move():
    values = np.arange(1000.0)[:, None]
    variables = variables_of(np.zeros((1000, 1), np.uint8), [0], values, [0], 4)
    rows = np.arange(1000)
    change = LevelChange(variables, learn_orders(variables, rows), np.array([10, 11]), rows[:0])
    assert np.asarray(change.moves)[: change.n_moves].tolist() == [[248, 0, 1], [498, 0, 2]]

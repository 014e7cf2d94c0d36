"""Figures know whether they keep their targets."""

import pytest

from unlearnspn.bench.figures import Figure, at_least, at_most, times


@pytest.mark.parametrize(
    ("target", "value", "reached"),
    [
        (at_least(30.0), 30.0, True),
        (at_least(30.0), 29.9, False),
        (at_most(2.0), 2.0, True),
        (at_most(2.0), 2.1, False),
    ],
)
def test_a_bound_itself_keeps_the_bound(target, value, reached):
    assert Figure(value, None, target).reached is reached


def test_a_figure_without_a_target_neither_reaches_nor_misses():
    assert Figure(1.0).reached is None
    assert Figure(1.0).as_json() == {"value": 1.0}


def test_several_runs_have_a_deviation_and_one_has_none():
    assert Figure.of([1.0, 3.0]).std == pytest.approx(2.0**0.5)
    assert Figure.of([1.0]).std is None


def test_ratios_are_formed_within_a_run():
    figure = times([10.0, 100.0], [1.0, 50.0], at_least(6.0))
    assert figure.value == 6.0  # not 110 / 51
    assert figure.as_json()["reached"] is True

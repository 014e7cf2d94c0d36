"""Bernoulli leaves by hand."""

import numpy as np
import pytest

from leaf_data import fitted, learned, log_density, object_table, slice_of
from unlearnspn import SPN, Bernoulli, InvalidTableError


@pytest.mark.parametrize("pair", [(False, True), (0, 1), (0.0, 1.0)])
def test_probabilities_by_hand(pair):
    no, yes = pair
    values = [yes] * 3 + [no] * 5 + [None]
    ours = log_density(Bernoulli(0.5), values, [no, yes, None], categorical=True)
    assert ours == pytest.approx(np.log([5.5 / 9, 3.5 / 9, 1.0]), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize(("only", "other"), [(True, False), (0, 1), (1, 0)])
def test_both_outcomes_are_always_possible(only, other):
    data = slice_of([only, only, only], categorical=True)
    assert Bernoulli().categories(data) == tuple(sorted([only, other]))
    ours = log_density(Bernoulli(0.5), [only] * 3, [only, other], categorical=True)
    assert ours == pytest.approx(np.log([3.5 / 4, 0.5 / 4]), rel=1e-13)


def test_nothing_else_is_possible():
    spn = fitted(Bernoulli(), [0, 1, 1], categorical=True)
    assert spn.score_samples(object_table([2]))[0] == -np.inf
    data = slice_of([0, 1, 1], categorical=True)
    assert Bernoulli().parameters(learned(Bernoulli(), data), data)["unseen"] == 0.0


def test_of_a_column_without_values_nothing_is_known():
    data = slice_of([None, None], categorical=True)
    assert Bernoulli().categories(data) == ()
    assert log_density(Bernoulli(), [None, None], [True, 1, None], categorical=True).tolist() == [0.0] * 3


def test_a_leaf_without_values_knows_both_outcomes():
    data = slice_of([None, True], categorical=True)
    shown = Bernoulli().express(learned(Bernoulli(), data, [0]), data).parameters
    assert np.exp(shown).tolist() == pytest.approx([0.5, 0.5, 0.0])


@pytest.mark.parametrize("values", [["yes", "no"], [0, 2], [True, "no"], [0, True], [1.5]])
def test_everything_else_is_refused(values):
    with pytest.raises(
        InvalidTableError, match=r"the leaf 'bernoulli', which needs either True and False, or 0 and 1, but row"
    ):
        fitted(Bernoulli(), values, categorical=True)


def test_the_other_pair_is_refused_later():
    spn = SPN(leaves={"x0": Bernoulli()}, categorical_features=[0]).fit(object_table([None, None]))
    spn.learn(object_table([True]), ids=[5])
    before = spn.state_digest()
    with pytest.raises(InvalidTableError, match="row 2 holds 1"):
        spn.learn(object_table([None, 1]), ids=[6, 7])
    assert spn.state_digest() == before
    spn.unlearn(5)
    spn.learn(object_table([1]), ids=[7])
    assert spn.score(object_table([0])) < 0.0

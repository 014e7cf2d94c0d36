"""Categorical leaves by hand."""

import numpy as np
import pytest

from leaf_data import learned, log_density, slice_of
from unlearnspn import Categorical

ALPHA, UNSEEN = 0.5, 0.01


def test_probabilities_by_hand():
    values = ["a"] * 5 + ["b"] * 3 + ["c"] + [None]
    total = 9 + ALPHA * (3 + UNSEEN)
    expected = np.log(np.array([5 + ALPHA, 3 + ALPHA, 1 + ALPHA, ALPHA * UNSEEN, total]) / total)
    queries = ["a", "b", "c", "never seen", None]
    ours = log_density(Categorical(ALPHA), values, queries, categorical=True)
    assert ours == pytest.approx(expected, rel=1e-13, abs=1e-15)


def test_all_categories_of_the_column_are_possible_in_canonical_order():
    data = slice_of(["b", 2, True, "a", 10, False, 1.5, None], categorical=True)
    leaf = Categorical(ALPHA)
    assert list(map(repr, leaf.categories(data))) == ["False", "True", "1.5", "2", "10", "'a'", "'b'"]
    shown = leaf.express(learned(leaf, data, [1, 3, 3]), data).parameters
    total = 3 + ALPHA * (7 + UNSEEN)
    expected = np.array([0, 0, 0, 1, 0, 2, 0]) + ALPHA
    assert np.exp(shown) == pytest.approx(np.append(expected, ALPHA * UNSEEN) / total, rel=1e-13)
    assert np.exp(shown).sum() == pytest.approx(1.0, rel=1e-14)


def test_a_column_without_values():
    assert log_density(Categorical(), [None, None], ["a", None], categorical=True).tolist() == [0.0, 0.0]


def test_parameters_name_categories():
    data = slice_of(["a", "b", "b"], categorical=True)
    parameters = Categorical(ALPHA).parameters(learned(Categorical(), data), data)
    total = 3 + ALPHA * (2 + UNSEEN)
    assert parameters["probabilities"] == pytest.approx({"a": 1.5 / total, "b": 2.5 / total}, rel=1e-13)
    assert parameters["unseen"] == pytest.approx(ALPHA * UNSEEN / total, rel=1e-13)
    data = slice_of([True, 1, 1], categorical=True)
    assert list(Categorical().parameters(learned(Categorical(), data), data)["probabilities"]) == ["True", "1"]


def test_smoothing_too_small_for_a_double_is_none():
    ours = log_density(Categorical(1e-308), ["a", "a", "b"], ["a", "never seen"], categorical=True)
    assert ours[0] == pytest.approx(np.log(2 / 3), rel=1e-15)
    assert ours[1] == -np.inf


def test_settings_are_checked():
    with pytest.raises(ValueError, match="alpha='much' must be a positive number"):
        Categorical(alpha="much")

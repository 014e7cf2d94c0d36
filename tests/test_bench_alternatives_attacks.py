"""The attacks: they find what is there, and nothing where nothing is."""

import numpy as np
import pytest

from alternative_tables import mixed
from benchmarks.alternatives import membership
from benchmarks.alternatives.attack_scores import likelihood_ratios, success_of, true_alarms
from benchmarks.alternatives.both_versions import Trial, compare, then_noise
from benchmarks.alternatives.canary import bound_epsilon
from benchmarks.alternatives.membership import Design, attack, attack_default, successes
from benchmarks.alternatives.methods import KEEPING, RETRAINING, UNLEARNING
from benchmarks.alternatives.private_network import PrivateTraining
from benchmarks.alternatives.sisa import Sisa
from benchmarks.alternatives.tables import Split
from benchmarks.alternatives.targets import ORDINARY, OUTLIERS
from benchmarks.checking import NotRetrainedError


@pytest.fixture(scope="module")
def split():
    return Split(mixed(400, 1, first=1000), mixed(80, 0), mixed(50, 2, first=5000))


@pytest.fixture(scope="module")
def design(split):
    return Design.of(split, 8, 6, 300, 0)


def test_likelihood_ratios_leave_the_model_out():
    rng = np.random.default_rng(0)
    densities, inside = rng.standard_normal((10, 4)), rng.random((10, 4)) < 0.5
    inside[:2, 0], inside[2:, 0] = True, False
    scores = likelihood_ratios(densities, inside)
    others = np.arange(1, 10)
    had, had_not = (densities[others, 1][which[others, 1]] for which in (inside, ~inside))
    variance = (((had - had.mean()) ** 2).sum() + ((had_not - had_not.mean()) ** 2).sum()) / 7
    expected = ((densities[0, 1] - had_not.mean()) ** 2 - (densities[0, 1] - had.mean()) ** 2) / (2 * variance)
    assert scores[0, 1] == pytest.approx(expected)
    assert (likelihood_ratios(densities, np.ones((10, 4), bool)) == 0.0).all()


def test_chance_is_chance_and_a_difference_is_found():
    rng = np.random.default_rng(1)
    inside = rng.random((32, 30)) < 0.5
    nothing = rng.standard_normal((32, 30)) + 3.0 * rng.standard_normal((32, 1))
    assert success_of(nothing, inside, 0).is_at_chance
    found = success_of(nothing + 8.0 * inside, inside, 0)
    assert not found.is_at_chance
    assert found.low < found.auc < found.high
    assert found.auc > 0.85
    assert found.tpr > found.chance_tpr


@pytest.mark.deep
def test_chance_keeps_its_promise_over_many_attacks():
    rng = np.random.default_rng(2)
    hits = [success_of(rng.standard_normal((16, 12)), rng.random((16, 12)) < 0.5, seed) for seed in range(15)]
    assert sum(each.is_at_chance for each in hits) >= 11
    assert np.mean([each.auc for each in hits]) == pytest.approx(0.5, abs=0.05)


def test_true_alarms_at_false_ones():
    inside = np.array([True] * 50 + [False] * 100)
    scores = np.concatenate([np.linspace(2.0, 3.0, 50), np.linspace(0.0, 1.0, 100)])
    assert true_alarms(inside, scores) == 1.0
    assert true_alarms(inside, -scores) == 0.0
    assert true_alarms(inside, np.zeros(150)) == pytest.approx(0.01)


def test_a_design_has_what_it_says(design):
    first = design.records(0)
    assert set(design.leaving(0)) <= set(first.ids)
    assert set(design.public.ids) <= set(first.ids)
    out = set(design.targets.all) - set(design.leaving(0))
    assert out.isdisjoint(first.ids)
    assert not set(design.others[0]) & set(design.targets.all)


def test_unlearning_is_retraining_and_keeping_is_not(design):
    steps = []
    densities = attack_default(design, 0, lambda: steps.append(1))
    assert len(steps) == 8
    np.testing.assert_array_equal(densities[UNLEARNING.name], densities[RETRAINING.name])
    assert not np.array_equal(densities[KEEPING.name], densities[UNLEARNING.name])
    found = {name: successes(design, each, 0) for name, each in densities.items()}
    assert found[UNLEARNING.name] == found[RETRAINING.name]
    assert found[KEEPING.name][OUTLIERS].auc > 0.7
    # The coins have nothing to do with what is left.
    in_or_out = densities[UNLEARNING.name][:, :6]
    assert np.isfinite(in_or_out).all()


def test_a_removal_that_is_none_is_noticed(monkeypatch, design):
    monkeypatch.setattr(membership, "UNLEARNING", KEEPING)
    with pytest.raises(NotRetrainedError, match="model 0"):
        attack_default(design, 0, lambda: None)


def test_other_methods_are_attacked_alike(design, split):
    for method in (Sisa(3, 1), PrivateTraining.of(split, 1.0, 0)):
        assert attack(design, method, 0, lambda: None).shape == design.inside.shape


def test_both_versions_tell_who_left_and_noise_does_not(split):
    trial = Trial.of(split, 12, 20, 0)
    private = PrivateTraining.of(split, 1.0, 0)
    found = compare(trial, [private], [20], (12, 6), 0, lambda: None)
    rows = {key: each.row() for key, each in found.items()}
    assert rows[UNLEARNING.name, OUTLIERS, 1]["first"] > 0.5
    assert rows[UNLEARNING.name, OUTLIERS, 1]["chance"] == pytest.approx(1 / 12)
    assert rows[UNLEARNING.name, ORDINARY, 20]["chance"] == pytest.approx(0.5)
    for name in (private.name, then_noise(private)):
        assert rows[name, OUTLIERS, 1]["first"] < 0.8
    # One version alone has no removal in it: the model is put back as it was, bit by bit.
    assert len(found) == 3 * (3 + 1)


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_the_canary_proves_no_more_than_epsilon(split, epsilon):
    bound = bound_epsilon(PrivateTraining.of(split, epsilon, 0), split.train, 1_000, 0)
    assert bound.moved == pytest.approx(1.0)
    assert 0.0 <= bound.epsilon <= epsilon
    assert bound.gaussian <= epsilon
    assert epsilon < 10.0 or bound.gaussian > 0.6 * epsilon


def test_the_canary_finds_noise_that_is_too_small(monkeypatch, split):
    method = PrivateTraining.of(split, 3.0, 0)
    scale = method.scale / 4.0
    monkeypatch.setattr(PrivateTraining, "scale", scale)
    assert bound_epsilon(method, split.train, 1_000, 0).gaussian > 3.0

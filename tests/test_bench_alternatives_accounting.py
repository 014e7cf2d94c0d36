"""The guarantee: the noise keeps ε by accountants that did not choose it, and a record moves no more than is stated."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from alternative_tables import EMPTY, STRANGE, mixed
from benchmarks.alternatives.accounting import DELTA, InvalidEpsilonError, epsilon_of, noise_scale, release
from benchmarks.alternatives.canary import gaussian_epsilon, proven_epsilon, proven_gaussian_epsilon, worst_record
from benchmarks.alternatives.private_network import PrivateTraining
from benchmarks.alternatives.released import COUNT, POSITION, Released
from benchmarks.alternatives.structure import Structure
from benchmarks.alternatives.tables import Records, Split

EPSILONS = (0.1, 1.0, 3.0, 10.0)


def structure_of(seed=0, n_clusters=4):
    return Structure.learn(mixed(80, seed), n_clusters, 6, seed)


def delta_of(deviations, epsilon):
    """Return the δ of Gaussian noise by Balle and Wang; `deviations` is the sensitivity, in those of the noise."""
    lost = norm.cdf(deviations / 2 - epsilon / deviations)
    return lost - math.exp(epsilon) * norm.cdf(-deviations / 2 - epsilon / deviations)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sensitivity", [1.0, 293.0])
def test_the_noise_keeps_epsilon_by_other_accountants(epsilon, sensitivity):
    scale = noise_scale(sensitivity, epsilon)
    assert epsilon_of(scale, sensitivity) == pytest.approx(epsilon, rel=1e-6)
    # By the exact formula, which OpenDP did not use: it keeps ε, and wastes little.
    assert delta_of(sensitivity / scale, epsilon) <= DELTA
    assert 0.85 * epsilon < gaussian_epsilon(sensitivity / scale) < epsilon
    # Half the noise would not keep it, nor the noise for half of the sensitivity.
    assert delta_of(sensitivity / (scale / 2), epsilon) > DELTA
    assert epsilon_of(noise_scale(sensitivity / 2, epsilon), sensitivity) > epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_noise_keeps_epsilon_by_renyi_differential_privacy(epsilon):
    rho = 1.0 / (2.0 * noise_scale(1.0, epsilon) ** 2)
    orders = np.geomspace(1.0001, 1e5, 20_000)
    # Mironov (2017), the plain conversion, is the weaker one, so OpenDP's ε is less but not by much.
    assert epsilon <= (rho * orders + math.log(1 / DELTA) / (orders - 1)).min() < 1.35 * epsilon


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 1e6])
def test_an_epsilon_that_is_none(epsilon):
    with pytest.raises(InvalidEpsilonError, match="above 0"):
        noise_scale(1.0, epsilon)
    with pytest.raises(InvalidEpsilonError, match="above 0"):
        PrivateTraining(structure_of(), frozenset(), epsilon)


def test_noise_has_the_scale():
    noise = release(np.full(20_000, 7), 50.0) - 7
    assert abs(noise.mean()) < 5 * 50 / math.sqrt(20_000)
    assert noise.std() == pytest.approx(50.0, rel=0.05)


CELLS = {
    "letter": st.sampled_from(["a", "b", "c", "never seen", None]),
    "number": st.one_of(st.floats(-1e12, 1e12), st.floats(-1, 3), st.just(math.nan)),
    "usual": st.sampled_from([0, 1, 250, 499, 10**9, -5]),
    "flag": st.sampled_from(["no", "yes", "perhaps", None]),
    "count": st.integers(-3, 20),
}
STRUCTURES = [structure_of(seed, n_clusters) for seed, n_clusters in ((0, 1), (1, 3), (2, 8))]


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(STRUCTURES), st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=6), st.data())
def test_a_record_moves_the_release_by_the_sensitivity_at_most(structure, rows, data):
    released, frame = Released(structure), pd.DataFrame(rows)
    gone = data.draw(st.integers(0, len(rows) - 1))
    # In one table as in another: a record's own part depends on no other record.
    both = [released.count(structure.code(part)) for part in (frame, frame.drop(index=gone))]
    assert np.linalg.norm(both[0] - both[1]) <= released.sensitivity
    alone = released.count(structure.code(frame.iloc[[gone]]))
    np.testing.assert_array_equal(both[0] - both[1], alone)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_no_smaller_sensitivity_would_do(structure):
    released = Released(structure)
    n_numbers = sum(structure.codings[edge.child].n_bins > 0 for edge in structure.edges)
    method = PrivateTraining(structure, frozenset(), 1.0)
    canary = worst_record(method, mixed(50, 3))
    assert np.linalg.norm(canary) == pytest.approx(released.sensitivity, rel=1e-9)
    assert np.linalg.norm(canary) <= released.sensitivity
    assert released.sensitivity**2 == pytest.approx(COUNT**2 * (1 + 5) + POSITION**2 * 2 * n_numbers)


def test_strange_records_are_counted_and_an_empty_one_only_in_its_cluster():
    structure = STRUCTURES[1]
    released = Released(structure)
    strange, empty = (released.count(structure.code(pd.DataFrame([row]))) for row in (STRANGE, EMPTY))
    parts = released.parts(strange)
    assert parts.sizes.sum() == 1
    assert [table.sum() for table in parts.tables] == [1] * 5
    assert all(table[..., -1].sum() == 1 for table in parts.tables[:1])
    assert all((sums == 0).all() for sums in parts.sums)
    assert released.parts(empty).sizes.sum() == 1
    assert sum(table.sum() for table in released.parts(empty).tables) <= 2


def test_an_attack_proves_less_than_what_is_so_and_finds_a_broken_release():
    rng = np.random.default_rng(0)
    for epsilon in (1.0, 10.0):
        deviations = 1.0 / noise_scale(1.0, epsilon)
        out, inside = rng.standard_normal((2, 20_000))
        honest = inside + deviations
        assert 0.0 <= proven_epsilon(out, honest, 0) <= epsilon
        assert 0.5 * epsilon < proven_gaussian_epsilon(out, honest, 0) <= epsilon
        # Noise for a third of the sensitivity.
        assert proven_gaussian_epsilon(out, inside + 3.0 * deviations, 0) > epsilon
    assert proven_epsilon(out, inside + 10.0, 0) > 5.0
    assert proven_epsilon(out, inside, 0) < 0.1


def test_public_records_are_in_the_release_of_nobody():
    public, private = mixed(60, 0), mixed(200, 1, first=1000)
    split = Split(private, public, mixed(5, 2, first=5000))
    method = PrivateTraining.of(split, 1.0, 0)
    np.testing.assert_array_equal(method.count(split.train), method.count(private))
    parts = method.released.parts(method.count(Records(private.frame.iloc[:7])))
    assert parts.sizes.sum() == 7

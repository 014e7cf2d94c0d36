"""Peers learn on request, as the benchmarks have them learn."""

import numpy as np
import pytest

from benchmarks.paper.peer_trials import options_of
from benchmarks.peers.libraries import DEEPROB_KIT, SPFLOW

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("library", [SPFLOW, DEEPROB_KIT])
def test_it_learns_scores_and_takes_wider_gaussians(library, request):
    peer = request.getfixturevalue({SPFLOW: "spflow", DEEPROB_KIT: "deeprob_kit"}[library])
    groups = np.repeat([0.0, 1.0], 300)
    noise = np.random.default_rng(0).normal(size=600)
    rows = np.column_stack([np.where(groups, 10.0 + noise, 1e-3 * noise), groups])
    learned = peer.learn(rows, [0, 2], **options_of(library, has_numbers=True))
    assert learned.seconds > 0
    assert learned.units > 3
    narrow = peer.score(rows)
    peer.widen([0.5, 0.0])
    wide = peer.score(rows)
    # rows of the narrow group become less likely, rows of the wide one stay what they are
    assert np.median(wide[groups == 0]) < np.median(narrow[groups == 0]) - 5.0
    np.testing.assert_allclose(wide[groups == 1], narrow[groups == 1])


def test_deeprob_kit_learns_binary_columns_with_its_g_test(deeprob_kit):
    rng = np.random.default_rng(0)
    coin, other = rng.integers(0, 2, (2, 3000))
    rows = np.column_stack([coin, coin ^ (rng.random(3000) < 0.1), other]).astype(float)
    options = options_of(DEEPROB_KIT, has_numbers=False)
    assert deeprob_kit.learn(rows, [2, 2, 2], **options, random_state=0).units > 3
    # two coins, and a copy of one that is wrong once in ten times
    assert deeprob_kit.score(rows).mean(dtype=float) == pytest.approx(-2 * np.log(2) - 0.325, abs=0.03)

"""SPFlow learns on request, as the benchmarks have it learn."""

import numpy as np
import pytest

from unlearnspn.bench.paper.peer_trials import options_of

pytestmark = pytest.mark.oracle


def test_it_learns_scores_and_takes_wider_gaussians(spflow):
    groups = np.repeat([0.0, 1.0], 300)
    noise = np.random.default_rng(0).normal(size=600)
    rows = np.column_stack([np.where(groups, 10.0 + noise, 1e-3 * noise), groups])
    learned = spflow.learn(rows, [0, 2], **options_of("SPFlow", has_numbers=True))
    assert learned.seconds > 0
    assert learned.units > 3
    narrow = spflow.score(rows)
    spflow.widen([0.5, 0.0])
    wide = spflow.score(rows)
    # rows of the narrow group become less likely, rows of the wide one stay what they are
    assert np.median(wide[groups == 0]) < np.median(narrow[groups == 0]) - 5.0
    np.testing.assert_allclose(wide[groups == 1], narrow[groups == 1])

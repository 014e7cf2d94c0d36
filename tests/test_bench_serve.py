"""Rates against peers, and our own worker."""

import numpy as np
import pytest

from unlearnspn import SPN
from unlearnspn.bench.peers.client import Learned, Worker, WorkerFailed
from unlearnspn.bench.serve.plan import Plan
from unlearnspn.bench.serve.run import rate_rows
from unlearnspn.bench.serve.scoring import Problem, Result


def test_rates_are_compared_with_ours():
    problem = Problem("sample", [0], np.zeros((5, 1)), np.zeros((1000, 1)))
    learned = Learned({"sums": 1, "products": 2, "leaves": 3}, 0.1)
    ours, spflow, deeprob = rate_rows(
        problem,
        [
            Result("unlearnspn", learned, {}, [0.002, 0.001]),
            Result("SPFlow", learned, {}, [0.025, 0.020]),
            Result("deeprob-kit", learned, {}, [0.009]),
        ],
    )
    assert ours["rate"] == 1e6
    assert ours["units"] == 6
    assert "ratio" not in ours
    assert spflow["ratio"].reached
    assert deeprob["ratio"].reached is False


def test_a_worker_learns_scores_and_says_how_long_it_took():
    rows = np.random.default_rng(0).normal(size=(300, 2))
    with Worker("unlearnspn") as worker:
        learned = worker.learn(rows, [0, 0], min_rows=100)
        assert learned.seconds > 0
        assert learned.units == sum(learned.size.values()) >= 3
        np.testing.assert_array_equal(worker.score(rows), SPN(min_rows=100).fit(rows).score_samples(rows))
        assert worker.time_scores() > 0
        with pytest.raises(WorkerFailed, match="widen"):
            worker.widen([0.0, 0.0])


def test_what_is_scored_without_a_folder():
    plan = Plan.of(None, None, "bernoulli", False, None, True)
    assert plan.names == ["wine", "breast_cancer"]
    assert plan.n_scored == 10_000
    assert len(plan.left_out) == 5

"""All or nothing: a request that fails half-way, for whatever reason, leaves the model as it was."""

import pickle

import numpy as np
import pytest
from numba import njit

from unlearnspn import SPN, Gaussian, Histogram
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.flat_network import FlatNetwork


class Fragile(Gaussian):
    """Fails at the n-th revision from now on, in the middle of the walk."""

    left = None

    def revise(self, statistics, data, minus, plus):
        if Fragile.left is not None:
            Fragile.left -= 1
            if Fragile.left < 0:
                raise KeyboardInterrupt
        return super().revise(statistics, data, minus, plus)


@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("request_name", ["unlearn", "learn", "rectify"])
def test_an_interrupted_request_changes_nothing(after, request_name):
    table = example_table(60)
    leaves = {name: Fragile() for name in ("x0", "x1", "x2")}
    spn = SPN(min_rows=10, leaves=leaves, categorical_features=list(CATEGORICAL)).fit(table)
    requests = {
        "unlearn": spn.unlearn,
        "learn": lambda row, **options: spn.learn(table[row : row + 1], ids=[1000], **options),
        "rectify": lambda row, **options: spn.rectify(table[row : row + 1], ids=[row], **options),
    }

    def n_revised(row):
        """Count the leaves that a request about a record revises: none if it changes the coding."""
        Fragile.left = 1000
        requests[request_name](row, dry_run=True)
        n_left, Fragile.left = Fragile.left, None
        return 1000 - n_left

    row = next(row for row in range(60) if n_revised(row) > after)
    digests = spn.digest(), spn.state_digest(), spn.score_samples(table).tobytes()
    before = pickle.dumps(spn)
    Fragile.left = after
    try:
        with pytest.raises(KeyboardInterrupt):
            requests[request_name](row)
    finally:
        Fragile.left = None
    assert (spn.digest(), spn.state_digest(), spn.score_samples(table).tobytes()) == digests
    assert spn.ids_ == list(range(60))
    assert len(pickle.dumps(spn)) <= len(before) * 1.05
    requests[request_name](row)
    assert spn.verify()
    assert np.isfinite(spn.score(table))


@pytest.mark.parametrize("method", ["grow", "set_part", "link", "address", "learn_open_leaves", "place"])
@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_request_that_fails_while_the_network_is_rebuilt_changes_nothing(method, after, monkeypatch):
    table = example_table(120)
    leaves = {"x0": Histogram()}
    spn = SPN(min_rows=5, threshold=0.7, leaves=leaves, categorical_features=list(CATEGORICAL)).fit(table)
    digests = spn.digest(), spn.state_digest(), spn.score_samples(table).tobytes()
    original, failed = getattr(FlatNetwork, method), 0
    for row in range(0, 120, 3):
        left = [after]

        def failing(*arguments, left=left):
            left[0] -= 1
            if left[0] == -1:  # once only: taking back may need it
                raise KeyboardInterrupt
            return original(*arguments)

        monkeypatch.setattr(FlatNetwork, method, failing)
        try:
            spn.unlearn([row, row + 1])
        except KeyboardInterrupt:
            failed += 1
            monkeypatch.setattr(FlatNetwork, method, original)
            assert (spn.digest(), spn.state_digest(), spn.score_samples(table).tobytes()) == digests
            assert spn.verify()
        else:
            monkeypatch.setattr(FlatNetwork, method, original)
            spn.learn(table[row : row + 2], ids=[row, row + 1])
            assert (spn.digest(), spn.state_digest()) == digests[:2]
    assert failed or after


@njit
def arrays_of(ground):
    return ground.codes, ground.levels, ground.keys


def test_what_was_tried_out_leaves_no_arrays_behind():
    spn = SPN(min_rows=10, categorical_features=list(CATEGORICAL)).fit(example_table(60))
    model = spn._model
    spn.learn(example_table(40, seed=1), ids=range(100, 140), dry_run=True)
    for seen, kept in zip(arrays_of(model.learner.ground), ("codes", "levels", "keys"), strict=True):
        assert np.shares_memory(seen, getattr(model.records, kept))


def test_requests_are_exact_with_levels_of_any_width(monkeypatch):
    monkeypatch.setattr("unlearnspn.records._MOST_IN_TWO_BYTES", 50)
    names = [[float(i % 7), f"name {i % 45}", "ab"[i % 2]] for i in range(120)]
    more = [[float(i % 5), f"other {i}", "b"] for i in range(20)]
    spn = SPN(min_rows=10, categorical_features=["x1", "x2"]).fit(np.array(names, object))
    assert spn._model.records.levels.dtype == np.int16
    spn.unlearn(list(range(10)))
    assert spn.verify()
    spn.learn(np.array(more, object), ids=range(200, 220))
    assert spn._model.records.levels.dtype == np.int32
    assert spn.verify()
    for leaving in (*range(200, 220), *range(20, 80, 7)):
        spn.unlearn([leaving])
        assert spn.verify()

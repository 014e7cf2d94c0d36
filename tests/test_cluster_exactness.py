"""A model learned where the records are is the one learned in one place, and stays so whatever is asked of it."""

import warnings

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sequences import Held, apply_request, large_sequences, sequences
from shards import cut, fit_in_shards
from unlearnspn import SPN, SPNEnsemble
from unlearnspn.errors import SameMembersWarning


def frame(sequence, X, ids):
    """Return a table with the names that arrays' columns get, and the ids beside."""
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])], dtype=object)
    return table.assign(id=ids)


def assert_alike(shared, local, pool):
    assert shared.digest() == local.digest()
    assert shared.state_digest() == local.state_digest()
    assert shared.n_records_ == local.n_records_
    assert shared.score_samples(pool).tobytes() == local.score_samples(pool).tobytes()
    assert shared.circuit_ == local.circuit_


def assert_like_local(sequence, estimator_class=SPN, **more):
    rng = np.random.default_rng(sequence.shuffle)
    held = Held({number: number for number in range(sequence.n_first)})
    X, ids = held.table(sequence, rng)
    parts = [frame(sequence, X[places], [ids[p] for p in places]) for places in cut(len(X), rng.integers(1, 8), rng)]
    mergeable = {"min_category_count": 1}
    if sequence.parameters.get("independence") == "rdc":
        mergeable |= {"independence": "gtest", "threshold": 0.3}
    columns = [f"x{j}" for j in range(X.shape[1])]

    def estimator():
        chosen = {**sequence.parameters, **mergeable, **more}
        return estimator_class(categorical_features=sequence.categorical, **chosen)

    def local(X, ids):
        return estimator().fit(pd.DataFrame(X, columns=columns, dtype=object).assign(id=ids), ids="id")

    shared = fit_in_shards(estimator(), parts, int(rng.integers(1, 4)))
    pool = pd.DataFrame(sequence.pool, columns=columns, dtype=object)
    assert_alike(shared, local(X, ids), pool)
    for kind, numbers in sequence.requests:
        report = apply_request(shared, sequence, held, kind, numbers)
        if report is None:
            continue
        X, ids = held.table(sequence, rng)
        fresh = local(X, ids)
        assert report.state_digest_after == fresh.state_digest()
        assert_alike(shared, fresh, pool)
    assert shared.ids_ == sorted(sequence.name(number) for number in held.rows)
    assert shared.verify()


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(sequences())
def test_sequences(sequence):
    assert_like_local(sequence)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(sequences(), st.integers(1, 4), st.sampled_from([0.05, 0.3, 0.7, 1.0]))
def test_ensembles(sequence, n_members, subsample):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SameMembersWarning)
        assert_like_local(sequence, SPNEnsemble, n_members=n_members, subsample=subsample)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(large_sequences())
def test_large_sequences(sequence):
    assert_like_local(sequence)

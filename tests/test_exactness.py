"""The promise of the project: after any sequence of requests the model is, bit for bit, the one learned afresh."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from sequences import Held, apply_request, sequences

#: How many random sequences are tried in all; `UNLEARNSPN_SEQUENCES=100000` for the deep run.
N_SEQUENCES = int(os.environ.get("UNLEARNSPN_SEQUENCES", "2400"))
N_PARTS = 8


@pytest.mark.parametrize("part", range(N_PARTS))
@settings(
    max_examples=N_SEQUENCES // N_PARTS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(sequence=sequences())
def test_every_request_equals_retraining(part, sequence):
    rng = np.random.default_rng(sequence.shuffle)
    held = Held({number: number for number in range(sequence.n_first)})
    X, ids = held.table(sequence, rng)
    spn = sequence.estimator().fit(X, ids=ids)
    for kind, numbers in sequence.requests:
        before = spn.digest(), spn.state_digest()
        report = apply_request(spn, sequence, held, kind, numbers)
        if report is None:
            continue
        X, ids = held.table(sequence, rng)
        fresh = sequence.estimator().fit(X, ids=ids)
        assert spn.digest() == fresh.digest()
        assert spn.state_digest() == fresh.state_digest()
        assert (report.digest_before, report.state_digest_before) == before
        assert (report.digest_after, report.state_digest_after) == (fresh.digest(), fresh.state_digest())
        assert spn.score_samples(sequence.pool).tobytes() == fresh.score_samples(sequence.pool).tobytes()
    assert spn.ids_ == sorted(sequence.name(number) for number in held.rows)

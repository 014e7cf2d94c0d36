"""The promise of the project: after any sequence of requests the model is, bit for bit, the one learned afresh."""

import os

import pytest
from hypothesis import HealthCheck, given, settings

from sequences import assert_like_retraining, large_sequences, sequences

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
    assert_like_retraining(sequence)


@pytest.mark.parametrize("part", range(2))
@settings(
    max_examples=max(N_SEQUENCES // 300, 1),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(sequence=large_sequences())
def test_every_request_to_many_records_equals_retraining(part, sequence):
    assert_like_retraining(sequence)

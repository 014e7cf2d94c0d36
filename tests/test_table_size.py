"""Leaves and bins that follow from the size of the table: a step is another model, to be learned anew on both ways."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sequences import assert_like_retraining, sequences
from unlearnspn import SPN, SPNEnsemble, table_size
from unlearnspn.table_size import min_rows_among, n_bins_among, n_clusters_among


def test_leaves_double_with_the_records_and_never_shrink():
    sizes = [min_rows_among(n, 10) for n in range(1, 200_000, 97)]
    assert sizes == sorted(sizes)
    assert min_rows_among(8_191, 10) == 200
    for n in (8_192, 79_999, 123_456, 10**7):
        assert min_rows_among(2 * n, 10) == 2 * min_rows_among(n, 10)
        assert 10 <= n / min_rows_among(n, 10) <= 21


def test_there_are_many_clusters_where_leaves_grow_and_only_there():
    assert [n_clusters_among(n) for n in (1, 8_191, 8_192, 10**7)] == [8, 8, 64, 64]
    # A node of a few records, which somebody asks for, would be left with none for each of many clusters.
    X = table(8_192)
    few, many = SPN(min_rows=500).fit(X), SPN().fit(X)
    assert few.digest() == SPN(min_rows=500, n_clusters=8).fit(X).digest()
    assert many.digest() == SPN(min_rows=800, n_clusters=64).fit(X).digest()


@pytest.mark.parametrize(("n_records", "same"), [(65_535, (200, 8)), (65_536, (6400, 64))])
def test_a_table_without_numbers_has_small_leaves_for_longer(n_records, same):
    X = np.random.default_rng(0).integers(0, 2, (n_records, 3)).astype(bool)
    X[:, 1] ^= X[:, 0]
    spn, given = SPN().fit(X), SPN(min_rows=same[0], n_clusters=same[1]).fit(X)
    assert spn.digest() == given.digest()
    assert spn.min_rows_ == same[0]


def test_bins_get_finer_when_leaves_grow_up_to_a_limit():
    numbers = [n_bins_among(n) for n in range(1, 400_000, 97)]
    assert numbers == sorted(numbers)
    steps = [n for n in range(1024, 10**6, 1024) if n_bins_among(n - 1) != n_bins_among(n)]
    assert steps == [32_768, 65_536, 131_072]
    assert all(min_rows_among(n - 1, 10) != min_rows_among(n, 10) for n in steps)
    assert [n_bins_among(n) for n in (1, 383, 384, 767, 768, 32_767, 32_768, 10**9)] == [5, 5, 9, 9, 13, 13, 17, 25]


@pytest.fixture
def small(monkeypatch):
    """Let leaves grow, and bins get finer, among a handful of records already."""
    monkeypatch.setattr(table_size, "_AMONG", 8)
    monkeypatch.setattr(table_size, "_AMONG_CATEGORIES", 16)
    monkeypatch.setattr(table_size, "_MIN_ROWS", 2)
    monkeypatch.setattr(table_size, "_N_BINS", (3, 5, 9))
    monkeypatch.setattr(table_size, "_FINER_AMONG", (12, 16))
    monkeypatch.setattr(table_size, "_N_CLUSTERS", 2)
    monkeypatch.setattr(table_size, "_MANY_CLUSTERS", 3)
    monkeypatch.setattr(table_size, "_DOUBLINGS", 0)


#: The fixture says the same to all examples.
SUPPRESSED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@settings(max_examples=80, deadline=None, suppress_health_check=SUPPRESSED)
@given(sequence=sequences(), n_first=st.sampled_from([7, 8, 9, 15, 16, 17, 31, 32, 33, 40]))
def test_every_request_equals_retraining(small, sequence, n_first):
    parameters = {**sequence.parameters, "min_rows": "auto", "n_bins": "auto", "n_clusters": "auto"}
    assert_like_retraining(replace(sequence, n_first=min(n_first, len(sequence.pool)), parameters=parameters))


def test_other_clusters_of_leaves_as_large_are_learned_anew(small):
    # Of so few columns' records as many are left whole, and yet there are three clusters from 16 records on.
    X = np.array([["a", "a", "a"]] * 14 + [["a", "a", "b"], ["a", "b", "b"]], object)
    spn = SPN(threshold=0.2).fit(X)
    spn.unlearn([0])
    assert spn.verify()


def table(n_records):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 5, n_records)
    return np.column_stack([group + rng.standard_normal(n_records), group, rng.standard_normal(n_records)])


@pytest.mark.parametrize("make", [SPN, lambda **settings: SPNEnsemble(2, 0.5, **settings)], ids=["spn", "ensemble"])
def test_records_that_leave_and_come_across_a_step(small, make):
    X, estimator = table(70), make(threshold=0.2)
    spn = estimator.fit(X)
    for gone in (np.arange(10), np.arange(5), np.arange(0)):
        held = spn.ids_
        spn.unlearn([row for row in gone.tolist() if row in held])
        back = [row for row in range(10) if row not in gone.tolist() and row not in held]
        if back:
            spn.learn(X[back], ids=back)
        left = np.setdiff1d(np.arange(70), gone)
        fresh = make(threshold=0.2).fit(X[left], ids=left)
        assert (spn.digest(), spn.state_digest()) == (fresh.digest(), fresh.state_digest())
        assert spn.score_samples(X).tobytes() == fresh.score_samples(X).tobytes()


def test_a_step_is_planned_without_being_taken(small):
    X = table(64)
    spn = SPN(threshold=0.2).fit(X)
    before = spn.digest(), spn.state_digest()
    planned = spn.unlearn([0], dry_run=True)
    assert (spn.digest(), spn.state_digest()) == before
    done = spn.unlearn([0])
    assert planned.digest_after == done.digest_after == SPN(threshold=0.2).fit(X[1:], ids=range(1, 64)).digest()
    assert done.subnetworks_learned >= 1


def test_a_number_stays_what_it_is():
    X = table(32_769)
    spn = SPN(min_rows=200, n_bins=13).fit(X)
    assert spn.unlearn([0, 1]).subnetworks_learned == 0
    growing = SPN().fit(X)
    assert growing.digest() == SPN(min_rows=3200, n_bins=17, n_clusters=64).fit(X).digest()
    assert (spn.min_rows_, growing.min_rows_) == (200, 3200)
    assert (spn.n_bins_, growing.n_bins_) == (13, 17)
    report = growing.unlearn([0, 1])
    assert report.recoded
    assert (growing.min_rows_, growing.n_bins_) == (1600, 13)


def test_a_table_without_numbers_has_no_bins_to_change(small):
    X = np.array([["a", "b"][row % 2] for row in range(64)], object).reshape(-1, 1)
    spn = SPN(min_rows=200).fit(X)
    assert not spn.unlearn([0]).recoded
    assert spn.verify()


@pytest.mark.parametrize("name", ["min_rows", "n_bins", "n_clusters"])
def test_other_words_are_refused(name):
    with pytest.raises(ValueError, match=f"{name}='large' is neither 'auto' nor a number"):
        SPN(**{name: "large"}).fit([[1.0], [2.0]])


def test_more_variables_need_more_records():
    assert [min_rows_among(1000, d) for d in (1, 50, 51, 200)] == [200, 200, 204, 800]

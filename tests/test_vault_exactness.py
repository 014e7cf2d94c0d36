"""After any sequence of requests the file holds what memory holds, and a vault that is opened is what a fit gives."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from sequences import Held, apply_request, sequences
from unlearnspn import Vault
from unlearnspn.vault import pages
from vault_states import digests_of, require_stored

#: How many random sequences are tried; `UNLEARNSPN_VAULT_SEQUENCES=5000` for a deep run.
N_SEQUENCES = int(os.environ.get("UNLEARNSPN_VAULT_SEQUENCES", "40"))


@pytest.fixture(autouse=True, scope="module")
def small_pages():
    """Small networks fill many pages, so that one which is not written is noticed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "PAGE", 64)
        yield


class Rehearsing:
    """A vault that tries each request out before it carries it out: trying must not leave a trace."""

    def __init__(self, vault, rehearses):
        self._vault = vault
        self._rehearses = rehearses

    def __getattr__(self, name):
        def send(*arguments, **named):
            if self._rehearses:
                before = digests_of(self._vault)
                tried = getattr(self._vault, name)(*arguments, **named, dry_run=True)
                assert tried.certificate is None
                assert digests_of(self._vault) == before
            outcome = getattr(self._vault, name)(*arguments, **named)
            if self._rehearses:
                assert tried.report.digest_after == outcome.report.digest_after
            return outcome

        return send


@settings(
    max_examples=N_SEQUENCES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(sequence=sequences())
def test_the_file_follows_every_request(sequence):
    rng = np.random.default_rng(sequence.shuffle)
    held = Held({number: number for number in range(sequence.n_first)})
    with TemporaryDirectory() as folder:
        path = Path(folder) / "vault.uspn"
        with Vault.create(path) as vault:
            vault.ingest(*held.table(sequence, rng))
            vault.fit(categorical_features=sequence.categorical, **sequence.parameters)
            require_stored(vault)
            for kind, numbers in sequence.requests:
                if apply_request(Rehearsing(vault, sequence.shuffle % 2), sequence, held, kind, numbers) is None:
                    continue
                require_stored(vault)
                X, ids = held.table(sequence, rng)
                fresh = sequence.estimator().fit(X, ids=ids)
                with Vault.open(path) as reader:
                    assert digests_of(reader) == (fresh.digest(), fresh.state_digest())
                    assert reader.score_samples(sequence.pool).tobytes() == fresh.score_samples(sequence.pool).tobytes()
                    assert reader.ids() == fresh.ids_
            assert vault.verify()


def test_requests_go_on_after_opening(tmp_path):
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(300, 3)), rng.integers(0, 4, 300)])
    path = tmp_path / "vault.uspn"
    with Vault.create(path) as vault:
        vault.ingest(X[:250], list(range(250)))
        vault.fit(min_rows=4, categorical_features=[3])
    left = list(range(250))
    for number in range(30):
        with Vault.open(path, write=True) as vault:
            if number % 3:
                left.remove(gone := int(rng.choice(left)))
                vault.unlearn(gone)
            else:
                left.append(250 + number // 3)
                vault.learn(X[[left[-1]]], [left[-1]])
            require_stored(vault)
    with Vault.open(path) as vault:
        assert vault.ids() == sorted(left)
        assert vault.verify()


def test_what_was_only_tried_out_leaves_no_mixture(tmp_path):
    rng = np.random.default_rng(5)
    with Vault.create(tmp_path / "vault.uspn") as vault:
        middles = 5.0 * rng.integers(0, 4, (200, 1))
        vault.ingest(middles + rng.normal(size=(200, 3)), list(range(200)))
        vault.fit(min_rows=20)
        assert vault.root_.children
        for gone in range(0, 60, 3):
            for tried in rng.choice(np.arange(60, 200), 4, replace=False).tolist():
                vault.unlearn(tried, dry_run=True)
            vault.unlearn(gone)
            require_stored(vault)


def test_a_vault_can_be_fitted_anew(tmp_path):
    table = np.array([[float(i % 7), "ab"[i % 2], i % 3 == 0] for i in range(60)], object)
    with Vault.create(tmp_path / "vault.uspn") as vault:
        vault.ingest(table, list(range(60)))
        vault.fit(min_rows=10)
        first = digests_of(vault)
        vault.fit(min_rows=5)
        assert digests_of(vault) != first
        vault.fit(min_rows=10)
        assert digests_of(vault) == first
        require_stored(vault)
        vault.fit(min_rows=10, categorical_features="all")
        assert vault.verify()
        assert [entry.statement.action for entry in vault.log()] == ["init", "ingest", "fit", "fit", "fit", "fit"]


@pytest.mark.parametrize("string_ids", [False, True])
def test_the_last_record_takes_the_model_with_it(tmp_path, string_ids):
    ids = ["a", "b", "c"] if string_ids else [1, 2, 3]
    with Vault.create(tmp_path / "vault.uspn") as vault:
        vault.ingest(np.array([[1.0], [2.0], [3.0]]), ids)
        vault.fit(min_rows=1)
        outcome = vault.unlearn(ids)
        assert outcome.remaining == 0
        assert outcome.certificate.statement.after is None
        assert vault.verify()
        assert len(vault) == 0
        vault.ingest(np.array([[1.5]]), ids[:1])
        vault.fit()
        assert vault.verify()

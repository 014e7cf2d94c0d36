"""What a removal would do: the same as the removal does then, and nothing is changed before it."""

import numpy as np
import pytest

from services import TABLE, make_vault
from unlearnspn import Vault
from unlearnspn.errors import UnknownRecordError
from unlearnspn.plots.touched import Touch, find_touches
from unlearnspn.vault import InboxError, Wish
from vault_states import people


def scores_of(vault, table):
    return float(vault.circuit_.score_samples(table.drop(columns=["customer", "person"])).mean())


@pytest.mark.parametrize("seed", range(4))
def test_what_is_foreseen_comes_true(tmp_path, seed):
    path = make_vault(tmp_path)
    rng = np.random.default_rng(seed)
    ids = sorted(rng.choice(TABLE["customer"], rng.integers(1, 40), replace=False).tolist())
    gone = TABLE["customer"].isin(ids)
    with Vault.open(path) as reader:
        preview = reader.preview(ids)
    with Vault.open(path, write=True) as vault:
        before = scores_of(vault, TABLE[gone]), scores_of(vault, TABLE[~gone])
        root = vault.root_
        outcome = vault.unlearn(ids)
        after = scores_of(vault, TABLE[gone]), scores_of(vault, TABLE[~gone])
        touches = find_touches(root, vault.root_)
    change = preview.change
    assert (change.of_removed.before, change.of_others.before) == pytest.approx(before, rel=1e-12)
    assert (change.of_removed.after, change.of_others.after) == pytest.approx(after, rel=1e-12)
    assert (change.of_removed.n_records, change.of_others.n_records) == (len(ids), len(TABLE) - len(ids))
    assert find_touches(change.before, change.after) == touches
    assert Touch.VISITED in touches.values()
    report = preview.outcome.report
    assert report.dry_run
    assert report.digest_after == outcome.report.digest_after
    assert report.state_digest_after == outcome.report.state_digest_after
    assert report.changed_operations == outcome.report.changed_operations
    assert (preview.outcome.removed, preview.outcome.remaining) == (outcome.removed, outcome.remaining)


@pytest.mark.parametrize("write", [False, True])
def test_nothing_is_changed(tmp_path, write):
    path = make_vault(tmp_path)
    content = path.read_bytes()
    with Vault.open(path, write=write) as vault:
        digests, circuit = vault.info().digests, vault.circuit_.digest()
        assert vault.preview(subject="p-7").outcome.certificate is None
        assert (vault.info().digests, vault.circuit_.digest(), len(vault)) == (digests, circuit, len(TABLE))
        assert vault.verify()
    assert path.read_bytes() == content


def test_without_a_model_only_records_are_counted(tmp_path):
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(people(30), "customer", "person")
        preview = vault.preview(subject="p-7")
        assert preview.change is None
        assert preview.outcome.removed + preview.outcome.remaining == len(vault) == 30


def test_of_the_last_records_no_model_is_left(tmp_path):
    with Vault.open(make_vault(tmp_path)) as vault:
        preview = vault.preview(vault.ids())
        assert (preview.change, preview.outcome.remaining) == (None, 0)
        assert len(vault) == len(TABLE)


def test_who_is_not_there_is_an_error(tmp_path):
    with Vault.open(make_vault(tmp_path)) as vault:
        with pytest.raises(UnknownRecordError, match="no records of the subject 'nobody'"):
            vault.preview(subject="nobody")
        assert len(vault) == len(TABLE)


def test_of_a_request_only_what_can_be_carried_out(tmp_path):
    with Vault.open(make_vault(tmp_path), write=True) as vault:
        request = vault.desk.file(Wish.ERASE, subject="p-7", who="anna")
        with pytest.raises(InboxError, match="nobody has verified"):
            vault.desk.preview(request.id)
        vault.desk.verify_identity(request.id, who="anna")
        assert vault.desk.preview(request.id).outcome.removed == vault.desk.try_out(request.id).removed

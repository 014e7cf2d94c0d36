"""Several readers, one writer: nobody sees a mixture, nobody sees who has left, and nobody else writes."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from unlearnspn import Vault, VaultError
from unlearnspn.vault import VaultBusyError
from vault_states import digests_of, features, people


def test_readers_score_while_a_writer_removes():
    script = Path(__file__).with_name("vault_readers.py")
    output = subprocess.run([sys.executable, script, "2", "40"], capture_output=True, text=True, check=False)
    assert output.returncode == 0, output.stderr
    assert int(re.match(r"(\d+) answers", output.stdout).group(1)) >= 10


@pytest.fixture
def path(tmp_path):
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(people(80), "customer", "person")
        vault.fit(min_rows=20)
    return tmp_path / "people.uspn"


def test_a_second_writer_is_told_so(path, tmp_path):
    link = tmp_path / "link.uspn"
    link.symlink_to(path)
    with Vault.open(path, write=True) as vault:
        for other in (path, link):
            with pytest.raises(VaultBusyError, match="is being changed by somebody else"):
                Vault.open(other, write=True)
        code = f"from unlearnspn import Vault; Vault.open({str(path)!r}, write=True)"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert other.returncode == 1
        assert "VaultBusyError" in other.stderr
        vault.unlearn("c-1")
    with Vault.open(link, write=True) as vault:
        vault.unlearn("c-2")
        assert vault.verify()


def test_a_reader_cannot_change_anything(path):
    with Vault.open(path) as vault:
        before = digests_of(vault)
        for change in (
            lambda: vault.unlearn("c-1"),
            lambda: vault.rectify(people(3)),
            lambda: vault.learn(people(3, first=500)),
            lambda: vault.ingest(people(3, first=500)),
            vault.fit,
            vault.rotate_key,
            vault.turn_guard_on,
        ):
            with pytest.raises(VaultError, match="was opened for reading: open it with write=True"):
                change()
        assert vault.unlearn("c-1", dry_run=True).report.dry_run
        assert digests_of(vault) == before


def test_a_reader_follows_whatever_the_writer_does(path):
    asked = features(people(10, seed=3))
    with Vault.open(path, write=True) as writer, Vault.open(path) as reader:
        for change in (
            lambda: writer.unlearn(subject="p-5"),
            lambda: writer.learn(people(20, seed=4, first=300)),
            lambda: writer.rectify(people(5, seed=9)),
            lambda: writer.fit(min_rows=10),
            writer.rotate_key,
        ):
            change()
            assert digests_of(reader) == digests_of(writer)
            assert reader.score_samples(asked).tobytes() == writer.score_samples(asked).tobytes()
            assert reader.public_key == writer.public_key
            assert reader.ids() == writer.ids()
        writer.unlearn(writer.ids())
        with pytest.raises(ValueError, match="the vault has no model yet"):
            reader.score_samples(asked)


def test_a_reader_takes_nothing_over_from_a_model_of_other_leaves(path):
    asked = features(people(10, seed=3))
    with Vault.open(path, write=True) as writer, Vault.open(path) as reader:
        before = reader.score_samples(asked)
        writer.fit(min_rows=20, alpha=5.0, min_std=3.0)
        assert reader.score_samples(asked).tobytes() == writer.score_samples(asked).tobytes() != before.tobytes()


def test_a_reader_takes_nothing_over_where_there_are_fewer_bins(tmp_path):
    """Those who lie far away are in the lowest bin, however many there are: their part keeps its digest."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, (384, 2)) - 100.0 * (np.arange(384) < 12)[:, np.newaxis]
    with Vault.create(tmp_path / "far.uspn") as writer:
        writer.ingest(table, list(range(384)))
        writer.fit(min_rows=30, n_clusters=2)
        with Vault.open(tmp_path / "far.uspn") as reader:
            reader.score_samples(table)
            writer.unlearn(383)
            assert reader.score_samples(table).tobytes() == writer.score_samples(table).tobytes()


def test_a_vault_that_was_closed_says_so(path):
    for write in (False, True):
        with Vault.open(path, write=write) as vault:
            vault.score_samples(features(people(3)))
        for ask in (vault.info, lambda vault=vault: vault.score_samples(features(people(3)))):
            with pytest.raises(VaultError, match="was closed here: open it again"):
                ask()
        vault.close()

"""What a vault holds: access to a person's records, copies of the vault, and models that are taken out of it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from command_line import run, run_json
from unlearnspn import Circuit, Vault, VaultError
from unlearnspn.certificates import audit_ledger
from unlearnspn.errors import RecordIdError
from unlearnspn.storage import StorageError
from unlearnspn.vault import ledger
from unlearnspn.vault.ledger import Ledger
from vault_states import people

TABLE = people(150).assign(visits=range(150))


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("original") / "people.uspn"
    with Vault.create(path) as vault:
        vault.ingest(TABLE, "customer", "person")
        vault.fit(min_rows=20)
    return path


@pytest.fixture
def path(original, tmp_path, monkeypatch):
    shutil.copytree(original.parent, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy" / original.name


def expected(person):
    return json.loads(TABLE[TABLE["person"] == person].to_json(orient="records"))


# -- access --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fitted", [True, False])
def test_all_records_of_a_person_are_shown_as_they_came(tmp_path, path, fitted):
    if not fitted:
        path = tmp_path / "drafts.uspn"
        with Vault.create(path) as vault:
            vault.ingest(TABLE, "customer", "person")
    with Vault.open(path) as vault:
        records = vault.access(subject="p-7")
        assert records.as_dicts() == expected("p-7")
        assert len(records) == 3
        assert all(type(row["visits"]) is int for row in records.as_dicts())
        assert vault.access("c-21").as_dicts() == expected("p-7")[:1]
        for wrong in ({"subject": "nobody"}, {"ids": ["c-21", "nobody"]}):
            with pytest.raises(RecordIdError, match="there are no records"):
                vault.access(**wrong)


def test_a_value_that_is_missing_is_none_and_without_subjects_there_is_no_column(tmp_path):
    table = pd.DataFrame({"age": [30.0, None, 40.0], "town": ["Ulm", None, "Kiel"]})
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(table, ids=[3, 1, 2])
        assert vault.access([1, 3]).as_dicts() == [
            {"id": 1, "age": None, "town": None},
            {"id": 3, "age": 30.0, "town": "Ulm"},
        ]


@pytest.mark.parametrize("codes", [[Decimal(2**70), Decimal(2)], [np.bool_(True), "b"], [np.int64(2), "b"]])
def test_records_are_shown_before_there_is_a_model_as_after_opening_the_vault_again(tmp_path, codes):
    with Vault.create(tmp_path / "drafts.uspn") as vault:
        vault.ingest(pd.DataFrame({"id": [1, 2], "code": pd.Series(codes, dtype=object)}), "id")
        records = vault.access([1, 2])
    with Vault.open(tmp_path / "drafts.uspn") as vault:
        again = vault.access([1, 2])
    assert json.dumps(records.as_dicts(), allow_nan=False) == json.dumps(again.as_dicts())


def test_access_on_the_command_line(path):
    assert run_json("access", "people.uspn", "--subject", "p-7")["records"] == expected("p-7")
    text = run("access", "people.uspn", "--subject", "p-7").stdout
    lines = run("access", "people.uspn", "--subject", "p-7", "--format", "csv").stdout.splitlines()
    assert lines[0] == ",".join(TABLE.columns)
    assert len(lines) == 4
    for row in expected("p-7"):
        assert all(str(value) in text for value in row.values())
    run("access", "people.uspn", "--id", "c-21", "--output", "record.jsonl")
    assert json.loads((path.parent / "record.jsonl").read_text()) == expected("p-7")[0]
    assert (path.parent / "record.jsonl").stat().st_mode & 0o077 == 0
    run("access", "people.uspn", "--subject", "nobody", code=3)
    run("access", "people.uspn", code=2)
    run("access", "people.uspn", "--subject", "p-7", "--id", "c-21", code=2)


# -- backup --------------------------------------------------------------------------------------------------------


def test_a_backup_is_a_vault_as_it_was(path, tmp_path):
    copy = tmp_path / "monday.uspn"
    with Vault.open(path, write=True) as vault:
        vault.backup(copy)
        before = vault.info().digests
        vault.unlearn("c-21")
        with pytest.raises(VaultError, match="is there already"):
            vault.backup(copy)
    with Vault.open(copy) as backup:
        assert backup.verify()
        assert backup.info().digests == before
        assert backup.access("c-21").as_dicts() == expected("p-7")[:1]
    assert copy.stat().st_mode & 0o077 == 0
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
    # With the key it goes on from where it was.
    shutil.copy(path.with_name("people.uspn.key"), tmp_path / "monday.uspn.key")
    with Vault.open(copy, write=True) as backup:
        backup.unlearn("c-21")
        assert backup.verify()


def test_a_backup_while_somebody_writes_is_one_state(path, tmp_path):
    with Vault.open(path, write=True) as vault, Vault.open(path) as reader:
        for number in range(5):
            vault.unlearn(f"c-{number}")
            reader.backup(tmp_path / f"{number}.uspn")
            with Vault.open(tmp_path / f"{number}.uspn") as copy:
                assert len(copy) == 149 - number
                assert copy.verify(relearn=False)


def test_a_damaged_vault_is_not_copied(path, tmp_path):
    with Vault.open(path) as vault:
        connection = sqlite3.connect(path)
        connection.execute("UPDATE pages_0 SET data = zeroblob(8000) WHERE number = 3")
        connection.commit()
        connection.close()
        with pytest.raises(VaultError, match="damaged"):
            vault.backup(tmp_path / "copy.uspn")
    assert [each.name for each in tmp_path.iterdir()] == ["copy"]


def test_backup_on_the_command_line_says_what_it_means(path):
    result = run("backup", "people.uspn", "monday.uspn")
    assert "150 records and 3 entries of the ledger in monday.uspn" in result.stdout
    assert "Erasure does not reach this copy" in result.stderr
    described = run_json("backup", "people.uspn", "tuesday.uspn")
    assert described["head"] == run_json("verify", "people.uspn", "--quick")["head"]
    run("backup", "people.uspn", "monday.uspn", code=2)


# -- export --------------------------------------------------------------------------------------------------------


def test_who_took_which_model_is_entered(path, tmp_path):
    with Vault.open(path, write=True) as vault:
        outcome = vault.export(tmp_path / "people.circuit", request_id="take-1", operator="Ada")
        statement = outcome.certificate.statement
        assert statement.action == "export"
        assert (statement.request.id, statement.request.operator) == ("take-1", "Ada")
        assert statement.after == statement.before == vault._home.contents().commitments
        vault.unlearn("c-21")
        assert vault.verify()
        assert audit_ledger([entry.encoded for entry in vault.log()])
    assert len(Circuit.load(tmp_path / "people.circuit").columns) == len(TABLE.columns) - 2


def test_a_vault_for_reading_exports_without_an_entry(path, tmp_path):
    with Vault.open(path) as vault:
        assert vault.export(tmp_path / "people.json", format="json").certificate is None
        assert len(vault.log()) == 3
        with pytest.raises(ValueError, match="neither 'circuit' nor"):
            vault.export(tmp_path / "x", format="pickle")
    json.loads((tmp_path / "people.json").read_text())


@pytest.mark.parametrize("format", ["circuit", "json", "dot"])
@pytest.mark.parametrize("is_there", [True, False])
def test_an_export_that_cannot_be_entered_changes_no_file(path, tmp_path, monkeypatch, format, is_there):
    folder = tmp_path / "exports"
    folder.mkdir()
    with Vault.open(path, write=True) as vault:
        if is_there:
            vault.export(folder / "people", format=format)
        before, entries = contents_of(folder), len(vault.log())
        vault.unlearn("c-21")
        with monkeypatch.context() as patched:
            patched.setattr(Ledger, "append", lambda *arguments: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
            with pytest.raises(VaultError, match="full; the vault is complete"):
                vault.export(folder / "people", format=format)
        assert contents_of(folder) == before
        assert len(vault.log()) == entries + 1
        vault.export(folder / "people", format=format)
        assert [name for name, content in contents_of(folder).items() if content != before.get(name)] == ["people"]
        assert len(vault.log()) == entries + 2


def test_an_export_that_cannot_be_written_is_not_entered(path, tmp_path):
    (tmp_path / "folder").mkdir()
    with Vault.open(path, write=True) as vault:
        for place, why in (("nowhere/people", "No such file"), ("folder", "something is there that is no file")):
            with pytest.raises(StorageError, match=f"cannot write '{tmp_path / place}': {why}"):
                vault.export(tmp_path / place)
        assert len(vault.log()) == 3
    assert list((tmp_path / "folder").iterdir()) == []


def test_a_circuit_is_in_its_place_only_once_it_is_entered(path, tmp_path, monkeypatch):
    """What fails then leaves an entry too many, and no file."""
    (tmp_path / "people.circuit").write_bytes(b"the old file")
    before = contents_of(tmp_path)
    with Vault.open(path, write=True) as vault:
        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", lambda *arguments: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
            with pytest.raises(StorageError, match=r"cannot write .*people.circuit': broken"):
                vault.export(tmp_path / "people.circuit")
        assert [entry.statement.action for entry in vault.log()][3:] == ["export"]
        assert vault.verify()
    assert contents_of(tmp_path) == before


def contents_of(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def test_export_on_the_command_line_is_entered_where_it_can_be(path):
    assert run_json("export", "people.uspn", "a.circuit", "--request", "take-1")["entry"] == 3
    path.with_name("people.uspn.key").unlink()
    result = run("export", "people.uspn", "b.json")
    assert "This was not entered into the ledger: " in result.stderr
    assert "people.uspn.key is missing" in result.stderr
    assert run_json("export", "a.circuit", "c.dot")["entry"] is None
    assert len(run_json("log", "people.uspn")) == 4


# -- the end of the ledger -------------------------------------------------------------------------------------------


def test_verify_says_that_an_old_copy_cannot_be_told_and_prints_the_head(path):
    shutil.copy(path, path.with_name("old.uspn"))
    run("unlearn", "people.uspn", "--id", "c-1", "--yes")
    result = run("verify", "people.uspn", "--quick")
    head = run_json("log", "people.uspn")[-1]["digest"]
    assert "An old copy of a vault, or a ledger without its last entries, cannot be told from" in result.stdout
    assert f"--head {head}" in result.stdout
    assert "--head" not in run("verify", "people.uspn", "--quick", "--head", head).stdout
    described = run_json("verify", "people.uspn", "--quick")
    assert (described["head"], described["head_checked"]) == (head, False)
    run("verify", "old.uspn", "--quick")
    assert "the end was cut off" in run("verify", "old.uspn", "--quick", "--head", head, code=1).stdout


# -- dates ---------------------------------------------------------------------------------------------------------


def test_nothing_is_received_in_the_future(path):
    with Vault.open(path, write=True) as vault:
        with pytest.raises(
            ValueError, match="cannot have been received on 2999-01-01T00:00:00Z, which is in the future"
        ):
            vault.unlearn("c-1", received="2999-01-01T00:00:00Z")
        assert len(vault) == 150
    run("unlearn", "people.uspn", "--id", "c-1", "--received", "2999-01-01", "--yes", code=4)


def test_a_clock_that_is_behind_the_ledger_stops_every_change(path, monkeypatch):
    with Vault.open(path, write=True) as vault:
        monkeypatch.setattr(ledger, "utc_now", lambda: "2020-01-01T00:00:00Z")
        with pytest.raises(VaultError, match=r"the clock of this machine is wrong, .*: .* before entry 2"):
            vault.unlearn("c-1")
        assert len(vault) == 150
        monkeypatch.undo()
        vault.unlearn("c-1")
        assert vault.verify(relearn=False)

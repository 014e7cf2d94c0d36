"""Whoever can write a vault's file cannot make it keep what is erased: its schema is ours, or nothing is done."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from unlearnspn import Vault, VaultError
from unlearnspn.vault.database import Database
from vault_states import people

KEEP = "CREATE TRIGGER keep BEFORE UPDATE ON pages_0 BEGIN INSERT INTO hidden VALUES (old.data); END"
HIDDEN = "CREATE TABLE hidden (data BLOB)"
IGNORE = "CREATE TRIGGER ignore BEFORE UPDATE ON pages_0 BEGIN SELECT raise(ignore); END"
PLANTED = {
    "a trigger 'keep' on 'pages_0'": [HIDDEN, KEEP],
    "a trigger 'gone' on 'pages_0'": [
        HIDDEN,
        "CREATE TRIGGER gone BEFORE DELETE ON pages_0 BEGIN INSERT INTO hidden VALUES (old.data); END",
    ],
    "a trigger 'ignore' on 'pages_0'": [IGNORE],
    "a trigger 'late' on 'ledger_0'": ["CREATE TRIGGER late AFTER INSERT ON ledger_0 BEGIN SELECT 1; END"],
    "a trigger 'seal' on 'seal'": ["CREATE TRIGGER seal AFTER UPDATE ON seal BEGIN SELECT 1; END"],
    "a table 'hidden' that is not one of ours": [HIDDEN],
    "a table 'pages_7' that is not one of ours": ["CREATE TABLE pages_7 (data BLOB)"],
    "a view 'copy'": ["CREATE VIEW copy AS SELECT data FROM pages_0"],
    "an index 'values_' on 'pages_0'": ["CREATE INDEX values_ ON pages_0 (data)"],
    "a table 'seal' that is not one of ours": ["ALTER TABLE seal ADD COLUMN more BLOB"],
    "was written by a newer version": ["PRAGMA user_version = 4"],
    "is a database, but no vault of unlearnspn": ["PRAGMA application_id = 5"],
}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("original") / "people.uspn"
    with Vault.create(path) as vault:
        vault.ingest(people(120), "customer", "person")
        vault.fit(min_rows=20)
    return path


@pytest.fixture
def path(original, tmp_path):
    shutil.copytree(original.parent, tmp_path / "copy")
    return tmp_path / "copy" / original.name


def plant(path, statements):
    """Do what the sqlite3 shell does."""
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("named", PLANTED)
@pytest.mark.parametrize("write", [False, True])
def test_what_does_not_belong_is_named_when_a_vault_is_opened(path, named, write):
    plant(path, PLANTED[named])
    with pytest.raises(VaultError, match=named):
        Vault.open(path, write=write)


@pytest.mark.parametrize("named", ["a trigger 'keep' on 'pages_0'", "a trigger 'ignore' on 'pages_0'"])
@pytest.mark.parametrize("change", ["unlearn", "rectify", "learn", "fit", "rotate_key", "turn_guard_on"])
def test_what_is_planted_while_a_vault_is_open_is_named_before_anything_is_written(path, named, change):
    with Vault.open(path, write=True) as vault:
        changes = {
            "unlearn": lambda: vault.unlearn("c-7"),
            "rectify": lambda: vault.rectify(people(1, seed=3)),
            "learn": lambda: vault.learn(people(5, first=500)),
            "fit": lambda: vault.fit(min_rows=30),
            "rotate_key": vault.rotate_key,
            "turn_guard_on": vault.turn_guard_on,
        }
        plant(path, PLANTED[named])
        entries = n_entries(path)
        with pytest.raises(VaultError, match=r"was changed by others: .*there is " + named):
            changes[change]()
    with closing(sqlite3.connect(path)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE name = 'hidden'").fetchall():
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    assert n_entries(path) == entries


def n_entries(path):
    connection = sqlite3.connect(path)
    ((found,),) = connection.execute("SELECT count(*) FROM ledger_0")
    connection.close()
    return found


def test_no_certificate_is_issued_for_what_did_not_happen(path, monkeypatch):
    """Were the schema not looked at, what was written is read back all the same."""
    monkeypatch.setattr(Database, "require_schema", lambda database: None)
    plant(path, [IGNORE])
    with Vault.open(path, write=True) as vault:
        entries = n_entries(path)
        with pytest.raises(VaultError, match="does not hold what was just written to it: nothing was changed"):
            vault.unlearn("c-7")
        assert n_entries(path) == entries
        assert len(vault) == 120


def test_records_that_stayed_are_not_certified(path, monkeypatch):
    from unlearnspn.vault.contents import Contents

    with Vault.open(path, write=True) as vault:
        monkeypatch.setattr(Contents, "holds", lambda contents, ids: [True] * len(ids))
        with pytest.raises(VaultError, match="records that were to be removed are still in"):
            vault.unlearn("c-7")
        assert len(vault.log()) == 3

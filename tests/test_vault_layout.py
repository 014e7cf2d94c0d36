"""Every byte of a vault's file is accounted for: what anybody hides in unused space is found."""

import random
import shutil
import sqlite3

import numpy as np
import pytest

from unlearnspn import Vault
from unlearnspn.vault import database as databases
from unlearnspn.vault.database import PAGE_BYTES, Database
from unlearnspn.vault.pages import PageStore
from unlearnspn.vault.series import Series
from vault_states import people

SECRET = b"a copy of what was erased"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("original") / "people.uspn"
    with Vault.create(path) as vault:
        vault.ingest(people(400), "customer", "person")
        vault.fit(min_rows=20)
        for number in range(12):
            vault.unlearn(f"c-{number}", request_id=f"{number} " + "x" * 190)
    return path


@pytest.fixture
def path(original, tmp_path):
    shutil.copytree(original.parent, tmp_path / "copy")
    return tmp_path / "copy" / original.name


def findings(path):
    with Vault.open(path) as vault:
        return [finding.message for finding in vault.verify(relearn=False).failures]


def room(content):
    """Return a stretch of unused bytes in each page that has one, long enough for a copy."""
    for start in range(0, len(content), PAGE_BYTES):
        page = content[start : start + PAGE_BYTES]
        found = page.find(bytes(3 * len(SECRET)), 200 if start == 0 else 0)
        head = 100 if start == 0 else 0
        cells = int.from_bytes(page[head + 5 : head + 7], "big")
        if 0 <= found < cells - 2 * len(SECRET) and page[head] in (5, 13):
            yield start + found + len(SECRET)


def test_a_copy_in_unused_space_is_found_on_every_page(path):
    content = path.read_bytes()
    places = list(room(content))
    assert len(places) > 0.8 * len(content) / PAGE_BYTES
    for place in places:
        path.write_bytes(content[:place] + SECRET + content[place + len(SECRET) :])
        [message] = findings(path)
        assert f"unused bytes of page {place // PAGE_BYTES + 1} are not zero" in message


def test_a_copy_behind_the_end_is_found(path):
    content = path.read_bytes()
    path.write_bytes(content + SECRET.ljust(PAGE_BYTES, b"\0"))
    with pytest.raises(databases.DamagedVaultError, match="bytes long"):
        findings(path)


def test_pages_that_are_free_are_found(path):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA secure_delete = OFF")
    connection.execute("CREATE TABLE hidden (data BLOB)")
    connection.execute("INSERT INTO hidden VALUES (?)", (SECRET * 2000,))
    connection.commit()
    connection.execute("DROP TABLE hidden")
    connection.commit()
    connection.close()
    assert SECRET in path.read_bytes()
    [message] = findings(path)
    assert "holds what is not the vault's" in message


def rewrite_schema(path, old, new):
    """Change what the file says of its tables, behind SQLite's back."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = replace(sql, ?, ?)", (old, new))
    connection.commit()
    connection.close()


def test_a_column_that_the_schema_does_not_know_is_found(path):
    rewrite_schema(path, "envelope BLOB NOT NULL)", "envelope BLOB NOT NULL, more BLOB)")
    connection = sqlite3.connect(path)
    connection.execute("UPDATE ledger_0 SET more = ? WHERE number = 1", (SECRET,))
    connection.commit()
    connection.close()
    rewrite_schema(path, "envelope BLOB NOT NULL, more BLOB)", "envelope BLOB NOT NULL)")
    connection = sqlite3.connect(path)
    connection.execute("VACUUM")  # which leaves no hole where the row was before
    connection.close()
    assert SECRET in path.read_bytes()
    [message] = findings(path)
    assert "row 1 of 'ledger_0' is not in the form that it must have" in message


def test_what_an_open_vault_remembers_of_its_file_hides_nothing(path):
    with Vault.open(path) as vault:
        assert vault.verify(relearn=False)
        content = bytearray(path.read_bytes())
        place = next(iter(room(content)))
        with open(path, "r+b") as file:
            file.seek(place)
            file.write(SECRET)
        assert not vault.verify(relearn=False)


def test_large_files_are_read_by_another_process(path, monkeypatch):
    monkeypatch.setattr(databases, "_SERIALIZED_LIMIT", 0)
    assert findings(path) == []
    content = path.read_bytes()
    place = next(iter(room(content)))
    path.write_bytes(content[:place] + SECRET + content[place + len(SECRET) :])
    assert len(findings(path)) == 1


def test_whatever_is_stored_every_byte_is_accounted_for(tmp_path):
    """Arrays of all sizes come, change, grow, shrink and go; entries of all sizes are added."""
    rng, path = random.Random(3), tmp_path / "pages"
    names = [f"array {number}" for number in range(8)]
    with Database.create(path) as database:
        ledger = Series(database, "ledger")
        with database.writing():
            database.lay_out()
            database.execute("INSERT INTO seal VALUES (1, ?, ?)", (bytes(300), bytes(64)))
            store = PageStore(database)
            store.finish()
            ledger.append(0, (b"first",))
        largest = 0
        for number in range(1, 25):
            with database.writing():
                for name in rng.sample(names, 3):
                    if name in store.names and rng.random() < 0.4:
                        store.remove(name)
                    else:
                        size = rng.choice([10, 8000, 30_000, 300_000, 4_000_000])
                        store.save(name, np.frombuffer(rng.randbytes(size), np.uint8))
                store.finish()
                store.confirm()
                ledger.append(number, (rng.randbytes(rng.choice([200, 2500, 9000, 20_000])),))
                database.execute("DELETE FROM seal")
                database.execute("INSERT INTO seal VALUES (1, ?, ?)", (rng.randbytes(290 + number % 7), bytes(64)))
            database.give_room_back()
            database.require_accounted()
            database.check()
            largest = max(largest, path.stat().st_size)
            with database.reading():
                assert PageStore.read(database).digest() == store.digest()
        with database.writing():
            for name in store.names:
                store.remove(name)
            store.finish()
            store.confirm()
        database.give_room_back()
        database.require_accounted()
        assert path.stat().st_size < largest / 2

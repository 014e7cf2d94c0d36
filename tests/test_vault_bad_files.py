"""Files that are no vault, or none any more, are refused with a message that says what is wrong, and where."""

import os
import random
import shutil
import sqlite3
from hashlib import sha256

import pytest

from unlearnspn import SPN, Vault, VaultError
from unlearnspn.certificates import KeyFileError
from vault_states import digests_of, features, people

#: How many bits are flipped, each in a copy; `UNLEARNSPN_FLIPS=20000` for a deep run.
N_FLIPS = int(os.environ.get("UNLEARNSPN_FLIPS", "400"))
#: Numbers of SQLite's own, which may be any: how often the schema was changed, and which version wrote last.
UNCERTAIN = {*range(40, 44), *range(96, 100)}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("original") / "people.uspn"
    with Vault.create(path, guard=True) as vault:
        vault.ingest(people(150), "customer", "person")
        vault.fit(min_rows=20)
        vault.unlearn(["c-3", "c-4"])
        vault.rotate_key()
    return path


@pytest.fixture
def path(original, tmp_path):
    shutil.copytree(original.parent, tmp_path / "copy")
    return tmp_path / "copy" / original.name


def refusal(path, write=False):
    """Return what is said of a file that is no vault."""
    with pytest.raises(VaultError) as error:
        Vault.open(path, write=write)
    return str(error.value)


def test_what_is_no_vault_is_refused(tmp_path, path):
    foreign, other, empty, fifo = (tmp_path / name for name in ("a.csv", "other.db", "empty.uspn", "fifo"))
    foreign.write_text("a,b\n1,2\n" * 200)
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE pages (place INTEGER PRIMARY KEY)")
    connection.close()
    empty.touch()
    os.mkfifo(fifo)
    spn = SPN(min_rows=50).fit(features(people(60)))
    spn.save(tmp_path / "model.uspn")
    for write in (False, True):
        assert "is no vault of unlearnspn" in refusal(foreign, write)
        assert "is no vault of unlearnspn" in refusal(tmp_path / "model.uspn", write)
        assert "is a database, but no vault" in refusal(other, write)
        assert "is empty: its creation may have been interrupted" in refusal(empty, write)
        assert "is no file but a folder" in refusal(tmp_path, write)
        assert "is no file" in refusal(fifo, write)
        assert "there is no vault at" in refusal(tmp_path / "nowhere.uspn", write)
        assert "there is no vault at" in refusal(tmp_path / "no folder" / "nowhere.uspn", write)
    assert foreign.read_text() == "a,b\n1,2\n" * 200
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    refusal(tmp_path / "loop")


def test_what_is_there_is_not_overwritten(tmp_path, original):
    before = original.read_bytes()
    for taken in (original, tmp_path):
        with pytest.raises(VaultError, match="is there already"):
            Vault.create(taken)
    assert original.read_bytes() == before
    with pytest.raises(VaultError, match="cannot"):
        Vault.create(tmp_path / "no folder" / "people.uspn")


def test_a_newer_version_is_named(path):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    assert "was written by a newer version of unlearnspn (format 7, this one knows 3): upgrade" in refusal(path)


def test_a_truncated_vault_is_refused(path, original):
    content = original.read_bytes()
    for share in (0.001, 0.01, 0.3, 0.5, 0.9, 0.999):
        path.write_bytes(content[: int(share * len(content))])
        message = refusal(path)
        assert "damaged" in message or "is no vault" in message
    path.write_bytes(content[:-8192])
    assert "damaged" in refusal(path)


def damaged_places(content, rng, number):
    """Return places of bytes in a file: each page's first bytes, which say what it is, and others anywhere."""
    heads = [page + rng.randrange(16) for page in range(0, len(content), 8192)]
    return [*range(100), *heads, *(rng.randrange(len(content)) for _ in range(number))]


def test_a_flipped_bit_is_found(path, original):
    content, rng = original.read_bytes(), random.Random(0)
    with Vault.open(original) as vault:
        expected, ids = digests_of(vault), vault.ids()
    outcomes = {"refused": 0, "found": 0, "uncertain": 0}
    for place in damaged_places(content, rng, N_FLIPS):
        flipped = bytearray(content)
        bit = rng.randrange(8)
        flipped[place] ^= 1 << bit
        path.write_bytes(flipped)
        path.with_name(path.name + "-journal").unlink(missing_ok=True)
        try:
            vault = Vault.open(path)
        except VaultError:
            outcomes["refused"] += 1
            continue
        with vault:
            audit = vault.verify(relearn=False)
            if not audit:
                assert audit.failures[0].message
                outcomes["found"] += 1
                continue
            assert place in UNCERTAIN, f"bit {bit} of byte {place} was flipped, and nobody noticed"
            assert digests_of(vault) == expected, place
            assert vault.ids() == ids
            outcomes["uncertain"] += 1
    assert outcomes["refused"] > 0.5 * N_FLIPS, outcomes
    assert outcomes["found"] > 0, outcomes


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "UPDATE pages_0 SET data = zeroblob(8000) WHERE number = (SELECT max(number) FROM pages_0)",
            r"page \d+ of .* is not",
        ),
        (
            "UPDATE pages_0 SET data = data || x'00' WHERE place = x'0000000100000000'",
            r"page 0 of the directory is not as it was written",
        ),
        (
            "UPDATE pages_0 SET data = 'text' WHERE place = x'0000000100000000'",
            r"page 0 of the directory is not as it was written",
        ),
        (
            "DELETE FROM pages_0 WHERE place = (SELECT max(place) FROM pages_0)",
            r"row \d+ of pages is missing|does not have \d+ pages",
        ),
        ("INSERT INTO pages_0 VALUES (400, x'00', x'00', x'00')", r"row \d+ of pages is missing"),
        ("UPDATE pages_0 SET place = x'7777777700000000' WHERE number = 5", r"does not have \d+ pages"),
        (
            "UPDATE pages_0 SET place = x'0000000200000000' WHERE number < 5",
            r"two rows of its pages belong to the same",
        ),
        ("UPDATE pages_0 SET place = x'00' WHERE number = 5", r"says nowhere it belongs"),
        ("UPDATE pages_0 SET place = zeroblob(8) WHERE number = 5", r"does not have \d+ pages"),
        ("INSERT INTO pages_0 VALUES (-5, x'00', x'00', x'00')", r"row 0 of pages is missing"),
        ("DELETE FROM pages_0", r"damaged"),
        ("DELETE FROM ledger_0", r"its ledger is empty"),
        ("DELETE FROM ledger_0 WHERE number = (SELECT max(number) FROM ledger_0)", r"is not what the seal says"),
        (
            "UPDATE ledger_0 SET envelope = 'x' WHERE number = (SELECT max(number) FROM ledger_0)",
            r"entry \d of the ledger",
        ),
        (
            "UPDATE ledger_0 SET number = number + 1 WHERE number = (SELECT max(number) FROM ledger_0)",
            r"entries are missing",
        ),
        ("DELETE FROM seal", r"its seal is missing"),
        ("UPDATE seal SET signature = zeroblob(64)", r"the signature of its seal does not fit"),
        ("UPDATE seal SET statement = '{}'", r"damaged"),
        ("DROP TABLE seal", r"the table 'seal' is missing"),
        ("DROP TABLE pages_0", r"the table 'pages_0' is missing"),
    ],
)
def test_damage_is_refused_and_named(path, statement, message):
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    with pytest.raises(VaultError, match=message):
        Vault.open(path)


def test_a_page_with_the_digest_that_fits_it_is_still_not_sealed(path):
    connection = sqlite3.connect(path)
    ((number, data),) = connection.execute("SELECT number, data FROM pages_0 ORDER BY place DESC LIMIT 1")
    forged = bytes([data[0] ^ 1]) + data[1:]
    connection.execute(
        "UPDATE pages_0 SET data = ?, digest = ? WHERE number = ?", (forged, sha256(forged).digest(), number)
    )
    connection.commit()
    connection.close()
    assert "what is stored is not what the seal says" in refusal(path)


def test_an_older_entry_that_was_changed_is_found_by_verify(path):
    connection = sqlite3.connect(path)
    ((envelope,),) = connection.execute("SELECT envelope FROM ledger_0 WHERE number = 1")
    forged = envelope.replace(b'"sig":"', b'"sig":"A')[:-1]
    connection.execute("UPDATE ledger_0 SET envelope = ? WHERE number = 1", (forged,))
    connection.commit()
    connection.close()
    with Vault.open(path) as vault:
        audit = vault.verify()
        assert not audit
        assert {finding.entry for finding in audit.failures} >= {1}


def test_the_private_key_is_needed_to_write_only(path, tmp_path):
    key = path.with_name(path.name + ".key")
    kept = key.read_bytes()
    key.unlink()
    with Vault.open(path) as vault:
        assert vault.verify()
    with pytest.raises(KeyFileError, match="is missing: without the private key the vault can be read and verified"):
        Vault.open(path, write=True)
    with Vault.create(tmp_path / "another.uspn"):
        pass
    shutil.copy(tmp_path / "another.uspn.key", key)
    with pytest.raises(KeyFileError, match="does not hold the key"):
        Vault.open(path, write=True)
    key.write_bytes(kept)
    with Vault.open(path, write=True) as vault:
        vault.unlearn("c-9")


def test_the_guard_says_what_it_misses(path):
    path.with_name(path.name + ".guard").unlink()
    with Vault.open(path, write=True) as vault:
        with pytest.raises(VaultError, match="the key of the guard against removed ids that come back: restore it"):
            vault.unlearn("c-20")
        assert len(vault) == 148


def test_files_are_for_their_owner_only(original):
    for name in ("people.uspn", "people.uspn.key", "people.uspn.guard", "people.uspn-journal"):
        assert original.with_name(name).stat().st_mode & 0o077 == 0, name

"""A change of keys that is killed leaves one private key, whichever system call it was killed at."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import system_calls
from unlearnspn import Vault
from unlearnspn.certificates import SigningKey


@pytest.mark.deep
@pytest.mark.skipif(not system_calls.can_trace(), reason="processes cannot be traced here")
def test_a_rotation_killed_at_any_system_call_leaves_one_private_key():
    script = Path(__file__).with_name("vault_rotation_kills.py")
    done = subprocess.run([sys.executable, script], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    killed, left, _ = map(int, re.findall(r"\d+", done.stdout))
    assert killed > 100
    assert left > 10, "no process was killed where it would have left a key behind: this test proves nothing"


def test_whoever_opens_for_writing_next_wipes_keys_that_were_left(tmp_path):
    path = tmp_path / "people.uspn"
    with Vault.create(path):
        pass
    left = tmp_path / ".people.uspn.key.0123456789abcdef.tmp"
    left.write_bytes(SigningKey.generate().pem())
    other = tmp_path / ".others.uspn.key.0123456789abcdef.tmp"
    other.write_bytes(b"not ours")
    witness = tmp_path / "witness"
    witness.hardlink_to(left)
    with Vault.open(path):
        assert left.exists()
    with Vault.open(path, write=True):
        assert not left.exists()
    assert witness.read_bytes().strip(b"\0") == b""
    assert other.exists()


def test_a_name_of_the_key_file_itself_is_removed_and_nothing_is_wiped(tmp_path):
    path = tmp_path / "people.uspn"
    with Vault.create(path):
        pass
    left = tmp_path / ".people.uspn.key.0123456789abcdef.tmp"
    left.hardlink_to(tmp_path / "people.uspn.key")
    with Vault.open(path, write=True) as vault:
        vault.rotate_key()
    assert not left.exists()


def test_what_a_killed_making_left_is_wiped_by_the_next_one(tmp_path):
    path = tmp_path / "people.uspn"
    for name in (".people.uspn.key.0123456789abcdef.tmp", ".people.uspn.0123456789abcdef.tmp"):
        (tmp_path / name).write_bytes(SigningKey.generate().pem())
    with Vault.create(path):
        pass
    assert {each.name for each in tmp_path.iterdir()} == {
        "people.uspn",
        "people.uspn.key",
        "people.uspn.lock",
    }

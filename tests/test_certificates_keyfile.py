"""The file of private keys: for its owner's eyes, and complete whenever the process stops."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from unlearnspn.certificates import KeyFile, KeyFileError, keyfile


@pytest.fixture
def keys(tmp_path: Path) -> KeyFile:
    made = KeyFile(tmp_path / "people.uspn.key")
    made.create()
    return made


def ids(keys: KeyFile) -> list[str]:
    return [key.public.id for key in keys.read()]


def test_only_the_owner_may_read_it(keys: KeyFile) -> None:
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    keys.stage()
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    keys.path.chmod(0o640)
    with pytest.raises(KeyFileError, match="chmod 600"):
        keys.read()


def test_keys_are_never_overwritten(keys: KeyFile) -> None:
    before = keys.path.read_bytes()
    with pytest.raises(KeyFileError, match="never overwritten"):
        keys.create()
    assert keys.path.read_bytes() == before


def test_a_rotation_leaves_the_key_in_use(keys: KeyFile) -> None:
    [old] = keys.read()
    new = keys.stage()
    assert ids(keys) == [old.public.id, new.public.id]
    assert keys.find(old.public.id).public == old.public
    assert keys.settle(new.public.id).public == new.public
    assert ids(keys) == [new.public.id]
    assert os.listdir(keys.path.parent) == [keys.path.name]


def test_a_rotation_that_the_ledger_does_not_know_is_forgotten(keys: KeyFile) -> None:
    [old] = keys.read()
    keys.stage()
    assert keys.settle(old.public.id).public == old.public
    assert ids(keys) == [old.public.id]


def test_the_old_key_is_overwritten_where_it_lay(keys: KeyFile) -> None:
    [old] = keys.read()
    with open(keys.path, "rb") as alone:
        new = keys.stage()
        with open(keys.path, "rb") as beside_the_new_one:
            keys.settle(new.public.id)
            assert alone.read() == bytes(len(old.pem()))
            assert beside_the_new_one.read() == bytes(2 * len(old.pem()))


def test_settling_what_is_settled_writes_nothing(keys: KeyFile, monkeypatch: pytest.MonkeyPatch) -> None:
    [key] = keys.read()

    def refuse(*arguments: Any) -> None:
        raise AssertionError("written")

    monkeypatch.setattr(os, "replace", refuse)
    assert keys.settle(key.public.id).public == key.public


@pytest.mark.parametrize("step", ["os.open", "os.fsync", "os.replace", "_wipe"])
@pytest.mark.parametrize("action", ["stage", "settle"])
def test_a_failure_at_any_step_leaves_a_key_file(
    keys: KeyFile, monkeypatch: pytest.MonkeyPatch, step: str, action: str
) -> None:
    [old] = keys.read()
    active = keys.stage() if action == "settle" else old

    def fail(*arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as context:
        context.setattr(f"{keyfile.__name__}.{step}", fail)
        with pytest.raises(OSError, match="No space left"):
            keys.stage() if action == "stage" else keys.settle(active.public.id)
    assert active.public.id in ids(keys)
    assert os.listdir(keys.path.parent) == [keys.path.name]
    assert keys.settle(active.public.id).public == active.public
    assert ids(keys) == [active.public.id]


@pytest.mark.parametrize("content", [b"", b"hello", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_a_damaged_file_is_refused(keys: KeyFile, content: bytes) -> None:
    keys.path.write_bytes(content)
    with pytest.raises(KeyFileError, match="is damaged"):
        keys.read()


def test_every_damage_is_noticed(keys: KeyFile) -> None:
    [key] = keys.read()
    pem = keys.path.read_bytes()
    for place in range(len(pem)):
        keys.path.write_bytes(pem[:place] + bytes([pem[place] ^ 1]) + pem[place + 1 :])
        with pytest.raises(KeyFileError):
            keys.settle(key.public.id)


def test_a_missing_file_and_a_missing_key_are_told(keys: KeyFile) -> None:
    with pytest.raises(KeyFileError, match="does not hold the key 00000000"):
        keys.settle("0" * 64)
    keys.path.unlink()
    with pytest.raises(KeyFileError, match="is missing: without the private key"):
        keys.read()

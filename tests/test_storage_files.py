"""Files as wholes: a write leaves the old file or the new one, and nothing beside it."""

import errno
import os
import stat
import subprocess
import sys
import time

import pytest

from unlearnspn.storage import StorageError, files
from unlearnspn.storage.errors import explained
from unlearnspn.storage.files import read_file, replacing, write_file


def test_a_file_is_written_and_read(tmp_path):
    path = tmp_path / "file"
    write_file(path, [b"one ", memoryview(b"two")])
    assert read_file(path) == b"one two"
    write_file(str(path), [b"three"])
    assert read_file(str(path)) == b"three"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def failing_parts(error):
    yield b"half of it"
    raise error


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), OSError(errno.ENOSPC, "full")])
@pytest.mark.parametrize("before", [None, b"the old file"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(error, before, tmp_path):
    path = tmp_path / "file"
    if before is not None:
        path.write_bytes(before)
    with pytest.raises(type(error)):
        write_file(path, failing_parts(error))
    assert {found.name: found.read_bytes() for found in tmp_path.iterdir()} == ({"file": before} if before else {})


def test_a_file_takes_the_old_ones_place_when_the_block_has_ended(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"the old file")
    with pytest.raises(KeyboardInterrupt), replacing(path, [b"new"]):
        raise KeyboardInterrupt
    assert {found.name: found.read_bytes() for found in tmp_path.iterdir()} == {"file": b"the old file"}
    with replacing(path, [b"new"]):
        assert path.read_bytes() == b"the old file"
    assert {found.name: found.read_bytes() for found in tmp_path.iterdir()} == {"file": b"new"}


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_at_the_last_moment_leaves_the_old_file(step, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"the old file")

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, step, fail)
    with pytest.raises(StorageError, match=r"cannot write .*file': No space left on device"), explained("write", path):
        write_file(path, [b"new"])
    assert {found.name: found.read_bytes() for found in tmp_path.iterdir()} == {"file": b"the old file"}


def test_the_file_is_on_the_disk_before_it_takes_the_old_ones_place(tmp_path, monkeypatch):
    done = []
    for step in ("fsync", "replace"):
        real = getattr(os, step)
        monkeypatch.setattr(files.os, step, lambda *args, step=step, real=real: (done.append(step), real(*args))[1])
    write_file(tmp_path / "file", [b"x"])
    assert done == (["fsync", "replace", "fsync"] if os.name == "posix" else ["fsync", "replace"])


def test_a_process_that_is_killed_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"the old file")
    code = (
        "import sys, time\n"
        "from unlearnspn.storage.files import write_file\n"
        "def parts():\n"
        "    yield b'half'\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(600)\n"
        "write_file(sys.argv[1], parts())\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"writing\n"
        process.kill()
    assert path.read_bytes() == b"the old file"


@pytest.mark.skipif(os.name != "posix", reason="modes are a matter of POSIX")
def test_who_may_read_a_file_stays_as_it_was(tmp_path):
    path = tmp_path / "file"
    old = os.umask(0o027)
    try:
        write_file(path, [b"x"])
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o600)
        write_file(path, [b"y"])
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(old)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there" / "file")
    write_file(link, [b"x"])
    assert link.is_symlink()
    assert (tmp_path / "there" / "file").read_bytes() == b"x"


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(StorageError, match="no file"):
        write_file(tmp_path, [b"x"])
    with pytest.raises(StorageError, match=r"cannot read .*: Is a directory"), explained("read", tmp_path):
        read_file(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_missing_files_and_folders_are_named(tmp_path):
    path = tmp_path / "no" / "file"
    with pytest.raises(StorageError, match=r"cannot read '.*no/file': No such file"), explained("read", path):
        read_file(path)
    with pytest.raises(StorageError, match=r"cannot write '.*no/file': No such file"), explained("write", path):
        write_file(path, [b"x"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_what_has_no_end_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    started = time.monotonic()
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(StorageError, match="no file"):
            read_file(path)
    assert time.monotonic() - started < 10

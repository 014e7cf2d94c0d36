"""When writing fails, a vault is as it was, in memory and on the disk, and the request can be sent again."""

import resource
import shutil
import sqlite3
from contextlib import contextmanager

import pytest

import vault_crashes
from unlearnspn import Vault, VaultError
from vault_crashes import REQUESTS, observed, state
from vault_states import people


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
    """Vaults in which each request can be sent, with their states before and after it."""
    folder, found = tmp_path_factory.mktemp("vaults"), {}
    for request, earlier in REQUESTS.items():
        path = folder / request.__name__ / "people.uspn"
        path.parent.mkdir()
        with Vault.create(path) as vault:
            for each in earlier:
                each(vault)
            before = state(vault)
        after = copied(path, folder / "after" / request.__name__)
        with Vault.open(after, write=True) as vault:
            request(vault)
        found[request] = path, before, observed(after)
    return found


def copied(path, folder):
    shutil.copytree(path.parent, folder)
    return folder / path.name


def failure_of(request, vault):
    """Send a request, and return the error that it ends with, if it does."""
    try:
        request(vault)
    except VaultError as error:
        return error
    return None


class FailingConnection:
    """A connection that fails at one statement, as if the disk had."""

    def __init__(self, connection):
        self._connection = connection
        self.left = -1

    def _count(self):
        self.left -= 1
        if self.left == 0:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorname = "SQLITE_IOERR_WRITE"
            raise error

    def execute(self, *arguments):
        if not str(arguments[0]).startswith("ROLLBACK"):
            self._count()
        return self._connection.execute(*arguments)

    def executemany(self, *arguments):
        self._count()
        return self._connection.executemany(*arguments)

    def __getattr__(self, name):
        return getattr(self._connection, name)


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.__name__)
def test_a_failure_at_any_statement_changes_nothing(starts, request_, tmp_path):
    path, before, after = starts[request_]
    path = copied(path, tmp_path / "people")
    with Vault.open(path, write=True) as vault:
        failing = FailingConnection(vault._home._database._connection)
        vault._home._database._connection = failing
        for place in range(1, 1000):
            failing.left = place
            error = failure_of(request_, vault)
            failing.left = -1
            if error is None:
                break
            assert "check the disk" in str(error)
            assert state(vault) == before, place
        assert place > 5
        assert state(vault) == after
    assert observed(path)[:2] == after[:2]


@contextmanager
def file_size_limit(number):
    """Let no file grow beyond so many bytes, nor be written there."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (number, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.__name__)
def test_a_failure_of_any_write_changes_nothing(starts, request_, tmp_path):
    path, before, after = starts[request_]
    path = copied(path, tmp_path / "people")
    failures, limit = 0, 0
    while True:
        with Vault.open(path, write=True) as vault:
            with file_size_limit(limit):
                error = failure_of(request_, vault)
            assert state(vault) == (after if error is None else before), limit
            if error is None:
                break
            failures += 1
        # Whoever comes next, in another process, finds the same.
        if failures % 8 == 0:
            assert observed(path) == before
        limit += 4096 if limit < 1 << 16 else 16384
    assert failures > 5
    assert observed(path)[:2] == after[:2]


def test_a_full_disk_is_said_to_be_full(starts, tmp_path):
    path, before, _ = starts[vault_crashes.remove]
    path = copied(path, tmp_path / "people")
    with Vault.open(path, write=True) as vault:
        connection = vault._home._database._connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(VaultError, match=r"the disk is full: .* is as it was before; make room and try again"):
            vault.learn(people(2000, seed=5, first=5000))
        assert state(vault) == before
        # Removing takes hardly any room.
        vault.unlearn("c-9")
        connection.execute("PRAGMA max_page_count = 1000000")
        vault.learn(people(2000, seed=5, first=5000))
        assert vault.verify()


def test_a_request_that_is_interrupted_leaves_no_half_of_it(starts, tmp_path, monkeypatch):
    path, before, _ = starts[vault_crashes.remove_batch]
    path = copied(path, tmp_path / "people")
    with Vault.open(path, write=True) as vault:
        model = vault._home.contents().learned.model

        def interrupt(*arguments):
            raise KeyboardInterrupt

        monkeypatch.setattr(model.records, "commit", interrupt)
        with pytest.raises(KeyboardInterrupt):
            vault_crashes.remove_batch(vault)
        assert state(vault) == before
        assert vault._home.contents().learned.model is not model
        vault_crashes.remove_batch(vault)
        assert vault.verify()

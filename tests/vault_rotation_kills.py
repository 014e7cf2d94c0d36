"""Kills a process that changes the key of a vault before each of its system calls, and looks at what it leaves."""

import shutil
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import system_calls
from unlearnspn import Vault
from vault_states import people


def private_keys(folder):
    """Return how many private keys the files of a folder hold."""
    return sum(path.read_bytes().count(b"BEGIN PRIVATE KEY") for path in folder.iterdir())


def main():
    outcomes, leftovers = [], 0
    with TemporaryDirectory() as name:
        original = Path(name, "original", "people.uspn")
        original.parent.mkdir()
        with Vault.create(original) as vault:
            vault.ingest(people(20), "customer", "person")
        while True:
            path = Path(name, "trial", "people.uspn")
            shutil.copytree(original.parent, path.parent)
            killed = system_calls.kill_before(len(outcomes), partial(Vault.open, path, write=True), Vault.rotate_key)
            leftovers += bool(list(path.parent.glob(".*")))
            with Vault.open(path, write=True) as vault:
                assert vault.verify(), str(vault.verify())
                assert private_keys(path.parent) == 1, len(outcomes)
                assert not list(path.parent.glob(".*")), len(outcomes)
                outcomes.append(len(vault.log()) == 3)
                vault.rotate_key()
            shutil.rmtree(path.parent)
            if not killed:
                break
    assert outcomes[-1]
    print(f"killed {len(outcomes) - 1} times, {leftovers} left files, {sum(outcomes) - 1} after the change")


if __name__ == "__main__":
    if not system_calls.can_trace():
        sys.exit("processes cannot be traced here")
    main()

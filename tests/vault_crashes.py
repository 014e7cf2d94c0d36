"""Kills or interrupts processes that change a vault, at random points, and looks at what they leave behind.

Run as a script with a number of crashes and a seed: it learns and compiles once, and forks for each crash.
"""

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from unlearnspn import Vault
from unlearnspn.errors import RecordIdError
from unlearnspn.vault.database import Database
from vault_states import digests_of, people

TABLE = people(240, seed=7)
MORE = people(60, seed=8, first=1000)
PARAMETERS = {"min_rows": 15}
BATCH = TABLE["customer"].tolist()[10:50]
CORRECTED = TABLE.iloc[60:75].assign(age=33.3, town="Ulm")


def ingest(vault):
    vault.ingest(iter([TABLE.iloc[:120], TABLE.iloc[120:]]), "customer", "person")


def fit(vault):
    vault.fit(**PARAMETERS)


def remove(vault):
    vault.unlearn("c-3")


def remove_subject(vault):
    vault.unlearn(subject="p-60")


def remove_batch(vault):
    vault.unlearn(BATCH)


def add(vault):
    vault.ingest(MORE)


def rectify(vault):
    vault.rectify(CORRECTED)


def ask(vault):
    vault.desk.file("access", subject="p-60", who="anna", request_id="q-1", note="by letter")
    vault.desk.file("erase", subject="p-60", who="anna", request_id="q-2")
    vault.desk.verify_identity("q-2", who="anna")


def erase(vault):
    vault.desk.erase("q-2", ground="Art. 17", who="anna")


def rotate(vault):
    vault.rotate_key()


#: What is interrupted, and what has been done before.
REQUESTS = {
    ingest: [],
    fit: [ingest],
    remove: [ingest, fit],
    remove_subject: [ingest, fit],
    remove_batch: [ingest, fit],
    add: [ingest, fit],
    rectify: [ingest, fit],
    rotate: [ingest, fit],
    ask: [ingest, fit],
    erase: [ingest, fit, ask],
}


def state(vault):
    """Return what of a vault tells one state from another; dates and salts do not."""
    asked = [(request.id, str(request.state), request.subject) for request in vault.desk.requests()]
    return vault.info().n_records, digests_of(vault), asked, vault.info().n_entries


def observed(path):
    """Open a vault, make sure that everything is in order, and return its state."""
    with Vault.open(path, write=True) as vault:
        assert vault.verify(), str(vault.verify())
        assert len(vault._home.keys.read()) == 1
        return state(vault)


def wait(child):
    return os.waitpid(child, 0)[1]


def fork(path, request, before_statement=None):
    """Send a request in a process of its own."""
    child = os.fork()
    if child:
        return child
    try:
        if before_statement is not None:
            die_before(before_statement)
        with Vault.open(path, write=True) as vault:
            request(vault)
    except KeyboardInterrupt:
        os._exit(2)
    except BaseException as error:
        print(f"{request.__name__}: {error!r}", file=sys.stderr)
        os._exit(1)
    os._exit(0)


def watch_statements(act):
    """Call a function before each statement that this process carries out, with how many there were before."""
    number = [0]
    for name in ("execute", "execute_many"):
        original = getattr(Database, name)

        def watched(*arguments, original=original):
            act(number[0])
            number[0] += 1
            return original(*arguments)

        setattr(Database, name, watched)
    return number


def die_before(number):
    """Kill this process before it carries out a statement."""
    watch_statements(lambda place: os.kill(os.getpid(), signal.SIGKILL) if place == number else None)


def count_statements(path, request):
    """Return how many statements it takes to open a vault, and to carry out a request after that."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        number = watch_statements(lambda place: None)
        with Vault.open(path, write=True) as vault:
            opened = number[0]
            request(vault)
            os.write(writing, f"{opened} {number[0]}".encode())
        os._exit(0)
    wait(child)
    return tuple(map(int, os.read(reading, 100).split()))


class Trial:
    """A request, with the vaults and states before and after it."""

    def __init__(self, folder, request):
        self.request = request
        self.start = folder / request.__name__
        self.start.mkdir()
        with Vault.create(self.start / "people.uspn", guard=True) as vault:
            for earlier in REQUESTS[request]:
                earlier(vault)
            self.before = state(vault)
        self.path = folder / "trial" / "people.uspn"
        self.copy()
        started = time.perf_counter()
        assert wait(fork(self.path, request)) == 0
        self.seconds = time.perf_counter() - started
        self.after = observed(self.path)
        self.copy()
        self.statements = count_statements(self.path, request)

    def copy(self):
        shutil.rmtree(self.path.parent, ignore_errors=True)
        shutil.copytree(self.start, self.path.parent)

    def crash(self, rng, number=signal.SIGKILL):
        """Send a signal to the request's process, and return whether it had been carried out."""
        self.copy()
        if rng.random() < 0.5 and number == signal.SIGKILL:
            child = fork(self.path, self.request, rng.randrange(*self.statements))
        else:
            child = fork(self.path, self.request)
            time.sleep(rng.uniform(0.1, 1.0) * self.seconds)
            os.kill(child, number)
        assert os.waitstatus_to_exitcode(wait(child)) in (0, 2, -signal.SIGKILL)
        found = observed(self.path)
        # Filing takes several transactions, each of them durable.
        assert found in (self.before, self.after) or self.request is ask, (self.request.__name__, found)
        self.repeat(found == self.after)
        return found == self.after

    def repeat(self, was_done):
        """The request can be sent again; where it had been carried out there is nothing left to do."""
        with Vault.open(self.path, write=True) as vault:
            try:
                self.request(vault)
            except RecordIdError:
                assert was_done
        repeated = observed(self.path)
        assert repeated[:3] == self.after[:3]
        # Under an id of its own a request is carried out once.
        assert repeated == self.after or self.request is not erase


def main(number, seed):
    rng = random.Random(seed)
    done = 0
    with TemporaryDirectory() as folder:
        trials = [Trial(Path(folder), request) for request in REQUESTS]
        for place in range(number):
            done += trials[place % len(trials)].crash(rng)
        for place in range(number // 4):  # and somebody presses Ctrl-C
            trials[place % len(trials)].crash(rng, signal.SIGINT)
    print(f"{number} crashes: {done} requests had been carried out, {number - done} not")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

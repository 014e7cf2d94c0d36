"""The service is killed while it removes: each request is found done or not, and repeating it gives one certificate."""

import os
import shutil
import threading
import time

import httpx2
import numpy as np
import pytest

from serving import serving, token_for
from unlearnspn import Vault
from unlearnspn.certificates import Envelope
from vault_states import digests_of, fresh_digests, people

#: How many processes the deep run kills.
N_KILLS = int(os.environ.get("UNLEARNSPN_SERVICE_KILLS", "50"))
TABLE = people(600)
N_SUBJECTS = 200


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A vault with a token, to be copied."""
    folder = tmp_path_factory.mktemp("service")
    with Vault.create(folder / "people.uspn") as vault:
        vault.ingest(TABLE, "customer", "person")
        vault.fit(min_rows=20)
    return folder, token_for(folder / "people.uspn")


def body_of(number):
    return {"subject": f"p-{number}", "request_id": f"r-{number}", "ground": "Art. 17(1)(b)"}


class Asking(threading.Thread):
    """Asks for one removal after another until nobody answers."""

    def __init__(self, served, token, numbers):
        super().__init__()
        self.client, self.numbers = served.api(token), numbers
        self.sent, self.certificates = [], {}

    def run(self):
        for number in self.numbers:
            self.sent.append(number)
            try:
                answer = self.client.post("/removals", json=body_of(number))
            except httpx2.TransportError:
                return
            assert answer.status_code == 200, answer.text
            self.certificates[number] = answer.json()["envelope"]


def kill_and_compare(path, token, numbers, seconds):
    """Kill the service amid removals; return which numbers are removed, and whether the last one was done."""
    with serving(path) as served:
        asking = Asking(served, token, numbers)
        asking.start()
        time.sleep(seconds)
        served.kill()
        asking.join()
    with serving(path) as served, served.api(token) as client:
        entries = {entry["request"]["id"]: entry for entry in client.get("/ledger", params={"limit": 1000}).json()}
        requests = {request["id"]: request for request in client.get("/requests").json()}
        for number, certificate in asking.certificates.items():
            assert Envelope.decode(certificate.encode()).digest == entries[f"r-{number}"]["digest"]
        was_done = []
        for number in asking.sent:
            name = f"r-{number}"
            is_held = client.post("/access", json={"subject": f"p-{number}"}).status_code == 200
            request = requests.get(name)
            is_done = name in entries
            assert is_done == (not is_held) == (request is not None and request["state"] == "done")
            was_done.append(is_done)
            again = client.post("/removals", json=body_of(number)).json()
            once_more = client.post("/removals", json=body_of(number)).json()
            assert again["envelope"] == once_more["envelope"]
            if is_done:
                assert again["certificate"] == entries[name]["digest"]
            assert client.post("/access", json={"subject": f"p-{number}"}).status_code == 404
        names = [entry["request"]["id"] for entry in client.get("/ledger", params={"limit": 1000}).json()]
        assert len(names) == len(set(names))
        assert served.end()[0] in (0, 130)
    return asking.sent, was_done


def run_kills(fitted, tmp_path, n_kills, seed):
    folder, token = fitted
    rng = np.random.default_rng(seed)
    path, left, undone = tmp_path / "people.uspn", list(range(N_SUBJECTS)), 0
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    for _ in range(n_kills):
        # The first milliseconds go by before anything is asked; a removal takes some more.
        sent, was_done = kill_and_compare(path, token, rng.permutation(left).tolist(), rng.uniform(0.0, 0.15))
        undone += not all(was_done)
        left = [number for number in left if number not in sent]
        if len(left) < N_SUBJECTS / 2:
            assert_like_fresh(path, left)
            shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
            left = list(range(N_SUBJECTS))
    assert_like_fresh(path, left)
    return undone


def assert_like_fresh(path, left):
    names = {f"p-{number}" for number in left}
    with Vault.open(path) as vault:
        assert digests_of(vault) == fresh_digests(TABLE[TABLE["person"].isin(names)], min_rows=20)
        assert vault.verify()


@pytest.mark.deep
def test_a_service_is_killed_while_it_removes(fitted, tmp_path):
    run_kills(fitted, tmp_path, 2, seed=0)


@pytest.mark.service_kills
def test_a_service_is_killed_many_times(fitted, tmp_path):
    undone = run_kills(fitted, tmp_path, N_KILLS, seed=int(os.environ.get("UNLEARNSPN_SERVICE_SEED", "1")))
    assert undone > N_KILLS / 10, "nearly all were killed between requests, so that little would have been shown"

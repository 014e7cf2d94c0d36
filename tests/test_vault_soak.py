"""Many mixed requests to one vault: memory and file stay as large as they were, and the model is what a fit gives."""

import os
import resource

import numpy as np
import pandas as pd

from unlearnspn import Vault
from vault_states import digests_of, fresh_digests, people

#: How many requests are sent to how many records; `UNLEARNSPN_SOAK=10000` for a deep run.
N_REQUESTS = int(os.environ.get("UNLEARNSPN_SOAK", "150"))
N_RECORDS = min(max(N_REQUESTS, 1000), 10_000)
MIN_ROWS = 50


class Population:
    """Records that come, go and change, and the vault that must hold the same."""

    def __init__(self, vault, rng):
        self.vault = vault
        self.rng = rng
        self.pool = people(2 * N_RECORDS, seed=21)
        self.held = self.pool.iloc[:N_RECORDS].set_index("customer", drop=False)
        self.n_new = 0

    def pick(self, number):
        return self.held.index[self.rng.choice(len(self.held), number, replace=False)].tolist()

    def remove(self, number=1):
        gone = self.pick(number)
        self.vault.unlearn(gone)
        self.held = self.held.drop(gone)

    def add(self, number=1):
        rows = self.pool.iloc[self.rng.choice(len(self.pool), number)].copy()
        rows["customer"] = [f"n-{self.n_new + i}" for i in range(number)]
        self.n_new += number
        self.vault.learn(rows)
        self.held = pd.concat([self.held, rows.set_index("customer", drop=False)])

    def rectify(self):
        changed = self.pick(2)
        rows = self.pool.iloc[self.rng.choice(len(self.pool), 2)].copy()
        rows["customer"] = changed
        self.vault.rectify(rows)
        self.held = pd.concat([self.held.drop(changed), rows.set_index("customer", drop=False)])

    def send_any(self):
        kind = self.rng.integers(6)
        if kind == 0:
            self.remove(5)
        elif kind == 1:
            self.rectify()
        elif len(self.held) > N_RECORDS:
            self.remove()
        else:
            self.add(2)


def resident_megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def test_many_requests(tmp_path):
    path = tmp_path / "people.uspn"
    with Vault.create(path) as vault:
        population = Population(vault, np.random.default_rng(0))
        vault.ingest(population.held, "customer", "person")
        vault.fit(min_rows=MIN_ROWS)
        memory, sizes = [], []
        for number in range(N_REQUESTS):
            population.send_any()
            if number % (N_REQUESTS // 10) == 0:
                memory.append(resident_megabytes())
                sizes.append(path.stat().st_size - ledger_bytes(vault))
        expected = fresh_digests(population.held, min_rows=MIN_ROWS)
        assert digests_of(vault) == expected
        assert vault.verify()
    with Vault.open(path) as vault:
        assert digests_of(vault) == expected
    print(f"memory {[round(each) for each in memory]} MB, file without ledger {[each // 1024 for each in sizes]} kB")
    # The network is moved together once half of its words belong to nobody, so both go up and down.
    assert max(memory[5:]) < 1.25 * max(memory[:5])
    assert max(sizes[5:]) < 1.5 * max(sizes[:5])


def ledger_bytes(vault):
    """Return what the evidence takes, which grows with each request."""
    ((found,),) = vault._home.database.rows("SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'ledger_%'")
    return found

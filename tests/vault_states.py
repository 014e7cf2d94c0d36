"""What tests of the vault share: small tables, what is stored, and what it must be."""

import numpy as np
import pandas as pd

from unlearnspn import SPN
from unlearnspn.vault.database import Database
from unlearnspn.vault.pages import PageStore


def people(number, seed=0, first=0):
    """Return records of people, with ids, subjects, numbers and categories."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, number)
    return pd.DataFrame(
        {
            "customer": [f"c-{first + i}" for i in range(number)],
            "person": [f"p-{(first + i) // 3}" for i in range(number)],
            "age": np.round(rng.normal(40 + 12 * group, 6), 1),
            "visits": rng.poisson(2 + 3 * group).astype(float),
            "town": rng.choice(["Ulm", "Bonn", "Kiel", "Jena"], number),
            "pays": np.where(rng.random(number) < 0.2 + 0.3 * group, "late", "in time"),
        }
    )


def features(table):
    """Return a table of people without ids and subjects."""
    return table.drop(columns=["customer", "person"])


def fresh_digests(table, **parameters):
    """Return the digests of a model that never saw anything else."""
    spn = SPN(**parameters).fit(features(table), ids=table["customer"].tolist())
    return spn.digest(), spn.state_digest()


def digests_of(vault):
    """Return the digests of a vault's model."""
    found = vault.info().digests
    return None if found is None else (found.model, found.state)


def stored_arrays(path):
    """Return all arrays that a vault's file holds, by name, after every page was compared with its digest."""
    with Database.open(path) as database, database.reading():
        store = PageStore.read(database)
        return {name: store.load(name).copy() for name in store.names}


def arrays_in_memory(vault):
    """Return the arrays as the vault has them in memory, by the names they are stored under."""
    learned = vault._home.contents().learned
    records, nodes = learned.model.records, learned._nodes
    found = {
        "network.nodes": nodes._heap.used,
        "network.table": nodes._table,
        **{name: getattr(records, name) for name in ("live", "values", "levels")},
    }
    if learned._id_texts is None:
        found["ids"] = records.ids
    for name, texts in (("ids", learned._id_texts), ("subjects", learned.subjects)):
        if texts is not None:
            found[f"{name}.texts"] = np.frombuffer(texts.used_bytes, np.uint8)
            found[f"{name}.starts"], found[f"{name}.lengths"] = texts._starts, texts._lengths
    return found


def require_stored(vault):
    """Compare every byte in memory with what is stored."""
    stored = stored_arrays(vault._home.path)
    for name, array in arrays_in_memory(vault).items():
        assert array.shape == stored[name].shape, name
        different = np.flatnonzero(array.reshape(-1) != stored[name].reshape(-1))
        assert array.tobytes() == stored[name].tobytes(), (name, different[:20].tolist())

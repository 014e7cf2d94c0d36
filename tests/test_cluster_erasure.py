"""Erased means erased on a cluster, too: no file, worker or coordinator holds a value or an id of the record."""

import gc
import struct
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from faulty_clusters import running_cluster
from remains import masked, remains_here, remains_in
from unlearnspn import SPN
from unlearnspn.hashing import derive_key
from unlearnspn.ids import record_keys
from unlearnspn.tables import token

NUMBER, TEXT, ID = 48151623.42108, "Zwölfboxkämpfer\U0001f94a", "id-7c6f3a09-unique"


def forms(value):
    """Return what the bytes of a value may be; those of a text in UTF-8 first."""
    if isinstance(value, str):
        return [value.encode(name) for name in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")]
    return [repr(value).encode(), struct.pack("<d", value), struct.pack(">d", value)]


def prints_of(category):
    """Return the fingerprints of a category, in whatever column it is."""
    keys = [derive_key(0, "variable", v.to_bytes(4, "little")) for v in range(4)]
    return [struct.pack("<Q", derive_key(key, "category", token(category))) for key in keys]


NEEDLES = {
    "number": forms(NUMBER),
    "text": forms(TEXT),
    "print": prints_of(TEXT),
    "id": forms(ID),
    "key": [record_keys([ID]).tobytes()],
}
STORED = {"number", "text", "id"}


def people(n_rows):
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "id": [f"p-{number}" for number in range(n_rows)],
            "income": np.round(rng.normal(3e4, 5e3, n_rows), 2),
            "children": rng.integers(0, 5, n_rows) * 1.0,
            "town": rng.choice(["Ulm", "Jena", "Hof"], n_rows),
            "smokes": rng.choice(["yes", "no"], n_rows),
        }
    )


@pytest.fixture(scope="module")
def client():
    with running_cluster() as client:
        yield client


def fit_from_files(table, folder):
    """Fit a model to a table in files, which the workers read."""
    folder.mkdir()
    for number, start in enumerate(range(0, len(table), 60)):
        table.iloc[start : start + 60].to_parquet(folder / f"{number}.parquet", index=False)
    return SPN(min_rows=20).fit(dd.read_parquet(folder), ids="id")


def found_in_files(folder, names):
    contents = [path.read_bytes() for path in Path(folder).iterdir()]
    assert len(contents) > 3
    return {name for name in names if any(form in content for form in NEEDLES[name] for content in contents)}


def found_on_workers(client, names):
    hidden = masked({name: NEEDLES[name] for name in names})
    return {(name, way) for found in client.run(remains_here, hidden).values() for name, way in found.items()}


def found_here(client, spn, names):
    """Return what the estimator leads to, or what the scheduler knows of its tasks."""
    hidden = masked({name: NEEDLES[name] for name in names})
    tasks = list(client.cluster.scheduler.tasks.values())
    assert tasks
    return {*remains_in([spn], hidden).items(), *remains_in(tasks, hidden).items()}


def planted():
    """Return a table, a record like nobody else's, and both."""
    table = people(238)
    one = table.iloc[[100]].assign(id=ID, income=NUMBER, town=TEXT)
    return table, one, pd.concat([table.iloc[:150], one, table.iloc[150:]], ignore_index=True)


def assert_nothing_remains(client, spn, folder, names):
    assert found_in_files(folder, names) == set()
    assert found_on_workers(client, names) == set()
    assert found_here(client, spn, names) == set()


@pytest.mark.parametrize(
    "how",
    [
        "alone",
        pytest.param("with others", marks=pytest.mark.deep),
        pytest.param("corrected", marks=pytest.mark.deep),
        pytest.param("learned later", marks=pytest.mark.deep),
    ],
)
def test_nothing_remains_of_a_record_that_left(client, tmp_path, how):
    table, one, both = planted()
    spn = fit_from_files(table if how == "learned later" else both, tmp_path / "table")
    spn.save(tmp_path / "model")
    if how == "learned later":
        spn.learn(one, ids="id")
    assert found_in_files(tmp_path / "model", NEEDLES) == STORED
    assert {name for name, _ in found_on_workers(client, NEEDLES)} == set(NEEDLES)
    assert {name for name, _ in found_here(client, spn, NEEDLES)} >= {"text", "print"}
    if how == "corrected":
        spn.rectify(table.iloc[[5]].assign(id=ID), ids="id")
    else:
        spn.unlearn([ID, *table["id"][:40]] if how == "with others" else ID)
    gone = set(NEEDLES) - ({"id", "key"} if how == "corrected" else set())
    assert_nothing_remains(client, spn, tmp_path / "model", gone)
    assert spn.verify()


@pytest.mark.deep
def test_nothing_remains_of_a_dry_run(client, tmp_path):
    table, one, _ = planted()
    spn = fit_from_files(table, tmp_path / "table")
    spn.save(tmp_path / "model")
    spn.learn(one, ids="id", dry_run=True)
    spn.rectify(one.assign(id="p-7"), ids="id", dry_run=True)
    assert_nothing_remains(client, spn, tmp_path / "model", NEEDLES)


def test_nothing_remains_on_workers_of_a_model_that_was_replaced(client, tmp_path):
    table, _, both = planted()
    spn = fit_from_files(both, tmp_path / "table")
    spn.save(tmp_path / "model")
    spn.unlearn("p-5")
    gc.disable()  # one must not have to wait for the collector
    try:
        spn = fit_from_files(table, tmp_path / "other")
        spn.save(tmp_path / "model")
        assert_nothing_remains(client, spn, tmp_path / "model", NEEDLES)
    finally:
        gc.enable()


def test_the_scheduler_is_searched(client):
    """What is passed to a task is found."""
    future = client.submit(len, TEXT)
    assert future.result() == len(TEXT)
    tasks = list(client.cluster.scheduler.tasks.values())
    assert set(remains_in(tasks, masked({"text": NEEDLES["text"]}))) == {"text"}

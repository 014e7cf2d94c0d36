"""After removal neither the model nor its state holds the record: no value, category, edge, scale, hash or id."""

import pickle
import struct

import numpy as np
import pytest

from unlearnspn import SPN
from unlearnspn.checks import example_table
from unlearnspn.hashing import derive_key
from unlearnspn.ids import record_keys
from unlearnspn.tables import token

CATEGORY, NUMBER = "a category that nobody else has", -3.14159e250


def traces(names):
    """Return every form in which the record could survive: text, number, hashes of both."""
    column_keys = [derive_key(0, "variable", v.to_bytes(4, "little")) for v in range(6)]
    prints = [derive_key(key, "category", token(CATEGORY)) for key in column_keys]
    return {
        "category": CATEGORY.encode(),
        "number": struct.pack("<d", NUMBER),
        "pickled number": struct.pack(">d", NUMBER),
        "id": str(names[-1]).encode(),
        "key": record_keys([names[-1]]).tobytes(),
        **{f"fingerprint {v}": struct.pack("<Q", value) for v, value in enumerate(prints)},
    }


@pytest.mark.parametrize("make", [SPN, SPN.from_paper])
@pytest.mark.parametrize("min_rows", [4, 30])
def test_no_trace_in_the_pickled_state(make, min_rows):
    table = example_table(50)
    table = np.concatenate([table, table[:1]])
    table[-1] = [NUMBER, NUMBER, NUMBER, CATEGORY, CATEGORY, True]
    names = [f"person {row}" for row in range(len(table))]
    spn = make(min_rows=min_rows, categorical_features=[3, 4, 5]).fit(table, ids=names)
    wanted = traces(names)
    before = pickle.dumps(spn)
    assert {what for what, trace in wanted.items() if trace in before} >= {
        "category",
        "number",
        "id",
        "key",
        "fingerprint 3",
        "fingerprint 4",
    }
    scales = [spn._model.records.encoding.numeric(v).scale for v in range(3)]
    spn.unlearn(names[-1])
    after = pickle.dumps(spn)
    assert [what for what, trace in wanted.items() if trace in after] == []
    assert all(now < then for now, then in zip(_scales(spn), scales, strict=True))
    assert spn.verify()


def _scales(spn):
    return [spn._model.records.encoding.numeric(v).scale for v in range(3)]


def test_no_trace_of_corrected_values_nor_of_a_dry_run():
    table = example_table(40)
    spn = SPN(min_rows=4, categorical_features=[3, 4, 5]).fit(table)
    row = table[:1].copy()
    row[0] = [NUMBER, NUMBER, NUMBER, CATEGORY, CATEGORY, True]
    spn.learn(row, ids=[1000], dry_run=True)
    spn.rectify(row, ids=[3], dry_run=True)
    assert CATEGORY.encode() not in pickle.dumps(spn)
    assert struct.pack("<d", NUMBER) not in pickle.dumps(spn)
    spn.rectify(row, ids=[3])
    assert CATEGORY.encode() in pickle.dumps(spn)
    spn.rectify(table[3:4], ids=[3])
    assert CATEGORY.encode() not in pickle.dumps(spn)
    assert struct.pack("<d", NUMBER) not in pickle.dumps(spn)
    assert spn.verify()


def test_nothing_remains_of_whoever_stretched_the_bins():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    X[7, 0] = 12345.678
    spn = SPN(min_rows=10).fit(X)
    before = spn._model.records.encoding.numeric(0)
    assert struct.pack("<d", X[7, 0]) in pickle.dumps(spn)
    spn.unlearn(7)
    after = spn._model.records.encoding.numeric(0)
    assert after.scale < before.scale / 100
    left = pickle.dumps(spn)
    assert not any(struct.pack("<d", number) in left for number in (X[7, 0], before.scale, before.edges[0]))
    assert spn.verify()


def test_a_pickle_does_not_tell_how_many_have_left():
    X = np.random.default_rng(0).standard_normal((60, 2))
    spn = SPN(min_rows=100).fit(X)
    totals = spn._model.records.totals
    assert (totals.slack >= 10).all()
    steady = [row for row in range(60) if not spn.unlearn(row, dry_run=True).recoded][:3]
    spn.unlearn(steady)
    assert (spn._model.records.totals.slack == totals.slack - 3).all()
    again = pickle.loads(pickle.dumps(spn))
    assert (again._model.records.totals.slack == -1).all()
    again.unlearn(30)
    assert (again._model.records.totals.slack >= 10).all()
    assert again.verify()

"""Totals of the columns: revised as if they had been counted anew, and never sure of what is not so."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unlearnspn.hashing import derive_key
from unlearnspn.records import Records
from unlearnspn.schema import Schema
from unlearnspn.statistics.moments import Moments
from unlearnspn.tables import read_table

POOL = [0.0, -0.0, 1.0, 2.0, 3.5, -7.25, 1e-300, 1e300, 5e-324, 0.1, 4.0, 4.000001, 1e9, None]


def learn(rows, ids):
    table = read_table(np.array(rows, object))
    schema = Schema.of(table, [False, False, True], None)
    return Records.learn(schema, derive_key(0, "tests"), 4, ids, table)


def contents(records):
    """Return totals and coding, whatever codes the categories have."""
    encoding, totals = records.encoding, records.totals
    numeric = [encoding.numeric(v) for v in (0, 1)]
    coding = [(c.scale, c.centre, c.edges.tolist()) for c in numeric]
    return totals.digest(encoding), totals.parts.tolist(), coding, encoding.kept


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_revised_totals_and_coding_are_those_learned_anew(data):
    row = st.tuples(st.sampled_from(POOL), st.sampled_from(POOL), st.sampled_from(["a", "b", "c", None]))
    rows = data.draw(st.lists(row, min_size=3, max_size=30))
    # A column of numbers needs one, and the first category keeps the kinds of all columns.
    rows = [(1.0, 1.0, "a"), *rows]
    gone = sorted(data.draw(st.sets(st.integers(1, len(rows) - 1), max_size=len(rows) - 1)))
    records = learn(rows, list(range(len(rows))))
    records.commit(records.stage(np.array(gone, np.int64), [], None))
    left = [number for number in range(len(rows)) if number not in gone]
    fresh = learn([rows[number] for number in left], left)
    assert contents(records) == contents(fresh)
    for v in (0, 1):
        values = np.array([[np.nan if rows[n][v] is None else rows[n][v]] for n in left])
        assert records.totals.moments(v) == Moments.of(values, np.arange(len(left)))

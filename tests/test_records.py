"""Records: a staged change touches nothing that exists, and leaves nothing behind, whichever way it ends."""

import numpy as np
import pytest

from unlearnspn import InvalidTableError
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.hashing import derive_key
from unlearnspn.ids import record_keys
from unlearnspn.records import Records
from unlearnspn.schema import Schema
from unlearnspn.tables import read_table, token

ARRAYS = ("live", "keys", "ids", "values", "levels", "codes", "features")
NOBODY = np.zeros(0, np.int64)
MARK = 0.123456789e200


def learn(X, ids=None):
    table = read_table(X)
    schema = Schema.of(table, list(CATEGORICAL), None)
    return Records.learn(schema, derive_key(0, "tests"), 5, list(range(len(X)) if ids is None else ids), table)


def snapshot(records):
    arrays = {name: (getattr(records, name).shape, getattr(records, name).tobytes()) for name in ARRAYS}
    multiset, kept = records.multiset.tobytes(), records.encoding.kept
    totals = [array.tobytes() for array in records.totals]
    categories = [getattr(coder, "categories", None) for coder in records.encoding.coders]
    slots, index = records.find(list(range(-1, 200))).tolist(), (len(records.index), records.index._table.tobytes())
    return arrays, slots, index, sorted(records.free), multiset, kept, totals, categories


def contents(records):
    """Return everything that should depend on the set of records alone, by id."""
    rows = records.rows[np.argsort([records.ids[row] for row in records.rows])]
    table = records.export(rows, records.encoding)
    columns = [[token(v) if isinstance(v, str | bool) else v for v in column.values] for column in table.columns]
    prints = [records.encoding.prints[v, records.codes[rows, v]].tolist() for v in np.flatnonzero(~records.is_numeric)]
    numeric = np.flatnonzero(records.is_numeric)
    coded = records.codes[rows][:, numeric].tolist(), records.features[rows][:, numeric].tolist()
    released = [coder.released for coder in records.encoding.coders]
    totals = records.totals.digest(records.encoding), records.totals.parts.tolist()
    kept = records.encoding.kept, totals, records.multiset.tobytes(), released
    return repr((records.ids_of(rows), columns, prints, coded, kept))


def marked(n_rows):
    rows = example_table(n_rows, seed=9)
    rows[0] = [MARK, MARK, MARK, "unheard of", "unheard of", True]
    return rows


def no_residue(records):
    free = np.array(records.free, np.int64)
    assert sorted([*records.free, *records.rows.tolist()]) == list(range(records.capacity))
    for name in ARRAYS:
        assert len(getattr(records, name)) == records.capacity
        assert not getattr(records, name)[free].any()
    indexed = records.index._table[records.index._table >= 0]
    assert len(records) == len(records.index) == len(records.rows)
    assert sorted(indexed.tolist()) == records.rows.tolist()
    assert records.find(records.ids_of(records.rows)).tolist() == records.rows.tolist()


@pytest.mark.parametrize("n_new", [0, 1, 3, 50])
@pytest.mark.parametrize("n_free", [0, 3])
def test_discarding_restores_everything(n_new, n_free):
    records = learn(example_table(40))
    if n_free:
        records.commit(records.stage(np.arange(n_free), [], None))
    before = snapshot(records)
    table = read_table(marked(n_new)) if n_new else None
    staged = records.stage(np.array([20, 30]), list(range(100, 100 + n_new)), table)
    assert not records.live[staged.plus].any()
    assert len(records) == 40 - n_free
    if n_new:
        assert MARK in records.values
    if n_new > n_free:
        assert records.capacity > 40
    records.discard(staged)
    assert snapshot(records) == before
    no_residue(records)


def test_a_change_that_fails_is_withdrawn():
    records = learn(example_table(40))
    before = snapshot(records)
    rows = marked(30)
    rows[-1, 2] = np.inf
    with pytest.raises(InvalidTableError, match="infinite"):
        records.stage(np.array([3]), list(range(100, 130)), read_table(rows))
    assert snapshot(records) == before


@pytest.mark.parametrize("n_new", [0, 2, 30])
def test_committing_equals_learning_and_wipes_the_old(n_new):
    X, more = example_table(40), marked(30)[:n_new]
    X[5] = [-MARK, -MARK, -MARK, "gone", "gone", False]
    records = learn(X)
    gone, names = np.array([5, 17]), list(range(100, 100 + n_new))
    staged = records.stage(gone, names, read_table(more) if n_new else None)
    recoded = records.recoded(staged)
    records.adopt_codes(recoded)
    records.commit(staged)
    rest = np.delete(np.arange(40), gone)
    fresh = learn(np.concatenate([X[rest], more]), [*rest.tolist(), *names])
    assert contents(records) == contents(fresh)
    assert -MARK not in records.values
    assert all("gone" not in records.encoding.categorical(v).categories for v in (3, 4))
    no_residue(records)


def test_slots_are_used_again_before_room_is_made():
    X = example_table(40)
    records = learn(X)
    records.commit(records.stage(np.array([7, 8, 9]), [], None))
    staged = records.stage(NOBODY, [50, 51], read_table(X[:2]))
    assert set(staged.plus.tolist()) <= {7, 8, 9}
    records.commit(staged)
    assert records.capacity == 40
    assert records.find([51, 50]).tolist() == staged.plus[::-1].tolist()
    assert np.array_equal(records.keys[staged.plus], record_keys([50, 51]))
    no_residue(records)


def test_rows_after_a_change():
    records = learn(example_table(10))
    records.commit(records.stage(np.array([0, 4]), [], None))
    assert records.rows.tolist() == [1, 2, 3, 5, 6, 7, 8, 9]
    assert records.rows_after(np.array([9, 2]), np.array([4])).tolist() == [1, 3, 4, 5, 6, 7, 8]
    assert records.rows.tolist() == [1, 2, 3, 5, 6, 7, 8, 9]


def test_export_gives_the_values_back():
    X = example_table(40)
    records = learn(X)
    chosen = np.array([12, 3, 39])
    exported = records.export(chosen, records.encoding)
    for column, values in zip(exported.columns, X[chosen].T, strict=True):
        back = [None if v is None or v != v else v for v in column.values.tolist()]
        assert back == list(values)
        assert list(map(type, back)) == list(map(type, values))


def test_export_makes_the_same_records():
    records = learn(example_table(40))
    staged = records.stage(np.array([1, 2, 3]), [100, 101], read_table(marked(2)))
    records.adopt_codes(records.recoded(staged))
    records.commit(staged)
    rows = records.rows[::-1]
    again = Records.learn(records.schema, records.seed, 5, records.ids_of(rows), records.export(rows, records.encoding))
    assert contents(again) == contents(records)


def test_the_order_of_changes_leaves_no_trace():
    X = example_table(40)
    one, other = learn(X), learn(X[::-1], range(39, -1, -1))
    requests = [[1], [30, 2], [17]]
    for records, order in ((one, requests), (other, requests[::-1])):
        for gone in order:
            staged = records.stage(records.find(gone), [], None)
            records.adopt_codes(records.recoded(staged))
            records.commit(staged)
    left = [row for row in range(40) if row not in (1, 30, 2, 17)]
    assert contents(one) == contents(other) == contents(learn(X[left], left))


def test_levels_take_two_bytes_as_long_as_they_can(monkeypatch):
    monkeypatch.setattr("unlearnspn.slots._MOST_IN_TWO_BYTES", 20)
    rows = example_table(100, seed=2)
    records = learn(rows)
    assert records.levels.dtype == np.int16
    more = [[1.0, 2.0, 3.0, "a", f"new {number % 8}", True] for number in range(20)]
    before = snapshot(records)
    staged = records.stage(NOBODY, list(range(100, 120)), read_table(more))
    assert records.levels.dtype == np.int32
    records.discard(staged)
    assert records.levels.dtype == np.int16
    assert snapshot(records) == before
    records.commit(records.stage(NOBODY, list(range(100, 120)), read_table(more)))
    fresh = learn([*rows, *more])
    assert records.levels.dtype == fresh.levels.dtype == np.int32
    here, there = (each.export(each.rows, each.encoding).columns for each in (records, fresh))
    assert [column.values.tolist() for column in here[3:]] == [column.values.tolist() for column in there[3:]]


@pytest.mark.parametrize("n_threads", [1, 2, 7])
def test_threads_change_nothing(n_threads, monkeypatch):
    rows = example_table(300, seed=5)
    alone = learn(rows)
    asked = []
    monkeypatch.setattr("unlearnspn.records._MANY", 10)
    monkeypatch.setattr("unlearnspn.records.n_cores", lambda: asked.append(1) or n_threads)
    together = learn(rows)
    assert asked
    assert snapshot(together) == snapshot(alone)


def test_categories_without_a_code_are_refused():
    records = learn(example_table(20))
    slots = {name: getattr(records, name).copy() for name in ("live", "ids", "values", "levels")}
    categories = [getattr(coder, "categories", ()) for coder in records.encoding.coders]
    fixed = (records.schema, records.seed, 5)
    assert Records.restore(*fixed, slots, categories, records.multiset).encoding.kept == records.encoding.kept
    for level in (-2, -200, 100):
        slots["levels"][3, 0] = level
        with pytest.raises(ValueError, match=r"categor|broadcast|shape"):
            Records.restore(*fixed, slots, categories, records.multiset)

"""The digest of a set of records adds up, and tells records apart."""

import numpy as np
import pytest

from unlearnspn import SPN
from unlearnspn.multiset import digest_records, no_records


@pytest.fixture
def records():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=40), rng.integers(0, 3, 40)])
    return SPN(min_rows=10, categorical_features=[1]).fit(table)._model.records


def digest(records, rows):
    columns, bits = records.encoding.columns(records.is_numeric, records.place), records.values.view(np.int64)
    level_digests = records.encoding.level_digests
    return digest_records(columns, records.keys, bits, records.levels, level_digests, np.array(rows, np.int64))


@pytest.mark.parametrize("rows", [[], [3], [3, 5], [7, 3, 5, 39]])
def test_digests_add_up_in_any_order(records, rows):
    rest = [row for row in range(40) if row not in rows]
    assert (digest(records, rows) + digest(records, rest[::-1]) == records.multiset).all()
    assert (digest(records, []) == no_records()).all()


@pytest.mark.parametrize("array", ["keys", "values", "levels"])
def test_whatever_differs_gives_another_digest(records, array):
    before = digest(records, [3])
    values = getattr(records, array)
    values[3] = values[np.flatnonzero((values != values[3]).reshape(40, -1).any(axis=1))[0]]
    assert (digest(records, [3]) != before).any()

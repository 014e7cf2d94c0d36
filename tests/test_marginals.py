"""Counts of codes against NumPy's, and the laws of statistics."""

import pickle

import numpy as np
import pytest

from coded_rows import random_slice
from reference_coding import mix
from unlearnspn.statistics.marginals import INFORMATIVE, UNDECIDED, Marginals, settle, varies, varies_in_parts

tables = pytest.mark.parametrize(
    ("seed", "n_values", "missing"), [(0, 2, 0.0), (1, 4, 0.05), (2, 30, 0.3), (3, 3, 0.9), (4, 200, 0.01), (5, 2, 0.1)]
)


def learned(data, rows):
    return Marginals.learn(data.coded, data.scope, rows)


def counted(data, rows):
    """Return counts by NumPy, and their hash by integers of Python."""
    counts, low, high = [], 0, 0
    for v in data.scope.tolist():
        own = np.bincount(data.records.codes[rows, v], minlength=data.encoding.sizes[v]).tolist()
        for code, count in enumerate(own):
            name = mix(int(data.encoding.prints[v, code]))
            low, high = low + count * name, high + count * mix(name)
        counts += own
    return counts, low % 2**64, high % 2**64


def assert_same(one, other):
    assert one.counts.tolist() == other.counts.tolist()
    assert one.fingerprint() == other.fingerprint()


@tables
@pytest.mark.parametrize("n_rows", [0, 1, 5, 40, 150])
def test_codes_are_counted_and_hashed(seed, n_values, missing, n_rows):
    data = random_slice(seed, n_values=n_values, missing=missing)
    rows = np.random.default_rng(seed).permutation(150)[:n_rows]
    counts, low, high = counted(data, rows)
    marginals = learned(data, rows)
    assert marginals.counts.tolist() == counts
    assert (marginals.low, marginals.high) == (low, high)
    assert marginals.fingerprint() == low.to_bytes(8, "little") + high.to_bytes(8, "little")
    assert marginals.fits(data.coded, data.scope)
    assert not marginals.fits(data.coded, data.scope[1:])


@tables
def test_subtracting_is_the_inverse_of_adding_in_any_order(seed, n_values, missing):
    data, rng = random_slice(seed, n_values=n_values, missing=missing), np.random.default_rng(seed)
    for n_kept, n_gone in ((149, 1), (100, 50), (1, 149), (0, 150), (145, 5)):
        kept, gone = np.split(rng.permutation(150)[: n_kept + n_gone], [n_kept])
        marginals = learned(data, np.append(gone, kept))
        marginals.shift(data.coded, data.scope, gone, -1)
        assert_same(marginals, learned(data, kept))
        for row in rng.permutation(gone):
            marginals.shift_row(data.coded, data.scope, row, 1)
        assert_same(marginals, learned(data, np.sort(np.append(kept, gone))))


def test_copies_and_dumps_are_apart_from_the_original():
    data = random_slice(1)
    marginals = learned(data, np.arange(100))
    before = marginals.dump()
    for twin in (marginals.copy(), Marginals.load(before), pickle.loads(pickle.dumps(marginals))):
        assert twin.dump() == before
        twin.shift(data.coded, data.scope, np.arange(100, 150), 1)
        assert_same(twin, learned(data, np.arange(150)))
        assert marginals.dump() == before


def test_hash_depends_on_counts():
    data = random_slice(1)
    prints = {learned(data, np.arange(n)).fingerprint() for n in range(150)}
    assert len(prints) == 150


@tables
def test_counts_of_variables_leave_out_the_missing_code(seed, n_values, missing):
    data = random_slice(seed, n_values=n_values, missing=missing)
    counts = learned(data, np.arange(150)).counts_of(data.coded, data.scope)
    assert list(counts) == data.scope.tolist()
    for v, found in counts.items():
        expected = np.bincount(data.records.codes[:, v], minlength=data.encoding.sizes[v])
        assert found.tolist() == expected[1:].tolist()


# -- which variables are informative -----------------------------------------------------------------------------------


def varies_by_value(data, v, rows):
    records, place = data.records, data.records.place[v]
    column = records.values[rows, place] if records.is_numeric[v] else records.levels[rows, place].astype(float)
    seen = column[(column == column) & (column != -1 if not records.is_numeric[v] else True)]
    return np.unique(seen).size > 1


def informative_by_value(data, rows):
    return [int(varies_by_value(data, v, rows)) for v in data.scope]


def informative(data, marginals, rows):
    flags, n_undecided = marginals.informative(data.coded, data.scope)
    assert n_undecided == np.count_nonzero(flags == UNDECIDED)
    if n_undecided:
        settle(flags, data.coded, data.scope, rows)
    return flags


@tables
@pytest.mark.parametrize("n_rows", [0, 1, 2, 5, 20, 150])
def test_variables_with_two_values_are_informative(seed, n_values, missing, n_rows):
    data, rng = random_slice(seed, n_values=n_values, missing=missing), np.random.default_rng(seed)
    for _ in range(20):
        rows = rng.permutation(150)[:n_rows]
        marginals = learned(data, rows)
        assert informative(data, marginals, rows).tolist() == informative_by_value(data, rows)
        flags, _ = marginals.informative(data.coded, data.scope)
        counts = marginals.counts_of(data.coded, data.scope)
        assert (flags == INFORMATIVE).tolist() == [np.count_nonzero(counts[v]) > 1 for v in data.scope.tolist()]


@tables
def test_values_are_looked_for_among_rows_but_for_others(seed, n_values, missing):
    data, rng = random_slice(seed, n_values=n_values, missing=missing), np.random.default_rng(seed)
    for _ in range(50):
        rows, without = np.split(rng.permutation(150)[:12], [rng.integers(13)])
        for v in range(9):
            expected = varies_by_value(data, v, rows)
            assert varies(data.coded, rows, v) == expected
            everyone = rng.permutation(np.append(rows, without))
            assert varies(data.coded, everyone, v, np.sort(without)) == expected
            parts = np.split(everyone, np.sort(rng.integers(0, 13, 3)))
            assert varies_in_parts(data.coded, parts, v, np.sort(without)) == expected


def test_zeros_of_either_sign_are_one_value():
    data = random_slice(0, missing=0.0)
    data.records.values[:10, 0], data.records.values[10:20, 0] = 0.0, -0.0
    assert not varies(data.coded, np.arange(20), 0)


@tables
@pytest.mark.parametrize(("n_minus", "n_plus"), [(1, 0), (0, 1), (1, 1), (4, 0), (3, 5)])
def test_flags_are_told_to_hold_exactly_if_they_do(seed, n_values, missing, n_minus, n_plus):
    data, rng, held = random_slice(seed, n_values=n_values, missing=missing), np.random.default_rng(seed), set()
    for _ in range(100):
        n_rows = rng.integers(n_minus, 12)
        drawn = rng.permutation(150)[: n_rows + n_plus]
        minus, staying, plus = (np.sort(part) for part in np.split(drawn, [n_minus, n_rows]))
        before = np.append(minus, staying)
        marginals = learned(data, before)
        flags = informative(data, marginals, before)
        marginals.shift(data.coded, data.scope, minus, -1)
        marginals.shift(data.coded, data.scope, plus, 1)
        after = np.append(staying, plus)
        expected = informative_by_value(data, after) == flags.tolist()
        for rows in (before, after):
            parts = np.split(rows, [rows.size // 2])
            change = (flags, minus, plus, after.size)
            assert marginals.still_informative(data.coded, data.scope, *change, lambda parts=parts: parts) == expected
        held.add(expected)
    assert held == {True, False} or missing > 0.5


def test_rows_are_not_asked_for_where_codes_tell():
    data = random_slice(1, n_values=4)
    scope = np.flatnonzero(~data.coded.arrays[-1])
    marginals = Marginals.learn(data.coded, scope, np.arange(150))
    flags, n_undecided = marginals.informative(data.coded, scope)
    assert n_undecided == 0
    marginals.shift_row(data.coded, scope, 3, -1)
    gone = np.array([3])
    assert marginals.still_informative(data.coded, scope, flags, gone, gone[:0], 149, lambda: pytest.fail("asked"))

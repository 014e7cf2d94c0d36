"""The G-test against SciPy's, its groups against SciPy's components, its tables against a recount."""

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.sparse.csgraph import connected_components
from scipy.stats import chi2_contingency

from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.independence import GTest
from unlearnspn.records import Records
from unlearnspn.schema import Schema
from unlearnspn.slices import Slice
from unlearnspn.statistics.pair_tables import PairTables, associate
from unlearnspn.tables import read_table

#: Of integers that stand for logarithms.
X_LOG_X_BITS = 24


def slice_of(X, categorical):
    table = read_table(X)
    schema = Schema.of(table, categorical, None)
    records = Records.learn(schema, 7, 6, list(range(len(X))), table)
    return Slice(records, records.encoding, np.arange(len(table.columns)), 5)


@cache
def example_slice():
    return slice_of(example_table(60), list(CATEGORICAL))


def scipy_g(table):
    """Return G and the degrees of freedom of the rows and columns that are not empty."""
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    if table.size == 0:
        return 0.0, 0
    result = chi2_contingency(table, correction=False, lambda_="log-likelihood")
    return float(result.statistic), int(result.dof)


def ours(table):
    half_g, freedom, total = associate(np.ascontiguousarray(table))
    assert total == table[1:, 1:].sum()
    return 2 * half_g / 2**X_LOG_X_BITS, freedom


shapes = st.tuples(st.integers(2, 7), st.integers(2, 7))
counts = st.one_of(st.just(0), st.integers(0, 30), st.integers(0, 100_000))


@settings(max_examples=120, deadline=None)
@given(npst.arrays(np.int64, shapes, elements=counts, fill=st.nothing()))
def test_g_is_scipys_without_missing_codes(table):
    g, freedom = ours(table)
    expected, expected_freedom = scipy_g(table[1:, 1:])
    # Each of at most 50 terms is rounded to 2**-25, and sums of large logarithms cancel in SciPy's floats and ours.
    assert g == pytest.approx(expected, rel=1e-9, abs=50 * 2**-X_LOG_X_BITS + table.sum() * 1e-13)
    if table[1:, 1:].any():
        assert freedom == expected_freedom


def test_missing_codes_are_left_out():
    rng = np.random.default_rng(0)
    table = rng.integers(1, 50, (4, 5))
    other = table.copy()
    other[0], other[:, 0] = 1000, 2000
    assert ours(table) == ours(other)
    assert ours(table)[1] == (4 - 2) * (5 - 2)


def test_an_independent_table_has_g_zero_but_for_rounding():
    table = np.zeros((4, 4), np.int64)
    table[1:, 1:] = np.outer([2, 4, 8], [10, 30, 500])
    g, freedom = ours(table)
    assert abs(g) < 1e-5
    assert freedom == 4


def crossed(codes, u, v, sizes):
    table = np.zeros((sizes[u], sizes[v]), np.int64)
    np.add.at(table, (codes[:, u], codes[:, v]), 1)
    return table


def partly_dependent(seed):
    """Return variables of which some depend on one another, with missing values."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (150, 9)).astype(float)
    chance = rng.random((150, 3))
    X[:, 4] = np.where(chance[:, 0] < 0.3, X[:, 1], X[:, 4])
    X[:, 7] = np.where(chance[:, 1] < 0.4, X[:, 4], X[:, 7])
    X[:, 8] = np.where(chance[:, 2] < 0.5, X[:, 2], X[:, 8])
    X[rng.random(X.shape) < 0.05] = np.nan
    return slice_of(X, [False, True] * 4 + [False])


def test_groups_are_connected_components():
    numbers_of_groups = set()
    for seed, threshold in itertools.product(range(4), [0.3, 0.6, 0.8, 1.0, 1.5, 3.0, 100.0]):
        data = partly_dependent(seed)
        dependent = np.zeros((9, 9), bool)
        for u, v in itertools.combinations(range(9), 2):
            g, freedom = scipy_g(crossed(data.records.codes, u, v, data.encoding.sizes)[1:, 1:])
            dependent[u, v] = freedom > 0 and g > 2 * threshold * freedom
        n_groups, labels = connected_components(dependent, directed=False)
        first = [int(np.flatnonzero(labels == label)[0]) for label in labels]
        test = GTest(threshold)
        assert test.groups(test.learn(data, data.records.rows), data).tolist() == first
        numbers_of_groups.add(n_groups)
    assert len(numbers_of_groups) > 4
    assert {1, 9} <= numbers_of_groups


def test_tables_are_the_crossed_counts():
    data = example_slice()
    scope, sizes = np.array([5, 0, 3]), data.encoding.sizes
    rows = np.arange(0, 60, 2)
    codes = data.records.codes[rows]
    tables = PairTables(np.ascontiguousarray(codes[:, scope].T), sizes[scope])
    for u, v in itertools.permutations(range(3), 2):
        assert tables.table(u, v).tolist() == crossed(codes, scope[u], scope[v], sizes).tolist()


def asked(statistics, data):
    """Return the pairs that were asked, what is known of them, and their tables if they are kept."""
    pairs = statistics.pairs.tolist()
    tables = [None] * len(pairs)
    if statistics.keeps_tables:
        shapes = [tuple(data.encoding.sizes[data.scope[list(pair[:2])]]) for pair in pairs]
        cells = np.split(statistics.cells, np.cumsum([rows * columns for rows, columns in shapes])[:-1])
        tables = [table.reshape(shape) for table, shape in zip(cells, shapes, strict=True)]
    return [
        (hub, other, depends, half_g, freedom, total, table)
        for (hub, other, freedom, depends, half_g, total), table in zip(pairs, tables, strict=True)
    ]


with_and_without_tables = pytest.mark.parametrize("tables_above", [0, 20, 1000])


@with_and_without_tables
@pytest.mark.parametrize("threshold", [0.01, 0.6, 1.0, 3.0, 100.0])
def test_no_pair_is_asked_twice_nor_in_vain_and_its_table_is_the_crossed_counts(threshold, tables_above):
    data = partly_dependent(2).of(np.array([7, 0, 4, 1, 8, 2]), 5)
    rows = np.arange(0, 150, 3)
    groups = list(range(data.scope.size))
    found = asked(GTest(threshold, tables_above).learn(data, rows), data)
    for hub, other, depends, half_g, found_freedom, total, kept in found:
        u, v = data.scope[[hub, other]]
        table = crossed(data.records.codes[rows], u, v, data.encoding.sizes)
        assert (kept is None) == (tables_above >= rows.size)
        assert kept is None or kept.tolist() == table.tolist()
        g, freedom = scipy_g(table[1:, 1:])
        assert depends == (freedom > 0 and g > 2 * threshold * freedom)
        assert half_g / (1 << X_LOG_X_BITS) == pytest.approx(g / 2, abs=1e-4)
        assert (found_freedom, total) == (freedom, table[1:, 1:].sum())
        assert groups[hub] != groups[other]  # else the answer was known
        if depends:
            groups = [groups[hub] if group == groups[other] else group for group in groups]
    assert len({frozenset(pair[:2]) for pair in found}) == len(found)
    told_apart = {frozenset(pair[:2]) for pair in found}
    pairs = itertools.combinations(range(data.scope.size), 2)
    assert all(groups[a] == groups[b] or frozenset((a, b)) in told_apart for a, b in pairs)


permuted = st.permutations(range(60))
three_cuts = st.tuples(*[st.integers(0, 60)] * 3).map(sorted)


def divided(order, cuts):
    return (np.array(order[a:b], np.int64) for a, b in zip([0, *cuts[:2]], cuts, strict=True))


@settings(max_examples=80, deadline=None)
@given(permuted, three_cuts, st.sampled_from([0.1, 0.5, 0.7, 1.0, 3.0]), st.sampled_from([0, 10, 25, 40, 60]))
def test_a_revised_answer_equals_one_that_is_asked_anew(order, cuts, threshold, tables_above):
    kept, minus, plus = map(np.sort, divided(order, cuts))
    test, data = GTest(threshold, tables_above), example_slice()
    old = test.learn(data, np.append(kept, minus))
    before = old.dump()
    rows = np.append(kept, plus)
    revised, fresh = test.revise(old, data, minus, plus, lambda: rows), test.learn(data, rows)
    assert revised.dump() == fresh.dump()
    assert revised is old or old.dump() == before


@settings(max_examples=80, deadline=None)
@given(permuted, st.integers(0, 5), st.integers(0, 5), st.booleans())
def test_what_a_change_does_the_opposite_change_undoes(order, n_minus, n_plus, with_tables):
    """Few rows of many are shifted one by one, many are counted anew."""
    data = example_slice()
    minus, plus, staying = (np.sort(rows) for rows in np.split(np.array(order), [n_minus, n_minus + n_plus]))
    test = GTest(0.7, 0 if with_tables else 1000)
    shifted, fresh = (test.learn(data, np.append(staying, rows)) for rows in (minus, plus))
    before = shifted.dump()
    shifted.shift(data.coded, staying, minus, plus, data.scope)
    both = {pair[:2]: pair[3:6] for pair in asked(fresh, data)}
    assert all(both.get(pair[:2], pair[3:6]) == pair[3:6] for pair in asked(shifted, data))
    shifted.shift(data.coded, staying, plus, minus, data.scope)
    assert shifted.dump() == before


@with_and_without_tables
def test_answers_that_change_are_asked_anew_and_others_are_not(tables_above):
    data, rng, asked_anew = example_slice(), np.random.default_rng(0), []
    for _ in range(100):
        rows = rng.permutation(60)
        test, minus, kept = GTest(0.7, tables_above), np.sort(rows[:4]), np.sort(rows[4:])
        old = test.learn(data, np.arange(60))
        before = [pair[:2] for pair in asked(old, data)]
        revised = test.revise(old, data, minus, minus[:0], lambda kept=kept: kept)
        assert revised.dump() == test.learn(data, kept).dump()
        asked_anew.append(before != [pair[:2] for pair in asked(revised, data)])
    assert {True, False} == set(asked_anew)

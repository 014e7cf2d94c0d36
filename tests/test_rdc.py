"""The randomized dependence coefficient: against correlations that have a closed form, and as a verdict."""

import itertools
import math

import numpy as np
import pytest

from ranked_columns import levels_of, random_numbers, variables_of
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.independence import RDC
from unlearnspn.independence.pair_counts import Columns
from unlearnspn.independence.random_features import sines_of_levels
from unlearnspn.records import Records
from unlearnspn.schema import Schema
from unlearnspn.slices import Slice
from unlearnspn.tables import read_table


def slice_of(X, categorical, seed=7):
    table = read_table(X)
    schema = Schema.of(table, categorical, None)
    records = Records.learn(schema, seed, 6, list(range(len(X))), table)
    return Slice(records, records.encoding, np.arange(len(table.columns)), 5)


def coefficient(data, rows=None, levels=32):
    """Return the coefficient of two variables to the last bit: the threshold at which the verdict changes."""
    rows = data.records.rows if rows is None else rows

    def dependent(threshold):
        return not RDC(threshold, levels=levels).learn(data, rows).search.groups.any()

    low, high = -1.0, 1.0
    assert dependent(low)
    assert not dependent(high)
    while math.nextafter(low, high) < high:
        middle = (low + high) / 2
        if dependent(middle):
            low = middle
        else:
            high = middle
        if high <= 1e-12:
            return 0.0
    return high


@pytest.mark.parametrize("seed", range(10))
def test_two_binary_variables_give_phi(seed):
    rng = np.random.default_rng(seed)
    x = rng.random(200) < rng.uniform(0.1, 0.9)
    y = np.where(rng.random(200) < rng.random(), x, rng.random(200) < rng.uniform(0.1, 0.9))
    phi = abs(np.corrcoef(x, y)[0, 1])
    assert coefficient(slice_of(np.column_stack([x, y]), "all")) == pytest.approx(phi, abs=1e-6)


def maximal_correlation(x, y):
    table = np.zeros((x.max() + 1, y.max() + 1))
    np.add.at(table, (x, y), 1 / len(x))
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    normalised = table / np.sqrt(np.outer(table.sum(axis=1), table.sum(axis=0)))
    return np.linalg.svd(normalised, compute_uv=False)[1]


@pytest.mark.parametrize("seed", range(25))
def test_two_categorical_variables_give_the_second_singular_value(seed):
    rng = np.random.default_rng(seed)
    n_x, n_y = rng.integers(2, 14, 2)
    x = rng.integers(0, n_x, 400)
    y = np.where(rng.random(400) < rng.uniform(0.0, 0.9), x * 5 % n_y, rng.integers(0, n_y, 400))
    found = coefficient(slice_of(np.column_stack([x, y]), "all"))
    exact = maximal_correlation(x, y)
    if max(np.unique(x).size, np.unique(y).size) <= RDC().n_features + 1:
        assert found == pytest.approx(exact, abs=1e-6)
    assert found <= exact + 1e-9


@pytest.mark.parametrize(
    "table",
    [
        [[60, 20, 20], [20, 60, 20], [20, 20, 60]],
        [[9, 1, 5], [1, 9, 5], [5, 5, 5]],
        [[20, 20, 9], [1, 20, 28], [17, 1, 29]],
    ],
)
def test_the_names_of_categories_do_not_matter(table):
    cells = np.array([(a, b) for a, line in enumerate(table) for b, count in enumerate(line) for _ in range(count)])
    exact = maximal_correlation(*cells.T)
    for x, y in itertools.product(itertools.permutations(range(3)), repeat=2):
        renamed = np.column_stack([np.array(x)[cells[:, 0]], np.array(y)[cells[:, 1]]])
        assert coefficient(slice_of(renamed, "all")) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_independent_numbers_stay_below_the_default_and_functions_above(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, 1000))
    assert coefficient(slice_of(np.column_stack([x, y]), None, seed)) < 0.3
    assert abs(np.corrcoef(x, x**2)[0, 1]) < 0.3  # which a linear correlation does not see
    assert coefficient(slice_of(np.column_stack([x, x**2]), None, seed)) > 0.3


@pytest.mark.parametrize("seed", range(10))
def test_two_numbers_give_the_correlation_of_sines(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 2))
    X[:, 1] += rng.uniform(0.0, 2.0) * X[:, 0]
    data = slice_of(X, None, seed)
    sines = sines_of_levels(seed, 2, 16, 10, 1.0)
    left, right = (sines[v, levels_of(X[:, v], 16)] for v in range(2))
    left, right = left - left.mean(axis=0), right - right.mean(axis=0)
    whiteners = [np.linalg.cholesky(side.T @ side / 300 + 1e-6 * np.eye(10)) for side in (left, right)]
    cross = np.linalg.solve(whiteners[0], left.T @ right / 300)
    exact = np.linalg.svd(np.linalg.solve(whiteners[1], cross.T), compute_uv=False)[0]
    assert coefficient(data, levels=16) == pytest.approx(exact, abs=1e-6)


def test_many_levels_approach_exact_ranks():
    rng = np.random.default_rng(3)
    x = rng.standard_normal(255)
    data = slice_of(np.column_stack([x, np.sin(2 * x) + 0.5 * rng.standard_normal(255)]), None)
    exact = coefficient(data, levels=255)
    assert coefficient(data, levels=64) == pytest.approx(exact, abs=0.01)
    assert coefficient(data, levels=32) == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("levels", [-1, 0, 1, 256])
def test_impossible_numbers_of_levels_are_refused(levels):
    with pytest.raises(ValueError, match="must be from 2 to 255"):
        RDC(levels=levels)


@pytest.mark.parametrize("sizes", [(2, 3), (8, 8), (3, 33), (33, 2)])
@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 500])
def test_pairs_of_few_and_of_many_codes_are_counted_alike(sizes, n_rows):
    rng = np.random.default_rng(n_rows)
    codes = np.array([rng.integers(0, size, n_rows) for size in sizes], np.uint8)
    rows, no_levels, counts = np.arange(n_rows), np.zeros((0, n_rows), np.uint8), np.zeros((2, max(sizes)), int)
    variables = variables_of(codes.T.copy(), sizes, np.zeros((n_rows, 0)), [None, None], 2)
    columns = Columns(variables, rows, no_levels, counts)
    columns.count_codes()
    expected = np.zeros(sizes, int)
    np.add.at(expected, tuple(codes), 1)
    assert columns.count_pair(0, 1).tolist() == expected.tolist()
    gathered_when_needed = Columns(variables, rows, no_levels, counts)
    assert gathered_when_needed.count_pair(0, 1).tolist() == expected.tolist()
    assert [counts[v, : sizes[v]].tolist() for v in range(2)] == [
        expected.sum(axis=1).tolist(),
        expected.sum(axis=0).tolist(),
    ]


def test_pairs_that_are_joined_are_not_asked():
    x = np.random.default_rng(4).standard_normal((200, 1))
    data = slice_of(np.hstack([x, x**3, -x, x]), None)
    assert RDC().learn(data, data.records.rows).search.pairs.tolist() == [[0, 1], [0, 2], [0, 3]]


def test_a_chain_is_followed_and_then_the_rest_is_asked():
    rng = np.random.default_rng(5)
    a, b, c, d = rng.integers(0, 2, (4, 400))
    data = slice_of(np.column_stack([a, d, 4 * b + 2 * c, 2 * a + b]), "all")
    search = RDC().learn(data, data.records.rows).search
    assert search.groups.tolist() == [0, 1, 0, 0]
    assert search.pairs.tolist() == [[0, 1], [0, 2], [0, 3], [1, 3], [2, 3], [1, 2]]
    assert search.dependent.tolist() == [False, False, True, False, True, False]


@pytest.mark.parametrize("seed", range(40))
def test_revised_statistics_are_those_learned(seed):
    rng = np.random.default_rng(seed)
    table = np.empty((120, 5), object)
    for v in range(3):
        table[:, v] = random_numbers(rng, 120) if v else np.round(rng.standard_normal(120), 2)
    table[:, 3] = rng.choice(["a", "b", "c", None], 120)
    table[:, 4] = [f"{round(float(x))}" for x in 5 * table[:, 0].astype(float)]
    scope = [[0, 1, 2, 3, 4], [3, 4], [0, 1, 2]][seed % 3]
    whole = slice_of(table, [v > 2 for v in range(5)])
    data = whole.of(np.array(scope), whole.key)
    test = RDC(float(rng.choice([0.1, 0.3, 0.6])), levels=int(rng.choice([4, 32, 100])))
    kept, rows = None, rng.permutation(120)[:60]
    for _ in range(10):
        minus = rng.permutation(rows)[: rng.choice([0, 1, 1, 5])]
        plus = np.setdiff1d(rng.permutation(120)[: rng.choice([0, 1, 30])], rows)
        after = np.append(np.setdiff1d(rows, minus), plus)
        kept = test.revise(kept or test.learn(data, rows), data, minus, plus, lambda after=after: after)
        rows, fresh = after, test.learn(data, after)
        for one, other in zip([*kept.search, kept.counts], [*fresh.search, fresh.counts], strict=True):
            assert np.array_equal(one, other)
        assert test.fingerprint(kept, data) == test.fingerprint(fresh, data)
        for one, other in zip(kept.orders[1:], fresh.orders[1:], strict=True):
            assert np.array_equal(one, other)
        values = whole.records.values
        for j, (one, other) in enumerate(zip(kept.orders.rows, fresh.orders.rows, strict=True)):
            assert sorted(one) == sorted(other)
            number = fresh.orders.observed[j]
            assert np.array_equal(values[one[:number], j], values[other[:number], j])


def test_a_revision_looks_at_all_rows_only_if_an_answer_changes():
    rng = np.random.default_rng(6)
    x = rng.standard_normal((500, 2))
    data = slice_of(np.hstack([x, x[:, :1] + 0.1]), None)
    rows = data.records.rows

    def refuse():
        raise AssertionError("asked for all rows")

    kept = RDC().revise(RDC().learn(data, rows), data, rows[:1], rows[:0], refuse)
    assert kept.search.groups.tolist() == [0, 1, 0]


def test_ranks_make_it_blind_to_monotone_maps():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(300)
    y = x + rng.standard_normal(300)
    one = coefficient(slice_of(np.column_stack([x, y]), None))
    other = coefficient(slice_of(np.column_stack([np.exp(5 * x), y**3]), None))
    assert one == other


def test_numeric_and_categorical_together():
    rng = np.random.default_rng(2)
    group = rng.integers(0, 3, 1000)
    table = np.empty((1000, 3), object)
    table[:, 0] = (group - 1) ** 2 + 0.3 * rng.standard_normal(1000)
    table[:, 1] = np.array(["a", "b", "c"], object)[group]
    table[:, 2] = rng.standard_normal(1000)
    data = slice_of(table, "from_dtype")
    assert RDC().learn(data, data.records.rows).search.groups.tolist() == [0, 0, 2]


def test_a_constant_or_missing_variable_is_independent_of_all():
    table = np.empty((50, 4), object)
    table[:, 0] = np.arange(50.0)
    table[:, 1] = "same"
    table[:, 2] = None
    table[:, 3] = 7.0
    data = slice_of(table, [False, True, True, False])
    assert RDC(1e-3).learn(data, data.records.rows).search.groups.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("pair", [(0, 1), (0, 3), (3, 4), (1, 5), (0, 2)])
def test_the_order_of_rows_changes_no_bit(pair):
    X = example_table(200)[:, list(pair)]
    kinds = [CATEGORICAL[v] for v in pair]
    data, rng = slice_of(X, kinds), np.random.default_rng(0)
    reference = coefficient(data)
    for _ in range(5):
        assert coefficient(data, rng.permutation(200)) == reference
    order = rng.permutation(200)  # in other slots, too
    records = Records.learn(data.records.schema, 7, 6, order.tolist(), read_table(X[order]))
    assert coefficient(Slice(records, records.encoding, data.scope, 5)) == reference


def test_the_order_of_rows_changes_no_group():
    data, rng = slice_of(example_table(100), list(CATEGORICAL)), np.random.default_rng(0)
    for threshold in (0.2, 0.3, 0.5):
        expected = RDC(threshold).learn(data, data.records.rows).search.groups.tolist()
        for _ in range(10):
            assert RDC(threshold).learn(data, rng.permutation(100)).search.groups.tolist() == expected

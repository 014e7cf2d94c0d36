"""The randomized dependence coefficient: against correlations that have a closed form, and as a verdict."""

import itertools
import math

import numpy as np
import pytest

from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.independence import RDC
from unlearnspn.records import Records
from unlearnspn.schema import Schema
from unlearnspn.slices import Slice
from unlearnspn.tables import read_table


def slice_of(X, categorical, seed=7):
    table = read_table(X)
    schema = Schema.of(table, categorical, None)
    records = Records.learn(schema, seed, 6, list(range(len(X))), table)
    return Slice(records, records.encoding, np.arange(len(table.columns)), 5)


def coefficient(data, rows=None):
    """Return the coefficient of two variables to the last bit: the threshold at which the verdict changes."""
    rows = data.records.rows if rows is None else rows

    def dependent(threshold):
        return not RDC(threshold).learn(data, rows).search.groups.any()

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
    n_x, n_y = rng.integers(2, 12, 2)
    x = rng.integers(0, n_x, 400)
    y = np.where(rng.random(400) < rng.uniform(0.0, 0.9), x * 5 % n_y, rng.integers(0, n_y, 400))
    found = coefficient(slice_of(np.column_stack([x, y]), "all"))
    # The power iteration approaches it from below, slowly if the third is almost as large.
    exact = maximal_correlation(x, y)
    assert found <= exact + 1e-9
    assert found == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize(
    "table",
    [
        [[60, 20, 20], [20, 60, 20], [20, 20, 60]],
        [[9, 1, 5], [1, 9, 5], [5, 5, 5]],
        [[20, 20, 9], [1, 20, 28], [17, 1, 29]],  # the third singular value is almost as large as the second
    ],
)
def test_the_names_of_categories_do_not_matter(table):
    cells = np.array([(a, b) for a, line in enumerate(table) for b, count in enumerate(line) for _ in range(count)])
    exact = maximal_correlation(*cells.T)
    for x, y in itertools.product(itertools.permutations(range(3)), repeat=2):
        renamed = np.column_stack([np.array(x)[cells[:, 0]], np.array(y)[cells[:, 1]]])
        assert coefficient(slice_of(renamed, "all")) == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("seed", range(10))
def test_independent_numbers_stay_below_the_default_and_functions_above(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, 1000))
    assert coefficient(slice_of(np.column_stack([x, y]), None, seed)) < 0.3
    assert abs(np.corrcoef(x, x**2)[0, 1]) < 0.3  # which a linear correlation does not see
    assert coefficient(slice_of(np.column_stack([x, x**2]), None, seed)) > 0.3


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

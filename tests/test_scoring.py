"""Log-densities: checked against mixtures computed by hand, and never a NaN."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from unlearnspn import SPN, Operation

ALPHA, UNSEEN, MIN_STD = 0.3, 0.01, 0.05
LEFT = [(float(i - 6), "ab"[i % 2], 10.0 + 4 * (i % 3)) for i in range(12)]
RIGHT = [(45.0 + 2 * i, "bc"[i % 4 == 0], 90.0 - 5 * (i % 3)) for i in range(8)]
CATEGORIES = ("a", "b", "c")


def normal(value, values):
    mean = sum(values) / len(values)
    std = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
    return math.exp(-0.5 * ((value - mean) / std) ** 2) / (std * math.sqrt(2 * math.pi))


def frequency(category, categories):
    total = len(categories) + ALPHA * (len(CATEGORIES) + UNSEEN)
    if category not in CATEGORIES:
        return ALPHA * UNSEEN / total
    return (categories.count(category) + ALPHA) / total


def density(row, part):
    """The density of a row under independent leaves learned from a cluster; None is marginalised."""
    x, category, y = row
    columns = list(zip(*part, strict=True))
    result = 1.0 if x is None else normal(x, columns[0])
    result *= 1.0 if category is None else frequency(category, columns[1])
    return result * (1.0 if y is None else normal(y, columns[2]))


def mixture(row):
    weight = len(LEFT) / len(LEFT + RIGHT)
    return weight * density(row, LEFT) + (1 - weight) * density(row, RIGHT)


@pytest.fixture(scope="module")
def spn():
    """Two clusters, each with independent leaves."""
    clusters = {"n_clusters": 2, "epsilon": 0.5, "max_rounds": 10, "random_state": 1}
    rows = [list(row) for row in LEFT + RIGHT]
    model = SPN(min_rows=12, threshold=0.2, factorization="naive", **clusters).fit(rows)
    root = model.root_
    assert root.operation is Operation.SPLIT_DATA
    assert sorted(child.n_records for child in root.children) == [8, 12]
    assert {child.operation for child in root.children} == {Operation.NAIVE_FACTORIZATION}
    return model


@pytest.mark.parametrize(
    "row",
    [
        (0.1, "a", 11.0),
        (49.0, "b", 88.0),
        (20.0, "c", 50.0),
        (None, "b", 11.0),
        (0.1, None, 11.0),
        (0.1, "b", None),
        (None, None, 88.0),
        (None, "c", None),
        (0.1, "never seen", 11.0),
        (None, "never seen", None),
    ],
    ids=repr,
)
def test_scores_are_those_of_the_mixture_by_hand(spn, row):
    assert spn.score_samples([list(row)])[0] == pytest.approx(math.log(mixture(row)), rel=1e-12)


def test_rows_are_scored_independently(spn):
    rows = [[0.1, "a", 11.0], [None, "never seen", 12.0], [49.0, None, None]]
    together = spn.score_samples(rows)
    assert together.tolist() == [spn.score_samples([row])[0] for row in rows]
    assert spn.score(rows) == pytest.approx(together.mean())


def test_a_row_of_missing_values_has_log_density_zero(spn):
    assert spn.score_samples([[None, None, None]]).tolist() == [0.0]
    nulls = pl.DataFrame({"x0": [None], "x1": [None], "x2": [None]})
    assert spn.score_samples(nulls).tolist() == [0.0]
    typed = pd.DataFrame({"x0": [np.nan], "x1": pd.array([None], "string"), "x2": pd.array([None], "Int64")})
    assert spn.score_samples(typed).tolist() == [0.0]


@pytest.mark.parametrize("rest", [(0.1, 11.0), (None, 88.0), (20.0, None), (None, None)])
def test_summing_over_a_category_gives_the_marginal(spn, rest):
    x, y = rest
    summed = sum(math.exp(spn.score_samples([[x, c, y]])[0]) for c in (*CATEGORIES, "never seen"))
    assert summed == pytest.approx(math.exp(spn.score_samples([[x, None, y]])[0]), rel=1e-12)


@pytest.mark.parametrize("rest", [("a", 11.0), (None, 88.0), ("never seen", None), (None, None)])
def test_integrating_over_a_number_gives_the_marginal(spn, rest):
    category, y = rest
    grid = np.arange(-40.0, 100.0, 0.01)
    scores = spn.score_samples([[x, category, y] for x in grid.tolist()])
    marginal = math.exp(spn.score_samples([[None, category, y]])[0])
    assert np.exp(scores).sum() * 0.01 == pytest.approx(marginal, rel=1e-6)


def leaves_of(model):
    return [node for node in model.root_.walk() if node.operation is Operation.CREATE_LEAF]


def test_categorical_leaves_sum_to_one_before_and_after_forgetting():
    rows = [[c, str(i % 40), float(i)] for i, c in enumerate("aabbbcccc" * 10)]
    model = SPN(min_rows=8, threshold=0.2).fit(rows)
    for gone in ([i for i, row in enumerate(rows) if row[0] == "a" or row[1] == "39"], [1]):
        leaves = [leaf.parameters for leaf in leaves_of(model) if leaf.distribution == "categorical"]
        assert leaves
        for leaf in leaves:
            assert sum(leaf["probabilities"].values()) + leaf["unseen"] == pytest.approx(1.0, rel=1e-12)
        model.unlearn(gone, missing="ignore")


def test_a_category_that_is_forgotten_scores_like_one_never_seen():
    model = SPN().fit([["a", 1.0], ["b", 2.0], ["b", 4.0], ["c", 3.0]])
    assert model.score_samples([["a", None]]) > model.score_samples([["never seen", None]])
    model.unlearn(0)
    a, unseen, b = model.score_samples([["a", None], ["never seen", None], ["b", None]])
    assert a == unseen == pytest.approx(math.log(ALPHA * UNSEEN / (3 + ALPHA * (2 + UNSEEN))), rel=1e-12)
    assert b == pytest.approx(math.log((2 + ALPHA) / (3 + ALPHA * (2 + UNSEEN))), rel=1e-12)


def test_smoothing_follows_alpha():
    rows = [["a"], ["b"], ["b"]]
    scores = np.exp(SPN(alpha=2.0).fit(rows).score_samples([["a"], ["b"], ["x"]]))
    assert scores == pytest.approx([3 / 7.02, 4 / 7.02, 0.02 / 7.02], rel=1e-12)


def test_a_leaf_of_missing_categories_only_scores_no_nan():
    rows = [[None, 1.0], [None, 2.0], [None, 3.0]]
    scores = SPN(categorical_features=[0]).fit(rows).score_samples([[None, None], ["x", None]])
    assert scores.tolist() == [0.0, 0.0]  # all the probability there is belongs to what was never seen


def test_a_leaf_of_missing_numbers_only_takes_the_centre_of_its_column():
    rows = [[9.0 * (i % 2), "left", 5.0 + 3 * (i % 2)] for i in range(20)]
    rows += [[100.0 + i % 2, "right", None] for i in range(20)]
    model = SPN(min_rows=20, n_clusters=2, max_rounds=1, n_bins=9, factorization="naive").fit(rows)
    leaves = [leaf.parameters for leaf in leaves_of(model) if leaf.scope == ("x2",)]
    (mean, std), own = sorted(((leaf["mean"], leaf["std"]) for leaf in leaves), key=lambda pair: pair == (6.5, 1.5))
    assert own == (6.5, 1.5)
    # The column itself has mean 6.5 and deviation 1.5; both are rounded, the deviation to at most half of it.
    assert 0.75 <= std <= 1.5
    assert abs(mean - 6.5) <= 2 * std
    scores = model.score_samples([[100.0, "right", value] for value in (6.0, 30.0, None)])
    by_hand = -0.5 * ((6.0 - mean) / std) ** 2 - math.log(std * math.sqrt(2 * math.pi))
    assert scores[0] - scores[2] == pytest.approx(by_hand)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("constant", [0.0, 1.0, -1e300, 1e300, 1e-300, 5e-324, 1.7e308])
def test_a_constant_column_scores_finite(constant):
    model = SPN().fit([[constant, 1.0], [constant, 2.0], [constant, 4.0]])
    # The column has no deviation, so that its scale is 1 and the least deviation MIN_STD.
    expected = -math.log(MIN_STD * math.sqrt(2 * math.pi))
    assert model.score_samples([[constant, None]])[0] == pytest.approx(expected, rel=1e-12)
    elsewhere = model.score_samples([[value, None] for value in (1e308, -1e308, 5e-324, constant / 2 + 3.0)])
    assert not np.isnan(elsewhere).any()
    assert (elsewhere <= expected).all()


def numbers_in(parameters):
    """Yield all numbers among parameters, at whatever depth."""
    for value in parameters.values():
        if isinstance(value, dict):
            yield from numbers_in(value)
        elif isinstance(value, float):
            yield value


EXTREMES = [1e300, -1e300, 1e-300, -1e-300, 5e-324, 0.0, 1.0, 1.7e308, -1.7e308]


@pytest.mark.parametrize(
    "values",
    [
        EXTREMES,
        [1e300, -1e300, 1.1e300],
        [1e-300, 2e-300, -1e-300],
        [5e-324, 1e-323, 0.0],
        [1.79e308, -1.79e308],
        [1.2e308, 1.45e308, 1.7e308, 1.79e308],
    ],
    ids=repr,
)
@pytest.mark.parametrize("factorization", ["naive", "chow-liu"])
@pytest.mark.parametrize("independence", ["gtest", "rdc"])
def test_huge_and_tiny_values_never_give_nan(values, independence, factorization):
    column = np.resize(np.array(values), 40)
    rows = np.column_stack([column, np.repeat(column[:20], 2)])
    settings = {"min_rows": 4, "independence": independence, "factorization": factorization}
    model = SPN(**settings).fit(rows)
    own = model.score_samples(rows)
    assert np.isfinite(own).all()
    grid = np.array([[x, y] for x in [*EXTREMES, np.nan] for y in [*EXTREMES, np.nan]])
    assert not np.isnan(model.score_samples(grid)).any()
    assert (model.score_samples(grid) < np.inf).all()
    assert all(math.isfinite(p) for leaf in leaves_of(model) for p in numbers_in(leaf.parameters))
    model.unlearn(range(3))
    assert model.digest() == SPN(**settings).fit(rows[3:], ids=range(3, 40)).digest()


def test_the_distance_of_two_huge_values_is_finite():
    model = SPN().fit([[1.5e308], [-1.5e308], [-1.5e308]])
    # Mean -0.5e308 and deviation √2·1e308: the first value is √2 deviations away, which overflows on the way.
    expected = -1.0 - math.log(math.sqrt(2) * 1e308) - 0.5 * math.log(2 * math.pi)
    assert model.score_samples([[1.5e308]])[0] == pytest.approx(expected, rel=1e-12)


def test_a_leaf_of_missing_values_in_a_column_near_the_largest_double_is_finite():
    # The mean of the column lies nearer to 2**1024, the next point of its coarse lattice, than to 2**1023.
    huge = np.resize([1.2e308, 1.79e308, 1.45e308, 1.7e308], 20)
    side = np.repeat([0.0, 100.0], 20)
    left = np.resize([0.0, 9.0, 3.0, 9.0], 40)
    rows = np.column_stack([side + left, np.append(huge, np.full(20, np.nan)), side])
    model = SPN(min_rows=4, threshold=0.5).fit(rows)
    parameters = [p for leaf in leaves_of(model) for p in numbers_in(leaf.parameters)]
    assert all(map(math.isfinite, parameters))
    assert np.isfinite(model.score_samples(rows)).all()


def test_polars_columns_in_another_order_are_put_in_order():
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 7.0]})
    model = SPN().fit(frame)
    assert model.score_samples(frame.select("b", "a")).tobytes() == model.score_samples(frame).tobytes()


def test_the_id_column_is_left_out_of_scoring():
    frame = pl.DataFrame({"id": [7, 8, 9], "a": [1.0, 2.0, 3.0]})
    model = SPN().fit(frame, ids="id")
    assert np.array_equal(model.score_samples(frame), model.score_samples(frame.drop("id")))
    assert np.array_equal(model.score_samples(frame), model.score_samples(frame["a"].to_numpy()[:, None]))

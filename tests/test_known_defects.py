"""Defects that other libraries of sum-product networks have, ruled out for this one.

SPFlow 0.0.48 gives a category above the largest in training probability 1, and other unseen ones probability 0. SPFlow
and deeprob-kit fail on missing values in training. deeprob-kit 1.1.0 fails on a constant binary column, SPFlow 1.1.0
gives NaN for a column of ones. Constant slices get Gaussians with a deviation of 1e-8 or 1e-5, whose densities drown
everything else.
"""

import math

import numpy as np
import pytest

from unlearnspn import SPN, SPNClassifier

FACTORIZATIONS = ["naive", "chow-liu"]
every_factorization = pytest.mark.parametrize("factorization", FACTORIZATIONS)


def categories(seed=0):
    """Two dependent columns with a gap between their categories: 0, 1, 2, 5."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, 200)
    columns = [np.array([0, 1, 2, 5])[rng.integers(0, 2, 200) + 2 * group] for _ in range(2)]
    return np.column_stack(columns)


@every_factorization
def test_categories_never_seen_are_improbable_wherever_they_are(factorization):
    spn = SPN(min_rows=30, categorical_features="all", factorization=factorization).fit(categories())
    seen = spn.score_samples(np.array([[c, np.nan] for c in (0.0, 1.0, 2.0, 5.0)]))
    unseen = spn.score_samples(np.array([[c, np.nan] for c in (6.0, 1e9, 3.0, -1.0, 0.5)]))
    assert (unseen == unseen[0]).all()
    assert np.isfinite(unseen).all()
    assert unseen[0] < seen.min() - math.log(100.0)
    total = math.fsum(np.exp(seen)) + math.exp(unseen[0])
    assert total == pytest.approx(1.0, abs=1e-12)


@every_factorization
def test_categories_never_seen_do_not_decide(factorization):
    """A class is predicted from the other columns as if the unseen category were hardly there."""
    table = categories()
    rows = np.column_stack([table, np.where(table[:, 1] >= 2, "high", "low").astype(object)]).astype(object)
    spn = SPN(min_rows=30, categorical_features="all", factorization=factorization).fit(rows)
    for category in (3, 99, -7):
        high, low = spn.predict_proba(np.array([[category, 5, None]], object), target="x2")[0]
        assert high > 0.9
        assert low < 0.1


LEAVES = ["gaussian", "exponential", "log-normal", "poisson", "histogram"]


def mixed_table(n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n_rows)
    table = np.empty((n_rows, 4), object)
    table[:, 0] = 1.0 + rng.poisson(3 + 5 * group)
    table[:, 1] = 3.0 * group + rng.standard_normal(n_rows)
    table[:, 2] = np.array(["left", "right"], object)[group]
    table[:, 3] = rng.random(n_rows) < 0.2 + 0.6 * group
    return table


@every_factorization
@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("missing", [0.2, 0.95])
def test_values_may_be_missing_in_training(factorization, leaf, missing):
    table = mixed_table()
    holes = np.random.default_rng(1).random(table.shape) < missing
    holed = np.where(holes, None, table)
    holed[:3] = None
    spn = SPN(
        min_rows=20, threshold=0.5, categorical_features=[2, 3], leaves={"x0": leaf}, factorization=factorization
    ).fit(holed)
    scores = spn.score_samples(table)
    assert np.isfinite(scores).all()
    assert np.isfinite(spn.score_samples(holed)).all()
    filled = spn.impute(holed)
    assert not any(value is None or value != value for value in filled.ravel())
    spn.unlearn(range(0, 60))
    assert spn.verify()
    assert np.isfinite(spn.score_samples(table)).all()


def test_missing_values_tell_nothing():
    """Blanking at random moves the model a little, and what is blanked is not taken for a value."""
    table = mixed_table(2000)
    holed = np.where(np.random.default_rng(1).random(table.shape) < 0.2, None, table)
    whole, part = (
        SPN(min_rows=400, n_clusters=2, max_rounds=1, categorical_features=[2, 3]).fit(rows) for rows in (table, holed)
    )
    assert part.score(table) == pytest.approx(whole.score(table), abs=0.1)
    assert part.expectation("x0") == pytest.approx(whole.expectation("x0"), rel=0.05)
    assert part.circuit_.categories("x2") == ["left", "right"]


@every_factorization
@pytest.mark.parametrize("leaf", ["categorical", "bernoulli"])
@pytest.mark.parametrize("value", [True, False, 0, 1])
def test_binary_columns_may_be_constant(factorization, leaf, value):
    table = mixed_table()
    table[:, 3] = value
    spn = SPN(
        min_rows=20, threshold=0.5, categorical_features=[2, 3], leaves={"x3": leaf}, factorization=factorization
    ).fit(table)
    assert np.isfinite(spn.score_samples(table)).all()
    assert spn.probability({"x3": value}) > 0.99
    other = np.array([[None, None, None, not value if isinstance(value, bool) else 1 - value]], object)
    assert -math.inf < spn.score_samples(other)[0] < math.log(0.01)
    assert set(spn.sample(300, random_state=0)[:, 3].tolist()) <= {value, type(value)(1 - value)}
    assert spn.predict_proba(table[:5], target="x3")[:, spn.circuit_.categories("x3").index(value)] == pytest.approx(
        1.0, abs=0.02
    )
    spn.learn(np.array([[2.0, 1.0, "left", type(value)(1 - value)]], object))
    assert spn.verify()
    spn.unlearn([120])
    assert spn.verify()


def test_a_table_of_constant_binary_columns_can_be_learned():
    spn = SPN(categorical_features="all").fit(np.ones((50, 5), int))
    assert spn.score(np.ones((50, 5), int)) == pytest.approx(0.0, abs=0.1)
    assert (spn.sample(20, random_state=0) == 1).all()


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("ones", [1, 1.0, np.float32(1.0)])
def test_columns_of_ones_give_numbers(leaf, ones):
    rng = np.random.default_rng(0)
    table = np.column_stack([np.full(100, ones), rng.standard_normal((100, 2))])
    spn = SPN(min_rows=20, threshold=0.2, leaves={"x0": leaf}).fit(table)
    scores = spn.score_samples(table)
    assert np.isfinite(scores).all()
    assert (scores < 10.0).all()
    assert np.isfinite(spn.score_samples(np.column_stack([np.full(100, 2.0), table[:, 1:]]))).all()
    assert spn.expectation("x0") == pytest.approx(1.0, abs=0.6)
    assert math.isfinite(spn.variance("x0"))
    samples = spn.sample(200, random_state=0)
    assert np.isfinite(samples).all()
    assert np.isfinite(spn.impute(np.full((1, 3), np.nan))).all()
    assert spn.mutual_information("x0", "x1") == pytest.approx(0.0, abs=1e-9)


def test_a_table_of_ones_alone_can_be_learned():
    for table in (np.ones((40, 3)), np.ones((40, 1)), np.ones((1, 2)), np.zeros((40, 3))):
        spn = SPN(min_rows=5).fit(table)
        assert np.isfinite(spn.score_samples(table)).all()
        assert spn.expectation("x0") == table[0, 0]


def sliced(n_rows=400):
    """A number that is constant in one of two groups, and a class that the other column tells."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], n_rows // 2)
    x = np.where(group == 0, 7.0, 7.0 + 3.0 * rng.standard_normal(n_rows))
    return np.column_stack([x, 10.0 * group + rng.standard_normal(n_rows)]), group


@pytest.mark.parametrize("min_rows", [5, 50, 200])
def test_constant_slices_have_bounded_densities(min_rows):
    X, _ = sliced()
    spn = SPN(min_rows=min_rows, threshold=0.2).fit(X)
    leaves = [node.parameters for node in spn.root_.walk() if node.distribution == "gaussian" and node.scope == ("x0",)]
    assert min(leaf["std"] for leaf in leaves) >= 0.05 * 0.5 * X[:, 0].std()
    highest = spn.circuit_.marginal("x0").score_samples([[7.0]])[0]
    assert highest < math.log(1.0 / (0.05 * 0.5 * X[:, 0].std() * math.sqrt(2.0 * math.pi)))
    # A value that is hardly any different is hardly any less probable.
    near = spn.score_samples([[7.0, 0.0], [7.001, 0.0], [7.01, 0.0]])
    assert near[0] - near[2] < 0.1


def test_constant_slices_do_not_drown_the_other_columns():
    X, group = sliced()
    classifier = SPNClassifier(min_rows=20, threshold=0.2).fit(X, group)
    # The constant speaks for one group, the other column for the other, ten deviations away from the first.
    assert classifier.predict(np.array([[7.0, 10.0], [7.0, 0.0], [7.0001, 10.0], [6.9999, 0.0]])).tolist() == [
        1,
        0,
        1,
        0,
    ]
    assert classifier.score(X, group) > 0.99


def test_a_single_record_is_no_infinite_density():
    spn = SPN(min_rows=1).fit(np.array([[1.0, 2.0]]))
    assert spn.score_samples(np.array([[1.0, 2.0]]))[0] < 10.0
    assert np.isfinite(spn.score_samples(np.array([[1.1, 2.0], [1.0, 3.0]]))).all()

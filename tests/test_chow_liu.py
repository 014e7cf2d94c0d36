"""Chow-Liu trees: the tree against SciPy's and NumPy's, the distribution against brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.metrics import mutual_info_score

from leaf_data import learned, object_table, slice_of
from unlearnspn import SPN, Bernoulli, Categorical, ChowLiu, Operation
from unlearnspn.circuit.layout import lower, unrolled
from unlearnspn.leaves.spanning_tree import maximum_spanning_tree, pair_gains
from unlearnspn.leaves.tree_statistics import gather_statistics
from unlearnspn.statistics.pair_tables import PairTables

ALPHA, BETA, UNSEEN = 0.5, 2.0, 0.01
#: With a penalty that no line pays, numbers are in the tree.
BY_BINS = ChowLiu(ALPHA, BETA, penalty=1e6)


def dependent_columns(n_rows, seed, missing=0.0):
    """Return columns of 2, 3, 2, 4 and 2 categories, of which each depends on the one before, with noise."""
    rng = np.random.default_rng(seed)
    columns = []
    for size in (2, 3, 2, 4, 2):
        noise = rng.integers(0, size, n_rows)
        column = np.where(rng.random(n_rows) < 0.6, columns[-1] % size, noise) if columns else noise
        columns.append(column)
    tables = [np.array(list("abcd"), object)[column] for column in columns]
    for column in tables:
        column[rng.random(n_rows) < missing] = None
    return tables


# -- the tree ----------------------------------------------------------------------------------------------------------

gains_of_pairs = st.integers(2, 9).flatmap(
    lambda width: npst.arrays(np.int64, (width, width), elements=st.one_of(st.integers(1, 4), st.integers(1, 10**15)))
)


@settings(max_examples=120, deadline=None)
@given(gains_of_pairs)
def test_the_tree_weighs_as_much_as_scipys(gains):
    gains = np.triu(gains, 1) + np.triu(gains, 1).T
    parents, order = maximum_spanning_tree(gains)
    assert parents[0] == -1
    assert sorted(order) == list(range(len(gains)))
    position = np.argsort(order)
    assert all(position[parents[v]] < position[v] for v in range(1, len(gains)))
    largest = int(gains.max())
    # SciPy's tree is the lightest, and leaves out edges of weight zero.
    flipped = np.triu(largest + 1 - gains, 1).astype(float)
    lightest = minimum_spanning_tree(csr_array(flipped))
    ours = sum(largest + 1 - int(gains[v, parents[v]]) for v in range(1, len(gains)))
    assert ours == pytest.approx(lightest.sum(), rel=1e-12)


def test_of_equal_gains_the_first_variable_wins():
    parents, order = maximum_spanning_tree(np.full((5, 5), 7))
    assert parents.tolist() == [-1, 0, 0, 0, 0]
    assert order.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_gains_are_mutual_information(missing):
    data = slice_of(*dependent_columns(80, 0, missing), categorical=True)
    sizes, codes = data.encoding.sizes, data.records.codes
    gains = pair_gains(PairTables(gather_statistics(data, np.arange(80)).codes, sizes), np.arange(5))
    for u, v in itertools.combinations(range(5), 2):
        both = (codes[:, u] > 0) & (codes[:, v] > 0)
        expected = both.sum() * mutual_info_score(codes[both, u], codes[both, v])
        assert gains[u, v] / 2**24 == pytest.approx(expected, abs=1e-5)
        assert gains[u, v] == gains[v, u]


def test_a_chain_is_found():
    data = slice_of(*dependent_columns(2000, 1), categorical=True)
    tree = ChowLiu().over([Categorical()] * 5)
    parameters = tree.parameters(learned(tree, data), data)
    assert parameters["parents"] == {"x0": None, "x1": "x0", "x2": "x1", "x3": "x2", "x4": "x3"}


def one_hot_columns(n_rows, seed):
    """Return two variables of four values each as indicators of three of them: three columns, and three more."""
    values = np.random.default_rng(seed).integers(0, 4, (n_rows, 2))
    return [np.where(values[:, k] == value, "yes", "no") for k in range(2) for value in range(3)]


def test_a_category_depends_on_several_where_that_pays():
    data = slice_of(*one_hot_columns(400, 0), categorical=True)
    ancestors = {}
    for order in (1, 2, 4):
        tree = ChowLiu(order=order).over([Categorical()] * 6)
        ancestors[order] = ancestors_of(tree.parameters(learned(tree, data), data))
    assert max(map(len, ancestors[1])) == 1
    # The third indicator of a variable is told by the other two, and by no more.
    assert sorted(map(len, ancestors[2])) == [0, 1, 1, 1, 2, 2]
    assert ancestors[4] == ancestors[2]


def test_indicators_of_one_variable_are_as_likely_as_the_variable():
    train, test = object_table(*one_hot_columns(400, 0)), object_table(*one_hot_columns(400, 1))
    densities = [
        SPN(min_rows=400, categorical_features="all", factorization=ChowLiu(order=order)).fit(train).score(test)
        for order in (1, 2)
    ]
    entropy = 2 * math.log(4)
    assert -entropy - 0.1 < densities[1] < -entropy + 0.1
    assert densities[0] < densities[1] - 0.2


def test_a_penalty_that_nothing_pays_leaves_the_tree_of_chow_and_liu():
    table = object_table(*dependent_columns(200, 3))
    estimators = [
        SPN(min_rows=1000, categorical_features="all", factorization=tree).fit(table)
        for tree in (ChowLiu(penalty=1e300), ChowLiu(order=1))
    ]
    assert tree_of(estimators[0]) == tree_of(estimators[1])
    assert estimators[0].score_samples(table).tobytes() == estimators[1].score_samples(table).tobytes()


# -- the distribution --------------------------------------------------------------------------------------------------


def by_hand(columns, ancestors, outcomes, unseen, row):
    """Return the probability of a row with nothing missing, by the formulas of the docstring."""
    return math.prod(given_by_hand(columns, ancestors[v], outcomes, unseen, row, v) for v in range(len(row)))


def given_by_hand(columns, ancestors, outcomes, unseen, row, v):
    """Return the probability of a variable's value given those of some ancestors."""
    share, total = 1.0 if row[v] in outcomes[v] else unseen[v], ALPHA * (len(outcomes[v]) + unseen[v])
    records = list(zip(*columns, strict=True))
    above = [record for record in records if all(record[u] == row[u] for u in ancestors)]
    given = [record[v] for record in above if record[v] is not None]
    if not ancestors:
        return (given.count(row[v]) + ALPHA * share) / (len(given) + total)
    fewer = given_by_hand(columns, ancestors[:-1], outcomes, unseen, row, v)
    if not above:
        return fewer
    if len(ancestors) > 1:
        return (given.count(row[v]) + BETA * fewer) / (len(given) + BETA)
    return (given.count(row[v]) + ALPHA * share + BETA * fewer) / (len(given) + total + BETA)


def estimator(leaves=None, **parameters):
    tree = ChowLiu(ALPHA, BETA, penalty=0.3)
    return SPN(min_rows=10**6, factorization=tree, categorical_features="all", leaves=leaves, **parameters)


def tree_of(spn):
    """Return the ancestors that each variable depends on, by number, of an estimator that is nothing but a tree."""
    (leaf,) = (node for node in spn.root_.walk() if node.operation is Operation.CREATE_LEAF)
    assert leaf.distribution == "chow-liu"
    return ancestors_of(leaf.parameters)


def ancestors_of(parameters):
    return [[int(name[1:]) for name in names] for names in parameters["ancestors"].values()]


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_probabilities_by_hand(seed, missing):
    columns = [column.tolist() for column in dependent_columns(60, seed, missing)]
    spn = estimator().fit(object_table(*columns))
    outcomes = [sorted({value for value in column if value is not None}) for column in columns]
    rows = list(itertools.product(*([*each, "never seen"] for each in outcomes)))
    expected = [by_hand(columns, tree_of(spn), outcomes, [UNSEEN] * 5, row) for row in rows]
    assert math.fsum(expected) == pytest.approx(1.0, rel=1e-12)
    assert np.exp(spn.score_samples(object_table(*zip(*rows, strict=True)))) == pytest.approx(expected, rel=1e-11)


def test_outcomes_that_the_leaf_has_not_seen():
    columns = [column.tolist() for column in dependent_columns(60, 0)]
    outcomes = [sorted(set(column)) for column in columns]
    data = slice_of(*columns, categorical=True)
    tree = ChowLiu(ALPHA, BETA, penalty=0.3).over([Categorical()] * 5)
    few = np.flatnonzero((np.array(columns[1]) != "c") & (np.array(columns[3]) == "a"))
    statistics = learned(tree, data, few)
    seen = [[column[row] for row in few] for column in columns]
    ancestors = ancestors_of(tree.parameters(statistics, data))
    circuit = unrolled(lower(tree.express(statistics, data)))
    for row in itertools.product(*([*each, "never seen"] for each in outcomes)):
        places = [(outcomes[v].index(value) if value in outcomes[v] else -1) for v, value in enumerate(row)]
        expected = by_hand(seen, ancestors, outcomes, [UNSEEN] * 5, row)
        assert evaluate(circuit, places) == pytest.approx(expected, rel=1e-11)


def evaluate(layout, places):
    """Return the probability of one row under a circuit of categorical inputs, unit after unit."""
    values = []
    for unit, kind in enumerate(layout.units.tolist()):
        if kind > 1:
            values.append(math.exp(layout.parameters_of(unit)[places[layout.variables[unit]]]))
            continue
        start, end = layout.child_starts[unit], layout.child_starts[unit + 1]
        below = [values[child] for child in layout.children[start:end]]
        weights = np.exp(layout.log_weights[start:end])
        values.append(float(np.dot(weights, below)) if kind == 0 else math.prod(below))
    return values[-1]


def test_missing_values_are_summed_out():
    columns = dependent_columns(60, 1)
    spn = estimator().fit(object_table(*columns))
    outcomes = [[*sorted(set(column.tolist())), "never seen"] for column in columns]
    for hidden in itertools.chain.from_iterable(itertools.combinations(range(5), n) for n in (1, 2, 3)):
        row = ["b", "a", "b", "a", "b"]
        full = []
        for values in itertools.product(*(outcomes[v] for v in hidden)):
            full.append(list(row))
            for v, value in zip(hidden, values, strict=True):
                full[-1][v] = value
        for v in hidden:
            row[v] = None
        total = np.exp(spn.score_samples(np.array(full, object))).sum()
        assert np.exp(spn.score_samples(np.array([row], object)))[0] == pytest.approx(total, rel=1e-12)


def test_bernoulli_variables_know_nothing_else():
    rng = np.random.default_rng(0)
    columns = [rng.random(50) < 0.5]
    for _ in range(3):
        columns.append(columns[-1] ^ (rng.random(50) < 0.2))
    columns.append(np.full(50, True))
    columns[-1][0] = False
    table = object_table(*[column.tolist() for column in columns])
    spn = estimator({f"x{v}": Bernoulli() for v in range(5)}).fit(table)
    ancestors, lists = tree_of(spn), [column.tolist() for column in columns]
    rows = list(itertools.product([False, True], repeat=5))
    expected = [by_hand(lists, ancestors, [[False, True]] * 5, [0.0] * 5, row) for row in rows]
    assert math.fsum(expected) == pytest.approx(1.0, rel=1e-12)
    assert np.exp(spn.score_samples(np.array(rows, object))) == pytest.approx(expected, rel=1e-11)
    spn.unlearn(0)
    assert spn.score_samples(np.array([[True, True, True, True, False]], object))[0] > -np.inf


def test_parameters_for_reading():
    columns = [column.tolist() for column in dependent_columns(60, 0)]
    data, tree = slice_of(*columns, categorical=True), ChowLiu(ALPHA, BETA).over([Categorical()] * 5)
    parameters = tree.parameters(learned(tree, data), data)
    root, child = parameters["probabilities"]["x0"], parameters["probabilities"]["x1"]
    assert root == pytest.approx({c: (columns[0].count(c) + ALPHA) / (60 + ALPHA * (2 + UNSEEN)) for c in "ab"})
    assert list(child) == ["a", "b"]
    for line in child.values():
        assert sum(line.values()) == pytest.approx(1.0, abs=1e-3)


# -- numbers -----------------------------------------------------------------------------------------------------------


def normal(value, mean, std):
    return math.exp(-0.5 * ((value - mean) / std) ** 2) / (std * math.sqrt(2 * math.pi))


def mixed_columns(n_rows, seed, missing=0.0):
    """Return two numbers and a category that depend on each other."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=n_rows)
    columns = [numbers, np.round(2 * numbers + rng.normal(size=n_rows), 1), np.where(numbers > 0, "b", "a")]
    return [[None if rng.random() < missing else value for value in column.tolist()] for column in columns]


def alternatives(spn, v, columns):
    """Return for each outcome of a variable that some record has, its code and density; then those of all others."""
    coder, codes = spn._model.records.encoding.coders[v], spn._model.records.codes[:, v]
    if v == 2:
        found = [(coder.index[b"s" + c.encode()] + 1, lambda value, c=c: float(value == c)) for c in "ab"]
        return found, lambda value: float(value not in ("a", "b"))
    found, floor = [], 0.05 * coder.scale
    for code in range(1, coder.n_codes):
        values = [value for value, own in zip(columns[v], codes, strict=True) if own == code]
        if values:
            mean, std = np.mean(values), max(np.std(values), floor)
            found.append((code, lambda value, mean=mean, std=std: normal(value, mean, std)))
    return found, lambda value: normal(value, coder.centre, 4 * coder.scale)


def density_by_hand(spn, columns, row):
    """Sum over all outcomes that the variables may have had, by the formulas of the docstring."""
    encoding, codes = spn._model.records.encoding, spn._model.records.codes
    ancestors, each = tree_of(spn), [alternatives(spn, v, columns) for v in range(3)]
    n_outcomes = [len(encoding.coders[v].edges) + 1 if v < 2 else 2 for v in range(3)]
    total = 0.0
    for chosen in itertools.product(*([*found, (None, others)] for found, others in each)):
        weight = 1.0
        for v, (code, density) in enumerate(chosen):
            share = n_outcomes[v] - len(each[v][0]) + UNSEEN if code is None else 1.0
            known, smooth = np.count_nonzero(codes[:, v]), ALPHA * (n_outcomes[v] + UNSEEN)
            count = 0 if code is None else np.count_nonzero(codes[:, v] == code)
            probability = (count + ALPHA * share) / (known + smooth)
            above = chosen[ancestors[v][0]][0] if ancestors[v] else None
            if above is not None:
                given = codes[codes[:, ancestors[v][0]] == above, v]
                joint = 0 if code is None else np.count_nonzero(given == code)
                probability = (joint + ALPHA * share + BETA * probability) / (np.count_nonzero(given) + smooth + BETA)
            weight *= probability * (1.0 if row[v] is None else density(row[v]))
        total += weight
    return total


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_densities_of_numbers_by_hand(seed, missing):
    columns = mixed_columns(80, seed, missing)
    spn = SPN(min_rows=10**6, factorization=BY_BINS, n_bins=4).fit(object_table(*columns))
    rows = [[0.1, 0.3, "a"], [-1.0, -2.0, "b"], [9.0, None, "a"], [None, 1.5, None], [0.0, 0.0, "never seen"]]
    expected = [density_by_hand(spn, columns, row) for row in rows]
    assert np.exp(spn.score_samples(np.array(rows, object))) == pytest.approx(expected, rel=1e-9)


def test_a_tree_of_numbers_is_a_density():
    columns = mixed_columns(80, 0)
    spn = SPN(min_rows=10**6, factorization=BY_BINS).fit(object_table(*columns))
    for rest in ([None, "a"], [0.5, None], [None, None]):
        grid = np.array([[x, *rest] for x in np.arange(-25.0, 25.0, 0.01).tolist()], object)
        marginal = np.exp(spn.score_samples(np.array([[None, *rest]], object)))[0]
        assert np.exp(spn.score_samples(grid)).sum() * 0.01 == pytest.approx(marginal, rel=1e-6)


def test_numbers_in_a_tree_for_reading():
    columns = mixed_columns(80, 0)
    spn = SPN(min_rows=10**6, factorization=BY_BINS, n_bins=4).fit(object_table(*columns))
    (leaf,) = (node for node in spn.root_.walk() if node.operation is Operation.CREATE_LEAF)
    assert list(leaf.parameters["bins"]) == ["x0", "x1"]
    means = [line["mean"] for line in leaf.parameters["bins"]["x0"].values()]
    assert means == sorted(means)
    assert np.average(columns[0]) == pytest.approx(
        sum(p * m for p, m in zip(np.bincount(spn._model.records.codes[:, 0])[1:] / 80, means, strict=True))
    )


def test_a_number_that_changes_within_its_bin_changes_the_digest():
    columns = mixed_columns(80, 0)
    spn = SPN(min_rows=10**6).fit(object_table(*columns))
    edges = spn._model.records.encoding.coders[0].edges
    row = next(i for i, value in enumerate(columns[0]) if value not in edges)
    columns[0][row] = np.nextafter(columns[0][row], 0.0)
    other = SPN(min_rows=10**6).fit(object_table(*columns))
    assert np.array_equal(other._model.records.codes, spn._model.records.codes)
    assert other.digest() != spn.digest()


def test_numbers_that_tell_of_each_other_are_likelier_in_a_tree():
    train, test = mixed_columns(500, 0), mixed_columns(500, 1)
    tree = SPN(min_rows=1000).fit(object_table(*train))
    naive = SPN(min_rows=1000, factorization="naive").fit(object_table(*train))
    assert tree.score(object_table(*test)) > naive.score(object_table(*test)) + 0.5


# -- in the network ----------------------------------------------------------------------------------------------------


def test_a_tree_takes_what_it_can_and_leaves_the_rest():
    rng = np.random.default_rng(0)
    column = rng.integers(0, 2, 100)
    table = object_table(
        column.astype(float) + rng.standard_normal(100),
        np.array(["a", "b"], object)[column],
        [f"k{i % 40}" for i in range(100)],
        np.array(["a", "b"], object)[column],
        column.astype(bool),
    )
    spn = SPN(min_rows=200, factorization="chow-liu", categorical_features=[1, 2, 3, 4]).fit(table)
    leaves = {node.scope: node.distribution for node in spn.root_.walk() if node.operation is Operation.CREATE_LEAF}
    assert leaves == {("x0", "x1", "x3", "x4"): "chow-liu", ("x2",): "categorical"}
    spn.unlearn(list(range(80)))  # so few categories are left that x2 can take part
    leaves = {node.scope: node.distribution for node in spn.root_.walk() if node.operation is Operation.CREATE_LEAF}
    assert leaves == {("x0", "x1", "x2", "x3", "x4"): "chow-liu"}
    poisson = SPN(min_rows=200, categorical_features=[1, 2, 3, 4], leaves={"x0": "histogram"}).fit(table)
    leaves = {node.scope: node.distribution for node in poisson.root_.walk() if node.operation is Operation.CREATE_LEAF}
    assert leaves == {("x1", "x3", "x4"): "chow-liu", ("x0",): "histogram", ("x2",): "categorical"}


def test_constant_variables_stay_out_of_trees():
    table = object_table(*dependent_columns(60, 0), ["same"] * 60)
    spn = estimator().fit(table)
    leaves = {node.scope for node in spn.root_.walk() if node.operation is Operation.CREATE_LEAF}
    assert leaves == {("x0", "x1", "x2", "x3", "x4"), ("x5",)}
    constant = estimator().fit(object_table(["a"] * 5, ["b"] * 5))
    assert [child.distribution for child in constant.root_.children] == ["categorical", "categorical"]


def test_it_is_likelier_than_independent_leaves():
    train, test = dependent_columns(500, 0), dependent_columns(500, 1)
    tree = SPN(min_rows=1000, factorization="chow-liu").fit(object_table(*train))
    naive = SPN(min_rows=1000, factorization="naive").fit(object_table(*train))
    assert tree.score(object_table(*test)) > naive.score(object_table(*test)) + 0.5


@pytest.mark.parametrize("seed", range(3))
def test_a_revised_tree_is_the_fresh_one(seed):
    table = object_table(*dependent_columns(60, seed, 0.1))
    spn = estimator().fit(table)
    gone = np.random.default_rng(seed).permutation(60)[:30]
    changed = False
    for done, row in enumerate(gone.tolist(), start=1):
        before = tree_of(spn)
        spn.unlearn(row)
        changed |= tree_of(spn) != before
        rest = np.setdiff1d(np.arange(60), gone[:done])
        fresh = estimator().fit(table[rest], ids=rest)
        assert spn.digest() == fresh.digest()
        assert spn.state_digest() == fresh.state_digest()
        assert spn.score_samples(table).tobytes() == fresh.score_samples(table).tobytes()
    assert changed


def test_the_digest_knows_of_the_tree():
    table = object_table(*dependent_columns(60, 0))
    trees = [ChowLiu(), ChowLiu(alpha=0.4), ChowLiu(beta=0.4), ChowLiu(order=2), ChowLiu(penalty=2.0), "naive"]
    estimators = [SPN(min_rows=100, factorization=tree).fit(table) for tree in trees]
    assert len({spn.digest() for spn in estimators}) == 6
    assert SPN(min_rows=100, factorization="chow-liu").fit(table).digest() == estimators[0].digest()


def test_settings_are_checked():
    with pytest.raises(ValueError, match="beta=0 must be a positive number"):
        ChowLiu(beta=0)
    with pytest.raises(ValueError, match="order=0 must be a whole number from 1 to 8"):
        ChowLiu(order=0)
    with pytest.raises(ValueError, match="penalty=-1 must be a positive number"):
        ChowLiu(penalty=-1)
    with pytest.raises(ValueError, match="factorization='bushy' is none of 'naive', 'chow-liu'"):
        SPN(factorization="bushy").fit([["a"], ["b"]])

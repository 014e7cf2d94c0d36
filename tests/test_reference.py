"""The library against LearnSPN written a second time (`reference`): the same decisions, and the same bits.

`UNLEARNSPN_REFERENCES=10000` tries so many random tables for each sort of settings, other ones each time.
"""

import math
import os
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_wine

from expression_units import units_of
from reference import Reference, Settings
from reference_circuit import Units, derive_circuit
from sequences import CATEGORY_POOLS, NUMERIC_POOLS, Held, Sequence, apply_request
from unlearnspn import SPN, ChowLiu
from unlearnspn.circuit.layout import lift
from unlearnspn.coding import FEATURE_LIMIT

N_TABLES = int(os.environ.get("UNLEARNSPN_REFERENCES", "0"))
#: Settings by what they exercise, the first the simplest.
SORTS = {
    "naive": {"factorization": "naive"},
    "trees": {"factorization": "chow-liu"},
    # Of categories alone, which depend on several ancestors.
    "ancestors": {"min_rows": 20},
    "rounds": {"max_rounds": 10},
    "rdc": {"independence": "rdc"},
    # Of categories alone, whose coding hardly a record changes: so requests are carried out node by node.
    "requests": {"threshold": 0.05},
}
#: Columns that follow the group of their record, given by a random generator and the groups.
FOLLOWING = {
    True: [
        lambda rng, group: np.array(["a", "b", "c", None], object)[group],
        lambda rng, group: np.where(rng.random(group.size) < 0.7, group, rng.integers(0, 12, group.size)).astype(
            object
        ),
    ],
    False: [
        lambda rng, group: 3.0 * group + rng.standard_normal(group.size),
        lambda rng, group: np.round(group + rng.standard_normal(group.size)),
        # A crowd, about three quarters of the values, and others far away.
        lambda rng, group: np.where(rng.random(group.size) < 0.75, group / 16, 1e4 * rng.integers(-3, 3, group.size)),
        # About half of the values are one.
        lambda rng, group: np.where(rng.random(group.size) < 0.5, 0.0, 100.0 + rng.integers(0, 9, group.size) / 64),
    ],
}


@st.composite
def parameters(draw, sort):
    """Draw the parameters that estimator and reference share."""
    chosen = {
        "min_rows": draw(st.sampled_from([1, 2, 3, 5, 8])),
        "n_clusters": draw(st.sampled_from([1, 2, 3, 5, 8])),
        "n_bins": draw(st.sampled_from([2, 4, 5, 12])),
        "threshold": draw(st.floats(0.1, 2.0) if sort != "rdc" else st.floats(0.1, 0.9)),
        "epsilon": draw(st.sampled_from([None, 0.01])),
        "max_rounds": 0,
        "alpha": draw(st.sampled_from([0.3, 0.01, 1.0])),
        "min_std": draw(st.sampled_from([0.05, 0.5])),
        "min_category_count": draw(st.sampled_from([1, 1, 1, 3])),
        "factorization": draw(st.sampled_from(["naive", "chow-liu"])),
        "random_state": draw(st.integers(-50, 300)),
    }
    if sort == "ancestors":
        order, penalty = draw(st.integers(1, 8)), draw(st.sampled_from([0.01, 0.1, 0.5]))
        chosen["factorization"] = ChowLiu(chosen["alpha"], 3.0, order, penalty)
    return {**chosen, **SORTS[sort]}


def settings_of(chosen):
    """Return the settings of the reference."""
    tree = chosen["factorization"]
    if isinstance(tree, ChowLiu):
        own = {"factorization": "chow-liu", "beta": tree.beta, "order": tree.order, "penalty": tree.penalty}
        chosen = {**chosen, **own}
    return Settings(**chosen)


@st.composite
def tables(draw, sort):
    """Draw a pool of rows whose columns partly follow groups, the parameters, and requests."""
    if sort in ("requests", "ancestors"):
        n_columns = draw(st.integers(2, 5) if sort == "requests" else st.integers(3, 5))
        categorical, n_first = [True] * n_columns, draw(st.integers(13, 60))
    else:
        categorical = draw(st.lists(st.booleans(), min_size=1, max_size=5))
        n_first = draw(st.one_of(st.integers(1, 12), st.integers(13, 60)))
    # From a seed, not draw by draw: rules that matter in few tables need many that differ in all respects.
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    table = np.empty((n_first + 5, len(categorical)), object)
    group = rng.integers(0, 4, len(table))
    for v, is_categorical in enumerate(categorical):
        pools = CATEGORY_POOLS if is_categorical else NUMERIC_POOLS
        pool, follow = pools[rng.integers(len(pools))], FOLLOWING[is_categorical]
        if rng.random() < 0.3:
            table[:, v] = [pool[pick] for pick in rng.integers(0, len(pool), len(table))]
        else:
            table[:, v] = follow[rng.integers(len(follow))](rng, group).tolist()
    table[rng.random(table.shape) < rng.choice([0.0, 0.1, 0.4])] = None
    kinds = st.sampled_from(["remove", "remove", "batch", "add", "rectify"])
    request = st.tuples(kinds, st.lists(st.integers(0, 10**6), min_size=1, max_size=6))
    requests = draw(st.lists(request, max_size=2) if sort != "requests" else st.lists(request, min_size=4, max_size=6))
    return Sequence(categorical, table, draw(parameters(sort)), n_first, requests, draw(st.booleans()))


def assert_same_decisions(view, node):
    """Compare the networks node by node: operation, variables, number of records, numbers of clusters."""
    expected = node.operation, tuple(f"x{v}" for v in node.scope), len(node.rows), tuple(node.clusters)
    assert (str(view.operation), view.scope, view.n_records, view.node.clusters) == expected
    for child, other in zip(view.children, node.children, strict=True):
        assert_same_decisions(child, other)


def assert_like_reference(spn, records, categorical, chosen, rows):
    """Compare an estimator with the reference on the records that it should hold, and log-densities of some rows."""
    reference, units = Reference(records, categorical, chosen), Units()
    assert_same_decisions(spn.root_, reference.root)
    root = derive_circuit(reference, units)
    assert units_of(lift(spn.circuit_.layout), units) == root
    for density, row in zip(spn.score_samples(rows).tolist(), rows.tolist(), strict=True):
        expected = units.log_density(root, row, reference.columns)
        # Beyond, squares overflow.
        assert expected < -1e300 or math.isclose(density, expected, rel_tol=1e-12, abs_tol=1e-12)


def assert_all_like_reference(sequence):
    """Learn, then carry out the requests, and compare after each."""
    held = Held({number: number for number in range(sequence.n_first)})
    chosen = settings_of(sequence.parameters)
    X, ids = held.table(sequence, np.random.default_rng(0))
    spn = sequence.estimator().fit(X, ids=ids)
    assert_like_reference(spn, records_of(sequence, held), sequence.categorical, chosen, sequence.pool)
    for kind, numbers in sequence.requests:
        if apply_request(spn, sequence, held, kind, numbers) is not None:
            assert_like_reference(spn, records_of(sequence, held), sequence.categorical, chosen, sequence.pool)


def records_of(sequence, held):
    return {sequence.name(number): sequence.pool[row].tolist() for number, row in held.rows.items()}


@pytest.mark.filterwarnings("ignore::unlearnspn.errors.IdentifyingColumnWarning")
@pytest.mark.parametrize("sort", SORTS)
@settings(
    max_examples=N_TABLES or 20,
    derandomize=not N_TABLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_the_library_learns_what_the_theory_says(sort, data):
    assert_all_like_reference(data.draw(tables(sort)))


@pytest.mark.parametrize(
    ("load", "given_", "expected"),
    [
        (load_wine, {"min_rows": 40}, Settings(40, 8, 5)),
        (load_wine, {"min_rows": 40, "factorization": ChowLiu(0.1, 0.5)}, Settings(40, 8, 5, alpha=0.1, beta=0.5)),
        (load_diabetes, {}, Settings(200, 8, 9)),
        (load_diabetes, {"min_rows": 50, "n_clusters": 2, "max_rounds": 100}, Settings(50, 2, 9, max_rounds=100)),
    ],
    ids=["wine", "other trees", "defaults", "rounds"],
)
def test_known_tables_give_what_the_theory_says(load, given_, expected):
    X = load().data
    spn = SPN(**given_).fit(X)
    spn.unlearn([3, 14, 159])
    records = {i: row for i, row in enumerate(X.tolist()) if i not in (3, 14, 159)}
    assert_like_reference(spn, records, [False] * X.shape[1], expected, X[:20])


def related_table(seed, has_gaps, has_class, has_outliers):
    """Return numbers that follow each other, about other means in each class, and maybe the class."""
    rng = np.random.default_rng(seed)
    n_rows, group = 120, rng.integers(0, 3, 120)
    numbers = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, 5)) + 0.2 * rng.normal(size=(n_rows, 5))
    numbers += rng.normal(size=(3, 5))[group]
    if has_outliers:
        # A feature is 4096 for a scale, 32,767 at most: so these are at a limit, on either side.
        numbers[[20, 40, 60], rng.permutation(5)[:3]] = -60.0, 60.0, 60.0
    table = numbers.astype(object)
    if has_gaps:
        table[rng.random(table.shape) < 0.2] = None
        # Nothing is known of this one.
        table[seed + 10] = None
    return np.column_stack([table, np.array(["a", "b", "c"], object)[group]]) if has_class else table


def kinds_of(spn):
    """Return "normal" if a circuit has jointly normal numbers, and "given" if their means depend on a category."""
    units = Units()
    units_of(lift(spn.circuit_.layout), units)
    normals = Counter(tuple(unit[1]) for unit in units.units if unit[0] == "normal")
    # A block has two: one three times as wide beside it.
    return ({"normal"} if normals else set()) | ({"given"} if max(normals.values(), default=0) > 2 else set())


@pytest.mark.parametrize("has_outliers", [False, True])
@pytest.mark.parametrize("has_class", [False, True])
@pytest.mark.parametrize("has_gaps", [False, True])
def test_jointly_normal_numbers_are_what_the_theory_says(has_gaps, has_class, has_outliers):
    kinds, at_limit = set(), 0
    for seed in range(8):
        table = related_table(seed, has_gaps, has_class, has_outliers)
        categorical = [False] * 5 + [True] * has_class
        spn = SPN(categorical_features=categorical, min_rows=1000, n_bins=4).fit(table)
        chosen = Settings(1000, 8, 4)
        assert_like_reference(spn, dict(enumerate(table.tolist())), categorical, chosen, table[:4])
        spn.unlearn([5, 70])
        records = {i: row for i, row in enumerate(table.tolist()) if i not in (5, 70)}
        assert_like_reference(spn, records, categorical, chosen, table[:4])
        found = abs(spn._model.records.features[:, :5].astype(int))
        at_limit += np.count_nonzero(found == FEATURE_LIMIT)
        kinds |= kinds_of(spn)
    assert (at_limit > 0) == has_outliers
    assert "normal" in kinds
    assert ("given" in kinds) == (has_class and not has_gaps and not has_outliers)


#: Where equal gains, distances and missing values abound: few rows of few values, much of them missing.
TIES = {
    "trees": ({"min_rows": 100}, [0, 1], 8, True),
    "clusters": ({"min_rows": 2, "factorization": "naive", "threshold": 0.01}, [0, 1, 2, None, None, None], 40, True),
    "rounds": ({"min_rows": 4, "max_rounds": 3, "epsilon": 2.0, "threshold": 0.01}, [0.0, 1.0, None, 5.0], 40, False),
}


@pytest.mark.parametrize("sort", TIES)
def test_ties_are_broken_as_the_theory_says(sort):
    given_, values, n_rows, is_categorical = TIES[sort]
    for seed in range(50):
        rng, chosen = np.random.default_rng(seed), {"n_clusters": 4, "n_bins": 4, "random_state": seed, **given_}
        X = np.array(values, object)[rng.integers(0, len(values), (n_rows, 5))]
        spn = SPN(categorical_features=[is_categorical] * 5, **chosen).fit(X)
        records = dict(enumerate(X.tolist()))
        assert_like_reference(spn, records, [is_categorical] * 5, Settings(**chosen), X[:2])

"""The network for reading: addresses, the order of a walk, and views that add up."""

import math
from collections import Counter

import numpy as np
import pytest

from unlearnspn import SPN, Operation
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.spn.operations import Address
from unlearnspn.spn.views import NodeView, ShownNode

ALPHA, UNSEEN = 0.2, 0.01


def scope(*variables):
    return np.array(variables, np.int64)


@pytest.mark.parametrize(
    ("address", "printed"),
    [
        (Address(), "/"),
        (Address().cluster(0), "/0"),
        (Address().variables(scope(3)), "/{3}"),
        (Address().variables(scope(0, 1)), "/{0-1}"),
        (Address().variables(scope(0, 2, 3, 4, 7)).cluster(12), "/{0,2-4,7}/12"),
        (Address().cluster(1).variables(scope(1, 3, 5)).cluster(0).variables(scope(5)), "/1/{1,3,5}/0/{5}"),
    ],
)
def test_addresses_print_the_way_down(address, printed):
    assert str(address) == printed


def test_walk_goes_down_before_it_goes_on():
    def leaf(v):
        return ShownNode(Operation.CREATE_LEAF, 0, scope(v), 2, statistics=f"statistics of {v}")

    pair = ShownNode(Operation.NAIVE_FACTORIZATION, 0, scope(0, 1), 2, (leaf(0), leaf(1)))
    product = ShownNode(Operation.SPLIT_VARIABLES, 0, scope(0, 1, 2), 2, (leaf(2), pair))
    other = ShownNode(Operation.NAIVE_FACTORIZATION, 0, scope(0, 1, 2), 2, (leaf(0), leaf(1), leaf(2)))
    root = ShownNode(Operation.SPLIT_DATA, 0, scope(0, 1, 2), 4, (product, other), (0, 2))
    walked = list(NodeView(None, root).walk())
    assert [view.address for view in walked] == [
        "/",
        "/0",
        "/0/{2}",  # the leaves of a product come first
        "/0/{0-1}",
        "/0/{0-1}/{0}",
        "/0/{0-1}/{1}",
        "/2",
        "/2/{0}",
        "/2/{1}",
        "/2/{2}",
    ]
    assert [walked[place].node for place in (0, 1, 3, 6)] == [root, product, pair, other]
    assert walked[2].node.statistics == "statistics of 2"


@pytest.fixture(scope="module", params=["gtest", "rdc", "three clusters"])
def spn(request):
    parameters = {
        "gtest": {"threshold": 0.7, "epsilon": 0.5},
        "rdc": {"independence": "rdc", "epsilon": 0.1, "max_rounds": 5},
        "three clusters": {"n_clusters": 3, "epsilon": 0.2, "max_rounds": 3},
    }
    settings = {"categorical_features": list(CATEGORICAL), "factorization": "naive", **parameters[request.param]}
    estimator = SPN(min_rows=8, **settings)
    fitted = estimator.fit(example_table(120))
    operations = {view.operation for view in fitted.root_.walk()}
    assert Operation.SPLIT_DATA in operations
    assert len(operations) >= 4
    return fitted


def test_views_walk_like_a_recursion(spn):
    def preorder(view):
        return [view.address, *(address for child in view.children for address in preorder(child))]

    addresses = [view.address for view in spn.root_.walk()]
    assert addresses == preorder(spn.root_)
    assert len(set(addresses)) == len(addresses)


def test_records_and_weights_add_up(spn):
    assert spn.root_.n_records == spn.n_records_ == 120
    for view in spn.root_.walk():
        counts = [child.n_records for child in view.children]
        if view.operation is Operation.SPLIT_DATA:
            assert len(counts) > 1
            assert min(counts) > 0
            assert sum(counts) == view.n_records
            assert math.isclose(math.fsum(view.weights), 1.0, rel_tol=1e-15)
            assert view.weights == tuple(count / view.n_records for count in counts)
        else:
            assert view.weights == ()
            assert set(counts) <= {view.n_records}


def test_scopes_partition_at_products_and_stay_at_mixtures(spn):
    assert spn.root_.scope == tuple(f"x{v}" for v in range(6))
    for view in spn.root_.walk():
        scopes = [child.scope for child in view.children]
        if view.operation is Operation.SPLIT_DATA:
            assert set(scopes) == {view.scope}
        elif view.operation is Operation.CREATE_LEAF:
            assert len(view.scope) == 1
            assert not scopes
        else:
            assert len(scopes) > 1
            assert sorted(name for part in scopes for name in part) == sorted(view.scope)
            if view.operation is Operation.NAIVE_FACTORIZATION:
                assert {child.operation for child in view.children} == {Operation.CREATE_LEAF}


def test_only_leaves_have_parameters(spn):
    for view in spn.root_.walk():
        if view.operation is not Operation.CREATE_LEAF:
            assert view.distribution is None
            assert view.parameters == {}
        elif CATEGORICAL[int(view.scope[0][1:])]:
            assert view.distribution == "categorical"
            probabilities = view.parameters["probabilities"]
            assert math.isclose(math.fsum(probabilities.values()) + view.parameters["unseen"], 1.0, rel_tol=1e-12)
        else:
            assert view.distribution == "gaussian"
            assert view.parameters["std"] > 0.0


def test_parameters_of_leaves_by_hand():
    rng = np.random.default_rng(3)
    numbers, letters = rng.normal(5.0, 2.0, 40), rng.choice(list("aab"), 40)
    table = [[n, str(c), 7.0] for n, c in zip(numbers, letters, strict=True)]
    table[0][0] = None
    root = SPN(min_rows=100, factorization="naive", alpha=ALPHA, min_std=0.05).fit(table).root_
    assert root.operation is Operation.SPLIT_UNINFORMATIVE
    leaves = {view.scope[0]: view for view in root.walk() if view.operation is Operation.CREATE_LEAF}
    assert leaves["x0"].parameters == pytest.approx({"mean": numbers[1:].mean(), "std": numbers[1:].std()}, rel=1e-12)
    assert leaves["x2"].parameters == {"mean": 7.0, "std": 0.05}
    total = 40 + ALPHA * (2 + UNSEEN)
    expected = {c: (n + ALPHA) / total for c, n in Counter(letters.tolist()).items()}
    assert leaves["x1"].parameters["probabilities"] == pytest.approx(expected, rel=1e-12)
    assert leaves["x1"].parameters["unseen"] == pytest.approx(ALPHA * UNSEEN / total, rel=1e-12)


def test_a_view_shows_the_model_as_it_was():
    def shown(view):
        return [(repr(part), part.scope, part.weights, dict(part.parameters)) for part in view.walk()]

    table = example_table(60)
    spn = SPN(min_rows=8, threshold=0.7, epsilon=0.5, categorical_features=list(CATEGORICAL)).fit(table)
    view = spn.root_
    before = shown(view)
    spn.unlearn(list(range(20)))
    assert shown(view) == before
    assert shown(spn.root_) != before


def test_two_pictures_share_what_no_request_has_touched():
    table = example_table(120)
    spn = SPN(min_rows=5, threshold=0.7, n_bins=6, categorical_features=list(CATEGORICAL)).fit(table)
    before = spn.root_
    row = next(row for row in range(120) if not spn.unlearn(row, dry_run=True).recoded)
    assert spn.root_.node is before.node
    spn.unlearn(row)
    known = {id(view.node) for view in before.walk()}
    shared = [view for view in spn.root_.walk() if id(view.node) in known]
    assert spn.root_.node is not before.node
    assert shared

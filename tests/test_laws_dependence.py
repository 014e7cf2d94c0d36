"""Mutual information: by hand for categories, from below for numbers."""

import math
import time
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from brute_force import BruteForce
from random_models import CATEGORICAL, laws, random_models
from unlearnspn import SPN, Circuit, InvalidTableError, Range
from unlearnspn.circuit.domains import Domain, Domains
from unlearnspn.circuit.expressions import Sum, categorical, mixture, product
from unlearnspn.circuit.layout import lower
from unlearnspn.schema import Kind
from unlearnspn.tables import Family


def by_hand(joint):
    """Return the mutual information of a table of probabilities."""
    joint = np.asarray(joint) / math.fsum(np.ravel(joint))
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    return math.fsum(p * math.log(p / q) for p, q in zip(joint.ravel(), expected.ravel(), strict=True) if p > 0.0)


def entropy(shares):
    shares = np.asarray(shares) / math.fsum(shares)
    return -math.fsum(p * math.log(p) for p in shares if p > 0.0)


@laws(12)
@given(model=random_models(columns=CATEGORICAL, least=2, most=4))
def test_the_mutual_information_of_categories_is_that_of_their_table(model):
    slow, circuit = BruteForce(model.circuit), model.circuit
    for a, b in combinations(model.names, 2):
        sides = circuit.categories(a), circuit.categories(b)
        result = circuit.mutual_information(a, b)
        if not sides[0] or not sides[1]:
            assert result == 0.0
            continue
        joint = [[slow.total({a: [one], b: [other]}) for other in sides[1]] for one in sides[0]]
        assert result == pytest.approx(by_hand(joint), rel=1e-9, abs=1e-13)
        assert result <= min(entropy(np.sum(joint, axis=axis)) for axis in (0, 1)) + 1e-12


@laws(8)
@given(model=random_models(least=2, most=3))
def test_mutual_information_is_symmetric_and_not_negative(model):
    rng = model.rng()
    circuit = model.circuit.condition(model.evidence(rng, model.some_columns(rng, most=2), ranges=2))
    for a, b in combinations(model.names, 2):
        one, other = circuit.mutual_information(a, b, 8), circuit.mutual_information(b, a, 8)
        assert one == pytest.approx(other, rel=1e-9, abs=1e-12)
        assert 0.0 <= one <= math.log(8) + 1e-9
        alone = circuit.marginal([b, a]).mutual_information(a, b, 8)
        assert alone == pytest.approx(one, rel=1e-9, abs=1e-12)


@laws(9)
@given(model=random_models(least=2, most=4))
def test_independent_columns_tell_nothing_of_each_other(model):
    spn = model.estimator().set_params(min_rows=len(model.table), factorization="naive").fit(model.table)
    assert spn.mutual_information("x0", "x1") == pytest.approx(0.0, abs=1e-12)


@laws(8)
@given(model=random_models(columns=("normal", "waiting", "counts", "bins", "words"), least=2, most=3))
def test_the_parts_of_numbers_have_equal_probability(model):
    """With the parts known by their probability, the mutual information can be asked for by hand."""
    if model.recipes[0].categorical or model.recipes[1].categorical or "counts" in model.kinds[:2]:
        return
    circuit, n_parts = model.circuit, 4
    parts = []
    for name in ("x0", "x1"):
        edges = [quantile(circuit, name, share / n_parts) for share in range(1, n_parts)]
        inner = [Range(above=a, at_most=b) for a, b in pairwise(edges)]
        parts.append([Range(at_most=edges[0]), *inner, Range(above=edges[-1])])
    joint = [[circuit.probability({"x0": one, "x1": other}) for other in parts[1]] for one in parts[0]]
    assert circuit.mutual_information("x0", "x1", n_parts) == pytest.approx(by_hand(joint), rel=1e-5, abs=1e-8)


def quantile(circuit, name, share):
    low, high = -1e3, 1e3
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if circuit.probability({name: Range(at_most=middle)}) >= share else (middle, high)
    return high


@pytest.fixture(scope="module")
def crossed():
    """Two clusters of two numbers, which tell of each other whichever is known."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 300)
    table = np.column_stack([5.0 * group, -4.0 * group]) + rng.standard_normal((300, 2))
    return SPN(min_rows=100, threshold=0.2, factorization="naive").fit(table).circuit_


def test_numbers_are_approached_from_below(crossed):
    slow = BruteForce(crossed)
    (x, x_weights), (y, y_weights) = slow.grid(0, -math.inf, math.inf), slow.grid(1, -math.inf, math.inf)
    grid = dict(enumerate(np.meshgrid(x, y, indexing="ij")))
    log_joint = slow.log_density(grid)
    log_ratio = log_joint - slow.log_density({0: x})[:, None] - slow.log_density({1: y})[None, :]
    exact = float(x_weights @ (np.exp(log_joint) * log_ratio) @ y_weights)
    parts = [2, 4, 16, 64, 256]
    results = [crossed.mutual_information("x0", "x1", n_parts) for n_parts in parts]
    assert exact > 0.3
    assert all(result <= exact + 1e-9 for result in results)
    assert all(coarse <= fine + 1e-9 for coarse, fine in pairwise(results))
    assert results[-1] == pytest.approx(exact, rel=1e-3)


def test_evidence_can_make_columns_independent():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 400)
    rows = [[5.0 * g + rng.standard_normal(), "ab"[g], "uv"[g ^ (rng.random() < 0.1)]] for g in group.tolist()]
    circuit = SPN(min_rows=100, threshold=0.2).fit(rows).circuit_
    assert circuit.mutual_information("x1", "x2") > 0.2
    assert circuit.condition({"x1": "a"}).mutual_information("x1", "x2") == pytest.approx(0.0, abs=1e-12)
    assert circuit.condition({"x1": "never seen"}).mutual_information("x0", "x1") == 0.0
    assert circuit.condition({"x0": 5.0}).mutual_information("x0", "x1") == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("n_parts", [1, 0, -3, 2.5, True, "8"])
def test_numbers_of_parts_that_divide_nothing_are_refused(crossed, n_parts):
    with pytest.raises(ValueError, match=r"n_parts=.* must be a number of parts, 2 or more"):
        crossed.mutual_information("x0", "x1", n_parts)


def test_a_column_and_itself_are_refused(crossed):
    with pytest.raises(InvalidTableError, match="'x0' are listed more than once"):
        crossed.mutual_information("x0", "x0")


# -- many categories -------------------------------------------------------------------------------------------------


def many_categories(sizes, n_products, rng):
    """Return a circuit of two columns of so many categories, and its joint table as factors; parts share sums."""
    shares = [rng.dirichlet(np.full(size, 0.1), n_products) + 1e-9 for size in sizes]
    with np.errstate(divide="ignore"):
        tables = [np.log(np.pad(each / each.sum(axis=1, keepdims=True), ((0, 0), (0, 1)))) for each in shares]
    first, second = ([categorical(v, line) for line in table] for v, table in enumerate(tables))
    mixed = [
        Sum(tuple(second), tuple(np.log(weights).tolist()), shared=True)
        for weights in rng.dirichlet(np.ones(n_products), n_products)
    ]
    root_weights = rng.dirichlet(np.ones(n_products))
    root = mixture([product(pair) for pair in zip(first, mixed, strict=True)], np.log(root_weights).tolist())
    names = [tuple(f"{v}-{number:06}" for number in range(size)) for v, size in enumerate(sizes)]
    domains = Domains(tuple(Domain(f"x{v}", Kind.CATEGORICAL, Family.TEXT, own) for v, own in enumerate(names)))
    mixing = np.exp([part.log_weights for part in mixed])
    left, right = (np.exp(table[:, :-1]) for table in tables)
    return Circuit(lower(root), domains), (root_weights[:, None] * left, mixing @ right)


@pytest.mark.parametrize("sizes", [(3, 7), (40, 2), (500, 400)])
def test_shared_parts_count_where_they_are(sizes):
    circuit, (left, right) = many_categories(sizes, 5, np.random.default_rng(0))
    exact = by_hand(left.T @ right)
    assert exact > 1e-3
    assert circuit.mutual_information("x0", "x1") == pytest.approx(exact, rel=1e-9)
    assert circuit.mutual_information("x1", "x0") == pytest.approx(exact, rel=1e-9)


def test_thousands_of_categories_take_seconds():
    circuit, (left, right) = many_categories((4000, 3000), 100, np.random.default_rng(0))
    start = time.perf_counter()
    result = circuit.mutual_information("x0", "x1")
    assert time.perf_counter() - start < 20.0
    joint = left.T @ right
    joint /= joint.sum()
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    assert result == pytest.approx((joint * np.log(joint / expected)).sum(), rel=1e-9)


def test_too_many_pairs_are_refused_before_they_are_counted():
    circuit, _ = many_categories((60_000, 50_000), 3, np.random.default_rng(0))
    start = time.perf_counter()
    message = r"of 'x0' and 'x1' would take too long: they have 60,000 and 50,000 values, so 3,000,000,000 pairs"
    with pytest.raises(ValueError, match=message):
        circuit.mutual_information("x0", "x1")
    assert time.perf_counter() - start < 10.0


def test_a_column_of_thousands_of_categories_and_a_number():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 2000, 6000)
    table = pd.DataFrame({"code": [f"c{number}" for number in code], "x": 5.0 * (code % 2) + rng.standard_normal(6000)})
    spn = SPN(min_rows=200, threshold=0.01, n_clusters=2).fit(table)
    start = time.perf_counter()
    assert 0.0 <= spn.mutual_information("code", "x", 64) < math.log(64)
    assert time.perf_counter() - start < 10.0

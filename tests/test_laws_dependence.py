"""Mutual information: by hand for categories, from below for numbers."""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given

from brute_force import BruteForce
from random_models import CATEGORICAL, laws, random_models
from unlearnspn import SPN, InvalidTableError, Range


def by_hand(joint):
    """Return the mutual information of a table of probabilities."""
    joint = np.asarray(joint) / math.fsum(np.ravel(joint))
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    return math.fsum(p * math.log(p / q) for p, q in zip(joint.ravel(), expected.ravel(), strict=True) if p > 0.0)


def entropy(shares):
    shares = np.asarray(shares) / math.fsum(shares)
    return -math.fsum(p * math.log(p) for p in shares if p > 0.0)


@laws(40)
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


@laws(25)
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


@laws(30)
@given(model=random_models(least=2, most=4))
def test_independent_columns_tell_nothing_of_each_other(model):
    spn = model.estimator().set_params(min_rows=len(model.table), factorization="naive").fit(model.table)
    assert spn.mutual_information("x0", "x1") == pytest.approx(0.0, abs=1e-12)


@laws(20)
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

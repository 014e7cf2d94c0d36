"""Log-densities: those of a slow evaluator by hand, and they sum and integrate to 1."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from sklearn.datasets import load_wine

from brute_force import NEVER_SEEN, BruteForce, assert_same_logs
from random_models import CATEGORICAL, NUMERIC, RECIPES, laws, random_models
from unlearnspn import SPN


@laws(18)
@given(model=random_models())
def test_scores_are_those_of_the_slow_evaluator(model):
    rows = model.rows(model.rng(), 30)
    assert_same_logs(model.spn.score_samples(rows), BruteForce(model.circuit).score_rows(rows))
    assert model.spn.score_samples(rows).tobytes() == model.circuit.score_samples(rows).tobytes()


@laws(12)
@given(model=random_models(least=2))
def test_scores_of_marginals_and_conditionals_are_those_of_the_slow_evaluator(model):
    rng = model.rng()
    rows = model.rows(rng, 30)
    columns = model.some_columns(rng, least=1)
    marginal = model.circuit.marginal([f"x{v}" for v in columns])
    assert_same_logs(marginal.score_samples(rows[:, columns]), BruteForce(marginal).score_rows(rows[:, columns]))
    conditional = model.circuit.condition(model.evidence(rng, model.some_columns(rng, least=1), ranges=3))
    # By hand, the probability between two bounds is a difference of two.
    assert_same_logs(conditional.score_samples(rows), BruteForce(conditional).score_rows(rows), 1e-9)


def combinations(circuit, unseen="never seen"):
    """Return all rows that there are, what was never seen being one category."""
    return [list(row) for row in product(*([*circuit.categories(name), unseen] for name in circuit.columns))]


@laws(18)
@given(model=random_models(columns=("words", "pairs", "one word", "no word", "mixed"), most=4))
def test_densities_of_categories_sum_to_one(model):
    circuit = model.circuit
    rows = combinations(circuit)
    if any(isinstance(category, int) for row in rows for category in row):
        return  # words are refused where there were only numbers, or booleans
    densities = np.exp(circuit.score_samples(rows))
    assert math.fsum(densities.tolist()) == pytest.approx(1.0, abs=1e-12)
    assert (densities >= 0.0).all()


@laws(12)
@given(model=random_models(columns=("digits", "binary"), most=4))
def test_densities_of_numbered_categories_sum_to_one(model):
    rows = combinations(model.circuit, unseen=99)
    assert math.fsum(np.exp(model.circuit.score_samples(rows)).tolist()) == pytest.approx(1.0, abs=1e-12)


@laws(9)
@given(model=random_models(columns=("flags", "always true"), most=5))
def test_densities_of_booleans_sum_to_one_without_anything_else(model):
    rows = list(product(*(model.circuit.categories(name) for name in model.circuit.columns)))
    assert {len(model.circuit.categories(name)) for name in model.circuit.columns} <= {0, 2}
    if all(model.circuit.categories(name) for name in model.circuit.columns):
        assert math.fsum(np.exp(model.circuit.score_samples(rows)).tolist()) == pytest.approx(1.0, abs=1e-12)


def integral(circuit, columns, rest):
    """Integrate scores, as the library gives them, over some numeric columns; `rest` holds the other columns."""
    known = {v: value for v, value in enumerate(rest) if isinstance(value, float) and v not in columns}
    grids = [BruteForce(circuit).grid(v, -math.inf, math.inf, known) for v in columns]
    points = np.meshgrid(*(own for own, _ in grids), indexing="ij")
    weights = np.ones(())
    for _, own in grids:
        weights = np.multiply.outer(weights, own)
    rows = np.empty((weights.size, len(rest)), float if circuit.domains.is_numeric.all() else object)
    rows[:] = np.array(rest, rows.dtype)
    for v, values in zip(columns, points, strict=True):
        rows[:, v] = values.ravel()
    return float((np.exp(circuit.score_samples(rows)) * weights.ravel()).sum())


@laws(9)
@given(model=random_models(columns=NUMERIC, most=3))
def test_densities_of_numbers_integrate_to_one(model):
    for v in range(len(model.recipes)):
        assert integral(model.circuit, [v], [None] * len(model.recipes)) == pytest.approx(1.0, abs=1e-9)


@laws(9)
@given(model=random_models(least=2))
def test_integrating_a_number_out_gives_the_marginal(model):
    rng = model.rng()
    numeric = [v for v, recipe in enumerate(model.recipes) if not recipe.categorical]
    for v in numeric[:1]:
        row = model.rows(rng, 1)[0]
        row[v] = None
        expected = math.exp(model.circuit.score_samples([list(row)])[0])
        assert integral(model.circuit, [v], row) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("first", NUMERIC)
def test_densities_of_two_numbers_integrate_to_one(first):
    rng = np.random.default_rng(NUMERIC.index(first))
    group = rng.integers(0, 2, 40)
    pair = [RECIPES[first], RECIPES["normal"]]
    table = np.column_stack([recipe.make(rng, group) for recipe in pair])
    leaves = {} if pair[0].leaf is None else {"x0": pair[0].leaf}
    circuit = SPN(min_rows=20, threshold=0.2, leaves=leaves).fit(table).circuit_
    assert integral(circuit, [0, 1], [None, None]) == pytest.approx(1.0, abs=1e-9)


@laws(9)
@given(model=random_models(columns=NUMERIC, most=3))
def test_densities_of_numbers_that_are_cut_off_integrate_to_one(model):
    rng = model.rng()
    for v in range(len(model.recipes)):
        conditional = model.circuit.condition(model.evidence(rng, [v]))
        assert integral(conditional, [v], [None] * len(model.recipes)) == pytest.approx(1.0, abs=1e-8)


@laws(9)
@given(model=random_models(columns=CATEGORICAL, most=4))
def test_a_missing_category_is_summed_out(model):
    rng = model.rng()
    v = int(rng.integers(len(model.recipes)))
    row = model.rows(rng, 1)[0]
    row[v] = None
    alone = math.exp(model.circuit.score_samples([list(row)])[0])
    categories = model.circuit.categories(f"x{v}")
    rows = np.array([row] * (1 + len(categories)), object)
    rows[:-1, v] = categories
    rows[-1, v] = model.unseen(v)
    densities = np.exp(model.circuit.score_samples(rows))
    if model.unseen(v) is None:  # a third boolean cannot be asked for
        rows[-1, v] = NEVER_SEEN
        densities[-1] = math.exp(BruteForce(model.circuit).score_rows(rows[-1:])[0])
    assert math.fsum(densities.tolist()) == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize("n_categories", [64, 65, 300])
@pytest.mark.parametrize("factorization", ["naive", "chow-liu"])
def test_columns_may_have_many_categories(n_categories, factorization):
    """More than fit into the tables that kernels copy, or that small whole numbers are looked up in."""
    rng = np.random.default_rng(0)
    numbers = np.append(np.arange(n_categories - 2) - 3, [1e9, 0.25])
    group = rng.integers(0, 2, 1500)
    picks = np.append(np.arange(n_categories), rng.integers(0, n_categories, 1500 - n_categories))
    table = np.column_stack([numbers[picks], np.where(rng.random(1500) < 0.8, group, picks % 2), group]).astype(object)
    circuit = SPN(min_rows=200, categorical_features="all", factorization=factorization).fit(table).circuit_
    assert len(circuit.categories("x0")) == n_categories
    rows = np.concatenate([table[:400], [[0.5, 1, 0], [n_categories + 7.0, None, 1], [-9.0, 1, None], [None, 0, 1]]])
    expected = BruteForce(circuit).score_rows(rows.tolist())
    assert_same_logs(circuit.score_samples(rows), expected)
    assert_same_logs(circuit.score_samples(rows.astype(float)), expected)


def test_real_data_is_scored_as_by_the_slow_evaluator():
    wine = load_wine(as_frame=True).frame.astype({"target": "str"})
    circuit = SPN(min_rows=20).fit(wine).circuit_
    assert len(circuit.layout) > 50
    assert_same_logs(circuit.score_samples(wine), BruteForce(circuit).score_rows(wine.to_numpy(object).tolist()))

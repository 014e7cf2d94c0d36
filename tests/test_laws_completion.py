"""Filling in what is missing, and predicting a column: means, maxima and posteriors by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from brute_force import BruteForce, assert_same_logs
from random_models import laws, random_models
from unlearnspn import SPN, ImpossibleEvidenceError, InvalidEvidenceError
from unlearnspn.circuit import completion
from unlearnspn.circuit.expressions import Unit

HOW = ["mean", "mpe", "sample"]


def possible_rows(model, rng, n_rows=10):
    """Return rows with something missing, none of which is impossible."""
    rows = model.rows(rng, n_rows)
    return rows[np.isfinite(model.circuit.score_samples(rows))]


def is_missing(rows):
    return np.array([[value is None or value != value for value in row] for row in rows.tolist()])


@laws(15)
@given(model=random_models())
def test_only_what_is_missing_is_filled_in_and_nothing_more_the_second_time(model):
    rows = possible_rows(model, model.rng())
    if not len(rows):
        return
    before = str(rows.tolist())
    nameless = [
        not (model.circuit.domains.is_numeric[v] or model.circuit.categories(name))
        for v, name in enumerate(model.names)
    ]
    for how in HOW:
        filled = model.spn.impute(rows, how=how, random_state=0)
        missing = is_missing(rows)
        assert str(rows.tolist()) == before
        assert all(a is b for a, b in zip(filled[~missing], rows[~missing], strict=True))
        assert np.array_equal(is_missing(filled), missing & nameless)
        if np.isfinite(model.circuit.score_samples(filled)).all() or not any(nameless):
            assert str(model.spn.impute(filled, how=how, random_state=1).tolist()) == str(filled.tolist())
        else:
            assert how == "mean"  # the mean of counts is none, and a row that lacks something must be possible
    assert str(model.spn.mpe(rows).tolist()) == str(model.spn.impute(rows, how="mpe").tolist())


@laws(12)
@given(model=random_models(least=2))
def test_imputed_means_are_conditional_expectations(model):
    rows = possible_rows(model, model.rng(), 6)
    if not len(rows):
        return
    filled = model.circuit.impute(rows)
    for row, result in zip(rows.tolist(), filled.tolist(), strict=True):
        evidence = {f"x{v}": value for v, value in enumerate(row)}
        for v, name in enumerate(model.names):
            if row[v] is not None:
                continue
            if not model.recipes[v].categorical:
                mean = model.circuit.expectation(name, given=evidence)
                assert result[v] == pytest.approx(mean, rel=1e-10, abs=1e-10)
            elif model.circuit.categories(name):
                shares = [
                    model.circuit.probability({name: [c]}, given=evidence) for c in model.circuit.categories(name)
                ]
                chosen = BruteForce(model.circuit).place(v, result[v])
                assert shares[chosen] >= max(shares) * (1.0 - 1e-10)


def conditional(model, rng):
    """Return a circuit given some evidence, and rows of which only what the evidence leaves open is known."""
    columns = model.some_columns(rng, most=2)
    circuit = model.circuit.condition(model.evidence(rng, columns, ranges=2))
    rows = model.rows(rng, 8)
    rows[:, columns] = None
    return circuit, rows[np.isfinite(circuit.score_samples(rows))]


@laws(15)
@given(model=random_models())
def test_max_product_finds_the_best_part(model):
    circuit, rows = conditional(model, model.rng())
    if not len(rows):
        return
    slow = BruteForce(circuit)
    best = slow.best_part(rows)
    filled = circuit.mpe(rows)
    assert_same_logs(slow.best_part(filled), best, 1e-9)
    assert (circuit.score_samples(filled) >= best - 1e-9 * np.maximum(1.0, np.abs(best))).all()


@laws(9)
@given(model=random_models(least=2))
def test_imputed_means_given_evidence_are_conditional_expectations(model):
    circuit, rows = conditional(model, model.rng())
    if not len(rows):
        return
    for row, result in zip(rows.tolist(), circuit.impute(rows).tolist(), strict=True):
        evidence = {f"x{v}": value for v, value in enumerate(row)}
        for v, recipe in enumerate(model.recipes):
            if row[v] is None and not recipe.categorical:
                mean = circuit.expectation(f"x{v}", given=evidence)
                assert result[v] == pytest.approx(mean, rel=1e-9, abs=1e-9)


def completions(model, row):
    """Return all rows that fill in the missing categories of a row."""
    choices = [model.circuit.categories(f"x{v}") if value is None else [value] for v, value in enumerate(row)]
    return [list(choice) for choice in product(*choices)]


@laws(15)
@given(model=random_models(columns=("words", "pairs", "digits", "flags", "plain flags", "binary"), least=2, most=5))
def test_max_product_is_exact_for_a_tree_and_for_a_product(model):
    spn = model.estimator().set_params(min_rows=len(model.table)).fit(model.table)
    circuit, rng = spn.circuit_, model.rng()
    rows = model.table[:6].copy()
    rows[rng.random(rows.shape) < 0.6] = None
    filled = spn.mpe(rows)
    for row, result in zip(rows.tolist(), filled.tolist(), strict=True):
        if all(value is not None or circuit.categories(name) for value, name in zip(row, model.names, strict=True)):
            densities = circuit.score_samples(np.array(completions(model, row), object))
            assert_same_logs(circuit.score_samples(np.array([result], object))[0], densities.max())


@laws(9)
@given(model=random_models(columns=("normal", "waiting", "factors", "counts", "constant"), most=3))
def test_max_product_of_a_product_is_at_the_modes(model):
    spn = model.estimator().set_params(min_rows=len(model.table)).fit(model.table)
    rng = model.rng()
    mode = spn.mpe(np.full((1, len(model.recipes)), np.nan))
    best = spn.score_samples(mode)[0]
    others = np.concatenate(
        [spn.sample(500, random_state=rng, within_span=False).astype(float), np.repeat(mode, 200, axis=0)]
    )
    near = rng.normal(0.0, 0.01, (200, len(model.recipes)))
    others[500:] += np.where([recipe.leaf == "poisson" for recipe in model.recipes], np.round(200.0 * near), near)
    assert (spn.score_samples(others) <= best + 1e-12).all()


@laws(15)
@given(model=random_models(least=2))
def test_predicted_probabilities_are_ratios_of_densities(model):
    rng = model.rng()
    for v, name in enumerate(model.names):
        categories = model.circuit.categories(name)
        if not categories:
            continue
        rows = possible_rows(model, rng, 6)
        rows[:, v] = None
        rows = rows[np.isfinite(model.circuit.score_samples(rows))] if len(rows) else rows
        if not len(rows):
            continue
        scores = []
        for category in categories:
            rows[:, v] = category
            scores.append(BruteForce(model.circuit).score_rows(rows))
        ratios = np.exp(np.array(scores) - np.logaddexp.reduce(scores, axis=0)).T
        predicted = model.spn.predict_proba(rows, target=name)
        assert predicted == pytest.approx(ratios, rel=1e-10, abs=1e-14)
        assert predicted.sum(axis=1) == pytest.approx(1.0, abs=1e-13)
        without = np.delete(rows, v, axis=1)
        assert model.spn.predict_proba(without, target=name).tobytes() == predicted.tobytes()


@laws(8)
@given(model=random_models(columns=("words", "normal", "pairs", "counts", "flags"), least=2))
def test_rows_are_filled_in_one_by_one(model):
    rows = possible_rows(model, model.rng(), 30)
    if not len(rows):
        return
    for how in ("mean", "mpe"):
        together = model.circuit.impute(rows, how=how)
        alone = [model.circuit.impute(rows[r : r + 1], how=how)[0].tolist() for r in range(len(rows))]
        assert str(alone) == str(together.tolist())


def frame():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 150)
    table = pd.DataFrame(
        {
            "size": 4.0 * group + rng.standard_normal(150),
            "kind": np.array(["a", "b", "c"])[group],
            "n": rng.poisson(group),
        }
    )
    table["n"] = table["n"].astype("Int64")
    return table


def test_blocks_change_nothing(monkeypatch):
    table = frame()
    spn = SPN(min_rows=20, leaves={"n": "poisson"}).fit(table)
    holes = np.random.default_rng(1).random(table.shape) < 0.4
    holed = table.mask(holes)
    together = {how: spn.impute(holed, how=how) for how in ("mean", "mpe")}
    monkeypatch.setattr(completion, "_CELLS", 300)
    for how, expected in together.items():
        pd.testing.assert_frame_equal(spn.impute(holed, how=how), expected, check_exact=True)
    sampled = spn.impute(holed, how="sample", random_state=0)
    assert sampled.notna().all(axis=None)
    assert (sampled.to_numpy()[~holes] == table.to_numpy()[~holes]).all()


def test_a_frame_keeps_its_index_and_types():
    table = frame().set_index(pd.Index([f"row {i}" for i in range(150)]))
    spn = SPN(min_rows=20).fit(table)
    holed = table.copy()
    holed.iloc[3, 0], holed.iloc[4, 1], holed.iloc[5, 2] = np.nan, None, pd.NA
    for how in HOW:
        filled = spn.impute(holed, how=how, random_state=0)
        assert filled.index.equals(table.index)
        assert list(filled.dtypes) == list(holed.dtypes)
        pd.testing.assert_frame_equal(
            filled.drop(index=["row 3", "row 4", "row 5"]), holed.drop(index=["row 3", "row 4", "row 5"])
        )
        assert filled.notna().all(axis=None)


@pytest.mark.parametrize("how", HOW)
def test_rows_that_are_impossible_are_named(how):
    spn = SPN(leaves={"x0": "exponential"}).fit([[1.0, 2.0], [2.0, 3.0], [4.0, 5.0]])
    with pytest.raises(ImpossibleEvidenceError, match=r"rows 2 have density 0.*mark those that cannot be as missing"):
        spn.impute([[1.0, None], [-1.0, None], [None, 3.0]], how=how)
    assert spn.impute([[-1.0, 2.0]], how=how).tolist() == [[-1.0, 2.0]]


@pytest.mark.parametrize("how", HOW)
def test_rows_that_are_impossible_but_miss_nothing_stay_as_they_are(how):
    table = frame()
    spn = SPN(min_rows=20, leaves={"n": "poisson"}).fit(table)
    assert (spn.circuit_.layout.units == Unit.SUM).any()
    rows = table.head(6).assign(n=[0.5, np.nan] * 3)
    filled = spn.impute(rows, how=how, random_state=0)
    pd.testing.assert_frame_equal(filled[::2], rows[::2])
    assert filled.notna().all(axis=None)


def test_one_huge_number_is_filled_in():
    """The mode of a number is no place of a category, and may be too large for one."""
    spn = SPN().fit(np.array([[1e300], [1.1e300], [1.2e300]]))
    assert spn.mpe(np.array([[np.nan]]))[0, 0] == pytest.approx(1.1e300)


@pytest.mark.parametrize("how", ["median", None, "MPE"])
def test_other_ways_to_fill_in_are_refused(how):
    with pytest.raises(ValueError, match="is none of 'mpe', 'mean', 'sample'"):
        SPN().fit([[1.0], [2.0]]).impute([[None]], how=how)


def test_numbers_have_no_categories_to_predict():
    spn = SPN(categorical_features=[1]).fit([[1.0, None], [2.0, None]])
    with pytest.raises(InvalidEvidenceError, match="column 'x0' is numeric"):
        spn.predict_proba([[1.0, None]], target="x0")
    with pytest.raises(InvalidEvidenceError, match="column 'x1' knows no category"):
        spn.predict_proba([[1.0, None]], target="x1")


def test_classes_are_alike_where_the_rest_is_impossible():
    rows = [[float(i), "ab"[i % 2]] for i in range(20)]
    spn = SPN(leaves={"x0": "exponential"}).fit(rows)
    assert spn.predict_proba([[-1.0, None]], target="x1").tolist() == [[0.5, 0.5]]

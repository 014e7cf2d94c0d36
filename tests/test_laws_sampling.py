"""Samples: goodness of fit, alone and in pairs, with and without evidence; reproducible, and as evidence says."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from scipy import stats

from brute_force import BruteForce
from random_models import NUMERIC, laws, random_models
from unlearnspn import SPN, ImpossibleEvidenceError, Range
from unlearnspn.circuit import completion

N_SAMPLES = 3000
#: Some thousand tests are done in a deep run, of which none may fail by chance.
LEAST_P_VALUE = 1e-8


def assert_fits(counts, probabilities):
    """Compare counts with probabilities by a chi-square test; cells that expect few are put together."""
    counts, expected = np.asarray(counts, float), np.asarray(probabilities) * np.sum(counts)
    assert (counts[expected == 0.0] == 0.0).all()
    few = expected < 5.0
    assert stats.poisson.sf(counts[few].sum() - 1, expected[few].sum() + 1e-300) > LEAST_P_VALUE
    counts, expected = counts[~few], expected[~few]
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, counts.size) > LEAST_P_VALUE


def same_category(a, b):
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def parts_of(model, v):
    """Return parts that the values of a column fall into, and for each a test of values."""
    if model.recipes[v].categorical:
        return [([c], lambda value, c=c: same_category(value, c)) for c in model.circuit.categories(f"x{v}")]
    numbers = [value for value in model.table[:, v].tolist() if value is not None and value == value]
    edges = np.unique(np.quantile([*numbers, 0.0], [0.2, 0.5, 0.8])).tolist()
    ranges = [Range(below=edges[0]), *(Range(at_least=a, below=b) for a, b in pairwise(edges))]
    return [(part, lambda value, part=part: value in part) for part in (*ranges, Range(at_least=edges[-1]))]


def named(circuit):
    """Return the circuit given that categories are known ones, as they are in samples."""
    known = {name: circuit.categories(name) for name in circuit.columns if circuit.categories(name)}
    return circuit.condition({name: known[name] for name in known if circuit.probability({name: known[name]}) > 0.0})


def assert_samples_fit(model, samples, circuit, columns):
    """Compare the joint frequencies of some columns in samples with their probabilities under a circuit."""
    sides = [parts_of(model, v) for v in columns]
    counts, probabilities = [], []
    for place in np.ndindex(*(len(side) for side in sides)):
        inside, event = np.ones(len(samples), bool), {}
        for v, (part, test) in zip(columns, (side[i] for side, i in zip(sides, place, strict=True)), strict=True):
            inside &= np.array([test(value) for value in samples[:, v].tolist()])
            event[f"x{v}"] = part
        counts.append(inside.sum())
        probabilities.append(circuit.probability(event))
    assert sum(counts) == len(samples)
    assert sum(probabilities) == pytest.approx(1.0, abs=1e-9)
    assert_fits(counts, probabilities)


def with_values(circuit, columns):
    """Return those columns of which samples have values."""
    return [v for v in columns if circuit.domains.is_numeric[v] or circuit.categories(f"x{v}")]


@laws(8)
@given(model=random_models())
def test_columns_and_pairs_of_samples_fit(model):
    columns = with_values(model.circuit, model.some_columns(model.rng(), least=1, most=2))
    samples = model.circuit.sample(N_SAMPLES, random_state=model.seed, within_span=False)
    assert_samples_fit(model, samples, named(model.circuit), columns)


@laws(8)
@given(model=random_models(least=2))
def test_conditional_samples_fit(model):
    rng = model.rng()
    evidence = model.evidence(rng, model.some_columns(rng, least=1, most=2), ranges=2)
    samples = model.circuit.sample(N_SAMPLES, given=evidence, random_state=rng, within_span=False)
    columns = with_values(model.circuit, model.some_columns(rng, least=1, most=2))
    assert_samples_fit(model, samples, named(model.circuit.condition(evidence)), columns)


@laws(8)
@given(model=random_models(least=2))
def test_imputed_samples_fit(model):
    rng = model.rng()
    row = model.table[rng.integers(len(model.table))].copy()
    row[rng.random(row.size) < 0.5] = None
    samples = model.circuit.impute(np.array([row] * N_SAMPLES, object), how="sample", random_state=rng)
    given_row = model.circuit.condition({f"x{v}": value for v, value in enumerate(row)})
    columns = with_values(model.circuit, [v for v, value in enumerate(row) if value is None])[:2]
    assert_samples_fit(model, samples, named(given_row), columns)


@laws(8)
@given(model=random_models(columns=NUMERIC))
def test_numbers_pass_the_kolmogorov_smirnov_test(model):
    rng = model.rng()
    v = int(rng.integers(len(model.recipes)))
    evidence = model.evidence(rng, model.some_columns(rng, most=2), ranges=2)
    circuit = model.circuit.condition(evidence)
    samples = np.sort(circuit.sample(1000, random_state=rng, within_span=False)[:, v].astype(float))
    steps = np.arange(1, 1001) / 1000
    below = BruteForce(circuit).below(f"x{v}", samples)
    before = BruteForce(circuit).below(f"x{v}", np.nextafter(samples, -np.inf))
    # Where values repeat, the statistic counts at the last of them, and before the first.
    last, first = np.append(samples[1:] > samples[:-1], True), np.append(True, samples[1:] > samples[:-1])
    statistic = max((steps - below)[last].max(), (before - (steps - 1 / 1000))[first].max())
    assert stats.kstwo.sf(statistic, 1000) > LEAST_P_VALUE


@laws(18)
@given(model=random_models())
def test_samples_are_as_the_evidence_says(model):
    rng = model.rng()
    evidence = model.evidence(rng, model.some_columns(rng, least=1), ranges=5)
    samples = model.circuit.sample(50, given=evidence, random_state=rng, within_span=False)
    for name, wanted in evidence.items():
        for value in samples[:, int(name[1:])].tolist():
            if isinstance(wanted, Range):
                assert value in wanted
            elif wanted is not None:
                assert any(same_category(value, one) for one in (wanted if isinstance(wanted, list) else [wanted]))
    assert np.isfinite(model.circuit.condition(evidence).score_samples(samples)).all()


@laws(8)
@given(model=random_models())
def test_samples_are_reproducible(model):
    rng = model.rng()
    evidence = model.evidence(rng, model.some_columns(rng), ranges=5)
    one, same = (model.circuit.sample(20, given=evidence, random_state=5) for _ in range(2))
    assert str(one.tolist()) == str(same.tolist())
    generator = model.circuit.sample(20, given=evidence, random_state=np.random.default_rng(5))
    assert str(one.tolist()) == str(generator.tolist())
    rows = model.table.copy()
    filled = [model.spn.impute(rows, how="sample", random_state=5) for _ in range(2)]
    assert str(filled[0].tolist()) == str(filled[1].tolist())
    assert str(rows.tolist()) == str(model.table.tolist())


def frame():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 120)
    return pd.DataFrame(
        {
            "size": 3.0 * group + rng.standard_normal(120),
            "count": rng.poisson(3, 120),
            "sex": pd.Categorical(np.where(group == 1, "f", "m")),
            "member": rng.random(120) < 0.4,
        }
    )


def test_other_seeds_give_other_samples():
    circuit = SPN().fit(frame()).circuit_
    samples = [circuit.sample(30, random_state=seed)["size"].tolist() for seed in (0, 1, None, None)]
    assert len({tuple(numbers) for numbers in samples}) == 4


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, lambda table: table[["size", "count"]].to_numpy()])
def test_samples_are_tables_of_the_kind_that_went_in(make):
    table = make(frame())
    spn = SPN(min_rows=30, threshold=0.2).fit(table)
    many, none = spn.sample(7, random_state=0), spn.sample(0, random_state=0)
    assert type(many) is type(none) is type(table)
    assert many.shape == (7, table.shape[1])
    assert none.shape == (0, table.shape[1])
    if isinstance(table, pd.DataFrame):
        assert list(many.dtypes) == list(none.dtypes) == list(table.dtypes)
    elif isinstance(table, pl.DataFrame):
        assert many.columns == none.columns == table.columns
    assert np.isfinite(spn.score_samples(many)).all()


def test_samples_of_a_marginal_have_its_columns_and_their_types():
    table = frame()
    samples = SPN(min_rows=30, threshold=0.2).fit(table).marginal(["sex", "count"]).sample(5, random_state=0)
    assert list(samples.columns) == ["sex", "count"]
    assert list(samples.dtypes) == [table["sex"].dtype, table["count"].dtype]


def test_one_sample_is_the_default():
    assert SPN().fit(frame()).sample(random_state=0).shape == (1, 4)


@pytest.mark.parametrize("n", [-1, 1.5, True, "3", None])
def test_numbers_of_samples_that_are_none_are_refused(n):
    with pytest.raises(ValueError, match=r"n=.* must be a number of rows"):
        SPN().fit(frame()).sample(n)


def test_samples_in_blocks_fit_as_well(monkeypatch):
    circuit = SPN(min_rows=30, threshold=0.2).fit(frame()).circuit_
    monkeypatch.setattr(completion, "_CELLS", 700)
    samples = circuit.sample(2000, random_state=0, within_span=False)
    assert samples.shape == (2000, 4)
    assert_fits(
        samples["sex"].value_counts()[["f", "m"]],
        [circuit.probability({"sex": sex}, given={"sex": ["f", "m"]}) for sex in "fm"],
    )
    assert samples["size"].nunique() == 2000


def test_a_category_never_seen_has_no_samples_and_the_rest_is_given_it():
    table = frame()[["size", "sex"]]
    spn = SPN(min_rows=20, threshold=0.2).fit(table)
    with pytest.raises(ImpossibleEvidenceError, match="no record has what the evidence says of column 'sex'"):
        spn.sample(2000, given={"sex": "unknown"}, random_state=0)
    circuit = spn.condition({"sex": "unknown"})
    samples = circuit.marginal(["size"]).sample(2000, random_state=0)
    statistic = stats.kstest(samples["size"], lambda values: BruteForce(circuit).below("size", values))
    assert statistic.pvalue > LEAST_P_VALUE
    for how in ("mean", "mpe", "sample"):
        filled = circuit.impute(pd.DataFrame({"size": [1.0, np.nan], "sex": [None, None]}), how=how, random_state=0)
        assert filled["sex"].isna().all()
        assert filled["size"].notna().all()

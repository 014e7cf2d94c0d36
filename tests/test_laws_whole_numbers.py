"""Whole numbers: what queries say is what samples show, value by value; counts begin at 0."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from random_models import laws
from unlearnspn import SPN, Circuit, ImpossibleEvidenceError, Range, SPNEnsemble, SPNImputer
from unlearnspn.circuit.expressions import Unit, numeric
from unlearnspn.circuit.grid_moments import grid_moments
from unlearnspn.circuit.grids import Grid

#: How a column of whole numbers is made, its type, and the leaf it gets.
COLUMNS = {
    "counts": (lambda r, z: r.poisson(0.5 + 2 * z), "int64", None),
    "few": (lambda r, z: r.integers(0, 2, z.size), "int8", None),
    "signed": (lambda r, z: r.integers(-4, 4, z.size) + z, "int32", None),
    "same": (lambda r, z: np.full(z.size, 3), "int64", None),
    "bytes": (lambda r, z: 250 + r.integers(0, 6, z.size), "uint8", None),
    "rare": (lambda r, z: r.poisson(1.0 + z), "int64", "poisson"),
    "waits": (lambda r, z: np.floor(r.exponential(2.0 + z)), "uint16", "exponential"),
    "sizes": (lambda r, z: 1 + np.floor(np.exp(r.normal(z, 0.5))), "int64", "log-normal"),
    "bins": (lambda r, z: r.integers(0, 9, z.size) + 3 * z, "int64", "histogram"),
    "words": (lambda r, z: np.array(["a", "b", "c"])[z], None, None),
}
NUMBERS = [name for name, (_, kind, _) in COLUMNS.items() if kind]
VALUES = np.arange(-60, 400)


@st.composite
def tables(draw):
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4, unique=True))
    names += [] if set(names) & set(NUMBERS) else ["counts"]
    r = np.random.default_rng(draw(st.integers(0, 2**32)))
    z = r.integers(0, 3, draw(st.integers(3, 150)))
    made = {name: (COLUMNS[name][0](r, z), COLUMNS[name][1]) for name in names}
    table = pd.DataFrame({name: pd.Series(values, dtype=kind) for name, (values, kind) in made.items()})
    leaves = {name: COLUMNS[name][2] for name in names if COLUMNS[name][2]}
    factorization = draw(st.sampled_from(["naive", "chow-liu"]))
    return table, SPN(min_rows=20, leaves=leaves, factorization=factorization).fit(table), r


def some_number(table, r):
    return str(r.choice([name for name in table.columns if name in NUMBERS]))


def some_evidence(table, r, without):
    """Return what is known of another column, if there is one."""
    others = [name for name in table.columns if name != without]
    if not others:
        return {}
    name = str(r.choice(others))
    value = table[name].iloc[int(r.integers(len(table)))]
    return {name: value} if name == "words" or r.random() < 0.5 else {name: Range(at_least=int(value))}


@laws(8)
@given(tables())
def test_probabilities_of_values_sum_to_one_and_make_the_moments(case):
    table, model, r = case
    name = some_number(table, r)
    known = some_evidence(table, r, name)
    conditional = model.condition(known)
    masses = np.array([conditional.probability({name: int(value)}) for value in VALUES])
    for value in (0, 1, int(VALUES[masses.argmax()])):
        assert model.probability({name: value}, given=known) == masses[value == VALUES]
    assert masses.sum() == pytest.approx(1.0, abs=1e-6)
    outside = {name: Range(above=int(VALUES[-1]))}
    assert masses.sum() + model.probability(outside, given=known) == pytest.approx(1.0, abs=1e-9)
    if model.probability(outside, given=known) < 1e-12:
        mean = float(masses @ VALUES)
        assert model.expectation(name, given=known) == pytest.approx(mean, rel=1e-7, abs=1e-8)
        variance = float(masses @ (VALUES - mean) ** 2)
        assert model.variance(name, given=known) == pytest.approx(variance, rel=1e-6, abs=1e-7)


@laws(8)
@given(tables())
def test_ranges_are_sums_of_their_values(case):
    table, model, r = case
    name = some_number(table, r)
    low = int(r.integers(-3, 6))
    high = low + int(r.integers(0, 8))
    by_value = sum(model.probability({name: value}) for value in range(low, high + 1))
    assert model.probability({name: Range(at_least=low, at_most=high)}) == pytest.approx(by_value, abs=1e-9)
    assert model.probability({name: Range(above=low - 0.5, below=high + 0.9)}) == pytest.approx(by_value, abs=1e-9)
    assert model.probability({name: low + 0.5}) == 0.0


@laws(8)
@given(tables())
def test_what_is_known_divides_what_is_asked(case):
    table, model, r = case
    name = some_number(table, r)
    event = some_evidence(table, r, name)
    value = int(table[name].iloc[0])
    both, alone = model.probability({name: value, **event}), model.probability({name: value})
    assert model.probability(event, given={name: value}) == pytest.approx(both / alone, rel=1e-6)
    assert model.expectation(name, given={name: value}) == value
    assert model.variance(name, given={name: value}) == 0.0


@laws(8)
@given(tables())
def test_samples_have_the_values_that_probabilities_say(case):
    table, model, r = case
    name = some_number(table, r)
    known = some_evidence(table, r, name)
    drawn = model.sample(2000, given=known, random_state=0, within_span=False)
    assert drawn.dtypes.equals(table.dtypes)
    values, counts = np.unique(drawn[name], return_counts=True)
    expected = 2000 * np.array([model.probability({name: int(value)}, given=known) for value in values])
    assert (expected > 0.0).all()
    many = expected >= 5.0
    rest = 2000 - expected[many].sum()
    statistic = ((counts - expected)[many] ** 2 / expected[many]).sum()
    statistic += (counts[~many].sum() - rest) ** 2 / max(rest, 5.0)
    assert stats.chi2.sf(statistic, many.sum() + 1) > 1e-8
    mean, variance = model.expectation(name, given=known), model.variance(name, given=known)
    assert abs(drawn[name].mean() - mean) <= 7.0 * np.sqrt(variance / 2000) + 1e-9


@laws(8)
@given(tables())
def test_nothing_is_negative_where_no_record_is(case):
    table, model, r = case
    drawn = model.sample(500, random_state=1)
    holes = table.astype({name: "float64" for name in table.columns if name in NUMBERS}).mask(
        r.random(table.shape) < 0.5
    )
    for name in table.columns.intersection(NUMBERS):
        if (table[name] >= 0).all():
            assert (drawn[name] >= 0).all()
            assert model.probability({name: Range(below=0)}) == 0.0
            assert model.probability({name: Range(at_least=0)}) == pytest.approx(1.0, abs=1e-12)
        for how in ("mean", "mpe", "sample"):
            filled = model.impute(holes, how=how, random_state=2)[name]
            assert (filled == np.rint(filled)).all()
            assert (filled >= 0).all() or (table[name] < 0).any()


def test_a_record_that_is_negative_counts_only_while_it_is_there(tmp_path):
    r = np.random.default_rng(0)
    table = pd.DataFrame({"k": r.poisson(1.0, 300), "x": r.normal(size=300)})
    table.loc[7, "k"] = -1
    for estimator in (SPN(min_rows=50), SPNEnsemble(n_members=3, subsample=0.6, min_rows=50)):
        model = estimator.fit(table)
        assert model.probability({"k": Range(below=0)}) > 0.0
        model.unlearn([7])
        fresh = type(estimator)(**estimator.get_params()).fit(table.drop(index=7), ids=np.delete(np.arange(300), 7))
        assert model.digest() == fresh.digest()
        model.circuit_.save(tmp_path / "model.circuit")
        for asked in (model, fresh, Circuit.load(tmp_path / "model.circuit")):
            assert asked.probability({"k": Range(below=0)}) == 0.0
            assert asked.probability({"k": 0}) == fresh.probability({"k": 0})
            assert asked.expectation("k") == fresh.expectation("k")
        model.rectify(table.iloc[[7]].assign(k=-3), ids=[8])
        assert model.probability({"k": -3}) > 0.0
        model.learn(table.iloc[[7]], ids=[7])
        model.unlearn([8])
        assert model.probability({"k": -1}) > 0.0


def test_a_column_is_of_whole_numbers_while_all_of_its_records_are():
    table = pd.DataFrame({"k": np.arange(100) % 5, "x": np.arange(100.0)})
    model = SPN().fit(table)
    assert model.probability({"k": 2}) > 0.05
    model.learn(pd.DataFrame({"k": [2.5], "x": [1.0]}), ids=[100])
    assert model.probability({"k": 2}) == 0.0
    assert model.sample(50, random_state=0)["k"].dtype == float
    model.unlearn([100])
    assert model.probability({"k": 2}) == SPN().fit(table).probability({"k": 2})
    assert model.sample(50, random_state=0)["k"].dtype == table["k"].dtype


def test_types_decide_and_floats_stay_continuous():
    table = pd.DataFrame({"k": np.arange(100) % 5})
    assert SPN().fit(table.astype(float)).probability({"k": 2}) == 0.0
    assert SPN().fit(pl.from_pandas(table)).probability({"k": 2}) == SPN().fit(table).probability({"k": 2})
    assert SPN().fit(table.to_numpy()).probability({"x0": 2}) == SPN().fit(table).probability({"k": 2})


def test_values_that_are_not_there_are_impossible_evidence():
    model = SPN().fit(pd.DataFrame({"k": np.arange(100, dtype=np.uint8) % 5}))
    for impossible in (2.5, -1, 256, Range(above=2.2, below=2.8), Range(below=0)):
        assert model.probability({"k": impossible}) == 0.0
        with pytest.raises(ImpossibleEvidenceError, match=r"column 'k' (cannot be|holds whole numbers)"):
            model.sample(3, given={"k": impossible})


def test_mutual_information_of_whole_numbers_is_that_of_their_values():
    r = np.random.default_rng(0)
    z = r.integers(0, 3, 600)
    table = pd.DataFrame({"k": r.integers(0, 2, 600) + z, "c": np.array(["a", "b", "c"])[z]})
    model = SPN(min_rows=60).fit(table)
    joint = np.array([[model.probability({"k": k, "c": c}) for c in "abc"] for k in range(40)])
    joint /= joint.sum()
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    there = joint > 0.0
    by_hand = (joint[there] * np.log(joint[there] / expected[there])).sum()
    assert model.mutual_information("k", "c", n_parts=4000) == pytest.approx(by_hand, rel=1e-6)


def test_an_imputer_fills_in_whole_numbers():
    table = pd.DataFrame({"k": pd.array(np.arange(100) % 5, "Int64"), "x": np.arange(100.0)})
    holes = table.copy()
    holes.loc[::3, "k"] = pd.NA
    filled = SPNImputer().fit(table).transform(holes.astype({"k": "Float64"}))["k"]
    assert (filled == filled.round()).all()


@pytest.mark.parametrize("scale", [40.0, 1000.0, 10_000.0])
@pytest.mark.parametrize(
    ("unit", "own", "law"),
    [
        (Unit.GAUSSIAN, lambda s: (0.7 * s, s), lambda s: stats.norm(0.7 * s, s)),
        (Unit.EXPONENTIAL, lambda s: (s,), lambda s: stats.expon(scale=s)),
        (Unit.LOG_NORMAL, lambda s: (np.log(s), 0.4), lambda s: stats.lognorm(0.4, scale=s)),
    ],
)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_wide_distributions_have_the_moments_of_sums_over_all_values(unit, own, law, scale, order):
    grid, centre = Grid(1.0, 0.0, 2.0**31), 0.5 * scale
    parameters = numeric(unit, 0, *own(scale)).parameters[None]
    found = grid_moments(unit, parameters, grid, order, centre)[0]
    last = int(60 * scale)
    values = np.arange(0.0, last)
    steps = np.append(np.append(-np.inf, np.arange(1, last) - 0.5), np.inf)
    distribution = law(scale)
    below, above = distribution.cdf(steps), distribution.sf(steps)
    masses = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
    by_hand = (masses * (values - centre) ** order).sum()
    size = (masses * np.abs(values - centre) ** order).sum()
    assert found == pytest.approx(by_hand, abs=1e-7 * size)

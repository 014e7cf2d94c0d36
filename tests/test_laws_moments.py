"""Expectations, variances, moments and covariances: sums and integrals by hand, and samples."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from brute_force import BruteForce
from random_models import laws, random_models
from unlearnspn import SPN, InvalidEvidenceError, Range

COUNTABLE = ("normal", "ties", "constant", "waiting", "factors", "counts", "bins", "digits", "flags", "binary", "words")


def has_numbers(model, v):
    """Tell whether a column has values that one can calculate with."""
    categories = model.circuit.categories(f"x{v}")
    return not model.recipes[v].categorical or (categories and not any(isinstance(c, str) for c in categories))


@laws(15)
@given(model=random_models(columns=COUNTABLE))
def test_expectations_are_sums_and_integrals(model):
    rng = model.rng()
    evidence = model.evidence(rng, model.some_columns(rng, most=3), ranges=0)
    slow = BruteForce(model.circuit)
    for v in range(len(model.recipes)):
        name = f"x{v}"
        if has_numbers(model, v):
            by_hand = slow.mean(lambda name=name, **values: values[name], [name], evidence)
            assert model.circuit.expectation(name, given=evidence) == pytest.approx(by_hand, rel=1e-8, abs=1e-10)


@laws(15)
@given(model=random_models(columns=COUNTABLE))
def test_moments_are_sums_and_integrals(model):
    rng = model.rng()
    columns = [v for v in range(len(model.recipes)) if has_numbers(model, v)]
    if not columns:
        return
    v = int(rng.choice(columns))
    name, power = f"x{v}", int(rng.integers(0, 5))
    evidence = model.evidence(rng, [v], ranges=1)
    slow, circuit = BruteForce(model.circuit), model.circuit
    mean = slow.mean(lambda **values: values[name], [name], evidence)
    raw = slow.mean(lambda **values: values[name] ** power, [name], evidence)
    central = slow.mean(lambda **values: (values[name] - mean) ** power, [name], evidence)
    variance = slow.mean(lambda **values: (values[name] - mean) ** 2, [name], evidence)
    scale = slow.mean(lambda **values: abs(values[name] - mean) ** power, [name], evidence)
    assert circuit.moment({name: power}, given=evidence) == pytest.approx(raw, rel=1e-7, abs=1e-9)
    assert circuit.moment({name: power}, given=evidence, central=True) == pytest.approx(
        central, rel=1e-6, abs=1e-6 * scale + 1e-9
    )
    assert circuit.variance(name, given=evidence) == pytest.approx(variance, rel=1e-7, abs=1e-9)
    assert circuit.condition(evidence).variance(name) == circuit.variance(name, given=evidence)


@laws(12)
@given(model=random_models(columns=("normal", "counts", "digits", "flags", "binary", "words"), least=2))
def test_products_of_columns_are_sums_and_integrals(model):
    numeric = [v for v, recipe in enumerate(model.recipes) if not recipe.categorical][:1]
    categories = [v for v, recipe in enumerate(model.recipes) if recipe.categorical and has_numbers(model, v)][:2]
    powers = {f"x{v}": 1 + place for place, v in enumerate([*numeric, *categories])}
    slow = BruteForce(model.circuit)

    def product(**values):
        return math.prod(values[name] ** power for name, power in powers.items())

    by_hand = slow.mean(product, list(powers), {}) if powers else 1.0
    assert model.circuit.moment(powers) == pytest.approx(by_hand, rel=1e-8, abs=1e-10)


@laws(12)
@given(model=random_models(columns=COUNTABLE, least=2))
def test_covariances_obey_their_rules(model):
    names = [f"x{v}" for v in range(len(model.recipes)) if has_numbers(model, v)]
    circuit = model.circuit
    for a, b in pairwise(names):
        covariance = circuit.moment({a: 1, b: 1}, central=True)
        assert covariance == pytest.approx(circuit.moment({b: 1, a: 1}, central=True), rel=1e-12, abs=1e-14)
        bound = circuit.variance(a) * circuit.variance(b)
        assert covariance**2 <= bound * (1 + 1e-9)
        known = {name: circuit.categories(name) for name in (a, b) if circuit.categories(name)}
        means = circuit.expectation([a, b], given=known)
        raw = circuit.moment({a: 1, b: 1})
        assert raw - means[a] * means[b] == pytest.approx(covariance, rel=1e-7, abs=1e-9 * (1 + abs(raw)))


@laws(12)
@given(model=random_models(columns=COUNTABLE))
def test_a_marginal_has_the_moments_of_the_whole(model):
    rng = model.rng()
    for v in range(len(model.recipes)):
        if has_numbers(model, v):
            evidence = model.evidence(rng, [v])
            alone = model.circuit.marginal(f"x{v}")
            assert alone.expectation(f"x{v}", given=evidence) == pytest.approx(
                model.circuit.expectation(f"x{v}", given=evidence), rel=1e-12, abs=1e-12
            )
            assert alone.variance(f"x{v}") == pytest.approx(model.circuit.variance(f"x{v}"), rel=1e-11, abs=1e-12)


@laws(9)
@given(model=random_models(columns=("normal", "counts", "waiting", "bins", "flags", "digits"), least=2, most=3))
def test_total_expectation(model):
    """E[x] is the sum of E[x | part]·P(part)."""
    if model.recipes[1].categorical:
        parts = [[category] for category in model.circuit.categories("x1")]
    else:
        parts = [Range(below=0.7), Range(at_least=0.7, at_most=1.3), Range(above=1.3)]
    everything = [category for part in parts for category in part] if model.recipes[1].categorical else Range()
    if not has_numbers(model, 0) or not parts:
        return
    known = {"x0": model.circuit.categories("x0")} if model.recipes[0].categorical else {}
    total = sum(
        model.circuit.expectation("x0", given=known | {"x1": part})
        * model.circuit.probability({"x1": part}, given=known | {"x1": everything})
        for part in parts
        if model.circuit.probability({"x1": part}, given=known) > 0.0
    )
    assert total == pytest.approx(model.circuit.expectation("x0", given=known | {"x1": everything}), rel=1e-9, abs=1e-9)


def test_several_columns_give_a_dictionary():
    circuit = SPN(min_rows=10).fit(np.random.default_rng(0).standard_normal((40, 3))).circuit_
    means, variances = circuit.expectation(["x2", "x0"]), circuit.variance(["x2", "x0"])
    assert list(means) == list(variances) == ["x2", "x0"]
    assert means["x2"] == circuit.expectation("x2")
    assert variances["x0"] == circuit.variance("x0") == circuit.moment({"x0": 2}, central=True)
    assert isinstance(circuit.expectation("x1"), float)
    assert circuit.moment({}) == circuit.moment({"x0": 0}) == pytest.approx(1.0, abs=1e-12)


def test_a_known_number_is_its_own_mean_and_varies_no_more():
    rng = np.random.default_rng(1)
    circuit = SPN(min_rows=10, threshold=0.2).fit(rng.standard_normal((60, 2)).cumsum(axis=1)).circuit_
    assert circuit.expectation("x0", given={"x0": 0.25}) == pytest.approx(0.25, rel=1e-14)
    assert circuit.variance("x0", given={"x0": 0.25}) == pytest.approx(0.0, abs=1e-28)
    assert circuit.moment({"x0": 1, "x1": 1}, given={"x0": 0.25}) == pytest.approx(
        0.25 * circuit.expectation("x1", given={"x0": 0.25}), rel=1e-12
    )


def test_variance_does_not_cancel_far_from_zero():
    values = np.random.default_rng(2).standard_normal((400, 1))
    near, far = (SPN(min_rows=50).fit(values + offset).circuit_ for offset in (0.0, 1e9))
    assert far.variance("x0") == pytest.approx(near.variance("x0"), rel=1e-5)


def test_a_part_that_is_as_good_as_impossible_does_not_count():
    """Its weight is too small for a number, and its variance too large for one."""
    spn = SPN(min_rows=4, threshold=0.2).fit(
        np.repeat([[0.0, 1.0], [1e300, 2.0]], 8, axis=0) * (1 + np.arange(16) / 1e3)[:, None]
    )
    near = spn.condition({"x0": Range(below=1.0)})
    assert len(near.layout) > 1
    assert near.variance("x0") > 0.0
    assert near.expectation("x0") < 1.0


def test_an_unseen_category_elsewhere_is_no_obstacle():
    rows = [[float(i % 7), "ab"[i % 2]] for i in range(40)]
    circuit = SPN(min_rows=5, threshold=0.2).fit(rows).circuit_
    slow = BruteForce(circuit)
    by_hand = slow.mean(lambda x0, x1: x0, ["x0"], {"x1": "never seen"})
    assert circuit.expectation("x0", given={"x1": "never seen"}) == pytest.approx(by_hand, rel=1e-9)
    assert circuit.variance("x0", given={"x1": "never seen"}) > 0.0


def test_words_have_no_mean():
    circuit = SPN().fit([["a", 1.0], ["b", 2.0], ["b", 3.0]]).circuit_
    for question in (circuit.expectation, circuit.variance):
        with pytest.raises(InvalidEvidenceError, match=r"'x0' has categories such as 'a'.*probability"):
            question("x0")


@pytest.mark.parametrize("power", [-1, 0.5, True, "2", None])
def test_powers_are_whole_numbers(power):
    circuit = SPN().fit([[1.0], [2.0]]).circuit_
    with pytest.raises(ValueError, match=r"power .* of column 'x0' must be a whole number"):
        circuit.moment({"x0": power})


@pytest.mark.parametrize("leaf", ["gaussian", "exponential", "log-normal", "poisson", "histogram"])
def test_powers_are_at_most_100(leaf):
    circuit = SPN(leaves={"x0": leaf}).fit([[1.0], [2.0], [4.0]]).circuit_
    assert circuit.moment({"x0": 100}) > 1e20
    for power in (101, 171, 302, 10**5000):
        for central in (False, True):
            with pytest.raises(ValueError, match=r"power.* of column 'x0' is too large: 100 is the most"):
                circuit.moment({"x0": power}, central=central)


@pytest.mark.parametrize("powers", [None, [], ["x0"], "x0", 2])
def test_powers_are_given_by_column(powers):
    circuit = SPN().fit([[1.0], [2.0]]).circuit_
    with pytest.raises(InvalidEvidenceError, match=r"powers must be given by column.* not \w+"):
        circuit.moment(powers)

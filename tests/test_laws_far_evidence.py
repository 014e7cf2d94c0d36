"""Evidence a long way from the data, from 1e-300 to 1e300: sums of probabilities, means within bounds and of samples.

Where a log-density is too small for a number, the evidence is impossible, and an error says so.
"""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from random_models import laws, random_models
from unlearnspn import SPN, ImpossibleEvidenceError, Range
from unlearnspn.circuit.expressions import Unit

N_SAMPLES = 1000
KINDS = ("normal", "ties", "constant", "waiting", "factors", "counts", "bins", "digits", "flags", "words")


@st.composite
def magnitudes(draw):
    """Draw a number from the whole range, or one near the data."""
    if draw(st.booleans()):
        return draw(st.floats(-10.0, 10.0))
    sign, exponent = draw(st.sampled_from([-1.0, 1.0])), draw(st.floats(-300.0, 300.0))
    return sign * 10.0**exponent


@st.composite
def constraints(draw):
    """Draw what can be said of a number: a value, or a range of any width."""
    value = draw(magnitudes())
    kind = draw(st.sampled_from(["value", "whole", "above", "at most", "between", "narrow"]))
    if kind == "value":
        return value
    if kind == "whole":
        return float(np.rint(value))
    if kind == "above":
        return Range(above=value)
    if kind == "at most":
        return Range(at_most=value)
    width = abs(draw(magnitudes())) if kind == "between" else abs(value) * 10.0 ** draw(st.floats(-14.0, 0.0))
    return Range(at_least=value, at_most=value + width)


def bounds_of(wanted):
    return wanted.bounds() if isinstance(wanted, Range) else (wanted, wanted)


def numbers(model):
    """Return the numeric columns that have values."""
    return [name for name, recipe in zip(model.names, model.recipes, strict=True) if not recipe.categorical]


def conditioned(model, evidence):
    """Return the circuit given the evidence; where that is impossible, there is nothing to test."""
    try:
        return model.circuit.condition(evidence)
    except ImpossibleEvidenceError:
        assume(False)


def far_evidence(model, drawn):
    """Return evidence on numeric columns, as far as something was drawn for them."""
    return dict(zip(numbers(model), drawn, strict=False))


SEVERAL = st.lists(constraints(), min_size=1, max_size=2)


def has_density(model, name, evidence):
    """Tell whether single numbers of a column have no probability."""
    is_known = isinstance(evidence.get(name), float)
    return not is_known and model.recipes[int(name[1:])].leaf != "poisson"


def assert_normalised(circuit):
    layout = circuit.layout
    for u in np.flatnonzero(layout.units == Unit.SUM).tolist():
        weights = layout.log_weights[layout.child_starts[u] : layout.child_starts[u + 1]]
        assert math.fsum(np.exp(weights)) == pytest.approx(1.0, abs=1e-12)


@laws(20)
@given(model=random_models(columns=KINDS, least=2, most=4), drawn=SEVERAL)
def test_probabilities_of_categories_sum_to_one(model, drawn):
    circuit = conditioned(model, far_evidence(model, drawn))
    assert_normalised(circuit)
    for v, name in enumerate(model.names):
        if model.recipes[v].categorical and model.circuit.categories(name):
            known = circuit.categories(name)
            total = sum(circuit.probability({name: category}) for category in known)
            assert total == pytest.approx(circuit.probability({name: known}), abs=1e-9)
            if model.unseen(v) is not None:
                total += circuit.probability({name: model.unseen(v)})
                assert total == pytest.approx(1.0, abs=1e-9)


@laws(20)
@given(model=random_models(columns=KINDS, least=1, most=4), drawn=SEVERAL, cut=st.floats(0.0, 1.0))
def test_probabilities_of_ranges_sum_to_one(model, drawn, cut):
    evidence = far_evidence(model, drawn)
    circuit = conditioned(model, evidence)
    samples = circuit.sample(2, random_state=0)
    for name in numbers(model):
        low, high = (float(value) for value in np.sort(samples[:, int(name[1:])].astype(float)))
        for bound in (low, high, (1.0 - cut) * low + cut * high):
            parts = [Range(at_most=bound), Range(above=bound)]
            if has_density(model, name, evidence):
                # There is something between a number and the next, which counts if the bounds are close.
                parts.append(Range(at_least=bound, at_most=math.nextafter(bound, math.inf)))
            total = sum(circuit.probability({name: part}) for part in parts)
            assert total == pytest.approx(1.0, abs=1e-9), (name, bound)


@laws(20)
@given(model=random_models(columns=KINDS, least=1, most=4), drawn=SEVERAL)
def test_means_are_within_bounds_and_those_of_samples(model, drawn):
    evidence = far_evidence(model, drawn)
    circuit = conditioned(model, evidence)
    samples = circuit.sample(N_SAMPLES, random_state=0, within_span=False)
    assert_normalised(circuit)
    for name in numbers(model):
        mean, variance = circuit.expectation(name), circuit.variance(name)
        low, high = bounds_of(evidence.get(name, Range()))
        assert low <= mean <= high
        assert variance >= 0.0
        column = samples[:, int(name[1:])].astype(float)
        assert ((low <= column) & (column <= high)).all()
        if math.isfinite(variance):
            # Halves, since a sum may be too large for a number; samples of one value have a mean that is rounded.
            sampled = 2.0 * float(np.mean(column / 2.0))
            # The square of a small spread may be too small for a number.
            spread = math.sqrt(variance) if variance > 1e-280 else min(high - low, 1e-140)
            reach = 7.0 * spread / math.sqrt(N_SAMPLES) + 1e-13 * abs(mean) + 1e-320
            assert abs(sampled - mean) <= reach, (name, mean, sampled)


@laws(15)
@given(model=random_models(columns=KINDS, least=2, most=4), drawn=st.lists(magnitudes(), min_size=1, max_size=2))
def test_filling_in_and_predicting_agree_with_conditioning(model, drawn):
    evidence = far_evidence(model, drawn)
    circuit = conditioned(model, evidence)
    row = np.array([[evidence.get(name) for name in model.names]], object)
    filled = model.circuit.impute(row, how="mean")[0]
    for v, name in enumerate(model.names):
        if name in evidence:
            continue
        if not model.recipes[v].categorical:
            assert filled[v] == pytest.approx(circuit.expectation(name), rel=1e-6, abs=1e-9)
        elif model.circuit.categories(name):
            known = model.circuit.categories(name)
            conditional = [circuit.probability({name: category}, given={name: known}) for category in known]
            predicted = model.circuit.predict_proba(row, target=name)[0]
            assert predicted.sum() == pytest.approx(1.0, abs=1e-12)
            assert predicted == pytest.approx(conditional, abs=1e-6)
            assert conditional[known.index(filled[v])] == pytest.approx(max(conditional), abs=1e-6)


# -- as users meet it ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 1000
    smoker = rng.random(n) < 0.3
    return pd.DataFrame(
        {
            "age": rng.normal(40.0, 12.0, n) + 5.0 * smoker,
            "year": rng.normal(2000.0, 6.0, n),
            "tiny": 1e-4 * (smoker + rng.standard_normal(n)),
            "job": rng.choice(list("abcd"), n),
            "smoker": smoker,
            "cost": np.where(smoker, 900.0, 300.0) + rng.normal(0.0, 50.0, n),
        }
    )


@pytest.fixture(scope="module", params=["naive", "chow-liu"])
def spn(request, people):
    return SPN(min_rows=100, threshold=0.2, factorization=request.param).fit(people)


FAR = [
    {"age": 999999999},
    {"tiny": -999},
    {"year": 0},
    {"cost": 1e12},
    {"cost": -1e9, "age": 999999999},
    {"cost": 1e100, "tiny": 1e50},
    {"age": Range(above=999999999)},
    {"tiny": Range(at_most=-999)},
    {"cost": Range(at_least=1e12, below=2e12)},
    {"age": Range(above=1e140)},
]


@pytest.mark.parametrize("evidence", FAR, ids=repr)
def test_placeholders_such_as_999999999_break_no_law(spn, evidence):
    circuit = spn.condition(evidence)
    jobs = [circuit.probability({"job": job}) for job in [*"abcd", "never seen"]]
    assert sum(jobs) == pytest.approx(1.0, abs=1e-12)
    # Given evidence, questions are asked of as few columns as they need, so last bits may differ.
    assert spn.probability({"job": "a"}, given=evidence) == pytest.approx(jobs[0], rel=1e-12)
    means = spn.expectation(["age", "year", "tiny", "cost"], given=evidence)
    assert circuit.expectation(list(means)) == pytest.approx(means, rel=1e-12)
    samples = spn.sample(2000, given=evidence, random_state=0, within_span=False)
    spreads = {name: math.sqrt(variance) for name, variance in circuit.variance(list(means)).items()}
    assert math.sqrt(spn.variance("year", given=evidence)) == pytest.approx(spreads["year"], rel=1e-12)
    for name, mean in means.items():
        low, high = bounds_of(evidence.get(name, Range()))
        assert low <= mean <= high
        assert samples[name].mean() == pytest.approx(mean, abs=6.0 * spreads[name] / math.sqrt(2000), rel=1e-13)
    if "year" not in evidence:
        assert 1990.0 < means["year"] < 2010.0


@laws(5)
@given(
    wanted=st.dictionaries(st.sampled_from(["age", "year", "tiny", "cost"]), constraints(), min_size=1, max_size=3),
    jobs=st.none() | st.sets(st.sampled_from(["a", "b", "c", "d", "never seen"]), min_size=1),
    smoker=st.none() | st.booleans(),
)
def test_laws_hold_for_columns_of_any_scale(spn, wanted, jobs, smoker):
    evidence = wanted | {"job": jobs, "smoker": smoker}
    try:
        circuit = spn.condition(evidence)
    except ImpossibleEvidenceError:
        return
    assert_normalised(circuit)
    total = sum(circuit.probability({"job": job}) for job in [*"abcd", "never seen"])
    assert total == pytest.approx(1.0, abs=1e-9)
    names = ["age", "year", "tiny", "cost"]
    sampled = circuit.marginal(names).sample(N_SAMPLES, random_state=0, within_span=False)
    for name in names:
        low, high = bounds_of(wanted.get(name, Range()))
        mean, spread = circuit.expectation(name), math.sqrt(circuit.variance(name))
        assert low <= mean <= high
        if math.isfinite(spread):
            samples = sampled[name].to_numpy()
            assert ((low <= samples) & (samples <= high)).all()
            spread = spread if spread > 1e-140 else min(high - low, 1e-140)
            reach = 7.0 * spread / math.sqrt(N_SAMPLES) + 1e-13 * abs(mean) + 1e-320
            assert abs(2.0 * float(np.mean(samples / 2.0)) - mean) <= reach


def test_a_prediction_far_from_the_data_is_that_of_the_conditional(spn, people):
    rows = people.drop(columns="job").head(2).assign(age=[999999999.0, 1e100])
    rows.loc[:, ["tiny", "year", "cost"]] = np.nan
    rows["smoker"] = None
    for row, predicted in zip(rows["age"], spn.predict_proba(rows, target="job"), strict=True):
        conditional = [spn.probability({"job": job}, given={"age": row, "job": list("abcd")}) for job in "abcd"]
        assert predicted == pytest.approx(conditional, abs=1e-9)


def test_evidence_whose_density_is_too_small_for_a_number_is_impossible(spn):
    for value in (1e300, -1e300):
        with pytest.raises(ImpossibleEvidenceError, match=r"probability 0 under the model.*'age'"):
            spn.expectation("year", given={"age": value})

"""Evidence and events: what can be said of which column, and what is refused, with a word on what to do."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from unlearnspn import SPN, ImpossibleEvidenceError, InvalidEvidenceError, InvalidTableError, Range


def table():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 200)
    return pd.DataFrame(
        {
            "age": 20.0 + 30.0 * group + 5.0 * rng.standard_normal(200),
            "children": rng.poisson(1 + 2 * group),
            "wait": rng.exponential(1.0 + group),
            "city": np.array(["Bonn", "Rome", "Oslo"])[(group + (rng.random(200) < 0.2)) % 3],
            "member": rng.random(200) < 0.3 + 0.4 * group,
            "rooms": rng.choice([1, 2, 4], 200),
            "code": np.array([1, "1", True, 2.5], object)[rng.integers(0, 4, 200)],
            "smoker": (rng.random(200) < 0.2).astype(int),
        }
    )


@pytest.fixture(scope="module")
def spn():
    return SPN(
        min_rows=40,
        threshold=0.5,
        categorical_features=["city", "member", "rooms", "code", "smoker"],
        leaves={"children": "poisson", "wait": "exponential", "smoker": "bernoulli"},
    ).fit(table())


# -- ranges ----------------------------------------------------------------------------------------------------------


def test_a_range_reads_like_its_bounds():
    assert repr(Range(at_least=18, below=65)) == "Range(at_least=18, below=65)"
    assert Range(above=1.0) == Range(above=1.0) != Range(at_least=1.0)
    assert Range(at_least=1, at_most=1).bounds() == (1.0, 1.0)
    assert Range().bounds() == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("bounds", "inside", "outside"),
    [
        ({"above": 1.0}, [math.nextafter(1.0, 2.0), 5.0], [1.0, -3.0]),
        ({"at_least": 1.0}, [1.0, 5.0], [math.nextafter(1.0, 0.0)]),
        ({"below": 1.0}, [math.nextafter(1.0, 0.0), -5.0], [1.0]),
        ({"at_most": 1.0}, [1.0, -5.0], [math.nextafter(1.0, 2.0)]),
        ({"above": 0, "below": 2}, [1, 1.5, 0.1], [0, 2, math.nan]),
        ({}, [-1e308, 0.0, 1e308], [math.nan]),
    ],
)
def test_a_range_contains_what_is_between_its_bounds(bounds, inside, outside):
    assert all(number in Range(**bounds) for number in inside)
    assert not any(number in Range(**bounds) for number in outside)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"at_least": 2, "at_most": 1}, r"Range\(at_least=2, at_most=1\) is empty"),
        ({"above": 1, "at_most": 1}, "is empty"),
        ({"at_least": 1, "below": 1}, "is empty"),
        ({"above": 1, "below": math.nextafter(1.0, 2.0)}, "is empty"),
        ({"at_least": 1, "above": 1}, "two lower bounds: give at_least or above"),
        ({"at_most": 1, "below": 1}, "two upper bounds: give at_most or below"),
        ({"above": math.nan}, r"Range\(above=nan\) must be a number"),
        ({"above": "1"}, r"Range\(above='1'\) must be a number"),
        ({"below": True}, "must be a number"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(bounds, message):
    with pytest.raises(InvalidEvidenceError, match=message):
        Range(**bounds)


def test_bounds_go_by_name():
    with pytest.raises(TypeError):
        Range(1, 2)


# -- what can be said ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"city": "Rome"}, {"city": ["Rome"]}),
        ({"city": {"Rome", "Bonn"}}, {"city": ("Bonn", "Rome", "Bonn")}),
        ({"city": np.array(["Rome", "Oslo"])}, {"city": pd.Series(["Oslo", "Rome"])}),
        ({"city": np.str_("Rome")}, {"city": "Rome"}),
        ({"member": True}, {"member": np.True_}),
        ({"rooms": 2}, {"rooms": 2.0}),
        ({"rooms": np.int8(2)}, {"rooms": np.float32(2)}),
        ({"rooms": [1, 2]}, {"rooms": Range(below=4)}),
        ({"rooms": Range(at_least=1, at_most=4)}, {"rooms": [1, 2, 4]}),
        ({"smoker": 1}, {"smoker": Range(above=0)}),
        ({"age": Range(above=30)}, {"age": Range(above=Fraction(60, 2))}),
        ({"age": Range(above=np.float32(30))}, {"age": Range(above=np.int64(30))}),
        ({"city": "Rome", "age": None}, {"city": "Rome"}),
        ({"city": "Rome", "age": math.nan}, {"city": "Rome", "member": pd.NA, "wait": np.float32("nan")}),
        ({"city": None, "rooms": None}, {}),
        ({"city": ["Atlantis", "Rome"]}, {"city": ["Lemuria", "Rome", "Mu"]}),
    ],
)
def test_the_same_can_be_said_in_several_ways(spn, one, other):
    assert spn.condition(one) == spn.condition(other)
    assert spn.probability(one) == spn.probability(other)
    assert spn.probability({"age": Range(above=40)}, given=one) == spn.probability(
        {"age": Range(above=40)}, given=other
    )


def test_nothing_known_changes_nothing(spn):
    assert spn.condition({}) is spn.circuit_
    assert spn.condition(None) is spn.circuit_
    assert spn.condition({"age": None}) is spn.circuit_
    assert spn.probability({}) == pytest.approx(1.0, abs=1e-12)


def test_true_one_and_the_string_one_are_three_categories(spn):
    probabilities = [spn.probability({"code": code}) for code in (1, "1", True, 2.5)]
    assert len(set(probabilities)) == 4
    assert sum(probabilities) == pytest.approx(1.0, abs=1e-3)
    assert spn.probability({"code": [1, "1", True, 2.5]}) == pytest.approx(sum(probabilities), rel=1e-12)
    assert spn.condition({"code": True}).probability({"code": 1}) == 0.0


def test_what_was_never_seen_is_one_event(spn):
    unseen = spn.probability({"city": "Atlantis"})
    assert 0.0 < unseen < 1e-3
    assert unseen == spn.probability({"city": ["Mu", "Lemuria"]})
    assert spn.probability({"city": ["Bonn", "Rome", "Oslo"]}) + unseen == pytest.approx(1.0, abs=1e-12)


def test_a_number_has_a_density_as_evidence_and_no_probability_as_an_event(spn):
    assert spn.probability({"age": 31.0}) == 0.0
    assert spn.probability({"age": Range(at_least=31.0, at_most=31.0)}) == 0.0
    assert spn.probability({"age": 31.0}, given={"age": 31.0}) == pytest.approx(1.0, abs=1e-12)
    assert spn.probability({"age": 32.0}, given={"age": 31.0}) == 0.0
    assert spn.condition({"age": 31.0}).expectation("age") == pytest.approx(31.0, rel=1e-12)
    assert 0.0 < spn.probability({"children": 2}) < 1.0
    assert spn.probability({"children": 2}) == pytest.approx(
        spn.probability({"children": Range(above=1, below=3)}), rel=1e-12
    )
    assert spn.probability({"children": 2.5}) == 0.0


def test_ranges_may_reach_to_infinity(spn):
    assert spn.probability({"age": Range(at_least=-math.inf, at_most=math.inf)}) == pytest.approx(1.0, abs=1e-12)
    assert spn.probability({"age": Range(above=math.inf)}) == 0.0
    assert spn.probability({"wait": Range(below=0)}) == 0.0
    assert spn.probability({"wait": Range(at_least=0)}) == pytest.approx(1.0, abs=1e-12)


# -- what is refused -------------------------------------------------------------------------------------------------


QUESTIONS = {
    "condition": lambda spn, evidence: spn.condition(evidence),
    "probability": lambda spn, evidence: spn.probability(evidence),
    "given": lambda spn, evidence: spn.probability({"city": "Rome"}, given=evidence),
    "expectation": lambda spn, evidence: spn.expectation("age", given=evidence),
    "variance": lambda spn, evidence: spn.variance("age", given=evidence),
    "moment": lambda spn, evidence: spn.moment({"age": 3}, given=evidence),
    "sample": lambda spn, evidence: spn.sample(2, given=evidence),
}
every_question = pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS.keys())


@every_question
@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({"agee": 3.0}, "there is no column 'agee'; the columns are 'age', 'children'"),
        ({20: 3.0}, "there is no column 20"),
    ],
    ids=repr,
)
def test_unknown_columns_are_named(spn, ask, evidence, message):
    with pytest.raises(InvalidTableError, match=message):
        ask(spn, evidence)


@every_question
@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({"age": "old"}, "column 'age' is numeric: give a number or a Range, not 'old'"),
        ({"age": [30.0, 40.0]}, "column 'age' is numeric: give a number or a Range"),
        ({"age": {30.0}}, "column 'age' is numeric"),
        ({"age": True}, "column 'age' is numeric"),
        ({"age": np.False_}, "column 'age' is numeric"),
        ({"age": Decimal("3")}, "column 'age' is numeric"),
        ({"age": math.inf}, "column 'age' cannot be inf: give a Range, or leave it out"),
        ({"city": 3}, "column 'city' holds text values, not 3"),
        ({"city": ["Rome", 3]}, "column 'city' holds text values, not 3"),
        ({"city": ["Rome", None]}, "column 'city' holds text values, not None"),
        ({"city": Range(above=3)}, "column 'city' has categories that are no numbers: give a category or a set"),
        ({"code": Range(above=3)}, "column 'code' has categories that are no numbers"),
        ({"member": Range(above=0)}, "column 'member' has categories that are no numbers"),
        ({"member": 1}, "column 'member' holds boolean values, not 1"),
        ({"member": "yes"}, "column 'member' holds boolean values, not 'yes'"),
        ({"rooms": "2"}, "column 'rooms' holds number values, not '2'"),
        ({"rooms": True}, "column 'rooms' holds number values, not True"),
        ({"code": b"1"}, "column 'code' holds mixed values, not b'1'"),
        ({"code": [[1]]}, r"column 'code' holds mixed values, not \[1\]"),
        ([("city", "Rome")], "evidence must say what is known of which column, as in .* not list"),
        ("Rome", "evidence must say what is known of which column, as in .* not str"),
        (pd.Series({"city": "Rome"}), "evidence must say what is known of which column, as in .* not Series"),
    ],
    ids=lambda part: repr(part) if isinstance(part, dict) else None,
)
def test_evidence_that_does_not_fit_is_refused(spn, ask, evidence, message):
    with pytest.raises(InvalidEvidenceError, match=message):
        ask(spn, evidence)


IMPOSSIBLE = [
    {"wait": -1.0},
    {"wait": Range(below=0)},
    {"children": 1.5},
    {"children": Range(above=1, below=2)},
    {"smoker": 2},
    {"city": []},
    {"rooms": Range(above=100)},
    {"age": Range(at_least=30.0, at_most=30.0)},
    {"age": 1e300},
    {"city": "Rome", "wait": -1.0},
]


@pytest.mark.parametrize("evidence", IMPOSSIBLE, ids=repr)
@pytest.mark.parametrize("ask", [ask for name, ask in QUESTIONS.items() if name != "probability"])
def test_nothing_can_be_said_given_what_is_impossible(spn, ask, evidence):
    with pytest.raises(ImpossibleEvidenceError, match="the evidence has probability 0 under the model"):
        ask(spn, evidence)


@pytest.mark.parametrize("event", IMPOSSIBLE, ids=repr)
def test_impossible_events_have_probability_zero(spn, event):
    assert spn.probability(event) == 0.0
    assert spn.log_probability(event) == -math.inf


def test_evidence_that_contradicts_earlier_evidence_is_impossible(spn):
    for first, second in [
        ({"city": "Rome"}, {"city": "Bonn"}),
        ({"city": ["Rome", "Oslo"]}, {"city": "Bonn"}),
        ({"age": 30.0}, {"age": 31.0}),
        ({"age": 30.0}, {"age": Range(above=30.0)}),
        ({"age": Range(below=30.0)}, {"age": Range(above=40.0)}),
        ({"children": Range(at_most=2)}, {"children": 3}),
    ]:
        with pytest.raises(ImpossibleEvidenceError):
            spn.condition(first).condition(second)


@pytest.mark.parametrize("columns", [[], ["age", "age"], ["nothing"], "nothing", ["age", "nothing"]])
def test_marginals_of_columns_that_are_none_are_refused(spn, columns):
    with pytest.raises(ValueError, match=r"at least one column|more than once|there is no column 'nothing'"):
        spn.marginal(columns)


def test_a_column_without_any_value_takes_whatever_comes():
    circuit = SPN(categorical_features=[0]).fit([[None, 1.0], [None, 2.0]]).circuit_
    for category in ("word", 3, True):
        assert circuit.probability({"x0": category}) == 1.0
        assert circuit.condition({"x0": category}).expectation("x1") == pytest.approx(1.5)
    with pytest.raises(InvalidEvidenceError, match="no category of column 'x0' is known"):
        circuit.expectation("x0")

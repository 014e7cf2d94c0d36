"""A category that no record has: a hint in every question, and no sample that would contradict it."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from command_line import run
from unlearnspn import SPN, ImpossibleEvidenceError, Range, UnseenCategoryWarning

HINT = r"no record has 'Mael' in column 'sex'; did you mean 'Male'\?"


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, 300),
            "sex": rng.choice(["Female", "Male"], 300),
            "rooms": rng.choice([1, 2, 4], 300),
            "smoker": rng.random(300) < 0.3,
            "code": [f"c{number % 40}" for number in range(300)],
            "level": rng.integers(0, 100, 300).astype(np.uint8),
        }
    )


@pytest.fixture(scope="module")
def spn(people):
    return SPN(min_rows=100, categorical_features=["sex", "rooms", "smoker", "code"]).fit(people)


QUESTIONS = {
    "probability": lambda spn, evidence: spn.probability(evidence),
    "log_probability": lambda spn, evidence: spn.log_probability(evidence),
    "given": lambda spn, evidence: spn.probability({"smoker": True}, given=evidence),
    "condition": lambda spn, evidence: spn.condition(evidence),
    "expectation": lambda spn, evidence: spn.expectation("age", given=evidence),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS.keys())
@pytest.mark.parametrize(
    ("evidence", "hint"),
    [
        ({"sex": "Mael"}, HINT),
        ({"sex": "male"}, "no record has 'male' in column 'sex'; did you mean 'Male'"),
        ({"sex": ["Mael", "Female"]}, HINT),
        ({"sex": "x"}, "no record has 'x' in column 'sex'; its categories are 'Female', 'Male'"),
        ({"rooms": 3}, "no record has 3 in column 'rooms'; its categories are 1, 2, 4"),
        ({"code": "zzz"}, "no record has 'zzz' in column 'code'; its categories are .* and 30 more"),
    ],
    ids=repr,
)
def test_every_question_gives_a_hint_where_it_was_asked(spn, ask, evidence, hint):
    with pytest.warns(UnseenCategoryWarning, match=hint) as found:
        ask(spn, evidence)
    assert {each.filename for each in found} == {__file__}


def test_known_categories_give_none(spn):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert spn.probability({"sex": "Male", "rooms": Range(above=1)}, given={"code": ["c1", "c2"]}) > 0.0


@pytest.mark.filterwarnings("ignore:nearly every record")
def test_a_hint_for_many_categories_takes_no_time(people):
    many = pd.DataFrame({"code": [f"record number {number:06}" for number in range(20_000)]})
    circuit = SPN().fit(many).circuit_
    with pytest.warns(UnseenCategoryWarning, match="no record has 'record nmber 000001' in column 'code'"):
        assert circuit.probability({"code": "record nmber 000001"}) < 1e-4


# -- samples ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::unlearnspn.UnseenCategoryWarning")
def test_no_sample_is_drawn_given_a_category_that_cannot_be_named(spn):
    message = r"no record has what the evidence says of column 'sex'.*'Female', 'Male'"
    with pytest.raises(ImpossibleEvidenceError, match=message):
        spn.sample(5, given={"sex": "Mael"})
    with pytest.raises(ImpossibleEvidenceError, match=message):
        spn.condition({"sex": "Mael"}).sample(5)
    with pytest.raises(ImpossibleEvidenceError, match=message):
        spn.sample(5, given={"sex": ["Mael", "Femal"]})
    assert set(spn.sample(50, given={"sex": ["Mael", "Female"]}, random_state=0)["sex"]) == {"Female"}


@pytest.mark.filterwarnings("ignore::unlearnspn.UnseenCategoryWarning")
def test_a_column_without_any_category_has_no_sample_of_one():
    circuit = SPN(categorical_features=[0]).fit([[None, 1.0], [None, 2.0]]).circuit_
    assert circuit.sample(2, random_state=0)[0, 0] is None
    with pytest.raises(ImpossibleEvidenceError, match="what the evidence says of column 'x0'"):
        circuit.sample(2, given={"x0": "word"})


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({"age": Range(above=1, below=2)}, r"column 'age' holds whole numbers from 0 on, and none is Range\(above=1"),
        ({"age": 1.5}, "column 'age' holds whole numbers from 0 on, and none is 1.5"),
        ({"age": Range(above=40, at_most=40.9)}, "column 'age' holds whole numbers.*at_most=40.9"),
        ({"age": Range(below=0)}, "column 'age' holds whole numbers from 0 on"),
        ({"level": 256}, r"column 'level' holds whole numbers from 0 to 255, and none is 256"),
        ({"level": Range(below=0)}, r"column 'level' holds whole numbers from 0 to 255, and none is Range\(below=0"),
        (
            {"level": Range(above=300)},
            r"column 'level' holds whole numbers from 0 to 255, and none is Range\(above=300",
        ),
    ],
    ids=repr,
)
def test_no_sample_is_drawn_where_there_is_no_whole_number(spn, evidence, message):
    assert spn.probability(evidence) == 0.0
    with pytest.raises(ImpossibleEvidenceError, match=message):
        spn.expectation("age", given=evidence)
    with pytest.raises(ImpossibleEvidenceError, match=message):
        spn.sample(5, given=evidence)
    with pytest.raises(ImpossibleEvidenceError, match=message):
        spn.condition(evidence).sample(5)


@pytest.mark.parametrize(
    "wanted", [Range(above=1, below=3), Range(at_least=1, at_most=1), Range(above=40, below=41.5), Range(below=1), 7]
)
def test_whole_numbers_agree_with_the_evidence(spn, wanted):
    ages = spn.sample(200, given={"age": wanted}, random_state=0)["age"]
    assert ages.dtype == np.int64
    assert all(age in wanted if isinstance(wanted, Range) else age == wanted for age in ages)


def test_small_floats_agree_with_the_evidence():
    table = pd.DataFrame({"x": np.random.default_rng(0).standard_normal(100).astype(np.float32)})
    spn = SPN(leaves={"x": "gaussian"}).fit(table)
    assert spn.sample(3, given={"x": Range(above=1e30)}, random_state=0)["x"].dtype == np.float32
    with pytest.raises(ImpossibleEvidenceError, match=r"column 'x' holds numbers from -3.4.*, and there is none above"):
        spn.sample(3, given={"x": Range(above=1e39)})


# -- the command line ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def circuit_file(spn, tmp_path_factory):
    path = tmp_path_factory.mktemp("circuits") / "people.circuit"
    spn.circuit_.save(path)
    return str(path)


def test_a_query_prints_a_hint_on_stderr(circuit_file):
    result = run("query", circuit_file, "sex = Mael", "--json")
    assert "probability" in json.loads(result.stdout)
    assert re.fullmatch(f"unlearnspn: hint: {HINT}\n", result.stderr)
    result = run("query", circuit_file, "smoker = true", "--expect", "age", "--given", "rooms = 3")
    assert result.stderr == "unlearnspn: hint: no record has 3.0 in column 'rooms'; its categories are 1, 2, 4\n"
    assert "probability" in result.stdout
    assert run("query", circuit_file, "sex = Male").stderr == ""


def test_a_sample_that_cannot_be_is_one_error(circuit_file):
    result = run("sample", circuit_file, "--given", "sex = Mael", code=4)
    assert "no record has what the evidence says of column 'sex'" in result.stderr

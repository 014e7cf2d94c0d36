"""Circuits, densities and answers are those that were recorded, bit for bit, after every request."""

import json

import pytest
from corpus import CASES, HASHES, MODELS, TABLES, steps

RECORDED = json.loads(HASHES.read_text())
#: Each takes as long as ten others.
SLOW = {("mixed 3,000", "members"), ("cancer", "imputer")}


def test_every_case_was_recorded():
    assert list(RECORDED) == [f"{table}; {model}" for table, model in CASES]
    assert len(RECORDED) >= 80


@pytest.mark.filterwarnings("ignore:nearly every record")
@pytest.mark.parametrize(
    ("table", "model"),
    [pytest.param(*case, marks=pytest.mark.deep if case in SLOW else ()) for case in CASES],
    ids=[f"{table}-{model}" for table, model in CASES],
)
def test_models_are_those_that_were_recorded(table, model):
    found = list(steps(TABLES[table](), MODELS[model]()))
    for step, (hashes, recorded) in enumerate(zip(found, RECORDED[f"{table}; {model}"], strict=True)):
        assert hashes == recorded, f"after step {step}"

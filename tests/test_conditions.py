"""Conditions on columns, as text and in parts."""

import pytest

from unlearnspn import Range
from unlearnspn.circuit.domains import Domain, Domains
from unlearnspn.errors import InvalidEvidenceError
from unlearnspn.exchange.conditions import Condition, evidence_of, read_conditions
from unlearnspn.schema import Kind
from unlearnspn.tables import Family

AGE = Domain("age", Kind.NUMERIC, Family.NUMBER)
TOWN = Domain("town", Kind.CATEGORICAL, Family.TEXT, ("Bonn", "Ulm"))


def test_parts_need_no_reading():
    hostile = Domain("town = Ulm", Kind.CATEGORICAL, Family.TEXT, ("x",))
    assert evidence_of([Condition(TOWN, "=", "Ulm = x")]) == {"town": ["Ulm = x"]}
    assert evidence_of([Condition(hostile, "=", "x"), Condition(AGE, ">", "3")]) == {
        "town = Ulm": ["x"],
        "age": Range(above=3.0),
    }


@pytest.mark.parametrize("texts", [["age >= 10", "age >= 20"], ["age = 1", "age = 2"]])
def test_what_is_said_twice_is_refused(texts):
    with pytest.raises(InvalidEvidenceError, match="in the same way already"):
        read_conditions(texts, Domains((AGE, TOWN)))


def test_categories_are_alternatives():
    assert read_conditions(["town = Ulm", "town = Bonn"], Domains((AGE, TOWN))) == {"town": ["Ulm", "Bonn"]}


@pytest.mark.parametrize("value", ["nan", "", "1,5", "x"])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(InvalidEvidenceError, match="is no number"):
        read_conditions([f"age = {value}"], Domains((AGE, TOWN)))

"""Mixtures of circuits: every part gives what it gave before, over the categories of all."""

import math

import numpy as np
import pytest

from unlearnspn.circuit import Circuit
from unlearnspn.circuit.domains import Domain, Domains
from unlearnspn.circuit.expressions import Unit, categorical, mixture, numeric, product
from unlearnspn.circuit.layout import lower
from unlearnspn.circuit.mixing import mix
from unlearnspn.circuit.validation import validate
from unlearnspn.schema import Kind
from unlearnspn.tables import Family


def circuit_of(colours, probabilities, mean=0.0):
    """Return a circuit of a colour and a number; the last probability is that of all colours never seen."""
    domains = Domains(
        (Domain("colour", Kind.CATEGORICAL, Family.MIXED, tuple(colours)), Domain("x", Kind.NUMERIC, Family.NUMBER))
    )
    with np.errstate(divide="ignore"):
        colour = categorical(0, np.log(probabilities))
    return Circuit(lower(product([colour, numeric(Unit.GAUSSIAN, 1, mean, 1.0)])), domains)


def mixed(circuits, weights, unseen=0.01):
    whole = mix(circuits, [math.log(weight) for weight in weights], unseen, None)
    validate(whole.layout, [len(whole.categories("colour")), None])
    return whole


def test_densities_are_weighted_sums():
    one, other = circuit_of(["blue", "red"], [0.5, 0.4, 0.1]), circuit_of(["blue", "red"], [0.1, 0.8, 0.1], 3.0)
    whole = mixed([one, other], [0.25, 0.75])
    rows = [["red", 1.0], ["blue", None], [None, -2.0], ["green", 0.5], [None, None]]
    rows = np.array(rows, object)
    parts = [0.25 * np.exp(one.score_samples(rows)), 0.75 * np.exp(other.score_samples(rows))]
    assert np.exp(whole.score_samples(rows)) == pytest.approx(sum(parts))


def test_categories_are_those_of_all_in_canonical_order():
    parts = [circuit_of(["b", "z"], [0.5, 0.4, 0.1]), circuit_of([True, 2, "a"], [0.5, 0.2, 0.2, 0.1])]
    assert mixed(parts, [0.5, 0.5]).categories("colour") == [True, 2, "a", "b", "z"]


def test_what_a_part_never_saw_is_divided():
    narrow, wide = circuit_of(["blue"], [0.7, 0.3]), circuit_of(["blue", "green", "red"], [0.2, 0.3, 0.4, 0.1])
    whole = mixed([narrow, wide], [0.5, 0.5], unseen=0.5)
    assert whole.probability({"colour": "blue"}) == pytest.approx(0.5 * 0.7 + 0.5 * 0.2)
    assert whole.probability({"colour": "green"}) == pytest.approx(0.5 * 0.3 / 2.5 + 0.5 * 0.3)
    assert whole.probability({"colour": "red"}) == pytest.approx(0.5 * 0.3 / 2.5 + 0.5 * 0.4)
    assert whole.probability({"colour": "pink"}) == pytest.approx(0.5 * 0.3 * 0.5 / 2.5 + 0.5 * 0.1)
    assert whole.expectation("x") == pytest.approx(0.0)


def test_nothing_is_left_for_the_unseen_where_nothing_else_is_possible():
    ignorant, knowing = circuit_of([], [1.0]), circuit_of([0, 1], [0.2, 0.8, 0.0])
    whole = mixed([ignorant, knowing], [0.5, 0.5])
    assert whole.probability({"colour": 0}) == pytest.approx(0.5 * 0.5 + 0.5 * 0.2)
    assert whole.probability({"colour": {0, 1}}) == pytest.approx(1.0)
    assert whole.probability({"colour": 7}) == 0.0


def test_a_part_that_excludes_what_it_never_saw_goes_on_doing_so():
    closed, opened = circuit_of(["a"], [1.0, 0.0]), circuit_of(["b"], [0.9, 0.1])
    whole = mixed([closed, opened], [0.5, 0.5])
    assert whole.probability({"colour": "b"}) == pytest.approx(0.45)
    assert whole.probability({"colour": "a"}) == pytest.approx(0.5 + 0.5 * 0.1 / 1.01)


def test_one_circuit_is_its_own_mixture():
    one = circuit_of(["a"], [0.9, 0.1])
    assert mixed([one], [1.0]) == one


def test_single_inputs_can_be_mixed():
    domains = Domains((Domain("x", Kind.NUMERIC, Family.NUMBER),))
    parts = [Circuit(lower(numeric(Unit.GAUSSIAN, 0, mean, 1.0)), domains) for mean in (0.0, 4.0)]
    deep = Circuit(
        lower(mixture([numeric(Unit.GAUSSIAN, 0, m, 1.0) for m in (8.0, 12.0)], [math.log(0.5)] * 2)), domains
    )
    whole = mix([*parts, deep], [math.log(weight) for weight in (0.25, 0.25, 0.5)], 0.01, None)
    validate(whole.layout, [None])
    assert (whole.layout.units == Unit.SUM).sum() == 1  # a sum that is part of a sum is taken apart
    assert whole.expectation("x") == pytest.approx(0.25 * 0.0 + 0.25 * 4.0 + 0.5 * 10.0)

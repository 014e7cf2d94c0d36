"""Trees as units: where `lower` would put them, pruned as expressions are, derived again only where they changed."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unlearnspn import SPN, ChowLiu
from unlearnspn.circuit.expressions import Fragment, Inputs, Sum, Unit, Within, numeric, product
from unlearnspn.circuit.layout import lift, lower
from unlearnspn.circuit.validation import validate
from unlearnspn.leaves import chow_liu

WEIGHTS = np.log([0.25, 0.75])


@st.composite
def tables(draw):
    """Draw a table of numbers, categories and truth values that depend on the column before, with gaps."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, hidden, columns = draw(st.integers(4, 60)), rng.normal(size=60), {}
    for number in range(draw(st.integers(2, 7))):
        own = hidden[:n_rows] * rng.normal() + rng.normal(size=n_rows) * draw(st.sampled_from([0.1, 1.0]))
        kind = draw(st.sampled_from(["number", "category", "truth", "constant"]))
        column = own if kind == "number" else np.array([f"c{value}" for value in np.round(own).astype(int)], object)
        if kind == "truth":
            column = (own > 0).astype(object)
        if kind == "constant":
            column = np.full(n_rows, "c", object)
        columns[f"{kind}{number}"] = pd.Series(column).mask(rng.random(n_rows) < draw(st.sampled_from([0.0, 0.2])))
    return pd.DataFrame(columns)


def fitted(table, **parameters):
    truths = {name: "bernoulli" for name in table if name.startswith("truth")}
    categories = [name for name in table if not name.startswith("number")]
    return SPN(leaves=truths, categorical_features=categories, **parameters).fit(table)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(table=tables(), min_rows=st.sampled_from([5, 1000]), alpha=st.sampled_from([0.3, 1e-300]))
def test_units_stand_where_expressions_are_lowered_to(table, min_rows, alpha):
    circuit = fitted(table, min_rows=min_rows, factorization=ChowLiu(alpha, beta=alpha)).circuit_
    validate(circuit.layout, [len(domain.categories) or None for domain in circuit.domains.columns])
    assert lower(lift(circuit.layout)).same(circuit.layout)


def test_what_has_no_probability_is_pruned():
    table = pd.DataFrame({"a": ["x", "x", "y", "y"] * 5, "b": ["u", "u", "v", "v"] * 5, "c": ["p", "q"] * 10})
    likely, unlikely = (fitted(table, factorization=ChowLiu(alpha, beta=alpha)).circuit_ for alpha in (0.3, 5e-324))
    assert np.isfinite(likely.layout.log_weights).all()
    assert np.isfinite(unlikely.layout.log_weights).all()
    assert len(unlikely.layout) < len(likely.layout)


def fragment():
    """Return two Gaussians of a variable, and a sum of the two."""
    gaussians = Inputs.pack([numeric(Unit.GAUSSIAN, 0, mean, 1.0) for mean in (-1.0, 1.0)])
    inner = Inputs(np.zeros(1, np.uint8), np.full(1, -1, np.int32), np.zeros(1, np.int64), np.zeros(0))
    units = Inputs(*(np.concatenate(arrays) for arrays in zip(gaussians, inner, strict=True)))
    return Fragment(units, np.array([2]), np.array([0, 1], np.int32), WEIGHTS)


def test_a_fragment_that_several_use_is_there_once():
    shared, y = fragment(), [numeric(Unit.GAUSSIAN, 1, mean, 1.0) for mean in (0.0, 9.0)]
    factors = zip((Within(shared, 2), Within(shared, 0)), y, strict=True)
    layout = lower(Sum(tuple(product(pair) for pair in factors), tuple(WEIGHTS)))
    assert layout.units.tolist() == [3, 3, Unit.SUM, 3, Unit.PRODUCT, 3, Unit.PRODUCT, Unit.SUM]
    assert layout.children.tolist() == [0, 1, 3, 2, 5, 0, 4, 6]
    assert layout.child_starts.tolist() == [0, 0, 0, 2, 2, 4, 4, 6, 8]
    assert layout.log_weights.tolist() == [*WEIGHTS, 0.0, 0.0, 0.0, 0.0, *WEIGHTS]
    validate(layout, [None, None])


def test_after_a_removal_only_trees_that_changed_are_derived(monkeypatch):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(600, 1)) + 0.3 * rng.normal(size=(600, 5))
    spn, derived = SPN(min_rows=30, n_bins=6).fit(numbers), []
    express = chow_liu.express_tree
    monkeypatch.setattr(chow_liu, "express_tree", lambda tree: derived.append(tree) or express(tree))
    spn.score_samples(numbers[:1])
    n_trees = len(derived)
    report = spn.unlearn([8])
    spn.score_samples(numbers[:1])
    assert not report.recoded
    assert n_trees > 10
    assert 0 < len(derived) - n_trees < n_trees / 2
    assert (
        spn.circuit_
        == SPN(min_rows=30, n_bins=6).fit(np.delete(numbers, 8, 0), ids=np.delete(np.arange(600), 8)).circuit_
    )


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_tree_of_numbers_alone(missing):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(80, 1)) + rng.normal(size=(80, 3))
    numbers[rng.random((80, 3)) < missing] = np.nan
    layout = SPN(min_rows=1000).fit(numbers).circuit_.layout
    assert set(layout.units.tolist()) == {Unit.SUM, Unit.PRODUCT, Unit.GAUSSIAN}
    assert lower(lift(layout)).same(layout)

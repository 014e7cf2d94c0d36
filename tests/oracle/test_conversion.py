"""Circuits written by hand become SPFlow networks that mean what the JSON says: checked against scipy's formulas."""

import json

import numpy as np
import pytest
from scipy import stats

from benchmarks.peers.client import WorkerFailed

pytestmark = pytest.mark.oracle

UNBOUNDED = {"low": None, "high": None, "log_mass": 0.0}
DENSITIES = [0.1, 0.0, 0.7, 1.2]


def document(columns, units, **changes):
    whole = {"format": "unlearnspn circuit", "version": 1, "columns": columns, "units": units, "root": len(units) - 1}
    return json.dumps({**whole, **changes})


def numeric(name):
    return {"name": name, "kind": "numeric"}


@pytest.mark.parametrize(
    ("unit", "values", "log_density"),
    [
        ({"kind": "gaussian", "mean": 1.0, "std": 2.0}, [-3.0, 0.0, 1.0, 40.0], stats.norm(1.0, 2.0).logpdf),
        ({"kind": "exponential", "mean": 3.0}, [0.0, 0.5, 70.0], stats.expon(scale=3.0).logpdf),
        ({"kind": "log_normal", "mean": 0.5, "std": 2.0}, [0.1, 1.0, 9.0], stats.lognorm(2.0, 0, np.exp(0.5)).logpdf),
        ({"kind": "poisson", "rate": 4.5}, [0.0, 1.0, 30.0], stats.poisson(4.5).logpmf),
        (
            {"kind": "histogram", "start": -1.0, "width": 0.5, "densities": DENSITIES},
            [-1.0, -0.75, 0.0, 0.99],
            lambda values: np.log([0.1, 0.1, 0.7, 1.2]),
        ),
    ],
    ids=lambda part: part["kind"] if isinstance(part, dict) else "",
)
def test_numeric_inputs(spflow, unit, values, log_density):
    spflow.convert(document([numeric("x")], [{**unit, "column": "x", **UNBOUNDED}]))
    scores = spflow.score(np.array([*values, np.nan])[:, None])
    np.testing.assert_allclose(scores, [*log_density(values), 0.0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("probabilities", "unseen", "codes"), [([0.5, 0.3, 0.1], 0.1, [0, 1, 2, 3]), ([0.25, 0.75], 0.0, [0, 1])]
)
def test_categorical_inputs(spflow, probabilities, unseen, codes):
    column = {"name": "c", "kind": "categorical", "categories": ["a", "b", "c"][: len(probabilities)]}
    unit = {"kind": "categorical", "column": "c", "probabilities": probabilities, "unseen": unseen}
    spflow.convert(document([column], [unit]))
    scores = spflow.score(np.array([*codes, np.nan])[:, None])
    np.testing.assert_allclose(scores, [*np.log([*probabilities, unseen][: len(codes)]), 0.0], rtol=1e-12)


def test_sums_and_products_with_a_shared_unit(spflow):
    units = [
        {"kind": "gaussian", "column": "x", "mean": 0.0, "std": 1.0, **UNBOUNDED},
        {"kind": "gaussian", "column": "y", "mean": 2.0, "std": 0.5, **UNBOUNDED},
        {"kind": "gaussian", "column": "y", "mean": -2.0, "std": 3.0, **UNBOUNDED},
        {"kind": "product", "children": [0, 1]},
        {"kind": "product", "children": [0, 2]},
        {"kind": "sum", "children": [3, 4], "weights": [0.3, 0.7]},
    ]
    size = spflow.convert(document([numeric("x"), numeric("y")], units))
    assert size == {"sums": 1, "products": 2, "leaves": 3}
    rows = np.array([[0.1, 1.9], [4.0, -7.0], [np.nan, 0.0], [1.0, np.nan]])
    x = np.where(np.isnan(rows[:, 0]), 1.0, stats.norm(0.0, 1.0).pdf(rows[:, 0]))
    y = 0.3 * stats.norm(2.0, 0.5).pdf(rows[:, 1]) + 0.7 * stats.norm(-2.0, 3.0).pdf(rows[:, 1])
    np.testing.assert_allclose(spflow.score(rows), np.log(x * np.where(np.isnan(y), 1.0, y)), rtol=1e-12)


@pytest.mark.parametrize(
    ("unit", "changes", "message"),
    [
        ({"kind": "gaussian", "mean": 0.0, "std": 1.0, **UNBOUNDED, "low": 0.0}, {}, "cut off"),
        ({"kind": "point", **UNBOUNDED}, {}, "no leaf"),
        ({"kind": "gaussian", "mean": 0.0, "std": 1.0, **UNBOUNDED}, {"version": 2}, "version 2"),
    ],
)
def test_what_spflow_has_no_words_for_is_refused(spflow, unit, changes, message):
    with pytest.raises(WorkerFailed, match=message):
        spflow.convert(document([numeric("x")], [{**unit, "column": "x"}], **changes))


def test_a_network_that_is_none_is_refused(spflow):
    gaussian = {"kind": "gaussian", "column": "x", "mean": 0.0, "std": 1.0, **UNBOUNDED}
    units = [gaussian, {**gaussian, "mean": 1.0}, {"kind": "product", "children": [0, 1]}]
    with pytest.raises(WorkerFailed, match="invalid"):
        spflow.convert(document([numeric("x")], units))

"""An external oracle: SPFlow computes the same log-densities from the JSON of a learned circuit, on real data."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks import datasets
from unlearnspn import SPN, Bernoulli, Exponential, Histogram, LogNormal, Poisson

pytestmark = pytest.mark.oracle

NAMES = ["wine", "iris", "breast_cancer", "digits"]
#: SPFlow takes minutes for circuits of thirty numbers.
COLUMNS = {"breast_cancer": [*range(6), *range(10, 16), -1]}
SETTINGS = {
    "default": {},
    "small slices": {"min_rows": 15},
    "paper": {"min_rows": 15, "independence": "rdc", "epsilon": 0.01, "max_rounds": 10},
    "three clusters": {"min_rows": 15, "n_clusters": 3, "max_rounds": 5},
    "Chow-Liu": {"min_rows": 60, "factorization": "chow-liu"},
}
LEAVES = {
    "wine": {
        "magnesium": Poisson(),
        "proline": Poisson(),
        "color_intensity": LogNormal(),
        "malic_acid": Exponential(),
        "hue": Histogram(),
    },
    "iris": {"petal width (cm)": Exponential(), "petal length (cm)": Histogram(16), "sepal width (cm)": LogNormal()},
    "breast_cancer": {"mean area": LogNormal(), "area error": Exponential(), "mean radius": Histogram()},
    "digits": {f"pixel_0_{column}": Bernoulli() for column in (3, 4, 5)},
}


def load(name):
    """Return a data set, of one with many numbers some columns."""
    data = datasets.load(name)
    return replace(data, frame=data.frame.iloc[:, COLUMNS.get(name, slice(None))])


def blanked(frame, share, seed):
    """Return the table without a random share of its cells."""
    rng = np.random.default_rng(seed)
    return frame.astype(object).mask(rng.random(frame.shape) < share).astype(_nullable(frame))


def _nullable(frame):
    return {name: dtype if dtype.kind in "fO" else "Int64" for name, dtype in frame.dtypes.items()}


def coded(frame, columns):
    """Return the table as SPFlow takes it: categories by number, the one after the last for those never seen."""
    assert [column["name"] for column in columns] == list(frame)
    lines = []
    for column in columns:
        values = frame[column["name"]]
        if column["kind"] == "numeric":
            lines.append(values.to_numpy(float, na_value=np.nan))
            continue
        places = {category: place for place, category in enumerate(column["categories"])}
        lines.append([np.nan if pd.isna(value) else places.get(value, len(places)) for value in values])
    return np.column_stack(lines)


def assert_spflow_agrees(spflow, spn, *tables):
    text = spn.circuit_.to_json()
    columns = json.loads(text)["columns"]
    spflow.convert(text)
    for table in tables:
        theirs = spflow.score(coded(table, columns))
        assert np.isfinite(theirs).all()
        np.testing.assert_allclose(spn.score_samples(table), theirs, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", NAMES)
def test_log_densities(spflow, name, setting):
    data = load(name)
    spn = data.spn(**SETTINGS[setting]).fit(data.frame)
    assert_spflow_agrees(spflow, spn, data.frame, blanked(data.frame, 0.3, 0))


def test_units_that_a_tree_shares(spflow):
    data = load("digits")
    spn = data.spn(min_rows=200, factorization="chow-liu").fit(data.frame)
    units = json.loads(spn.circuit_.to_json())["units"]
    children = [child for unit in units for child in unit.get("children", [])]
    assert len(children) > len(set(children))
    assert_spflow_agrees(spflow, spn, data.frame, blanked(data.frame, 0.3, 3))


@pytest.mark.parametrize("name", NAMES)
def test_other_leaves(spflow, name):
    data = load(name)
    spn = data.spn(min_rows=15, leaves=LEAVES[name]).fit(data.frame)
    kinds = {unit["kind"] for unit in json.loads(spn.circuit_.to_json())["units"]}
    wanted = {leaf.name.replace("-", "_") for leaf in LEAVES[name].values()}
    assert {"sum", "product", *wanted} - {"bernoulli"} <= kinds  # which is a categorical unit of two categories
    assert_spflow_agrees(spflow, spn, data.frame, blanked(data.frame, 0.3, 1))


@pytest.mark.parametrize("name", NAMES)
def test_learned_from_a_table_with_gaps(spflow, name):
    data = load(name)
    gaps = blanked(data.frame, 0.2, 2)
    spn = data.spn(min_rows=15).fit(gaps)
    nothing = data.frame.head(1).mask(np.ones((1, data.frame.shape[1]), bool))
    assert_spflow_agrees(spflow, spn, data.frame, gaps)
    assert spn.score_samples(nothing.astype(gaps.dtypes)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_after_removals(spflow, name):
    data = load(name)
    spn = data.spn(min_rows=15).fit(data.frame)
    spn.unlearn(list(range(0, 40, 2)))
    assert_spflow_agrees(spflow, spn, data.frame)


@pytest.mark.parametrize(("name", "category"), [("wine", "a class of its own"), ("digits", 7)])
def test_categories_never_seen(spflow, name, category):
    data = load(name)
    spn = data.spn(min_rows=15).fit(data.frame)
    strange = data.frame.copy()
    strange[data.frame.columns[-1]] = category
    assert_spflow_agrees(spflow, spn, strange)


def test_the_oracle_notices_another_parameter(spflow):
    data = load("wine")
    spn = SPN(min_rows=15).fit(data.frame)
    changed = json.loads(spn.circuit_.to_json())
    gaussian = next(unit for unit in changed["units"] if unit["kind"] == "gaussian")
    gaussian["mean"] *= 1.0 + 1e-6
    spflow.convert(json.dumps(changed))
    theirs = spflow.score(coded(data.frame, changed["columns"]))
    assert np.abs(spn.score_samples(data.frame) - theirs).max() > 1e-9

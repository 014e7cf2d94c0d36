"""Log-densities by NumPy are those of compiled code, bit for bit, or are left to it."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core.registry import CPUDispatcher

from unlearnspn import SPN, Circuit, Poisson, Range
from unlearnspn.circuit.density import log_density
from unlearnspn.circuit.density_by_numpy import log_density_by_numpy
from unlearnspn.circuit.distributions.gaussian import LARGEST_STD, LEAST_STD
from unlearnspn.circuit.expressions import Unit, mixture, numeric, product
from unlearnspn.circuit.layout import Layout, lower
from unlearnspn.circuit.schedule import Schedule


def both_ways(arrays, batch, first_row=0) -> tuple[np.ndarray, np.ndarray]:
    """Return the log-densities of some rows by NumPy and by compiled code."""
    by_numpy, compiled = np.empty(batch[0].shape[1] - first_row), np.empty(batch[0].shape[1] - first_row)
    log_density_by_numpy(*arrays, *batch, first_row, by_numpy)
    CPUDispatcher.__call__(log_density, *arrays, *batch, first_row, compiled)
    return by_numpy, compiled


def assert_same(circuit: Circuit, X: pd.DataFrame, first_row: int = 0) -> None:
    """Compare all bits."""
    for batch in circuit._read(X):
        by_numpy, compiled = both_ways(circuit._scorer._arrays, (batch.numbers, batch.places), first_row)
        assert by_numpy.tobytes() == compiled.tobytes()


def of_numbers(layout: Layout, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the log-densities under a circuit of numbers both ways."""
    arrays = (layout.child_starts, layout.children, layout.log_weights, layout.parameter_starts, layout.parameters)
    places = np.zeros((1, numbers.shape[1]), np.int32)
    return both_ways((layout.units, layout.variables, *arrays, Schedule.of(layout)), (numbers, places))


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Numbers, categories and what is missing, all dependent on each other."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    table = pd.DataFrame({"x": x, "y": x + rng.normal(size=400), "constant": 2.0})
    table["kind"] = np.where(x > 0.5, "a", rng.choice(["b", "c"], 400))
    table.loc[::7, "y"] = np.nan
    table.loc[::9, "kind"] = None
    return table


@pytest.mark.parametrize("factorization", ["chow-liu", "naive"])
def test_models_have_the_same_log_densities(table, factorization):
    spn = SPN(min_rows=50, factorization=factorization).fit(table)
    strange = pd.DataFrame({"x": [1e300, -1e9, np.nan], "y": [0.0, np.nan, 1e-300], "constant": [2.0, 3.0, np.nan]})
    assert_same(spn.circuit_, pd.concat([table, strange.assign(kind=["z", None, "a"])]))


def test_only_rows_from_the_first_on_are_scored(table):
    assert_same(SPN(min_rows=50).fit(table).circuit_, table, first_row=123)


def test_what_was_cut_off_has_none(table):
    circuit = SPN(min_rows=50).fit(table).condition({"y": Range(above=0.0, below=1.0), "x": 0.25})
    assert_same(circuit, table.assign(x=np.where(table.index % 2, 0.25, 0.5)))
    scores = circuit.score_samples(table.assign(x=0.25))
    assert np.isneginf(scores[(table.y < 0.0) | (table.y > 1.0)]).all()
    assert np.isfinite(scores[table.y.between(0.01, 0.99)]).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 300), st.integers(1, 4), st.integers(0, 10**6))
def test_blocks_do_not_matter(n_rows, n_parts, seed):
    rng = np.random.default_rng(seed)
    parts = [
        product([numeric(Unit.GAUSSIAN, v, float(rng.normal()), float(rng.gamma(2.0))) for v in range(2)])
        for _ in range(n_parts)
    ]
    layout = lower(mixture(parts, np.log(rng.dirichlet(np.ones(n_parts))).tolist()))
    numbers = rng.normal(0.0, 3.0, (2, n_rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unlearnspn.circuit.density_by_numpy._BLOCK_CELLS", int(rng.integers(1, 400)))
        by_numpy, compiled = of_numbers(layout, numbers)
    assert by_numpy.tobytes() == compiled.tobytes()


@pytest.mark.parametrize("std", [LEAST_STD / 2, LARGEST_STD * 2])
def test_extreme_scales_are_left_to_compiled_code(std):
    with pytest.raises(NotImplementedError, match="overflow"):
        of_numbers(lower(numeric(Unit.GAUSSIAN, 0, 0.0, std)), np.array([[1.0]]))


def test_parts_without_weight_are_left_to_compiled_code():
    parts = [numeric(Unit.GAUSSIAN, 0, 0.0, 1.0), numeric(Unit.GAUSSIAN, 0, 1e3, 1.0)]
    layout = lower(mixture(parts, [-700.0, 0.0]))
    with pytest.raises(NotImplementedError, match="next to no weight"):
        of_numbers(layout, np.array([[0.0]]))


def test_other_distributions_are_left_to_compiled_code(monkeypatch):
    monkeypatch.delenv("UNLEARNSPN_COMPILE")
    spn = SPN(min_rows=50, leaves={"x0": Poisson()}).fit(np.array([[1.0], [2.0], [4.0]]))
    with pytest.raises(NotImplementedError, match="POISSON"):
        assert_same(spn.circuit_, np.array([[1.0]]))
    assert spn.score(np.array([[2.0]])) == pytest.approx(math.log(7 / 3) * 2 - 7 / 3 - math.log(2), abs=0.1)

"""A row's answer depends on the row alone: not on other rows, blocks, threads, nor on what the table is held in."""

import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from random_models import laws, random_models
from unlearnspn import SPN, InvalidTableError
from unlearnspn.circuit import reading, scoring

N_ROWS = 5000


@pytest.fixture(scope="module")
def table():
    """Numbers that float32 holds exactly, some of them missing; the last column is of categories."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, N_ROWS)
    columns = [
        (3.0 * group + rng.standard_normal(N_ROWS)).astype(np.float32),
        rng.exponential(1.0 + group).astype(np.float32),
        rng.poisson(2.0 + 3.0 * group),
        np.where(rng.random(N_ROWS) < 0.7, group, rng.integers(0, 300, N_ROWS) + 0.5),
    ]
    rows = np.column_stack(columns).astype(np.float64)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    return rows


@pytest.fixture(scope="module")
def spn(table):
    return SPN(min_rows=40, threshold=0.5, categorical_features=[3], leaves={"x1": "exponential", "x2": "poisson"}).fit(
        table[:600]
    )


@pytest.fixture(scope="module")
def scores(spn, table):
    expected = spn.score_samples(table)
    assert np.isfinite(expected).all()
    assert not np.isnan(expected).any()
    return expected.tobytes()


def frame(table):
    return pd.DataFrame(table, columns=["x0", "x1", "x2", "x3"])


HELD = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "float32": lambda table: table.astype(np.float32),
    "float32 in Fortran order": lambda table: np.asfortranarray(table.astype(np.float32)),
    "every second row": lambda table: np.repeat(table, 2, axis=0)[::2],
    "backwards": lambda table: table[::-1].copy()[::-1],
    "columns of a wider array": lambda table: np.hstack([table, table])[:, :4],
    "read-only": lambda table: (copy := table.copy(), copy.setflags(write=False))[0],
    "other endian": lambda table: table.astype(table.dtype.newbyteorder()),
    "long double": lambda table: table.astype(np.longdouble),
    "objects": lambda table: table.astype(object),
    "masked": np.ma.masked_invalid,
    "lists": lambda table: table.tolist(),
    "pandas": frame,
    "polars": lambda table: pl.from_pandas(frame(table), nan_to_null=True),
    "arrow": lambda table: pa.Table.from_pandas(frame(table)),
    "mixed types": lambda table: frame(table).astype({"x0": "float32", "x2": "Int64", "x3": "Float64"}),
}


@pytest.mark.parametrize("held", HELD)
def test_a_table_may_be_held_in_anything(spn, table, scores, held):
    if held in ("pandas", "polars", "arrow", "mixed types"):
        model = SPN(**spn.get_params()).fit(frame(table)[:600])
        assert model.digest() == spn.digest()
    else:
        model = spn
    assert model.score_samples(HELD[held](table)).tobytes() == scores


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16"])
def test_whole_numbers_may_have_any_type(spn, table, dtype):
    whole = np.clip(np.nan_to_num(np.round(table)), 0, 100)
    assert spn.score_samples(whole.astype(dtype)).tobytes() == spn.score_samples(whole).tobytes()


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_whole_numbers_beyond_the_doubles_are_rounded_alike(dtype):
    huge = np.array([[2**53 + 1, 1], [2**62 + 1, 2], [np.iinfo(dtype).max, 3], [np.iinfo(dtype).min, 3]], dtype)
    spn = SPN(categorical_features=[1]).fit(huge.astype(float))
    assert spn.score_samples(huge).tobytes() == spn.score_samples(huge.astype(float)).tobytes()
    swapped = SPN(categorical_features=[0]).fit(huge.astype(float))
    assert swapped.score_samples(huge).tobytes() == swapped.score_samples(huge.astype(object)).tobytes()


def test_rows_are_scored_alone_and_together_alike(spn, table, scores):
    expected = np.frombuffer(scores)
    order = np.random.default_rng(1).permutation(N_ROWS)
    assert spn.score_samples(table[order]).tobytes() == expected[order].tobytes()
    for size in (1, 2, 3, 7, 15, 16, 17, 511, 512, 513, 2047, 2049):
        assert spn.score_samples(table[5 : 5 + size]).tobytes() == expected[5 : 5 + size].tobytes()
        assert spn.score_samples(table[5 : 5 + size].astype(object)).tobytes() == expected[5 : 5 + size].tobytes()


@pytest.mark.parametrize("n_cores", [1, 2, 3, 8])
def test_threads_change_nothing(spn, table, scores, n_cores, monkeypatch):
    monkeypatch.setattr(scoring, "n_cores", lambda: n_cores)
    monkeypatch.setattr(scoring, "_LEAST_CELLS", 1 << 8)
    assert spn.score_samples(table).tobytes() == scores
    assert spn.score_samples(frame(table).to_numpy(object)).tobytes() == scores


def test_chunks_change_nothing(table, monkeypatch):
    spn = SPN(min_rows=40, categorical_features=["x3"]).fit(frame(table)[:600])
    rows = frame(table)[:1000]
    expected = spn.score_samples(rows)
    filled = spn.impute(rows)
    shares = spn.predict_proba(rows, target="x3")
    monkeypatch.setattr(reading, "CHUNK_ROWS", 300)
    assert spn.score_samples(rows).tobytes() == expected.tobytes()
    assert spn.score_samples(pl.from_pandas(rows)).tobytes() == expected.tobytes()
    pd.testing.assert_frame_equal(spn.impute(rows), filled, check_exact=True)
    assert spn.predict_proba(rows, target="x3").tobytes() == shares.tobytes()
    with pytest.raises(InvalidTableError, match="infinite"):
        spn.score_samples(rows.assign(x0=np.where(np.arange(1000) == 999, np.inf, 0.0)))


@laws(12)
@given(model=random_models())
def test_rows_of_random_models_are_scored_alone_and_together_alike(model):
    rows = model.rows(model.rng(), 20)
    together = model.circuit.score_samples(rows)
    alone = np.concatenate([model.circuit.score_samples(rows[r : r + 1]) for r in range(len(rows))])
    assert alone.tobytes() == together.tobytes()
    as_lists = model.circuit.score_samples(rows.tolist())
    assert as_lists.tobytes() == together.tobytes()


@pytest.mark.parametrize("where", [0, 1, 2, 3])
@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_infinities_are_refused_wherever_they_are(spn, table, where, infinity):
    for row in (0, 17, 3000, N_ROWS - 1):
        rows = table.copy()
        rows[row, where] = infinity
        with pytest.raises(InvalidTableError, match=rf"column 'x{where}' has infinite values in rows {row + 1}"):
            spn.score_samples(rows)
        with pytest.raises(InvalidTableError, match="infinite"):
            spn.score_samples(rows.astype(np.float32))


@pytest.mark.parametrize("empty", [np.empty((0, 4)), np.empty((0, 4), object), np.empty((0, 4), np.float32)])
def test_empty_tables_are_refused(spn, empty):
    for question in (spn.score_samples, spn.score, spn.mpe, spn.impute, lambda X: spn.predict_proba(X, target="x3")):
        with pytest.raises(InvalidTableError, match="the table is empty"):
            question(empty)


def test_zeros_of_either_sign_are_one_number(spn):
    rows = np.array([[0.0, 0.0, 0.0, 0.0], [-0.0, -0.0, -0.0, -0.0]])
    scores = spn.score_samples(rows)
    assert scores[:1].tobytes() == scores[1:].tobytes()
    assert spn.score_samples(rows.astype(object)).tobytes() == scores.tobytes()


def test_there_are_blocks_and_threads_to_speak_of():
    """Else the tests above would show nothing."""
    assert 513 < scoring._ARRAY_ROWS < 2049 < N_ROWS
    assert scoring.n_cores() == len(os.sched_getaffinity(0))

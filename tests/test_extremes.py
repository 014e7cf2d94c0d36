"""The smallest and the largest number of each column, as records come and go, and samples that stay between them."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from unlearnspn import SPN
from unlearnspn.circuit.expressions import Unit, mixture, numeric
from unlearnspn.circuit.layout import lower
from unlearnspn.circuit.spans import cut_to_spans
from unlearnspn.extremes import Extremes

N_ROWS, N_COLUMNS = 12, 3
SPECIAL = np.array([np.nan, 0.0, -0.0, 1.0, -1e308, 1e308])
N_CELLS = N_ROWS * N_COLUMNS


@st.composite
def tables(draw):
    """Draw a table of special numbers and of any that 16 bits hold: Hypothesis pays for each draw, so there are two."""
    some = np.frombuffer(draw(st.binary(min_size=2 * N_CELLS, max_size=2 * N_CELLS)), np.float16)
    some = np.where(np.isnan(some), np.nan, some)  # NumPy's extremes are wrong beside NaNs that signal
    picks = np.frombuffer(draw(st.binary(min_size=N_CELLS, max_size=N_CELLS)), np.uint8)
    return np.where(picks % 2, some, SPECIAL[picks // 2 % len(SPECIAL)]).reshape(N_ROWS, N_COLUMNS)


def read_step(number):
    """Return what a step does: which rows change sides, and whether somebody asks afterwards."""
    bits = number >> np.arange(N_ROWS + 1) & 1
    return np.flatnonzero(bits[:-1]), bool(bits[-1])


STEPS = st.lists(st.integers(0, 2 ** (N_ROWS + 1) - 1).map(read_step), max_size=12)


def by_numpy(values, live):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns without a number
        if not live.any():
            return np.full((2, values.shape[1]), np.nan)
        return np.stack([np.nanmin(values[live], axis=0), np.nanmax(values[live], axis=0)])


@settings(max_examples=120, deadline=None)
@given(tables(), STEPS)
def test_extremes_are_those_of_numpy_whatever_comes_and_goes(values, steps):
    live, extremes = np.zeros(N_ROWS, np.bool_), Extremes(N_COLUMNS)
    for rows, asked in steps:
        before, expected = extremes.copied(), by_numpy(values, live)
        extremes.shift(values, rows[live[rows]], rows[~live[rows]])
        np.testing.assert_array_equal(before.among(values, live), expected)
        live[rows] = ~live[rows]
        if asked:
            np.testing.assert_array_equal(extremes.among(values, live), by_numpy(values, live))
    np.testing.assert_array_equal(extremes.among(values, live), by_numpy(values, live))


def test_what_is_returned_is_a_copy():
    extremes, values = Extremes(1), np.array([[1.0], [2.0]])
    extremes.shift(values, np.array([], np.int64), np.array([0, 1]))
    extremes.among(values, np.ones(2, np.bool_))[:] = 7.0
    assert extremes.among(values, np.ones(2, np.bool_)).tolist() == [[1.0], [2.0]]


# --- samples ---


def a_table():
    """Return related numbers, one record of which is far above all others, and one far below."""
    rng = np.random.default_rng(0)
    first = rng.normal(0.0, 1.0, 300)
    table = np.column_stack([first, 2.0 * first + rng.normal(0.0, 0.5, 300), rng.exponential(1.0, 300)])
    table[17] = [9.0, 18.0, 20.0]
    table[18] = [-9.0, -18.0, 0.0]
    return table


def require_within(rows, table):
    assert (rows >= table.min(axis=0)).all()
    assert (rows <= table.max(axis=0)).all()


@pytest.mark.parametrize("factorization", ["naive", "chow-liu"])
def test_samples_stay_within_the_span_of_the_records(factorization):
    table = a_table()
    spn = SPN(min_rows=50, factorization=factorization).fit(table)
    require_within(spn.sample(5000, random_state=0), table)
    require_within(spn.circuit_.sample(5000, random_state=0), table)
    spn.unlearn([17, 18])
    left = np.delete(table, [17, 18], axis=0)
    assert left.max(axis=0)[0] < 5.0
    require_within(spn.sample(5000, random_state=0), left)
    # They need not, if nobody asks for it.
    outside = spn.sample(20_000, random_state=0, within_span=False)
    assert ((outside < left.min(axis=0)) | (outside > left.max(axis=0))).any()


def test_samples_of_wide_tables_stay_within_the_span():
    table = np.random.default_rng(0).uniform(size=(400, 80))
    require_within(SPN().fit(table).sample(300, random_state=0), table)


def test_a_column_of_one_number_has_it_in_samples():
    table = np.column_stack([a_table(), np.full(300, 0.1)])
    rows = SPN(min_rows=50).fit(table).sample(500, random_state=0)
    assert (rows[:, 3] == 0.1).all()
    require_within(rows, table)


def test_numbers_at_the_end_of_the_span_are_as_frequent_in_samples():
    """Half of what is drawn around them would lie outside."""
    rng = np.random.default_rng(0)
    has_none = rng.random(2000) < 0.6
    table = np.column_stack([np.where(has_none, 0.0, 5.0 + rng.exponential(1.0, 2000)), rng.integers(0, 2, 2000)])
    rows = SPN().fit(table).sample(20_000, random_state=0)
    require_within(rows, table)
    assert np.mean(rows[:, 0] < 2.5) == pytest.approx(has_none.mean(), abs=0.02)


def test_the_span_comes_back_with_the_record():
    table = a_table()
    spn = SPN(min_rows=50).fit(table)
    spans = [column.span for column in spn.circuit_.domains.columns]
    assert spans == list(zip(table.min(axis=0).tolist(), table.max(axis=0).tolist(), strict=True))
    spn.unlearn([17])
    assert spn.circuit_.domains.columns[0].span[1] < 5.0
    spn.learn(table[17:18])
    assert [column.span for column in spn.circuit_.domains.columns] == spans


def test_columns_that_evidence_speaks_of_may_be_anywhere():
    table = a_table()
    circuit = SPN(min_rows=50).fit(table).circuit_
    rows = circuit.sample(20, given={"x0": 30.0}, random_state=0)
    assert (rows[:, 0] == 30.0).all()


def test_wide_distributions_weigh_what_is_left_of_them():
    domains = SPN().fit(np.array([[0.0], [10.0]])).circuit_.domains
    parts = [numeric(Unit.GAUSSIAN, 0, 0.0, deviation) for deviation in (0.1, 50.0)]
    bounded = cut_to_spans(lower(mixture(parts, np.log([0.5, 0.5]).tolist())), domains, {0: (0.0, 10.0)})
    assert bounded.log_shares[:2] == pytest.approx([0.0, np.log(norm.cdf(0.2) - 0.5)])

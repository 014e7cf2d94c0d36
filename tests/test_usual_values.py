"""Values that more than half of a column's records have: a bin of their own, as narrow as the column's grid."""

import numpy as np
import pandas as pd
import pytest

from unlearnspn import SPN
from unlearnspn.circuit.expressions import OWN
from unlearnspn.tables.times import DAY

N_ROWS = 400


def gains(n_rows=N_ROWS, seed=0):
    """Return a table of gains, which nine of ten people have not, and of what goes with them."""
    rng = np.random.default_rng(seed)
    has_any = rng.random(n_rows) < 0.1
    gain = np.where(has_any, 1000.0 * rng.integers(1, 9, n_rows), 0.0)
    return pd.DataFrame({"gain": gain, "size": np.where(has_any ^ (rng.random(n_rows) < 0.05), "large", "small")})


def std_at(spn, column, mean):
    """Return the least deviation of a column's inputs that have some mean: the background may have it, too."""
    layout = spn.circuit_.layout
    variable = spn.circuit_.columns.index(column)
    lines = [layout.parameters_of(unit) for unit in np.flatnonzero(layout.variables == variable).tolist()]
    return min(float(line[OWN + 1]) for line in lines if line[OWN] == mean)


def state_of(spn):
    return spn.digest(), spn.state_digest(), spn.circuit_.digest()


def test_a_usual_value_is_as_narrow_as_whole_numbers_are():
    assert std_at(SPN().fit(gains()), "gain", 0.0) == 0.25


def test_deviations_that_are_less_stay():
    table = gains()
    assert std_at(SPN().fit(table.assign(gain=table["gain"] / 1000.0)), "gain", 0.0) == 0.05 * 1.0


def test_a_fraction_takes_the_grid_away_and_gives_it_back():
    table = gains()
    spn = SPN().fit(table)
    before = state_of(spn)
    more = pd.DataFrame({"gain": [0.5], "size": ["small"]})
    spn.learn(more, ids=[N_ROWS])
    assert std_at(spn, "gain", 0.0) > 50.0
    assert state_of(spn) == state_of(SPN().fit(pd.concat([table, more]), ids=range(N_ROWS + 1)))
    spn.unlearn(N_ROWS)
    assert state_of(spn) == before
    assert std_at(spn, "gain", 0.0) == 0.25


def test_what_leaves_and_comes_at_once_changes_the_grid_once():
    table = gains()
    spn = SPN().fit(table)
    for value in (0.5, 0.0, 2.5, 1.5, 3.0):
        table.loc[7, "gain"] = value
        spn.rectify(table.loc[[7]], ids=[7])
        assert state_of(spn) == state_of(SPN().fit(table))
        assert (std_at(spn, "gain", 0.0) == 0.25) == (value % 1.0 == 0.0)


def test_usual_dates_are_as_narrow_as_days():
    rng = np.random.default_rng(0)
    days = np.where(rng.random(N_ROWS) < 0.1, rng.integers(0, 20_000, N_ROWS), 10_000)
    table = pd.DataFrame({"day": pd.to_datetime(days, unit="D"), "is_usual": np.where(days == 10_000, "yes", "no")})
    spn, usual = SPN().fit(table), 10_000.0 * DAY
    assert std_at(spn, "day", usual) == 0.25 * DAY
    later = pd.DataFrame({"day": pd.to_datetime(["1997-05-19 12:00"]), "is_usual": ["no"]})
    spn.learn(later, ids=[N_ROWS])
    assert std_at(spn, "day", usual) > DAY
    spn.unlearn(N_ROWS)
    assert std_at(spn, "day", usual) == 0.25 * DAY


@pytest.mark.parametrize("columns", [["gain"], ["gain", "size"]])
def test_samples_have_the_usual_value_as_often_as_records(columns):
    table = gains(2000)[columns]
    table = table.astype({"gain": int})
    samples = SPN().fit(table).sample(5000, random_state=0)
    assert np.mean(samples["gain"] == 0) == pytest.approx(np.mean(table["gain"] == 0.0), abs=0.03)


def test_a_number_that_is_not_usual_is_none_the_less_likely():
    """Whatever has not the usual value is in other bins, none of which is narrow."""
    table = gains(2000)
    rest = table[table["gain"] > 0.0]
    whole, shifted = (
        SPN().fit(table),
        SPN().fit(table.assign(gain=table["gain"] + np.where(table.index == 0, 0.5, 0.0))),
    )
    assert whole.score(rest) == pytest.approx(shifted.score(rest), abs=0.1)

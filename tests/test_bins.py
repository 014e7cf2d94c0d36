"""Numbers by bin: sums and Gaussians, against those of the values that fall into each."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leaf_data import slice_of
from unlearnspn import Categorical, ChowLiu, Gaussian
from unlearnspn.leaves.bins import BinDefaults, bin_parameters, columns_of, lines_of_bins
from unlearnspn.leaves.tree_statistics import gather_statistics
from unlearnspn.statistics.moments import Moments

numbers = st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0])), min_size=12, max_size=30)
USUAL = 1.0, np.nan, 0.0
defaults = BinDefaults(
    np.array([0.25, 0.0, 0.5]),
    np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]]),
    np.array(USUAL),
    np.array([0.125, 0.0, 0.0625]),
)


def three_columns(one, other):
    """Return a slice of a number, a category and another number."""
    n_rows = min(len(one), len(other))
    return slice_of(one[:n_rows], list("ab" * n_rows)[:n_rows], other[:n_rows], categorical=[False, True, False])


def by_hand(data, rows, v):
    """Return the moments of a number in each bin, from its values."""
    values, column = data.records.values, int(data.records.place[v])
    codes = data.records.codes[rows, v]
    return [Moments.of(values, rows[codes == code], column) for code in range(1, int(data.encoding.sizes[v]))]


@settings(max_examples=50, deadline=None)
@given(numbers, numbers, st.data())
def test_sums_are_those_of_the_values_in_each_bin(one, other, chosen):
    data = three_columns(one, other)
    rows = np.array(chosen.draw(st.lists(st.sampled_from(data.records.rows.tolist()), unique=True)), np.int64)
    words, columns = gather_statistics(data, rows).in_bins, columns_of(data)
    found = {
        v: [Moments.from_words(line, window) for line in lines]
        for v, window, lines in lines_of_bins(words, data.scope, columns)
    }
    assert found == {v: by_hand(data, rows, v) for v in (0, 2)}


def expected_parameters(data, rows):
    """Return the parameters of each number and where they start, by integers of arbitrary size."""
    lines, starts = [], []
    for v in data.scope.tolist():
        starts.append(len(lines))
        if data.records.is_numeric[v]:
            known = [each for each in by_hand(data, rows, v) if each.n]
            for each in known:
                is_usual = each.std() == 0 and each.mean() == USUAL[v]
                lines.append((each.mean(), max(each.std(), (defaults.least_stds, defaults.usual_stds)[is_usual][v])))
            lines.append(tuple(defaults.elsewhere[v]))
    return [[-np.inf, np.inf, 0.0, *line] for line in lines], starts


@settings(max_examples=50, deadline=None)
@given(numbers, numbers)
@example([None] * 12, [0.0, -5e-324] * 6)  # no deviation is left of these, once it is rounded
def test_gaussians_are_those_of_the_values_in_each_bin(one, other):
    data = three_columns(one, other)
    rows = data.records.rows
    parameters, starts = bin_parameters(gather_statistics(data, rows).in_bins, data.scope, columns_of(data), defaults)
    assert (parameters.tolist(), starts.tolist()) == expected_parameters(data, rows)


@pytest.mark.parametrize("unit", [5e-324, 1e-300])
def test_what_compiled_code_leaves_open_is_known_all_the_same(unit):
    data = three_columns([unit * number for number in range(40)], [float(number % 7) for number in range(40)])
    rows, nothing = data.records.rows, defaults._replace(least_stds=np.zeros(3))
    parameters, _ = bin_parameters(gather_statistics(data, rows).in_bins, data.scope, columns_of(data), nothing)
    known = [each for each in by_hand(data, rows, 0) if each.n]
    assert parameters[: len(known), 3:].tolist() == [[each.mean(), each.std()] for each in known]
    assert not np.isnan(parameters).any()


def test_without_numbers_there_are_no_bins():
    data = slice_of(list("abab"), list("bbaa"), categorical=True)
    statistics = gather_statistics(data, data.records.rows)
    assert statistics.in_bins.size == 0
    parameters, starts = bin_parameters(
        statistics.in_bins,
        data.scope,
        statistics.columns,
        BinDefaults(np.zeros(2), np.zeros((2, 2)), np.full(2, np.nan), np.zeros(2)),
    )
    assert (parameters.shape, starts.tolist()) == ((0, 5), [0, 0])


def test_a_tree_shows_the_bins_that_some_record_has():
    data = three_columns([float(number) for number in range(60)], [float(number % 7) for number in range(60)])
    rows = np.arange(0, 60, 5)
    tree = ChowLiu().over([Gaussian(), Categorical(), Gaussian()])
    shown = tree.parameters(tree.learn(data, rows), data)["bins"]
    assert list(shown) == ["x0", "x2"]
    occurring = [number for number, each in enumerate(by_hand(data, rows, 2)) if each.n]
    assert list(shown["x2"]) == occurring
    moments = by_hand(data, rows, 2)[occurring[0]]
    least = Gaussian().least_std(data.encoding.numeric(2))
    assert shown["x2"][occurring[0]] == {"mean": moments.mean(), "std": max(moments.std(), least)}

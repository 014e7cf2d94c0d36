"""Coders: bins from landmark records, a coarse scale, and categories whose codes nobody can tell from outside."""

import math
import string
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from unlearnspn.coding import (
    FEATURE_LIMIT,
    FEATURE_MISSING,
    FEATURE_STD,
    MAX_GROUPS,
    CategoricalCoder,
    NumericCoder,
)
from unlearnspn.exact_sum import Moments
from unlearnspn.records import Records
from unlearnspn.schema import Schema
from unlearnspn.tables import read_table

KEY = 99
doubles = st.floats(allow_nan=False, allow_infinity=False)
cells = st.one_of(doubles, st.just(math.nan), st.sampled_from([0.0, 1.0, 2.0]))


@st.composite
def columns(draw, min_size=1):
    values = draw(st.lists(cells, min_size=min_size, max_size=25))
    hashes = draw(st.lists(st.integers(0, 2**64 - 1), min_size=len(values), max_size=len(values), unique=True))
    return np.array(values) + 0.0, np.array(hashes, np.uint64)


def moments(values):
    return Moments.of(np.array(values, np.float64).reshape(-1, 1), np.arange(len(values)))


def learn(values, hashes, n_bins):
    return NumericCoder.learn(KEY, values, hashes, n_bins, moments(values))


def numeric(values, n_bins=4):
    values = np.array(values, np.float64)
    return learn(values, np.arange(len(values), dtype=np.uint64), n_bins)


# -- numeric -----------------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(columns(), st.integers(2, 30))
def test_edges_are_the_values_of_the_smallest_hashes(column, n_bins):
    values, hashes = column
    coder = learn(values, hashes, n_bins)
    observed = [(h, v) for h, v in zip(hashes.tolist(), values.tolist(), strict=True) if v == v]
    landmarks = sorted(observed)[: min(n_bins - 1, 5)]
    assert coder.landmarks.tolist() == [h for h, _ in landmarks]
    known = sorted({v for _, v in landmarks})
    edges = coder.edges.tolist()
    assert edges == known if n_bins <= 6 else set(known) <= set(edges)
    assert edges == sorted(edges)
    assert not known or (edges[0], edges[-1]) == (known[0], known[-1])
    assert coder.n_codes == len(edges) + 2 <= n_bins + 1


def test_more_bins_divide_the_gaps_between_landmarks_evenly():
    values = np.array([0.0, 8.0, 16.0, 40.0, 48.0, -100.0])
    assert numeric(values, n_bins=6).edges.tolist() == [0.0, 8.0, 16.0, 40.0, 48.0]
    assert numeric(values, n_bins=10).edges.tolist() == [0.0, 4.0, 8.0, 12.0, 16.0, 28.0, 40.0, 44.0, 48.0]
    # What is left over goes to the widest gaps; of equal ones to the first.
    assert numeric(values, n_bins=7).edges.tolist() == [0.0, 8.0, 16.0, 28.0, 40.0, 48.0]
    assert numeric(values, n_bins=12).edges.tolist() == [
        0.0,
        8 / 3,
        16 / 3,
        8.0,
        12.0,
        16.0,
        24.0,
        32.0,
        40.0,
        44.0,
        48.0,
    ]
    # Where landmarks are alike, there are fewer gaps, and more edges in each.
    assert numeric([0.0, 0.0, 0.0, 0.0, 3.0, 9.0], n_bins=8).edges.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert numeric([1.0] * 6, n_bins=18).edges.tolist() == [1.0]


def test_gaps_are_divided_from_one_end_of_the_numbers_to_the_other():
    largest = np.finfo(float).max
    assert numeric([-largest, largest], n_bins=7).edges.tolist() == [-largest, 0.0, largest]


@settings(max_examples=200, deadline=None)
@given(columns(), st.integers(2, 8), st.lists(cells, max_size=10))
def test_codes_count_the_edges_below(column, n_bins, others):
    coder = learn(*column, n_bins)
    values = [*column[0].tolist(), *others]
    expected = [0 if math.isnan(v) else 1 + sum(edge < v for edge in coder.edges.tolist()) for v in values]
    assert coder.codes(np.array(values)).tolist() == expected
    assert max(expected) < coder.n_codes <= len(coder.prints) + 1


@settings(max_examples=100, deadline=None)
@given(columns(min_size=2), st.integers(2, 6))
def test_only_a_landmark_moves_the_edges(column, n_bins):
    values, hashes = column
    coder = learn(values, hashes, n_bins)
    for row in range(len(values)):
        rest = np.delete(np.arange(len(values)), row)
        asked = []

        def remaining(rest=rest, asked=asked):
            asked.append(True)
            return values[rest], hashes[rest]

        revised = coder.revise(moments(values[rest]), values[[row]], hashes[[row]], remaining)
        fresh = learn(values[rest], hashes[rest], n_bins)
        assert bool(asked) == (hashes[row] in coder.landmarks)
        if not asked:
            assert revised.edges is coder.edges
        assert revised.kept == fresh.kept
        assert (revised.scale, revised.centre) == (fresh.scale, fresh.centre)
        assert revised.released == fresh.released


@settings(max_examples=300, deadline=None)
@given(st.lists(doubles, min_size=2, max_size=12))
def test_scale_is_the_power_of_two_below_the_deviation(values):
    exact = [Fraction(v) for v in values]
    variance = sum(v * v for v in exact) / len(exact) - (sum(exact) / len(exact)) ** 2
    assume(variance > 0)
    scale = numeric(values).scale
    assert math.frexp(scale)[0] == 0.5
    assert variance < Fraction(2 * Fraction(scale)) ** 2
    assert Fraction(scale) ** 2 <= variance or scale == 2.0**-1022


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=12))
def test_centre_is_a_multiple_of_four_scales_near_the_mean(values):
    coder = numeric(values)
    mean = sum(map(Fraction, values)) / len(values)
    assert (Fraction(coder.centre) / Fraction(coder.scale)) % 4 == 0 or abs(mean / Fraction(coder.scale)) > 2**53
    slack = Fraction(1 + 2**-40)
    rounding = abs(mean) * Fraction(2**-50)
    assert abs(Fraction(coder.centre) - mean) <= 2 * Fraction(coder.scale) * slack + rounding


def test_features_by_hand():
    coder = numeric([0.0, 2.0, math.nan])  # mean and deviation are 1
    assert (coder.centre, coder.scale) == (0.0, 1.0)
    given = np.array([0.0, 1.0, -1.0, 0.5, 7.9, 8.0, 1e308, -8.0, -1e308, math.nan, 1 / 3 / FEATURE_STD])
    expected = [0, 4096, -4096, 2048, 32358, 32767, 32767, -32767, -32767, -32768, 0]
    assert (FEATURE_STD, FEATURE_LIMIT, FEATURE_MISSING) == (4096, 32767, -32768)
    assert coder.features(given).tolist() == expected


@pytest.mark.parametrize("values", [[math.nan, math.nan], [5.0, 5.0, 5.0], [5.0]])
def test_columns_without_spread_have_scale_one(values):
    coder = numeric(values)
    assert coder.scale == 1.0
    assert set(coder.features(np.array(values)).tolist()) <= {FEATURE_MISSING, 4096}


def test_coders_are_alike_only_if_they_code_alike():
    values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert numeric(values).codes_like(numeric([*values[:5], 4.9]))
    assert not numeric(values).codes_like(numeric([*values[:5], 500.0]))  # another scale
    assert not numeric(values).codes_like(numeric([0.1, *values[1:]]))  # another edge


# -- categorical -------------------------------------------------------------------------------------------------------


def test_codes_that_nobody_uses_are_given_out_again():
    coder = CategoricalCoder.learn(KEY, ["c", "a", "b"])
    assert coder.categories == ("a", "b", "c")
    smaller = coder.drop([0, 1])
    assert smaller.categories == (None, None, "c")
    assert (smaller.n_levels, smaller.n_codes) == (1, 4)
    assert smaller.category_prints[:2].tolist() == [0, 0]
    assert not smaller.category_digests[:2].any()
    larger = smaller.extend(["z", "c", "y", "x"])
    assert larger.categories == ("x", "y", "c", "z")
    assert larger.levels(["c", "z", "a", "x"]).tolist() == [2, 3, -2, 0]
    assert larger.codes(np.array([2, -1, 0], np.int32)).tolist() == [3, 0, 1]
    assert coder.categories == ("a", "b", "c")  # coders are immutable
    assert coder.extend(["b"]) is coder
    assert coder.drop([]) is coder


categories = st.one_of(st.text(max_size=2), st.booleans(), st.integers(-2, 2), st.sampled_from([0.5, 1.5]))
unique = st.lists(categories, min_size=1, max_size=8, unique_by=lambda c: (type(c) is bool, c))


@settings(max_examples=200, deadline=None)
@given(unique, unique, st.data())
def test_fingerprints_do_not_depend_on_codes(first, second, data):
    coder = CategoricalCoder.learn(KEY, first)
    gone = data.draw(st.lists(st.integers(0, len(first) - 1), unique=True, max_size=len(first)))
    coder = coder.drop(gone).extend(second)
    present = [category for category in coder.categories if category is not None]
    fresh = CategoricalCoder.learn(KEY, present)
    assert coder.released == fresh.released
    assert coder.n_levels == len(present)
    here, there = coder.levels(present), fresh.levels(present)
    assert len(set(here.tolist())) == len(present)
    assert coder.category_prints[here].tolist() == fresh.category_prints[there].tolist()
    assert coder.prints[coder.codes(here)].tolist() == fresh.prints[fresh.codes(there)].tolist()
    assert np.array_equal(coder.category_digests[here], fresh.category_digests[there])
    assert len(set(coder.category_prints[here].tolist())) == len(present)


@given(st.lists(st.sets(st.sampled_from(string.ascii_letters)), max_size=5), st.data())
def test_a_coder_that_changes_is_the_one_that_its_categories_make(steps, data):
    coder = CategoricalCoder.learn(KEY, [])
    for coming in steps:
        coder = coder.extend(sorted(coming))
        present = [code for code, category in enumerate(coder.categories) if category is not None]
        coder = coder.drop(data.draw(st.lists(st.sampled_from(present), unique=True)) if present else [])
    again = CategoricalCoder.by_code(KEY, coder.categories)
    assert (again.categories, again.index) == (coder.categories, coder.index)
    assert again.prints.tolist() == coder.prints.tolist()
    assert again.category_digests.tolist() == coder.category_digests.tolist()
    assert again.released == coder.released


def test_released_tells_categories_apart():
    sets = [[], ["1"], [1], [True], ["True"], ["1", "2"], ["12"], [1, True], [1.5]]
    assert len({CategoricalCoder.learn(KEY, list(categories)).released for categories in sets}) == len(sets)


def test_many_categories_are_grouped_by_hash():
    names = [a + b for a in string.ascii_lowercase for b in string.ascii_lowercase]
    few, many = CategoricalCoder.learn(KEY, names[:MAX_GROUPS]), CategoricalCoder.learn(KEY, names)
    assert (few.grouped, few.n_codes) == (False, MAX_GROUPS + 1)
    assert (many.grouped, many.n_codes, len(many.prints)) == (True, MAX_GROUPS + 1, MAX_GROUPS + 1)
    codes = many.codes(many.levels(names))
    assert set(codes.tolist()) == set(range(1, MAX_GROUPS + 1))
    assert many.codes(np.array([-1, 0], np.int32)).tolist() == [0, codes[0]]
    # A category's group does not depend on the other categories, nor on its code.
    fewer = many.drop(list(range(0, 300))).extend(["new"])
    assert fewer.grouped
    assert np.array_equal(fewer.codes(fewer.levels(names[300:])), codes[300:])
    assert fewer.prints.tolist() == many.prints.tolist()
    assert not many.codes_like(few)
    # Back below the limit, but with codes all over: they must be given out anew.
    assert many.drop(list(range(len(names) - 3))).crowded
    assert not few.drop([0]).crowded


def test_just_beyond_the_limit():
    names = list(string.ascii_letters)[: MAX_GROUPS + 1]
    coder = CategoricalCoder.learn(KEY, names)
    assert coder.grouped
    assert not coder.drop([4]).grouped
    assert coder.drop([4]).crowded
    assert not coder.drop([4]).extend(["!"]).crowded


# -- all variables -----------------------------------------------------------------------------------------------------

NOBODY = np.zeros(0, np.int64)


def table_of(pairs):
    """Return a table of two categorical variables, around a numeric one whose coding no record changes."""
    return read_table(np.array([(first, 1.0, second) for first, second in pairs], object))


def learned(pairs, ids=None):
    table = table_of(pairs)
    schema = Schema.of(table, [True, False, True], None)
    return Records.learn(schema, KEY, 4, list(range(len(pairs)) if ids is None else ids), table)


def by_category(coded, variable):
    """Return how many records have each category, by what records or a staged change of them say."""
    encoding = coded.encoding
    start, end = encoding.level_starts[variable : variable + 2]
    counts = coded.totals.level_counts[start:end].tolist()
    categories = encoding.categorical(variable).categories
    assert len(categories) == len(counts)
    assert all(n == 0 for c, n in zip(categories, counts, strict=True) if c is None)
    return {c: n for c, n in zip(categories, counts, strict=True) if c is not None}


def test_a_category_vanishes_with_its_last_record():
    pairs = [("a", "x"), ("b", "x"), ("b", "y"), ("c", "y"), ("c", "z")]
    records = learned(pairs)
    encoding = records.encoding
    assert by_category(records, 0) == Counter(first for first, _ in pairs)
    assert by_category(records, 2) == Counter(second for _, second in pairs)
    assert encoding.sizes.tolist() == [4, 3, 4]
    assert encoding.level_starts.tolist() == [0, 3, 3, 6]

    staged = records.stage(np.array([0, 1]), [], None)  # the last "a" and both "x"
    revised = staged.encoding
    assert revised.categorical(0).categories == (None, "b", "c")
    assert revised.categorical(2).categories == (None, "y", "z")
    assert by_category(staged, 0) == {"b": 1, "c": 2}
    assert by_category(staged, 2) == {"y": 2, "z": 1}
    assert revised.level_prints[[0, 3]].tolist() == [0, 0]
    assert not revised.level_digests[[0, 3]].any()
    assert revised.prints[0, 1] == revised.prints[2, 1] == 0
    assert records.encoding is encoding
    assert encoding.categorical(0).categories == ("a", "b", "c")
    assert by_category(records, 0) == {"a": 1, "b": 2, "c": 2}  # what was there before is untouched

    fresh = learned(pairs[2:], [2, 3, 4])
    assert revised.kept == fresh.encoding.kept
    assert staged.totals.digest(revised) == fresh.totals.digest(fresh.encoding)
    assert [coder.released for coder in revised.coders] == [coder.released for coder in fresh.encoding.coders]
    assert revised.codes_like(encoding)
    passing = revised.coming_from(encoding)
    assert np.array_equal(passing.prints, encoding.prints)


def test_a_category_that_leaves_and_comes_at_once_stays():
    records = learned([("a", "x"), ("b", "x")])
    staged = records.stage(np.array([0]), [2], table_of([("a", None)]))
    assert by_category(staged, 0) == {"a": 1, "b": 1}
    assert by_category(staged, 2) == {"x": 1}
    assert staged.encoding.categorical(0).categories == ("a", "b")


def test_a_new_category_takes_the_free_code():
    records = learned([("a", "x"), ("b", "x")])
    encoding = records.encoding
    without = records.stage(np.array([0]), [], None)
    records.commit(without)
    grown = records.stage(NOBODY, [2, 3], table_of([("new", "x"), ("newer", None)]))
    assert grown.encoding.categorical(0).categories == ("new", "b", "newer")
    assert by_category(grown, 0) == {"new": 1, "b": 1, "newer": 1}
    assert by_category(grown, 2) == {"x": 2}
    assert records.levels[grown.plus].tolist() == [[0, 0], [2, -1]]
    assert records.codes[grown.plus].tolist() == [[1, 1, 1], [3, 1, 0]]
    assert not grown.encoding.codes_like(encoding)
    assert by_category(records, 0) == {"b": 1}  # what was there before is untouched

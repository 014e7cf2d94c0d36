"""Coders: a coarse scale and bins that follow from it, and categories whose codes nobody can tell from outside."""

import math
import string
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from unlearnspn.binning import answered, lay_edges, search_crowd
from unlearnspn.coding import (
    FEATURE_LIMIT,
    FEATURE_MISSING,
    FEATURE_STD,
    MAX_GROUPS,
    CategoricalCoder,
    NumericCoder,
)
from unlearnspn.records import Records
from unlearnspn.schema import Schema
from unlearnspn.statistics.moments import Moments
from unlearnspn.tables import read_table

KEY = 99
doubles = st.floats(allow_nan=False, allow_infinity=False)
cells = st.one_of(doubles, st.just(math.nan), st.sampled_from([0.0, 1.0, 2.0]))


def find_crowd(values, centre, scale):
    return answered(search_crowd(int(np.count_nonzero(~np.isnan(values))), centre, scale), values)


def moments(values):
    return Moments.of(np.array(values, np.float64).reshape(-1, 1), np.arange(len(values)))


def numeric(values, n_bins=4):
    values = np.array(values, np.float64)
    return NumericCoder.learn(KEY, values, n_bins, moments(values))[0]


columns = st.lists(cells, min_size=1, max_size=25).map(lambda values: [value + 0.0 for value in values])


# -- numeric -----------------------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(columns, st.integers(2, 30))
def test_edges_are_laid_where_the_values_crowd(values, n_bins):
    coder = numeric(values, n_bins)
    crowd, _ = find_crowd(np.array(values), coder.centre, coder.scale)
    assert coder.usual == (crowd.usual if coder.varies else None)
    assert coder.edges.tolist() == lay_edges(crowd.centre, crowd.scale, n_bins, coder.usual).tolist()
    assert coder.n_codes == len(coder.edges) + 2 == len(coder.prints) <= n_bins + 1 + 2 * (coder.usual is not None)


@settings(max_examples=80, deadline=None)
@given(columns, st.integers(2, 8), st.lists(cells, max_size=10))
def test_codes_count_the_edges_below(column, n_bins, others):
    coder = numeric(column, n_bins)
    values = [*column, *others]
    expected = [0 if math.isnan(v) else 1 + sum(edge < v for edge in coder.edges.tolist()) for v in values]
    assert coder.codes(np.array(values)).tolist() == expected
    assert max(expected) < coder.n_codes


@settings(max_examples=50, deadline=None)
@given(st.lists(cells, min_size=2, max_size=25), st.integers(2, 6))
def test_a_coder_that_holds_is_what_learning_gives(values, n_bins):
    coder, slack = NumericCoder.learn(KEY, np.array(values), n_bins, moments(values))
    for row in range(len(values)):
        rest = np.array(values[:row] + values[row + 1 :])
        fresh = numeric(rest, n_bins)
        if coder.holds(moments(rest), slack - (not math.isnan(values[row]))):
            assert coder.kept == fresh.kept
            assert (coder.scale, coder.centre) == (fresh.scale, fresh.centre)
            assert coder.released == fresh.released
            assert coder.codes_like(fresh)


@settings(max_examples=120, deadline=None)
@given(st.lists(doubles, min_size=2, max_size=12))
def test_scale_is_the_power_of_two_below_the_deviation(values):
    exact = [Fraction(v) for v in values]
    variance = sum(v * v for v in exact) / len(exact) - (sum(exact) / len(exact)) ** 2
    assume(variance > 0)
    scale = numeric(values).scale
    assert math.frexp(scale)[0] == 0.5
    assert variance < Fraction(2 * Fraction(scale)) ** 2
    assert Fraction(scale) ** 2 <= variance or scale == 2.0**-1022


@settings(max_examples=120, deadline=None)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=12))
def test_centre_is_a_multiple_of_two_scales_near_the_mean(values):
    coder = numeric(values)
    mean = sum(map(Fraction, values)) / len(values)
    assert (Fraction(coder.centre) / Fraction(coder.scale)) % 2 == 0 or abs(mean / Fraction(coder.scale)) > 2**53
    slack = Fraction(1 + 2**-40)
    rounding = abs(mean) * Fraction(2**-50)
    assert abs(Fraction(coder.centre) - mean) <= Fraction(coder.scale) * slack + rounding


def test_features_by_hand():
    coder = numeric([-0.5, 1.5, math.nan])  # the mean is 0.5, the deviation 1
    assert (coder.centre, coder.scale) == (0.0, 1.0)
    given = np.array([0.0, 1.0, -1.0, 0.5, 7.9, 8.0, 1e308, -8.0, -1e308, math.nan, 1 / 3 / FEATURE_STD])
    expected = [0, 4096, -4096, 2048, 32358, 32767, 32767, -32767, -32767, -32768, 0]
    assert (FEATURE_STD, FEATURE_LIMIT, FEATURE_MISSING) == (4096, 32767, -32768)
    assert coder.features(given).tolist() == expected


@pytest.mark.parametrize("values", [[math.nan, math.nan], [5.0, 5.0, 5.0], [5.0]])
def test_columns_without_spread_have_scale_one(values):
    coder = numeric(values)
    assert coder.scale == 1.0
    assert set(coder.features(np.array(values)).tolist()) <= {FEATURE_MISSING, -4096}


def test_coders_are_alike_only_if_they_code_alike():
    values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert numeric(values).codes_like(numeric([*values[:5], 4.9]))
    assert not numeric(values).codes_like(numeric([*values[:5], 500.0]))  # another scale
    assert not numeric(values).codes_like(numeric([value + 2.0 for value in values]))  # another centre
    assert not numeric(values).codes_like(numeric(values, n_bins=5))  # other edges
    far = [*range(30), 1e6]
    assert not numeric(far).codes_like(numeric([value + 32.0 for value in far[:-1]] + far[-1:]))  # another crowd


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


@settings(max_examples=80, deadline=None)
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
    assert encoding.sizes.tolist() == [4, 5, 4]
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
    assert records.codes[grown.plus].tolist() == [[1, 2, 1], [3, 2, 0]]
    assert not grown.encoding.codes_like(encoding)
    assert by_category(records, 0) == {"b": 1}  # what was there before is untouched

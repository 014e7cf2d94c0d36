"""The laws of merging: statistics can be learned in parts, in any order, and any part can be taken out again."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaf_data import slice_of
from unlearnspn.checks import check_merging
from unlearnspn.independence import GTest
from unlearnspn.leaves import Categorical, Histogram
from unlearnspn.leaves.tree_statistics import TreeStatistics, gather_statistics, revise_statistics
from unlearnspn.multiset import digest_records
from unlearnspn.rows.row_set import RowSet
from unlearnspn.statistics.column_sums import add_values, count_parts
from unlearnspn.statistics.column_totals import shift_totals
from unlearnspn.statistics.marginals import Marginals
from unlearnspn.statistics.moments import N_PARTS, Moments
from unlearnspn.statistics.trees import TreeHashes
from unlearnspn.totals import Totals, relaid

NOBODY = np.zeros(0, np.int64)
EXTREMES = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 0.1]
numbers = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(EXTREMES), st.none())
few_numbers = st.sampled_from([1.0, 2.0, 3.5, None])
letters = st.sampled_from(["a", "b", "c", None])
many_letters = st.one_of(st.integers(0, 300).map(str), st.none())
#: Every column has a value.
FIRST = (1.0, 2.0, "a", "0")
tables = st.lists(st.tuples(numbers, few_numbers, letters, many_letters), max_size=25).map(lambda rows: [FIRST, *rows])


@dataclass(frozen=True)
class Statistic:
    """How a statistic of a slice is learned from rows, merged, shifted and compared."""

    data: Any

    def merge(self, one, other):
        return one.merge(other)

    def describe(self, statistics):
        return statistics.dump()


class OfMarginals(Statistic):
    def learn(self, rows):
        return Marginals.learn(self.data.coded, self.data.scope, rows)

    def shift(self, marginals, rows, sign):
        marginals.shift(self.data.coded, self.data.scope, rows, sign)
        return marginals


class OfTreeHashes(Statistic):
    def learn(self, rows):
        return TreeHashes.learn(self.data.coded, self.data.scope, rows)

    def shift(self, hashes, rows, sign):
        hashes.shift(self.data.coded, self.data.scope, rows, sign)
        return hashes


class OfRowSets(Statistic):
    def learn(self, rows):
        return RowSet.of(self.data.coded, rows)

    def shift(self, row_set, rows, sign):
        row_set.shift(self.data.coded, rows, sign)
        return row_set

    def describe(self, row_set):
        return row_set.rows.tolist(), row_set.members


class OfMoments(Statistic):
    def learn(self, rows):
        return Moments.of(self.data.records.values, rows, 0)

    def shift(self, moments, rows, sign):
        own = self.learn(rows)
        return moments.merge(own) if sign > 0 else moments.minus(own)

    def describe(self, moments):
        return moments


class OfTrees(Statistic):
    def learn(self, rows):
        return gather_statistics(self.data, rows)

    def merge(self, one, other):
        return one.merge(other, self.data.scope)

    def shift(self, statistics, rows, sign):
        minus, plus = (NOBODY, rows) if sign > 0 else (rows, NOBODY)
        return revise_statistics(statistics, self.data, minus, plus)

    def describe(self, statistics: TreeStatistics):
        records = np.concatenate([statistics.codes.astype(np.int64), statistics.features])
        return records[:, np.lexsort(records)].tolist(), statistics.in_bins.tolist()


class OfLeaf(Statistic):
    """Level counts, of categories or of bins."""

    leaf: Any
    variable: int

    @property
    def column(self):
        return self.data.of(np.array([self.variable]), 5)

    def learn(self, rows):
        return self.leaf.learn(self.column, rows)

    def shift(self, statistics, rows, sign):
        minus, plus = (NOBODY, rows) if sign > 0 else (rows, NOBODY)
        return self.leaf.revise(statistics, self.column, minus, plus)

    def describe(self, statistics):
        pairs = zip(statistics.levels.tolist(), statistics.counts.tolist(), strict=True)
        return sorted(pairs), self.leaf.fingerprint(statistics, self.column)


class OfCategories(OfLeaf):
    leaf, variable = Categorical(), 2


class OfManyCategories(OfLeaf):
    leaf, variable = Categorical(), 3


class OfBins(OfLeaf):
    leaf, variable = Histogram(), 0


class OfDigests(Statistic):
    def learn(self, rows):
        records = self.data.records
        columns = records.encoding.columns(records.is_numeric, records.place)
        tables = records.keys, records.values.view(np.int64), records.levels
        return digest_records(columns, *tables, records.encoding.level_digests, rows)

    def merge(self, one, other):
        return one + other

    def shift(self, digest, rows, sign):
        return digest + self.learn(rows) if sign > 0 else digest - self.learn(rows)

    def describe(self, digest):
        return digest.tolist()


class OfTotals(Statistic):
    def learn(self, rows):
        records, encoding = self.data.records, self.data.encoding
        bits, place = records.values.view(np.int64), records.place.tolist()
        numeric = np.flatnonzero(records.is_numeric).tolist()
        parts = np.zeros((len(place), N_PARTS), np.int64)
        for v in numeric:
            count_parts(bits, rows, place[v], parts[v], 1)
        totals = Totals.of(parts, records.is_numeric, int(encoding.level_starts[-1]))
        for v, column in enumerate(place):
            if v in numeric:
                add_values(totals.sums, int(totals.starts[v]), bits, rows, column, totals.window(v), 1)
            else:
                levels = records.levels[rows, column]
                np.add.at(totals.level_counts, encoding.level_starts[v] + levels[levels >= 0], 1)
        return totals

    def shift(self, before, rows, sign):
        records = self.data.records
        minus, plus = (NOBODY, rows) if sign > 0 else (rows, NOBODY)
        totals, found = before.copied(), np.zeros(len(records.place), np.uint8)
        columns = records.encoding.columns(records.is_numeric, records.place)
        bits = records.values.view(np.int64)
        shift_totals(columns, bits, records.levels, minus, plus, totals, found)
        return relaid(totals, before, found, bits, records.place, minus, plus)

    def describe(self, totals):
        return [part.tolist() for part in totals._replace(slack=NOBODY)]


STATISTICS = [
    OfMarginals,
    OfTreeHashes,
    OfRowSets,
    OfMoments,
    OfTrees,
    OfCategories,
    OfManyCategories,
    OfBins,
    OfDigests,
    OfTotals,
]


def slice_of_rows(rows):
    return slice_of(*zip(*rows, strict=True), categorical=[False, False, True, True])


@pytest.mark.parametrize("kind", STATISTICS)
@settings(max_examples=40, deadline=None)
@given(rows=tables, seed=st.integers(0, 1000))
def test_statistics_are_learned_in_parts_and_taken_apart(kind, rows, seed):
    statistic = kind(slice_of_rows(rows))
    check_merging(statistic.learn, statistic.merge, statistic.describe, np.arange(len(rows)), statistic.shift, seed)


@settings(max_examples=40, deadline=None)
@given(tables, st.data(), st.booleans())
def test_pairs_that_were_asked_do_not_merge_but_are_taken_apart(rows, data, with_tables):
    found, everyone = slice_of_rows(rows), np.arange(len(rows))
    gone = np.array(sorted(data.draw(st.sets(st.sampled_from(everyone.tolist())))), np.int64)
    staying = np.setdiff1d(everyone, gone)
    asked = GTest(0.1, 0 if with_tables else 1000).learn(found, everyone)
    assert not hasattr(asked, "merge")
    before = asked.dump()
    asked.shift(found.coded, staying, gone, NOBODY, found.scope)
    here = np.random.default_rng(0).permutation(gone)
    for row in here:
        asked.shift(found.coded, staying, NOBODY, np.array([row]), found.scope)
        staying = np.append(staying, row)
    assert asked.dump() == before


def test_merged_totals_must_find_their_slack_anew():
    statistic = OfTotals(slice_of_rows([FIRST, FIRST]))
    merged = statistic.learn(np.arange(1)).merge(statistic.learn(np.arange(1, 2)))
    assert (merged.slack == -1).all()


def test_the_check_finds_what_does_not_merge():
    def mean(rows):
        return float(rows.mean()) if rows.size else 0.0

    with pytest.raises(AssertionError, match="the parts do not give the whole"):
        check_merging(mean, lambda one, other: (one + other) / 2, float, np.arange(9))
    with pytest.raises(AssertionError, match="changes what is merged"):
        check_merging(list, lambda one, other: one.extend(other) or one, sorted, np.arange(9))
    with pytest.raises(AssertionError, match="leave a trace"):
        check_merging(len, lambda one, other: one + other, int, np.arange(9), lambda n, rows, sign: n)
    with pytest.raises(AssertionError, match="not the inverse"):
        check_merging(
            len, lambda one, other: one + other, int, np.arange(9), lambda n, rows, sign: n - rows.size * (sign < 0)
        )

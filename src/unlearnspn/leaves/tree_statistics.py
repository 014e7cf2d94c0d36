"""What a tree follows from: the codes of its records, the tables of all pairs, and the moments of numbers by bin."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unlearnspn.leaves.bins import BinColumns, columns_of, merge_bins, n_bin_words, shift_bins
from unlearnspn.leaves.contexts import Codes
from unlearnspn.slices import Counts, Rows, Scope, Slice
from unlearnspn.statistics.moments import Words
from unlearnspn.statistics.pair_tables import count_pairs, pair_cells

_IN, _OUT = 1, -1


class TreeStatistics(NamedTuple):
    """Exact counts and sums of some rows: rows come and go in any order, and those of disjoint rows merge."""

    #: The codes of the records, [variable, record]; which record is which does not matter.
    codes: Codes
    #: The tables of all pairs, one after another.
    cells: Counts
    #: The moments of numbers in each bin, see `bins`.
    in_bins: Words
    #: How both are laid out.
    columns: BinColumns

    def merge(self, other: TreeStatistics, scope: Scope) -> TreeStatistics:
        """Return the statistics of the rows of both, which have none in common; both are of the same variables."""
        in_bins = merge_bins(self.in_bins, other.in_bins, scope, self.columns)
        codes = np.ascontiguousarray(np.concatenate([self.codes, other.codes], axis=1))
        return TreeStatistics(codes, self.cells + other.cells, in_bins, self.columns)


def gather_statistics(data: Slice, rows: Rows) -> TreeStatistics:
    """Gather codes, count the tables of all pairs, and sum numbers by bin."""
    columns = columns_of(data)
    cells = np.zeros(pair_cells(data.coded, data.scope), np.int64)
    in_bins = np.zeros(n_bin_words(columns, data.scope), np.int64)
    statistics = TreeStatistics(_codes_of(data, rows), cells, in_bins, columns)
    _shift(statistics, data, rows, _IN)
    return statistics


def revise_statistics(statistics: TreeStatistics, data: Slice, minus: Rows, plus: Rows) -> TreeStatistics:
    """Count rows out and others in."""
    left = _without(statistics.codes, _codes_of(data, minus))
    codes = np.ascontiguousarray(np.concatenate([left, _codes_of(data, plus)], axis=1))
    revised = TreeStatistics(codes, statistics.cells.copy(), statistics.in_bins.copy(), statistics.columns)
    _shift(revised, data, minus, _OUT)
    _shift(revised, data, plus, _IN)
    return revised


def _codes_of(data: Slice, rows: Rows) -> Codes:
    return np.ascontiguousarray(data.records.codes[np.ix_(rows, data.scope)].T)


def _without(codes: Codes, minus: Codes) -> Codes:
    """Return the codes of all records but as many as there are others with the same."""
    gone: dict[bytes, int] = {}
    for record in minus.T:
        gone[record.tobytes()] = gone.get(record.tobytes(), 0) + 1
    stays = np.ones(codes.shape[1], np.bool_)
    for number, record in enumerate(codes.T if gone else ()):
        left = gone.get(record.tobytes(), 0)
        if left:
            gone[record.tobytes()], stays[number] = left - 1, False
    return codes[:, stays]


def _shift(statistics: TreeStatistics, data: Slice, rows: Rows, sign: int) -> None:
    """Count rows in, or out."""
    codes, bits = data.records.codes, data.records.values.view(np.int64)
    count_pairs(data.coded, rows, data.scope, statistics.cells, sign)
    shift_bins(statistics.in_bins, codes, bits, rows, data.scope, statistics.columns, sign)

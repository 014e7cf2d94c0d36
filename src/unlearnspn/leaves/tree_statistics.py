"""What a Chow-Liu tree follows from: the tables of all pairs of its variables, and the moments of numbers by bin."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unlearnspn.coding import Codes
from unlearnspn.compiling import IN, OUT, late_kernel, per_element
from unlearnspn.exact_sum import Bits, Words
from unlearnspn.leaves.bins import BinColumns, columns_of, n_bin_words, shift_bins
from unlearnspn.pair_tables import count_pairs, pair_cells
from unlearnspn.slices import Counts, Rows, Scope, Slice


class TreeStatistics(NamedTuple):
    """Exact counts and sums of some rows."""

    #: The tables of all pairs, one after another.
    cells: Counts
    #: The moments of numbers in each bin, see `bins`.
    in_bins: Words
    #: How both are laid out.
    columns: BinColumns


def gather_statistics(data: Slice, rows: Rows) -> TreeStatistics:
    """Count the tables of all pairs, and sum numbers by bin."""
    records, columns = data.records, columns_of(data)
    bits = records.values.view(np.int64)
    return TreeStatistics(*_gather(records.codes, bits, rows, data.scope, columns), columns)


def revise_statistics(statistics: TreeStatistics, data: Slice, minus: Rows, plus: Rows) -> TreeStatistics:
    """Count rows out and others in."""
    cells, in_bins, columns = statistics.cells.copy(), statistics.in_bins.copy(), statistics.columns
    codes, bits = data.records.codes, data.records.values.view(np.int64)
    for rows, sign in ((minus, OUT), (plus, IN)):
        _shift(cells, in_bins, codes, bits, rows, data.scope, columns, sign)
    return TreeStatistics(cells, in_bins, columns)


@late_kernel(per_element(1, 2, 3, 3))
def _gather(codes: Codes, bits: Bits, rows: Rows, scope: Scope, columns: BinColumns) -> tuple[Counts, Words]:
    """Return what `gather_statistics` does."""
    cells = np.zeros(pair_cells(scope, columns.sizes), np.int64)
    in_bins = np.zeros(n_bin_words(columns, scope), np.int64)
    _shift(cells, in_bins, codes, bits, rows, scope, columns, IN)
    return cells, in_bins


@late_kernel(per_element(1, 4, 5, 5))
def _shift(
    cells: Counts, in_bins: Words, codes: Codes, bits: Bits, rows: Rows, scope: Scope, columns: BinColumns, sign: int
) -> None:
    """Count rows in, or out."""
    count_pairs(codes, rows, scope, columns.sizes, cells, sign)
    shift_bins(in_bins, codes, bits, rows, scope, columns, sign)

"""What a tree follows from: codes and features of records, and moments of numbers by bin."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from unlearnspn.leaves.bins import BinColumns, columns_of, merge_bins, n_bin_words, shift_bins
from unlearnspn.leaves.contexts import Codes
from unlearnspn.leaves.linear_pairs import Features
from unlearnspn.slices import Flags, Rows, Scope, Slice
from unlearnspn.statistics.moments import Words

T = TypeVar("T", bound=np.generic)

_IN, _OUT = 1, -1


class TreeStatistics(NamedTuple):
    """Exact counts and sums of some rows: rows come and go in any order, and those of disjoint rows merge."""

    #: The codes of the records, [variable, record]; which record is which does not matter.
    codes: Codes
    #: The features of their numbers, [number, record], in the same order of records.
    features: Features
    #: The moments of numbers in each bin, see `bins`.
    in_bins: Words
    #: How these are laid out.
    columns: BinColumns

    def merge(self, other: TreeStatistics, scope: Scope) -> TreeStatistics:
        """Return the statistics of the rows of both, which have none in common; both are of the same variables."""
        in_bins = merge_bins(self.in_bins, other.in_bins, scope, self.columns)
        codes, features = _joined(self.codes, other.codes), _joined(self.features, other.features)
        return TreeStatistics(codes, features, in_bins, self.columns)


def gather_statistics(data: Slice, rows: Rows) -> TreeStatistics:
    """Gather codes and features, and sum numbers by bin."""
    columns = columns_of(data)
    in_bins = np.zeros(n_bin_words(columns, data.scope), np.int64)
    statistics = TreeStatistics(_codes_of(data, rows), _features_of(data, rows), in_bins, columns)
    _shift(statistics, data, rows, _IN)
    return statistics


def revise_statistics(statistics: TreeStatistics, data: Slice, minus: Rows, plus: Rows) -> TreeStatistics:
    """Count rows out and others in."""
    stays = _stays(statistics, _codes_of(data, minus), _features_of(data, minus))
    codes = _joined(statistics.codes[:, stays], _codes_of(data, plus))
    features = _joined(statistics.features[:, stays], _features_of(data, plus))
    revised = TreeStatistics(codes, features, statistics.in_bins.copy(), statistics.columns)
    _shift(revised, data, minus, _OUT)
    _shift(revised, data, plus, _IN)
    return revised


def _codes_of(data: Slice, rows: Rows) -> Codes:
    return np.ascontiguousarray(data.records.codes[np.ix_(rows, data.scope)].T)


def _features_of(data: Slice, rows: Rows) -> Features:
    numbers = data.scope[data.records.is_numeric[data.scope]]
    return np.ascontiguousarray(data.records.features[np.ix_(rows, numbers)].T)


def _joined(one: npt.NDArray[T], other: npt.NDArray[T]) -> npt.NDArray[T]:
    """Put records beside others."""
    return np.ascontiguousarray(np.concatenate([one, other], axis=1))


def _stays(statistics: TreeStatistics, codes: Codes, features: Features) -> Flags:
    """Tell which records stay when others with these codes and features leave: all but as many as are like these."""
    gone = Counter(_names(codes, features))
    stays = np.ones(statistics.codes.shape[1], np.bool_)
    for number, name in enumerate(_names(statistics.codes, statistics.features) if gone else ()):
        if gone[name]:
            gone[name] -= 1
            stays[number] = False
    return stays


def _names(codes: Codes, features: Features) -> list[bytes]:
    """Return bytes for each record that stand for what it has."""
    return [own.tobytes() + others.tobytes() for own, others in zip(codes.T, features.T, strict=True)]


def _shift(statistics: TreeStatistics, data: Slice, rows: Rows, sign: int) -> None:
    """Count rows in, or out."""
    codes, bits = data.records.codes, data.records.values.view(np.int64)
    shift_bins(statistics.in_bins, codes, bits, rows, data.scope, statistics.columns, sign)

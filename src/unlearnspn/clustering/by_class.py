"""Clusters, and classes in the end: so that no leaf has to take class and features for independent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from unlearnspn.clustering.base import Clustering, Labels
from unlearnspn.hashing import fingerprint
from unlearnspn.slices import Counts, Rows, Scope, Slice


class Classes(NamedTuple):
    """The levels of the classes that some rows have, in canonical order (-1, missing, last), and how many have each."""

    levels: Counts
    counts: Counts


class Split(NamedTuple):
    """What was asked: the statistics of the clustering, and the classes if it is these that split the rows."""

    clusters: Any
    classes: Classes | None

    def copy(self) -> Split:
        """Return statistics that no change to these reaches."""
        return Split(_copy(self.clusters), self.classes)


@dataclass(frozen=True)
class ByClass:
    """Another clustering, and where that splits no further, or there are at most `min_rows` rows, one by class.

    Only nodes with the class among their variables are split by it. It is constant below, so this happens once.
    """

    #: The variable that holds the classes.
    target: int
    min_rows: int
    clustering: Clustering[Any]

    def concerns(self, scope: Scope) -> bool:
        """Tell whether the class is among some variables."""
        return bool((scope == self.target).any())

    def learn(self, data: Slice, rows: Rows) -> Split:
        """Cluster some rows, or count their classes."""
        return self.split_by(
            data, rows.size, lambda: self.clustering.learn(data, rows), lambda: self._count(data, rows, rows[:0])
        )

    def revise(self, statistics: Split, data: Slice, minus: Rows, plus: Rows, rows: Callable[[], Rows]) -> Split:
        """Take rows out and put others in; in place only where clusters are, and still split the rows."""
        clusters, classes = statistics

        def ask_clustering() -> Any:
            if clusters is None:
                return self.clustering.learn(data, rows())
            if classes is not None:
                # Where classes split the rows, the clusters that rows come by are none of the clustering's.
                return self.clustering.revise(_copy(clusters), data, minus, plus, partial(rows))
            revised = self.clustering.revise(clusters, data, minus, plus, rows)
            if revised is clusters and not self._splits(revised):
                # It is not for these alone to say what was asked, so those from before stay as they were.
                revised = _copy(clusters)
                self.clustering.revise(clusters, data, plus, minus, rows_before)
            return revised

        def rows_before() -> Rows:
            return np.union1d(np.setdiff1d(rows(), plus), minus)

        def count() -> Classes:
            return self._count(data, rows(), plus[:0]) if classes is None else self._count(data, plus, minus, classes)

        n_rows = int(self.sizes(statistics).sum()) + plus.size - minus.size
        revised = self.split_by(data, n_rows, ask_clustering, count)
        return revised if clusters is None or revised.clusters is not clusters else statistics

    def assign(self, statistics: Split, data: Slice, rows: Rows) -> Labels:
        """Return the cluster of each row, or the place of its class."""
        if statistics.classes is None:
            return self.clustering.assign(statistics.clusters, data, rows)
        known = statistics.classes.levels
        order = np.argsort(known)
        return np.asarray(order[np.searchsorted(known, self._levels(data, rows), sorter=order)])

    def sizes(self, statistics: Split) -> Counts:
        """Return the number of rows of each cluster or class."""
        if statistics.classes is None:
            return self.clustering.sizes(statistics.clusters)
        return statistics.classes.counts

    def assigns_like(self, statistics: Split, other: Split) -> bool:
        """Compare clusters or classes."""
        if statistics.classes is None or other.classes is None:
            both = statistics.classes is other.classes
            return both and self.clustering.assigns_like(statistics.clusters, other.clusters)
        return np.array_equal(statistics.classes.levels, other.classes.levels)

    def fingerprint(self, statistics: Split, data: Slice) -> bytes:
        """Hash what was asked; classes go by their own fingerprints."""
        clusters, classes = statistics
        parts = [b"by class", b"" if clusters is None else self.clustering.fingerprint(clusters, data)]
        if classes is not None:
            prints = np.append(data.encoding.categorical(self.target).category_prints, np.uint64(0))
            parts.extend([prints[classes.levels].tobytes(), classes.counts.tobytes()])
        return fingerprint(parts)

    def split_by(
        self, data: Slice, n_rows: int, ask_clustering: Callable[[], Any], count: Callable[[], Classes]
    ) -> Split:
        """Ask for clusters if there are rows enough, and for classes if that gave no more than one."""
        concerned = self.concerns(data.scope)
        clusters = None
        if n_rows > self.min_rows or not concerned:
            clusters = ask_clustering()
            if not concerned or self._splits(clusters):
                return Split(clusters, None)
        return Split(clusters, count())

    def _splits(self, clusters: Any) -> bool:
        return bool(np.count_nonzero(self.clustering.sizes(clusters)) > 1)

    def _count(self, data: Slice, plus: Rows, minus: Rows, before: Classes | None = None) -> Classes:
        """Count the classes of some rows, added to and taken from those there were before."""
        coder = data.encoding.categorical(self.target)
        counts = np.zeros(len(coder.categories) + 1, np.int64)  # the last, also reached as level -1, is missing
        if before is not None:
            counts[before.levels] = before.counts
        np.add.at(counts, self._levels(data, plus), 1)
        np.subtract.at(counts, self._levels(data, minus), 1)
        return self.in_order(data, counts)

    def in_order(self, data: Slice, counts: Counts) -> Classes:
        """Return the classes that occur, given how many records have each level, and last how many have none."""
        order = np.append(data.encoding.categorical(self.target).canonical_codes, -1)
        occurring = order[counts[order] > 0]
        return Classes(occurring, counts[occurring])

    def _levels(self, data: Slice, rows: Rows) -> Counts:
        return np.asarray(data.records.levels[rows, data.records.place[self.target]], np.int64)


def _copy(clusters: Any) -> Any:
    """Return statistics that may be changed in place; those that cannot be copied are never changed."""
    return clusters.copy() if hasattr(clusters, "copy") else clusters

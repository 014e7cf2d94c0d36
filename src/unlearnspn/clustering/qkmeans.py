"""Q-k-means: k-means whose centroids lie on a randomly shifted lattice, so that one record rarely moves them.

Everything is an integer: features, sums, centroids and distances. Each round keeps its sums and the centroids it
led to. A revision repeats the rounds with the changed rows only; at the first round whose centroids come out
different, the remaining rounds are run on all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from unlearnspn.clustering.base import Labels
from unlearnspn.coding import FEATURE_STD
from unlearnspn.slices import Counts, Rows
from unlearnspn.statistics.clusters import Clusters
from unlearnspn.statistics.space import Space
from unlearnspn.table_size import n_clusters_among

_WIDEST_SPACING = 2.0**31  # far beyond any feature: wider lattices have but one point left, too


@dataclass(frozen=True)
class QKMeans:
    """k-means on a lattice of `epsilon` standard deviations, seeded as k-means++, with at most `max_rounds` rounds.

    By default the lattice is one deviation wide, and with more than 16 variables wider by √(variables/16): rounding
    errors average out over many coordinates, while each coordinate is one more that a record can push over an edge.
    Seeds are drawn by keyed hashes of the records, so removing any other record leaves them alone. It stops when a
    set of centroids occurs again, so that no loss has to be revised. Without any round the clusters are those around
    the seeds.
    """

    #: None for eight, or as many as follow from how many records there are where a model leaves both to that.
    n_clusters: int | None = None
    epsilon: float | None = None
    max_rounds: int = 0

    def learn(self, data: Any, rows: Rows) -> Clusters:
        """Pick seeds and run the rounds."""
        return Clusters.learn(self.space(data), rows)

    def revise(self, statistics: Clusters, data: Any, minus: Rows, plus: Rows, rows: Callable[[], Rows]) -> Clusters:
        """Repeat the rounds with the changed rows; run those on all rows that come out different.

        Where seeds and centroids hold, the statistics are changed in place and returned; otherwise they stay as they
        were. If `rows` has an attribute `by_cluster`, that gives the rows cluster by cluster, and where each ends.
        """
        space = self.space(data)
        if statistics.seeds_hold(space, minus, plus):
            revised = statistics.revise(space, minus, plus)
            return revised if revised is statistics else revised.go_on(space, rows())
        by_cluster = getattr(rows, "by_cluster", None)
        if by_cluster is None or self.max_rounds:
            return Clusters.learn(space, rows())
        return statistics.seed_anew(space, *by_cluster())

    def assign(self, statistics: Clusters, data: Any, rows: Rows) -> Labels:
        """Return the nearest final centroid of each row; known, if statistics have just been learned from them."""
        labels = statistics.take_labels(rows)
        return statistics.label(self.space(data), rows) if labels is None else labels

    def sizes(self, statistics: Clusters) -> Counts:
        """Return the number of rows of each cluster."""
        return statistics.sizes

    def assigns_like(self, statistics: Clusters, other: Clusters) -> bool:
        """Compare the final centroids."""
        return statistics is other or statistics.same_centroids(other)

    def fingerprint(self, statistics: Clusters, data: Any) -> bytes:
        """Hash seeds, sums, counts, centroids and sizes."""
        return statistics.fingerprint(self.space(data))

    def space(self, data: Any) -> Space:
        """Return where the rows of a node lie."""
        # A request is not to change how many clusters there are while it is carried out.
        n_clusters = self.n_clusters_among(0)
        return Space(data.coded, data.scope, data.key, n_clusters, self.spacing(len(data.scope)), self.max_rounds)

    def n_clusters_among(self, n_records: int) -> int:
        """Return how many clusters there are to be if there are so many records in all."""
        return n_clusters_among(n_records) if self.n_clusters is None else self.n_clusters

    def spacing(self, n_variables: int) -> int:
        """Return the lattice's spacing among so many variables."""
        return _spacing(self.epsilon, n_variables)


@lru_cache(maxsize=1024)
def _spacing(epsilon: float | None, n_variables: int) -> int:
    """Return the lattice's spacing; a node asks for it each time a row leaves."""
    epsilon = max(1.0, math.sqrt(n_variables / 16)) if epsilon is None else epsilon
    return round(min(max(epsilon * FEATURE_STD, 1.0), _WIDEST_SPACING))

"""Q-k-means: k-means whose centroids lie on a randomly shifted lattice, so that one record rarely moves them.

Everything is an integer: features, sums, centroids and distances. Each round keeps its sums and the centroids it
led to. A revision repeats the rounds with the changed rows only; at the first round whose centroids come out
different, the remaining rounds are run on all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unlearnspn.clustering.base import Labels
from unlearnspn.clustering.columns import label
from unlearnspn.clustering.lloyd import go_on, learn_rounds, revise_rounds
from unlearnspn.clustering.rounds import describe_rounds, line_width, rounds_at
from unlearnspn.clustering.seeding import pick_seeds
from unlearnspn.clustering.space import Space, line_offsets
from unlearnspn.coding import FEATURE_STD
from unlearnspn.exact_sum import Words
from unlearnspn.hashing import fingerprint
from unlearnspn.slices import Counts, Rows, Slice
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

    def learn(self, data: Slice, rows: Rows) -> Words:
        """Pick seeds and run the rounds."""
        return self.learn_from(pick_seeds(self.space(data), rows), data, rows)

    def learn_from(self, seeds: Rows, data: Slice, rows: Rows) -> Words:
        """Run the rounds from known seeds."""
        return learn_rounds(self.space(data), seeds, rows)[0]

    def revise(self, statistics: Words, data: Slice, minus: Rows, plus: Rows, rows: Callable[[], Rows]) -> Words:
        """Repeat the rounds with the changed rows; run those on all rows that come out different."""
        space, revised = self.space(data), statistics.copy()
        rounds = rounds_at(revised, 0, int(space.offsets[-1]))
        holding = revise_rounds(space, rounds, minus, plus)
        if holding == len(rounds.sums):
            return revised
        if holding < 0:
            return self.learn(data, rows())
        return go_on(space, rounds, holding, rows())[0]

    def assign(self, statistics: Words, data: Slice, rows: Rows) -> Labels:
        """Return the nearest final centroid of each row."""
        space = self.space(data)
        return label(space, rows, rounds_at(statistics, 0, int(space.offsets[-1])).centroids[-1])

    def sizes(self, statistics: Words) -> Counts:
        """Return the number of rows of each cluster."""
        return rounds_at(statistics, 0, 0).sizes

    def assigns_like(self, statistics: Words, other: Words) -> bool:
        """Compare the final centroids."""
        n_seeds, width = int(statistics[0]), line_width(statistics)
        return n_seeds == other[0] and np.array_equal(statistics[-n_seeds * width :], other[-n_seeds * width :])

    def fingerprint(self, statistics: Words, data: Slice) -> bytes:
        """Hash seeds, sums, counts, centroids and sizes."""
        space = self.space(data)
        rounds = rounds_at(statistics, 0, int(space.offsets[-1]))
        return fingerprint([b"qkmeans", describe_rounds(space, rounds).tobytes()])

    def space(self, data: Slice) -> Space:
        """Return where the rows of a node lie."""
        records = data.records
        return Space(
            records.features,
            records.keys,
            data.scope,
            records.is_numeric,
            line_offsets(data.scope, records.is_numeric, data.encoding.sizes),
            data.encoding.prints,
            np.uint64(data.key),
            self.n_clusters_among(0),  # a request is not to change it while it is carried out
            self.spacing(data.scope.size),
            self.max_rounds or None,
        )

    def n_clusters_among(self, n_records: int) -> int:
        """Return how many clusters there are to be if there are so many records in all."""
        return n_clusters_among(n_records) if self.n_clusters is None else self.n_clusters

    def spacing(self, n_variables: int) -> int:
        """Return the lattice's spacing among so many variables."""
        epsilon = max(1.0, math.sqrt(n_variables / 16)) if self.epsilon is None else self.epsilon
        return round(min(max(epsilon * FEATURE_STD, 1.0), _WIDEST_SPACING))

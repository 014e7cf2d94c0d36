"""Q-k-means: k-means whose centroids lie on a randomly shifted lattice, so that one record rarely moves them.

Everything is an integer: features, sums, centroids and distances. Each round keeps its sums and the centroids it
led to. A revision repeats the rounds with the changed rows only; at the first round whose centroids come out
different, the remaining rounds are run on all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unlearnspn.clustering.base import Labels
from unlearnspn.clustering.lloyd import (
    Lines,
    Space,
    hash_rounds,
    label,
    line_offsets,
    pick_seeds,
    repeats,
    revise_rounds,
    run_rounds,
    seed_centroids,
)
from unlearnspn.coding import FEATURE_STD
from unlearnspn.hashing import fingerprint
from unlearnspn.slices import Counts, Rows, Slice

_WIDEST_SPACING = 2.0**31  # far beyond any feature: wider lattices have but one point left, too


class Rounds(NamedTuple):
    """What a run keeps: the seeds' slots; each round's sums, counts and resulting centroids; the final sizes."""

    seeds: Rows
    sums: Lines
    counts: Lines
    centroids: Lines
    sizes: Counts


@dataclass(frozen=True)
class QKMeans:
    """k-means on a lattice of `epsilon` standard deviations, seeded as k-means++, with at most `max_rounds` rounds.

    By default the lattice is one deviation wide, and with more than 16 variables wider by √(variables/16): rounding
    errors average out over many coordinates, while each coordinate is one more that a record can push over an edge.
    Seeds are drawn by keyed hashes of the records, so removing any other record leaves them alone. It stops when a
    set of centroids occurs again, so that no loss has to be revised.
    """

    n_clusters: int = 2
    epsilon: float | None = None
    max_rounds: int = 1

    def learn(self, data: Slice, rows: Rows) -> Rounds:
        """Pick seeds and run the rounds."""
        return self.learn_from(pick_seeds(self._space(data), rows), data, rows)

    def learn_from(self, seeds: Rows, data: Slice, rows: Rows) -> Rounds:
        """Run the rounds from known seeds."""
        space = self._space(data)
        start = seed_centroids(space, seeds)
        none = np.zeros((0, *start.shape), np.int64)
        unclustered = Rounds(seeds, none, none[:, :, 0], start[None], np.array([rows.size]))
        return unclustered if seeds.size < 2 else self._run(space, unclustered, rows, 0)

    def revise(self, statistics: Rounds, data: Slice, minus: Rows, plus: Rows, rows: Callable[[], Rows]) -> Rounds:
        """Repeat the rounds with the changed rows; run those on all rows that come out different."""
        space = self._space(data)
        revised = Rounds(*(array.copy() for array in statistics))
        holding = revise_rounds(space, minus, plus, *revised)
        if holding < 0:
            return self.learn(data, rows())
        if holding < len(revised.sums):
            return self._run(space, revised, rows(), holding + 1)
        return revised

    def assign(self, statistics: Rounds, data: Slice, rows: Rows) -> Labels:
        """Return the nearest final centroid of each row."""
        return label(self._space(data), rows, statistics.centroids[-1])

    def sizes(self, statistics: Rounds) -> Counts:
        """Return the number of rows of each cluster."""
        return statistics.sizes

    def assigns_like(self, statistics: Rounds, other: Rounds) -> bool:
        """Compare the final centroids."""
        return np.array_equal(statistics.centroids[-1], other.centroids[-1])

    def fingerprint(self, statistics: Rounds, data: Slice) -> bytes:
        """Hash seeds, sums, counts, centroids and sizes."""
        space = self._space(data)
        return fingerprint(
            [
                b"qkmeans",
                data.records.keys[statistics.seeds].tobytes(),
                hash_rounds(space, statistics.sums).tobytes(),
                hash_rounds(space, statistics.centroids).tobytes(),
                statistics.counts.tobytes(),
                statistics.sizes.tobytes(),
            ]
        )

    def _run(self, space: Space, start: Rounds, rows: Rows, first: int) -> Rounds:
        """Continue after `first` rounds, whose centroids are known."""
        known = start.centroids[: first + 1]
        if repeats(known, first):
            done, sums, counts, centroids = first, start.sums, start.counts, known
        else:
            shape = known.shape[1:]
            sums = np.zeros((self.max_rounds, *shape), np.int64)
            counts = np.zeros((self.max_rounds, shape[0]), np.int64)
            centroids = np.zeros((self.max_rounds + 1, *shape), np.int64)
            sums[:first], counts[:first], centroids[: first + 1] = (
                start.sums[:first],
                start.counts[:first],
                known,
            )
            done = run_rounds(space, rows, first, sums, counts, centroids)
        centroids = centroids[: done + 1].copy()
        sizes = np.bincount(label(space, rows, centroids[-1]), minlength=centroids.shape[1])
        return Rounds(start.seeds, sums[:done].copy(), counts[:done].copy(), centroids, sizes)

    def _space(self, data: Slice) -> Space:
        records = data.records
        return Space(
            records.features,
            records.keys,
            data.scope,
            records.is_numeric,
            line_offsets(data.scope, records.is_numeric, data.encoding.sizes),
            data.encoding.prints,
            np.uint64(data.key),
            self.n_clusters,
            self._spacing(data.scope.size),
        )

    def _spacing(self, n_variables: int) -> int:
        epsilon = max(1.0, math.sqrt(n_variables / 16)) if self.epsilon is None else self.epsilon
        return round(min(max(epsilon * FEATURE_STD, 1.0), _WIDEST_SPACING))

"""Clusters around seeds some of which have left, found with the help of where rows belonged before."""

from __future__ import annotations

import numpy as np

from unlearnspn.arrays import first_reaching
from unlearnspn.clustering.columns import gather_columns, label_by_distance, shift_distances
from unlearnspn.clustering.seeding import pick_among, seed_centroids
from unlearnspn.clustering.space import Lines, Space, costs_of
from unlearnspn.coding import Features
from unlearnspn.compiling import inner_kernel, kernel
from unlearnspn.fetching import FEW
from unlearnspn.slices import Counts, Rows


@kernel
def _rivals(before: Rows, seeds: Rows, cluster: int) -> Counts:
    """Return the clusters, in order, to which rows can belong that belonged to one.

    If its seed is still there, no other seed that was there before is nearer, nor an earlier one as near.
    """
    is_kept = cluster < min(before.size, seeds.size) and before[cluster] == seeds[cluster]
    rivals, number = np.empty(seeds.size, np.int64), 0
    for s in range(seeds.size):
        if s == cluster or not is_kept or s >= before.size or seeds[s] != before[s]:
            rivals[number] = s
            number += 1
    return rivals[:number]


@kernel
def _label_among(space: Space, columns: Features, start: int, rivals: Counts, centroids: Lines, labels: Counts) -> None:
    """Write to which of some clusters rows belong, those from some place on among the columns."""
    costs = costs_of(space, centroids[rivals])
    none = np.zeros(costs.shape, np.int64)
    for first in range(0, labels.size, FEW):
        few = labels[first : first + FEW]
        distances = np.zeros((len(costs), few.size), np.int64)
        shift_distances(space, columns, start + first, none, costs, distances)
        label_by_distance(distances, few)
        for j in range(few.size):
            few[j] = rivals[few[j]]


@kernel
def _still_seeds(before: Rows, rows: Rows, ends: Counts) -> Rows:
    """Return the seeds before the first that has left; none if rows have come, for any of these may be one."""
    if ends[-1] > ends[-2]:
        return before[:0]
    for s in range(before.size):
        own = rows[ends[s] : ends[s + 1]]
        place = first_reaching(own, before[s])
        if place == own.size or own[place] != before[s]:
            return before[:s]
    return before


def _steps_of_reseeding(space: Space, before: Rows, rows: Rows, ends: Counts) -> int:
    return 4 * int(rows.size * (2 * space.n_clusters + 3 * space.scope.size))


@inner_kernel(_steps_of_reseeding)
def reseed(space: Space, before: Rows, rows: Rows, ends: Counts) -> tuple[Rows, Counts]:
    """Pick seeds where others were before; return them, and the cluster of each row.

    The rows around each seed that there was follow each other in order, from one of the `ends` to the next; after them
    come all others.
    """
    columns = gather_columns(space, rows)
    seeds = pick_among(space, rows, columns, _still_seeds(before, rows, ends))
    centroids, labels = seed_centroids(space, seeds), np.empty(rows.size, np.int64)
    for k in range(ends.size - 1):
        own = labels[ends[k] : ends[k + 1]]
        _label_among(space, columns, ends[k], _rivals(before, seeds, k), centroids, own)
    return seeds, labels

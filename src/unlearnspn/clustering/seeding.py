"""Seeds of Q-k-means: rows picked as k-means++ does, by keyed hashes, so that removing others leaves them alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unlearnspn.arrays import joined, put
from unlearnspn.clustering.columns import gather_columns
from unlearnspn.clustering.space import ONE, Lines, Space
from unlearnspn.coding import FEATURE_MISSING, Features
from unlearnspn.compiling import inner_kernel, kernel
from unlearnspn.fetching import FEW
from unlearnspn.hashing import Keys, mix64
from unlearnspn.portable_math import log
from unlearnspn.slices import Counts, Rows

Distances = npt.NDArray[np.float64]

#: More than the error of a logarithm and of what is done with it here.
_ROUNDING = 1e-12


@kernel
def _add_squares(column: Features, seed: int, distances: Counts) -> None:
    """Add the squared distances of numbers from that of a seed; where one of both is missing, nothing."""
    other = np.int64(np.int16(seed))  # so that the compiler knows how small it is
    if other == FEATURE_MISSING:
        return
    for j in range(column.size):
        feature = np.int64(column[j])
        distances[j] += (feature - other) * (feature - other) if feature != FEATURE_MISSING else 0


@kernel
def _add_mismatches(column: Features, seed: int, distances: Counts) -> None:
    """Add the squared distance of two indicators where codes differ from that of a seed; 0 is missing."""
    other = np.int16(seed)
    if other == 0:
        return
    for j in range(column.size):
        distances[j] += 2 * ONE * ONE if column[j] != other and column[j] != 0 else 0


@kernel
def _salt(space: Space, seed: int) -> np.uint64:
    return mix64(space.key + np.uint64(seed))


@kernel
def _distance_from_seeds(space: Space, row: int, seeds: Rows) -> np.int64:
    """Return the squared distance of a row from the nearest of some seeds."""
    nearest, features = np.int64(-1), space.features[row]
    for seed in seeds:
        others, distance = space.features[seed], np.int64(0)
        for v in space.scope:
            feature, other = np.int64(features[v]), np.int64(others[v])
            if space.is_numeric[v]:
                if feature != FEATURE_MISSING and other != FEATURE_MISSING:
                    distance += (feature - other) * (feature - other)
            elif feature != other and feature and other:
                distance += 2 * ONE * ONE
        nearest = distance if nearest < 0 or distance < nearest else nearest
    return nearest


@kernel
def _keys_of(space: Space, rows: Rows) -> Keys:
    """Return the keys of rows side by side, which are read once for each seed."""
    keys = np.empty(rows.size, np.uint64)
    for i in range(rows.size):
        keys[i] = space.keys[rows[i]]
    return keys


@kernel
def _pick_seed(space: Space, rows: Rows, keys: Keys, seeds: Rows, reach: Distances, salt: np.uint64) -> int:
    """Return the best row as the next seed, or -1 if every row lies on a seed.

    With no seed yet the least draw decides, afterwards the least Exp(draw)/D². No row is farther from all seeds than
    its `reach`, and -log(u) >= 1 - u: that tells of nearly all rows that they are not the best, without a logarithm or
    a distance, and by more than any rounding, so that the order of rows does not matter. Where a distance has to be
    found, it becomes the row's reach.
    """
    best, best_score, best_draw = -1, np.inf, np.uint64(0)
    for i in range(rows.size):
        draw, score = mix64(keys[i] ^ salt), 0.0
        if seeds.size:
            uniform = (np.float64(np.int64(draw >> np.uint64(11))) + 1.0) / 9007199254740992.0
            if 1.0 - uniform - _ROUNDING > best_score * reach[i]:
                continue
            reach[i] = _distance_from_seeds(space, rows[i], seeds)
            if reach[i] == 0.0:
                continue
            score = -log(uniform) / reach[i]
        if score < best_score or (score == best_score and best >= 0 and draw < best_draw):
            best, best_score, best_draw = rows[i], score, draw
    return best


@kernel
def _distances_from(space: Space, columns: Features, seed: int) -> Distances:
    """Return the squared distances of rows from a seed: whole numbers, below 2**53."""
    distances = np.empty(columns.shape[1], np.float64)
    for first in range(0, distances.size, FEW):
        few = np.zeros(min(FEW, distances.size - first), np.int64)
        for i in range(space.scope.size):
            v, column = space.scope[i], columns[i, first : first + few.size]
            if space.is_numeric[v]:
                _add_squares(column, space.features[seed, v], few)
            else:
                _add_mismatches(column, space.features[seed, v], few)
        for j in range(few.size):
            distances[first + j] = few[j]
    return distances


@kernel
def pick_among(space: Space, rows: Rows, columns: Features, known: Rows) -> Rows:
    """Pick up to k rows as k-means++ does, given their features; fewer if there are not k different ones.

    The first of them may be known.
    """
    seeds, keys, reach = np.empty(space.n_clusters, np.int64), _keys_of(space, rows), np.empty(0, np.float64)
    put(seeds, 0, known)
    for s in range(known.size, space.n_clusters):
        if s and reach.size == 0:
            reach = _distances_from(space, columns, seeds[0])
        seed = _pick_seed(space, rows, keys, seeds[:s], reach, _salt(space, s))
        if seed < 0:
            return seeds[:s].copy()
        seeds[s] = seed
    return seeds


def _steps_of_seeding(space: Space, rows: Rows) -> int:
    return 4 * int(rows.size * (2 * space.n_clusters + space.scope.size))


@inner_kernel(_steps_of_seeding)
def pick_seeds(space: Space, rows: Rows) -> Rows:
    """Pick up to k rows as k-means++ does; fewer if there are not k different ones."""
    return pick_among(space, rows, gather_columns(space, rows), rows[:0])


@kernel
def seeds_hold(space: Space, minus: Rows, plus: Rows, seeds: Rows) -> bool:
    """Tell whether learning without `minus` and with `plus` picks the same seeds."""
    for row in minus:
        for seed in seeds:
            if row == seed:
                return False
    if plus.size == 0:
        return True
    # The seeds that there are, against those that come; and where there are fewer than k, nobody may add to them.
    rows = joined(seeds, plus)
    keys, reach = _keys_of(space, rows), _distances_from(space, gather_columns(space, rows), seeds[0])
    for s in range(min(seeds.size + 1, space.n_clusters)):
        seed = _pick_seed(space, rows, keys, seeds[:s], reach, _salt(space, s))
        if seed != (seeds[s] if s < seeds.size else -1):
            return False
    return True


@kernel
def seed_centroids(space: Space, seeds: Rows) -> Lines:
    """Return the seeds themselves as the first centroids."""
    centroids = np.zeros((seeds.size, space.offsets[-1]), np.int64)
    for s in range(seeds.size):
        for i in range(space.scope.size):
            feature = np.int64(space.features[seeds[s], space.scope[i]])
            if not space.is_numeric[space.scope[i]]:
                if feature:
                    centroids[s, space.offsets[i] + feature] = ONE
            elif feature != FEATURE_MISSING:
                centroids[s, space.offsets[i]] = feature
    return centroids

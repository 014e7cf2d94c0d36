"""Seeds of Q-k-means: rows picked as k-means++ does, by keyed hashes, so that removing others leaves them alone."""

from __future__ import annotations

import numpy as np

from unlearnspn.arrays import joined
from unlearnspn.clustering.columns import gather_columns
from unlearnspn.clustering.space import ONE, Lines, Space
from unlearnspn.coding import FEATURE_MISSING, Features
from unlearnspn.compiling import inner_kernel, kernel
from unlearnspn.fetching import FEW
from unlearnspn.hashing import mix64
from unlearnspn.portable_math import log
from unlearnspn.slices import Counts, Rows

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
def _pick_seed(space: Space, rows: Rows, nearest: Counts, salt: np.uint64) -> int:
    """Return the best row as the next seed, or -1 if every row lies on a seed.

    `nearest` are the squared distances from the nearest seed; with none yet they are -1, and the least draw decides.
    Otherwise it is the least Exp(draw)/D². Logarithms would take most of the time, and -log(u) >= 1 - u tells of nearly
    all rows that they are not the best: by more than any rounding, so that the order of rows does not matter.
    """
    best, best_score, best_draw = -1, np.inf, np.uint64(0)
    for i in range(rows.size):
        if nearest[i] == 0:
            continue
        draw, score, distance = mix64(space.keys[rows[i]] ^ salt), 0.0, np.float64(nearest[i])
        if nearest[i] > 0:
            uniform = (np.float64(draw >> np.uint64(11)) + 1.0) / 9007199254740992.0
            if 1.0 - uniform - _ROUNDING > best_score * distance:
                continue
            score = -log(uniform) / distance
        if score < best_score or (score == best_score and best >= 0 and draw < best_draw):
            best, best_score, best_draw = rows[i], score, draw
    return best


@kernel
def _come_nearer(space: Space, columns: Features, seed: int, nearest: Counts) -> None:
    """Bring the squared distances from the nearest seed up to date with another seed."""
    for first in range(0, nearest.size, FEW):
        few = nearest[first : first + FEW]
        distances = np.zeros(few.size, np.int64)
        for i in range(space.scope.size):
            v, column = space.scope[i], columns[i, first : first + few.size]
            if space.is_numeric[v]:
                _add_squares(column, space.features[seed, v], distances)
            else:
                _add_mismatches(column, space.features[seed, v], distances)
        for j in range(few.size):
            few[j] = distances[j] if few[j] < 0 or distances[j] < few[j] else few[j]


def _steps_of_seeding(space: Space, rows: Rows) -> int:
    return 4 * int(rows.size * space.n_clusters * (space.scope.size + 2))


@inner_kernel(_steps_of_seeding)
def pick_seeds(space: Space, rows: Rows) -> Rows:
    """Pick up to k rows as k-means++ does; fewer if there are not k different ones."""
    seeds, nearest = np.empty(space.n_clusters, np.int64), np.full(rows.size, -1)
    columns = gather_columns(space, rows)
    for s in range(space.n_clusters):
        seed = _pick_seed(space, rows, nearest, _salt(space, s))
        if seed < 0:
            return seeds[:s].copy()
        seeds[s] = seed
        _come_nearer(space, columns, seed, nearest)
    return seeds


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
    rows, nearest = joined(seeds, plus), np.full(seeds.size + plus.size, -1)
    columns = gather_columns(space, rows)
    for s in range(min(seeds.size + 1, space.n_clusters)):
        seed = _pick_seed(space, rows, nearest, _salt(space, s))
        if seed != (seeds[s] if s < seeds.size else -1):
            return False
        if seed >= 0:
            _come_nearer(space, columns, seed, nearest)
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

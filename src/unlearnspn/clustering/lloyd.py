"""Kernels of Q-k-means: Lloyd's algorithm in integers, with centroids on a randomly shifted lattice.

The layout of a line of sums or centroids: a numeric variable has two entries (sum and count, or the coordinate and
nothing), a categorical one has an entry for each code (count, or the coordinate of the code's indicator).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from unlearnspn.coding import FEATURE_MISSING, FEATURE_STD, Features
from unlearnspn.hashing import Keys, mix64
from unlearnspn.portable_math import log
from unlearnspn.slices import Counts, Rows, Scope

_ONE = 2 * FEATURE_STD  # an indicator that is half the time on deviates by one standard deviation

Flags = npt.NDArray[np.bool_]
Lines = npt.NDArray[np.int64]


class Space(NamedTuple):
    """Where the rows lie: what the kernels need of the records, the node's scope and its lattice."""

    features: Features
    keys: Keys
    scope: Scope
    is_numeric: Flags
    #: Where each variable's entries start in a line, and at the end the width of a line.
    offsets: Counts
    prints: Keys
    #: The node's key: it shifts the lattice, and draws the seeds.
    key: np.uint64
    n_clusters: int
    spacing: int


@njit(cache=True)
def line_offsets(scope: Scope, is_numeric: Flags, sizes: Counts) -> Counts:
    """Return where each variable's entries start, and the width of a line."""
    offsets = np.zeros(scope.size + 1, np.int64)
    for i in range(scope.size):
        v = scope[i]
        offsets[i + 1] = offsets[i] + (2 if is_numeric[v] else sizes[v])
    return offsets


@njit(cache=True)
def _costs(space: Space, centroids: Lines) -> Lines:
    """Turn the coordinates of indicators into what each code adds to the distance."""
    costs = centroids.copy()
    for c in range(centroids.shape[0]):
        for i in range(space.scope.size):
            if space.is_numeric[space.scope[i]]:
                continue
            squares = 0
            for entry in range(space.offsets[i] + 1, space.offsets[i + 1]):
                squares += centroids[c, entry] * centroids[c, entry]
            costs[c, space.offsets[i]] = 0  # missing
            for entry in range(space.offsets[i] + 1, space.offsets[i + 1]):
                costs[c, entry] = squares - 2 * _ONE * centroids[c, entry]
    return costs


@njit(cache=True)
def nearest(space: Space, row: int, costs: Lines) -> int:
    """Return the nearest centroid, the first of equals; missing values count for nothing."""
    best, smallest = 0, np.int64(0)
    for c in range(costs.shape[0]):
        distance = np.int64(0)
        for i in range(space.scope.size):
            feature = np.int64(space.features[row, space.scope[i]])
            if not space.is_numeric[space.scope[i]]:
                distance += costs[c, space.offsets[i] + feature]
            elif feature != FEATURE_MISSING:
                difference = feature - costs[c, space.offsets[i]]
                distance += difference * difference
        if c == 0 or distance < smallest:
            best, smallest = c, distance
    return best


@njit(cache=True)
def _add_row(space: Space, row: int, line: Counts, sign: int) -> None:
    for i in range(space.scope.size):
        feature = np.int64(space.features[row, space.scope[i]])
        if not space.is_numeric[space.scope[i]]:
            line[space.offsets[i] + feature] += sign
        elif feature != FEATURE_MISSING:
            line[space.offsets[i]] += sign * feature
            line[space.offsets[i] + 1] += sign


@njit(cache=True)
def _snap(space: Space, name: np.uint64, total: int, count: int) -> np.int64:
    """Round total/count to the lattice {shift + spacing·z} of the coordinate with this name, in integers."""
    shift = np.int64(mix64(name ^ space.key) % np.uint64(space.spacing))
    numerator = 2 * (total - count * shift) + count * space.spacing
    return shift + space.spacing * (numerator // (2 * count * space.spacing))


@njit(cache=True)
def _quantise(space: Space, sums: Lines, counts: Counts, previous: Lines) -> Lines:
    """Return the clusters' means on the lattice; an empty cluster keeps its centroid.

    A coordinate without a value is 0: so is that of a code that no row of the cluster has, whether or not some row
    elsewhere has it.
    """
    centroids = np.zeros_like(sums)
    for c in range(sums.shape[0]):
        if counts[c] == 0:
            centroids[c] = previous[c]
            continue
        for i in range(space.scope.size):
            v, start, end = space.scope[i], space.offsets[i], space.offsets[i + 1]
            if space.is_numeric[v]:
                if sums[c, start + 1]:
                    centroids[c, start] = _snap(space, space.prints[v, 0], sums[c, start], sums[c, start + 1])
                continue
            observed = counts[c] - sums[c, start]
            for entry in range(start + 1, end):
                if sums[c, entry]:
                    name = space.prints[v, entry - start]
                    centroids[c, entry] = _snap(space, name, sums[c, entry] * _ONE, observed)
    return centroids


@njit(cache=True)
def _distance(space: Space, a: int, b: int) -> np.int64:
    distance = np.int64(0)
    for v in space.scope:
        first, second = np.int64(space.features[a, v]), np.int64(space.features[b, v])
        if space.is_numeric[v]:
            if first != FEATURE_MISSING and second != FEATURE_MISSING:
                distance += (first - second) * (first - second)
        elif first != second and first != 0 and second != 0:
            distance += 2 * _ONE * _ONE
    return distance


@njit(cache=True)
def _seed_score(space: Space, row: int, seeds: Rows, salt: np.uint64) -> tuple[float, np.uint64]:
    """Return the row's rank as the next seed: Exp(hash)/D², smallest first; infinite if it lies on a seed."""
    draw = mix64(space.keys[row] ^ salt)
    if seeds.size == 0:
        return 0.0, draw
    nearest = np.int64(-1)
    for seed in seeds:
        distance = _distance(space, row, seed)
        if nearest < 0 or distance < nearest:
            nearest = distance
    if nearest == 0:
        return np.inf, draw
    uniform = (np.float64(draw >> np.uint64(11)) + 1.0) / 9007199254740992.0
    return -log(uniform) / nearest, draw


@njit(cache=True)
def _salt(space: Space, seed: int) -> np.uint64:
    return mix64(space.key + np.uint64(seed))


@njit(cache=True)
def _pick_seed(space: Space, rows: Rows, seeds: Rows, salt: np.uint64) -> int:
    """Return the best row as the next seed, or -1 if every row lies on a seed."""
    best, best_score, best_draw = -1, np.inf, np.uint64(0)
    for row in rows:
        score, draw = _seed_score(space, row, seeds, salt)
        if score < best_score or (score == best_score and best >= 0 and draw < best_draw):
            best, best_score, best_draw = row, score, draw
    return best


@njit(cache=True)
def pick_seeds(space: Space, rows: Rows) -> Rows:
    """Pick up to k rows as k-means++ does; fewer if there are not k different ones."""
    seeds = np.empty(space.n_clusters, np.int64)
    for s in range(space.n_clusters):
        seed = _pick_seed(space, rows, seeds[:s], _salt(space, s))
        if seed < 0:
            return seeds[:s].copy()
        seeds[s] = seed
    return seeds


@njit(cache=True)
def _seeds_hold(space: Space, minus: Rows, plus: Rows, seeds: Rows) -> bool:
    """Tell whether learning without `minus` and with `plus` picks the same seeds."""
    for row in minus:
        for seed in seeds:
            if row == seed:
                return False
    for s in range(space.n_clusters):
        best_score, best_draw = np.inf, np.uint64(0)
        if s < seeds.size:
            best_score, best_draw = _seed_score(space, seeds[s], seeds[:s], _salt(space, s))
        for row in plus:
            score, draw = _seed_score(space, row, seeds[:s], _salt(space, s))
            if score < best_score or (s < seeds.size and score == best_score and draw < best_draw):
                return False
        if s >= seeds.size:
            break
    return True


@njit(cache=True)
def seed_centroids(space: Space, seeds: Rows) -> Lines:
    """Return the seeds themselves as the first centroids."""
    centroids = np.zeros((seeds.size, space.offsets[-1]), np.int64)
    for s in range(seeds.size):
        for i in range(space.scope.size):
            feature = np.int64(space.features[seeds[s], space.scope[i]])
            if not space.is_numeric[space.scope[i]]:
                if feature:
                    centroids[s, space.offsets[i] + feature] = _ONE
            elif feature != FEATURE_MISSING:
                centroids[s, space.offsets[i]] = feature
    return centroids


@njit(cache=True)
def repeats(centroids: Lines, last: int) -> bool:
    """Tell whether the last set of centroids has occurred before."""
    for earlier in range(last):
        if np.array_equal(centroids[earlier], centroids[last]):
            return True
    return False


@njit(cache=True)
def _shift_rows(space: Space, rows: Rows, costs: Lines, sums: Lines, counts: Counts, sign: int) -> None:
    """Add rows to their clusters, or take them out."""
    for row in rows:
        c = nearest(space, row, costs)
        counts[c] += sign
        _add_row(space, row, sums[c], sign)


@njit(cache=True)
def run_rounds(space: Space, rows: Rows, first: int, sums: Lines, counts: Lines, centroids: Lines) -> int:
    """Run rounds from `first` on, until the centroids repeat or room is out; return how many there are in all."""
    for r in range(first, sums.shape[0]):
        sums[r] = 0
        counts[r] = 0
        _shift_rows(space, rows, _costs(space, centroids[r]), sums[r], counts[r], 1)
        centroids[r + 1] = _quantise(space, sums[r], counts[r], centroids[r])
        if repeats(centroids, r + 1):
            return r + 1
    return len(sums)


@njit(cache=True)
def revise_rounds(
    space: Space,
    minus: Rows,
    plus: Rows,
    seeds: Rows,
    sums: Lines,
    counts: Lines,
    centroids: Lines,
    sizes: Counts,
) -> int:
    """Apply a change to every round and to the final sizes, in place.

    Return how many rounds hold with the centroids they lead to: all of them, fewer if from there on the rounds must
    be run on all rows, -1 if the seeds themselves are others.
    """
    if not _seeds_hold(space, minus, plus, seeds):
        return -1
    for r in range(sums.shape[0]):
        costs = _costs(space, centroids[r])
        _shift_rows(space, minus, costs, sums[r], counts[r], -1)
        _shift_rows(space, plus, costs, sums[r], counts[r], 1)
        changed = _quantise(space, sums[r], counts[r], centroids[r])
        if not np.array_equal(changed, centroids[r + 1]):
            centroids[r + 1] = changed
            return r
    costs = _costs(space, centroids[-1])
    for row in minus:
        sizes[nearest(space, row, costs)] -= 1
    for row in plus:
        sizes[nearest(space, row, costs)] += 1
    return len(sums)


@njit(cache=True)
def label(space: Space, rows: Rows, centroids: Lines) -> Counts:
    """Return the nearest centroid of each row."""
    costs = _costs(space, centroids)
    labels = np.empty(rows.size, np.int64)
    for i in range(rows.size):
        labels[i] = nearest(space, rows[i], costs)
    return labels


@njit(cache=True)
def hash_rounds(space: Space, rounds: Lines) -> Keys:
    """Hash each line of each round, independently of the codes' order and of codes that nobody has."""
    n_rounds, n_lines, _ = rounds.shape
    hashes = np.zeros((n_rounds, n_lines, 2), np.uint64)
    for r in range(n_rounds):
        for line in range(n_lines):
            for i in range(space.scope.size):
                v, start = space.scope[i], space.offsets[i]
                for entry in range(start, space.offsets[i + 1]):
                    value = np.uint64(rounds[r, line, entry])
                    if value:
                        place = entry - start
                        name = space.prints[v, 0] + np.uint64(place) if space.is_numeric[v] else space.prints[v, place]
                        name = mix64(name)
                        hashes[r, line, 0] += value * name
                        hashes[r, line, 1] += value * mix64(name)
    return hashes

"""Where rows lie for Q-k-means, in integers, and which centroid is the nearest.

The layout of a line of sums or centroids: a numeric variable has two entries (sum and count, or the coordinate and
nothing), a categorical one has an entry for each code (count, or the coordinate of the code's indicator).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.coding import FEATURE_MISSING, FEATURE_STD, Features
from unlearnspn.compiling import inner_kernel, kernel, per_element
from unlearnspn.hashing import Keys
from unlearnspn.slices import Counts, Flags, Scope

#: An indicator that is half the time on deviates by one standard deviation.
ONE = 2 * FEATURE_STD
#: Indices are unsigned in loops over rows: whether one is negative has not to be asked, which takes longer than to add.
_NEXT = np.uint64(1)

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
    #: How many rounds there may be; None if there are none, so that nothing of them is compiled.
    max_rounds: int | None


@kernel
def line_offsets(scope: Scope, is_numeric: Flags, sizes: Counts) -> Counts:
    """Return where each variable's entries start, and the width of a line."""
    offsets = np.zeros(scope.size + 1, np.int64)
    for i in range(scope.size):
        v = scope[i]
        offsets[i + 1] = offsets[i] + (2 if is_numeric[v] else sizes[v])
    return offsets


@inner_kernel(per_element(3, 1))
def costs_of(space: Space, centroids: Lines) -> Lines:
    """Turn coordinates into what is added to a squared distance, less what is added to that from the first centroid.

    For a number x that is c² - 2cx: the first entry times x, and the second; for a code it is the code's entry.
    """
    costs = np.zeros(centroids.shape, np.int64)
    for c in range(centroids.shape[0]):
        own, line = centroids[c], costs[c]
        for i in range(space.scope.size):
            start, end = space.offsets[i], space.offsets[i + 1]
            if space.is_numeric[space.scope[i]]:
                coordinate = own[start]
                line[start], line[start + 1] = -2 * coordinate, coordinate * coordinate
                continue
            squares = 0
            for entry in range(start + 1, end):  # the first is for missing values
                squares += own[np.uint64(entry)] * own[np.uint64(entry)]
            for entry in range(start + 1, end):
                line[np.uint64(entry)] = squares - 2 * ONE * own[np.uint64(entry)]
    for c in range(centroids.shape[0] - 1, -1, -1):
        line, first = costs[c], costs[0]
        for entry in range(line.size):
            line[entry] -= first[entry]
    return costs


@kernel
def nearest(space: Space, row: int, costs: Lines) -> int:
    """Return the nearest centroid, the first of equals; missing values count for nothing."""
    best, smallest = 0, np.int64(0)
    for c in range(1, costs.shape[0]):
        distance = np.int64(0)
        for i in range(space.scope.size):
            feature = np.int64(space.features[row, space.scope[i]])
            if not space.is_numeric[space.scope[i]]:
                distance += costs[c, space.offsets[i] + feature]
            elif feature != FEATURE_MISSING:
                distance += costs[c, space.offsets[i]] * feature + costs[c, space.offsets[i] + 1]
        if distance < smallest:
            best, smallest = c, distance
    return best


@kernel
def add_row(space: Space, row: int, line: Counts, sign: int) -> None:
    """Add a row to a line of sums, or take it out."""
    features = space.features[row]
    for i in range(space.scope.size):
        v, entry = np.uint64(space.scope[i]), np.uint64(space.offsets[i])
        feature = np.int64(features[v])
        if not space.is_numeric[v]:
            line[entry + np.uint64(feature)] += sign
        elif feature != FEATURE_MISSING:
            line[entry] += sign * feature
            line[entry + _NEXT] += sign


@kernel
def move_row(space: Space, row: int, source: Counts, target: Counts) -> None:
    """Move a row from one line of sums to another."""
    features = space.features[row]
    for i in range(space.scope.size):
        v, entry = np.uint64(space.scope[i]), np.uint64(space.offsets[i])
        feature = np.int64(features[v])
        if not space.is_numeric[v]:
            source[entry + np.uint64(feature)] -= 1
            target[entry + np.uint64(feature)] += 1
        elif feature != FEATURE_MISSING:
            source[entry] -= feature
            target[entry] += feature
            source[entry + _NEXT] -= 1
            target[entry + _NEXT] += 1

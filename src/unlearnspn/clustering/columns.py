"""Many rows against one centroid after another: their features lie side by side, a column for each variable.

So the processor computes several distances at a time, and what it works on stays in its cache.
"""

from __future__ import annotations

import numpy as np

from unlearnspn.clustering.space import Lines, Space, costs_of, nearest
from unlearnspn.coding import FEATURE_MISSING, Features
from unlearnspn.compiling import inner_kernel, per_element
from unlearnspn.fetching import FEW, fetch
from unlearnspn.slices import Counts, Rows

#: Fewer rows are not worth being put side by side.
_FEW_ROWS = 8


def _steps_of_gathering(space: Space, rows: Rows) -> int:
    return 2 * int(rows.size * space.scope.size)


@inner_kernel(_steps_of_gathering)
def gather_columns(space: Space, rows: Rows) -> Features:
    """Return the features of some rows, [variable, row]."""
    columns = np.empty((space.scope.size, rows.size), space.features.dtype)
    for first in range(0, rows.size, FEW):
        few = rows[first : first + FEW]
        fetch(space.features, few)
        for i in range(space.scope.size):
            v, column = np.uint64(space.scope[i]), columns[i, first : first + few.size]
            for j in range(few.size):
                column[j] = space.features[np.uint64(few[j]), v]
    return columns


def _steps_of_distances(
    space: Space, columns: Features, start: int, before: Lines, after: Lines, distances: Lines
) -> int:
    return 3 * (after.size + int(distances.size * space.scope.size))


@inner_kernel(_steps_of_distances)
def shift_distances(space: Space, columns: Features, start: int, before: Lines, after: Lines, distances: Lines) -> None:
    """Bring the distances of rows up to date with costs, most of which are what they were after a few rounds.

    The rows are those from some place on among the columns.
    """
    changes = np.empty(space.offsets[-1], np.int64)
    for c in range(1, len(after)):
        line = distances[c]
        for i in range(space.scope.size):
            column, changed = columns[i, start : start + line.size], False
            for k in range(space.offsets[i + 1] - space.offsets[i]):
                changes[k] = after[c, space.offsets[i] + k] - before[c, space.offsets[i] + k]
                changed |= changes[k] != 0
            if changed and space.is_numeric[space.scope[i]]:
                slope, constant = changes[0], changes[1]
                for j in range(column.size):
                    feature = np.int64(column[j])
                    line[j] += slope * feature + constant if feature != FEATURE_MISSING else 0
            elif changed:
                for j in range(column.size):
                    line[j] += changes[np.uint64(column[j])]


@inner_kernel(per_element(4, 0))
def label_by_distance(distances: Lines, labels: Counts) -> None:
    """Write the nearest centroid of each row, the first of equals; the distances from the first one are all 0."""
    least = np.zeros(labels.size, np.int64)
    for j in range(labels.size):
        labels[j] = 0
    for c in range(1, len(distances)):
        line = distances[c]
        for j in range(labels.size):
            distance, before = line[j], least[j]
            labels[j] = c if distance < before else labels[j]
            least[j] = min(distance, before)


def _steps_of_labels(space: Space, rows: Rows, centroids: Lines) -> int:
    return 3 * int(rows.size * len(centroids) * space.scope.size)


@inner_kernel(_steps_of_labels)
def label(space: Space, rows: Rows, centroids: Lines) -> Counts:
    """Return the nearest centroid of each row."""
    costs = costs_of(space, centroids)
    labels = np.empty(rows.size, np.int64)
    if rows.size < _FEW_ROWS:
        for i in range(rows.size):
            labels[i] = nearest(space, rows[i], costs)
        return labels
    none = np.zeros(costs.shape, np.int64)
    for first in range(0, rows.size, FEW):
        few = rows[first : first + FEW]
        distances = np.zeros((len(costs), few.size), np.int64)
        shift_distances(space, gather_columns(space, few), 0, none, costs, distances)
        label_by_distance(distances, labels[first : first + few.size])
    return labels

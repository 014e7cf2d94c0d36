"""Rounds of Q-k-means: rows go to the nearest centroid, and centroids to the means of their rows, on the lattice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.string import memcmp, memcpy
from cython.cimports.unlearnspn.const_types import const_int16, const_int64
from cython.cimports.unlearnspn.statistics.distances import Costs
from cython.cimports.unlearnspn.statistics.layout import BLOCK, count_blocks
from cython.cimports.unlearnspn.statistics.space import Space

Array = npt.NDArray[Any]


def before_rounds(space: Space, seeds: Array) -> tuple[Array, Array, Array, Array]:
    """Return what is known before the first round: seeds, counts, sums, and the seeds themselves as centroids."""
    s: cython.Py_ssize_t
    n_seeds: cython.Py_ssize_t = len(seeds)
    rows: const_int64[::1] = seeds
    centroids = np.zeros((1, n_seeds, space.width), np.int64)
    lines: cython.longlong[:, :, ::1] = centroids
    for s in range(n_seeds):
        space.seed_line(rows[s], cython.address(lines[0, s, 0]))
    return seeds, np.zeros((0, n_seeds), np.int64), np.zeros((0, n_seeds, space.width), np.int64), centroids


def run_rounds(
    space: Space, rows: Array, columns: Array, counts: list[Array], sums: list[Array], centroids: list[Array]
) -> tuple[Array, Array, Array, Array]:
    """Run rounds after those known until the centroids repeat or there are as many as may be.

    Returns counts, sums and centroids of all rounds, and the final cluster of each row.
    """
    n_clusters: cython.Py_ssize_t = len(centroids[0])
    costs: Costs = Costs(space, n_clusters)
    table: const_int16[:, ::1] = columns
    distances: cython.longlong[:, :, ::1] = np.zeros((count_blocks(len(rows)), n_clusters, BLOCK), np.int64)
    first = len(sums)
    before, after = np.full(len(rows), -1), np.empty(len(rows), np.int64)
    labels: cython.longlong[::1]
    current: cython.longlong[:, ::1]
    r = max(first - 1, 0)  # from the last round that is known few rows have to be moved
    ended = False
    while True:
        labels, current = after, centroids[r]
        with cython.nogil:
            costs.move(cython.address(current[0, 0]))
            costs.relabel(table, distances, cython.address(labels[0]))
        if ended or r == space.max_rounds:
            return np.array(counts), np.array(sums), np.array(centroids), after
        if r >= first:
            sums.append(sums[r - 1].copy() if r else np.zeros((n_clusters, space.width), np.int64))
            counts.append(counts[r - 1].copy() if r else np.zeros(n_clusters, np.int64))
            _move_rows(space, rows, before, after, sums[r], counts[r])
            centroids.append(quantised(space, sums[r], counts[r], centroids[r]))
        before, after = after, before
        r += 1
        ended = repeats(centroids, r)


def sum_rows(space: Space, rows: Array, labels: Array, n_clusters: cython.Py_ssize_t) -> tuple[Array, Array]:
    """Return the sums of the rows of each cluster, and how many there are."""
    sums, counts = np.zeros((n_clusters, space.width), np.int64), np.zeros(n_clusters, np.int64)
    _move_rows(space, rows, np.full(len(rows), -1), labels, sums, counts)
    return sums, counts


def _move_rows(
    space: Space,
    rows: const_int64[::1],
    before: cython.longlong[::1],
    after: cython.longlong[::1],
    sums: cython.longlong[:, ::1],
    counts: cython.longlong[::1],
) -> None:
    """Move rows from cluster to cluster; those that were in none before, at -1, come in."""
    j: cython.Py_ssize_t
    with cython.nogil:
        for j in range(rows.shape[0]):
            if before[j] == after[j]:
                continue
            counts[after[j]] += 1
            if before[j] < 0:
                space.add_row(rows[j], cython.address(sums[after[j], 0]), 1)
            else:
                counts[before[j]] -= 1
                space.move_row(rows[j], cython.address(sums[before[j], 0]), cython.address(sums[after[j], 0]))


def quantised(
    space: Space,
    sums: cython.longlong[:, ::1],
    counts: cython.longlong[::1],
    previous: cython.longlong[:, ::1],
) -> Array:
    """Return the clusters' means on the lattice; an empty cluster keeps its centroid."""
    c: cython.Py_ssize_t
    centroids = np.empty((counts.shape[0], space.width), np.int64)
    lines: cython.longlong[:, ::1] = centroids
    lattice: cython.longlong[::1] = np.zeros(space.width, np.int64)
    with cython.nogil:
        space.write_lattice(cython.address(lattice[0]))
        for c in range(counts.shape[0]):
            space.quantise(
                cython.address(lattice[0]),
                cython.address(sums[c, 0]),
                counts[c],
                cython.address(previous[c, 0]),
                cython.address(lines[c, 0]),
            )
    return centroids


def repeats(centroids: Sequence[Array] | Array, last: cython.Py_ssize_t) -> bool:
    """Tell whether the last set of centroids has occurred before."""
    r: cython.Py_ssize_t
    found: cython.longlong[:, ::1] = centroids[last]
    earlier: cython.longlong[:, ::1]
    for r in range(last):
        earlier = centroids[r]
        if memcmp(cython.address(earlier[0, 0]), cython.address(found[0, 0]), found.nbytes) == 0:
            return True
    return False


def label_columns(
    space: Space,
    columns: const_int16[:, ::1],
    start: cython.Py_ssize_t,
    centroids: cython.longlong[:, ::1],
    labels: cython.longlong[::1],
) -> None:
    """Write the nearest centroid of rows, those from some place on among the columns."""
    costs: Costs = Costs(space, centroids.shape[0])
    with cython.nogil:
        if labels.shape[0]:
            costs.start(cython.address(centroids[0, 0]), centroids.shape[0])
            costs.label(columns, start, start + labels.shape[0], cython.address(labels[0]))


def label_by_cluster(
    space: Space,
    columns: const_int16[:, ::1],
    before: const_int64[::1],
    seeds: const_int64[::1],
    centroids: cython.longlong[:, ::1],
    ends: const_int64[::1],
    labels: cython.longlong[::1],
) -> None:
    """Write the nearest centroid of rows that were around other seeds before, cluster by cluster."""
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    n_rivals: cython.Py_ssize_t
    rivals: cython.longlong[::1] = np.empty(seeds.shape[0], np.int64)
    lines: cython.longlong[:, ::1] = np.empty((seeds.shape[0], space.width), np.int64)
    costs: Costs = Costs(space, seeds.shape[0])
    with cython.nogil:
        for k in range(ends.shape[0] - 1):
            if ends[k] == ends[k + 1]:
                continue
            n_rivals = _find_rivals(before, seeds, k, rivals)
            for j in range(n_rivals):
                memcpy(
                    cython.address(lines[j, 0]),
                    cython.address(centroids[rivals[j], 0]),
                    space.width * cython.sizeof(cython.longlong),
                )
            costs.start(cython.address(lines[0, 0]), n_rivals)
            costs.label(columns, ends[k], ends[k + 1], cython.address(labels[ends[k]]))
            for j in range(ends[k], ends[k + 1]):
                labels[j] = rivals[labels[j]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_rivals(
    before: const_int64[::1],
    seeds: const_int64[::1],
    cluster: cython.Py_ssize_t,
    rivals: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Write the clusters, in order, to which rows can belong that belonged to one, and return how many there are.

    If its seed is still there, no other seed that was there before is nearer, nor an earlier one as near.
    """
    s: cython.Py_ssize_t
    number: cython.Py_ssize_t = 0
    n_both: cython.Py_ssize_t = min(before.shape[0], seeds.shape[0])
    is_kept: cython.bint = cluster < n_both and before[cluster] == seeds[cluster]
    for s in range(seeds.shape[0]):
        if s == cluster or not is_kept or s >= n_both or seeds[s] != before[s]:
            rivals[number] = s
            number += 1
    return number
